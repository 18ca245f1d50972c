/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as lines. A line of one format can be read back: an event of a BP line prints as the same
 * pairs, an event of a common line as the same data. */
#include "narrows/event_line.h"

#include <string.h>

#include "narrows/format.h"

#define NS_PER_S INT64_C(1000000000)

struct out {
	char *at, *end;
	size_t len; /* also of what did not fit */
};

static void
put(struct out *o, const char *text, size_t len)
{
	o->len += len;
	if (len > (size_t)(o->end - o->at))
		len = (size_t)(o->end - o->at);
	memcpy(o->at, text, len);
	o->at += len;
}

static void
put_text(struct out *o, const char *text)
{
	put(o, text, strlen(text));
}

/* Bytes that would end a line or steer a terminal. */
static bool
is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

static bool
is_plain(const char *text)
{
	const char *p;

	for (p = text; *p != '\0'; p++)
		if (is_control(*p) || strchr(" \"=\\;", *p) != NULL)
			return false;
	return p > text;
}

/* A name, in which other characters than a reader takes become underscores. */
static void
put_name(struct out *o, const char *name)
{
	const char *p;

	for (p = name; *p != '\0'; p++)
		put(o, is_control(*p) || strchr(" \"=\\;", *p) != NULL ? "_" : p, 1);
	if (p == name)
		put(o, "_", 1);
}

/* A value of a pair, quoted where it has to be; `always` quotes text that reads as a number. */
static void
put_value(struct out *o, const char *text, bool always)
{
	if (!always && is_plain(text)) {
		put_text(o, text);
		return;
	}
	put(o, "\"", 1);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			put(o, "\\", 1);
		put(o, is_control(*text) ? " " : text, 1);
	}
	put(o, "\"", 1);
}

/* Could the text be read as a number? */
static bool
is_numeral(const char *text)
{
	return text[0] != '\0' && strspn(text, "0123456789.+-eE") == strlen(text);
}

static void
put_attr_value(struct out *o, const struct nw_attr *a)
{
	char number[FMT_EXACT_ROOM];

	switch (a->type) {
	case NW_ATTR_INT: put_text(o, fmt_int(a->v.i).s); break;
	case NW_ATTR_REAL:
		put(o, number, fmt_exact_put(number, a->v.d));
		if (strspn(number, "-0123456789") == strlen(number))
			put_text(o, ".0"); /* so a reader finds the same type */
		break;
	case NW_ATTR_TEXT: put_value(o, a->v.text, !a->is_id && is_numeral(a->v.text)); break;
	}
}

static void
put_pair(struct out *o, const char *name, const char *value)
{
	if (value == NULL)
		return;
	put(o, " ", 1);
	put_text(o, name);
	put(o, "=", 1);
	put_value(o, value, false);
}

static void
put_attrs(struct out *o, const struct nw_event *e)
{
	size_t i;

	for (i = 0; i < e->n_attrs; i++) {
		put(o, " ", 1);
		put_name(o, e->attrs[i].key);
		put(o, "=", 1);
		put_attr_value(o, &e->attrs[i]);
	}
}

/* Six digits of the fraction, as old readers need them, or nine where the time has more. */
static int
fraction_digits(const struct nw_event *e)
{
	return e->t_wall_ns % 1000 == 0 ? 6 : 9;
}

static void
print_bp(struct out *o, const struct nw_event *e)
{
	put_text(o, "ts=");
	put_text(o, fmt_iso(e->t_wall_ns, fraction_digits(e)).s);
	put_pair(o, "event", e->name);
	put_pair(o, "level", e->level);
	put_pair(o, "host", e->host);
	put_pair(o, "prog", e->program);
	put_attrs(o, e);
}

static void
print_ulm(struct out *o, const struct nw_event *e)
{
	struct fmt iso = fmt_iso(e->t_wall_ns, fraction_digits(e));
	char date[40];
	size_t n = 0, i;

	for (i = 0; iso.s[i] != '\0'; i++)
		if (strchr("-:TZ", iso.s[i]) == NULL)
			date[n++] = iso.s[i];
	put_text(o, "DATE=");
	put(o, date, n);
	put_pair(o, "HOST", e->host);
	put_pair(o, "PROG", e->program);
	put_pair(o, "LVL", e->level);
	put_pair(o, "NL.EVNT", e->name);
	put_attrs(o, e);
}

/* Text of a common line, in which a semicolon would end the field. */
static void
put_field(struct out *o, const char *text)
{
	for (; *text != '\0'; text++)
		put(o, *text == ';' ? "," : is_control(*text) ? " " : text, 1);
}

static void
print_common(struct out *o, const struct nw_event *e)
{
	int64_t s = e->t_wall_ns / NS_PER_S, ns = e->t_wall_ns % NS_PER_S;
	struct fmt padded;
	size_t i;

	if (ns < 0) {
		ns += NS_PER_S;
		s--;
	}
	padded = fmt_int(NS_PER_S + ns);
	put_field(o, e->name);
	put_text(o, "; ");
	put_field(o, e->host != NULL ? e->host : "-");
	put_text(o, "; ");
	put_text(o, fmt_int(s).s);
	put_text(o, "; ");
	put_text(o, padded.s + 1);
	for (i = 0; i < e->n_attrs; i++) {
		put_text(o, "; ");
		if (e->attrs[i].type == NW_ATTR_TEXT)
			put_field(o, e->attrs[i].v.text);
		else
			put_attr_value(o, &e->attrs[i]);
	}
}

static const struct {
	const char *name;
	void (*print)(struct out *o, const struct nw_event *e);
} formats[NW_EVENT_FORMATS] = {
#define X(id, name) [NW_EVENT_##id] = { #name, print_##name },
	NW_EVENT_FORMAT_LIST(X)
#undef X
};

enum nw_event_format
nw_event_format_find(const char *name)
{
	int f;

	for (f = 0; f < NW_EVENT_FORMATS; f++)
		if (strcmp(name, formats[f].name) == 0)
			return (enum nw_event_format)f;
	return NW_EVENT_FORMATS;
}

size_t
nw_event_line_print(enum nw_event_format format, const struct nw_event *e, char *out, size_t size)
{
	struct out o = { out, out + size, 0 };

	formats[format].print(&o, e);
	put(&o, "\n", 1);
	return o.len;
}
