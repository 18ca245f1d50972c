/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/event_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/calendar.h"
#include "narrows/err.h"
#include "narrows/utf8.h"

#define NS_PER_S   INT64_C(1000000000)
#define TIME_END_S INT64_C(4102444800) /* the year 2100 */
enum { SYSLOG_TEXT = 256 };

struct nw_event_line {
	struct nw_attr attrs[NW_EVENT_ATTRS_MAX];
	size_t n_attrs;
	struct nw_event event;
	bool has_time;
	int64_t sec, usec; /* NL.SEC and NL.USEC of old ULM lines; -1 without */
	char *text;        /* unescaped texts, NUL terminated */
	size_t len;
	const char *why;
};

struct span {
	const char *at, *end;
};

struct nw_event_line *
nw_event_line_new(void)
{
	struct nw_event_line *l = calloc(1, sizeof(*l));

	/* each byte becomes three at most, and each text has a NUL */
	if (l == NULL || (l->text = malloc(4 * NW_EVENT_LINE_MAX_BYTES + 1024)) == NULL) {
		free(l);
		return NULL;
	}
	return l;
}

void
nw_event_line_free(struct nw_event_line *l)
{
	if (l == NULL)
		return;
	free(l->text);
	free(l);
}

static int
bad(struct nw_event_line *l, const char *why)
{
	l->why = why;
	return NW_EPROTO;
}

/* --- texts --- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct span
trimmed(struct span s)
{
	while (s.at < s.end && is_blank(*s.at))
		s.at++;
	while (s.at < s.end && is_blank(s.end[-1]))
		s.end--;
	return s;
}

static bool
span_is(struct span s, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(s.end - s.at) == len && memcmp(s.at, text, len) == 0;
}

/* Appends a character, or U+FFFD for a byte that begins none. */
static const char *
char_copy(struct nw_event_line *l, const char *at, const char *end)
{
	size_t n = (uint8_t)*at < 0x80 ? 1 : utf8_length(at, (size_t)(end - at));

	memcpy(l->text + l->len, n > 0 ? at : "\xef\xbf\xbd", n > 0 ? n : 3);
	l->len += n > 0 ? n : 3;
	return at + (n > 0 ? n : 1);
}

/* A copy of a text. With `quoted`, backslashes go before quotes and backslashes. */
static const char *
text_copy(struct nw_event_line *l, struct span s, bool quoted)
{
	const char *copy = l->text + l->len;

	while (s.at < s.end) {
		if (quoted && *s.at == '\\' && s.end - s.at > 1 &&
		    (s.at[1] == '"' || s.at[1] == '\\'))
			s.at++;
		s.at = char_copy(l, s.at, s.end);
	}
	l->text[l->len++] = '\0';
	return copy;
}

/* Text of ids must be UTF-8. */
static bool
is_utf8(struct span s)
{
	size_t n;

	for (; s.at < s.end; s.at += n)
		if ((n = (uint8_t)*s.at < 0x80 ? 1 : utf8_length(s.at, (size_t)(s.end - s.at))) ==
		    0)
			return false;
	return true;
}

/* --- numbers --- */

static bool
integer(struct span s, int64_t *v)
{
	bool minus = s.at < s.end && *s.at == '-';
	const char *p = s.at + minus;
	int64_t n = 0;

	if (p == s.end || s.end - p > 18 || (*p == '0' && (s.end - p > 1 || minus)))
		return false;
	for (; p < s.end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		n = 10 * n + (*p - '0');
	}
	*v = minus ? -n : n;
	return true;
}

static const char *
digits_skip(const char *p, const char *end, int *n)
{
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		++*n;
	return p;
}

/* A decimal number with a point or an exponent, of as many digits as a double holds. */
static bool
real(struct span s, double *v)
{
	const char *p = s.at + (s.at < s.end && *s.at == '-');
	int whole = 0, part = 0, exponent = 0;
	bool point, scaled = false;
	char copy[40], *end;

	if (s.end - s.at >= (ptrdiff_t)sizeof(copy))
		return false;
	p = digits_skip(p, s.end, &whole);
	if (whole == 0 || (whole > 1 && p[-whole] == '0'))
		return false;
	if ((point = p < s.end && *p == '.'))
		p = digits_skip(p + 1, s.end, &part);
	if (p < s.end && (*p == 'e' || *p == 'E')) {
		scaled = true;
		p += 1 + (p + 1 < s.end && (p[1] == '+' || p[1] == '-'));
		p = digits_skip(p, s.end, &exponent);
	}
	if (p != s.end || !(point || scaled) || point != (part > 0) || scaled != (exponent > 0) ||
	    whole + part > 15 || exponent > 3)
		return false;
	memcpy(copy, s.at, (size_t)(s.end - s.at));
	copy[s.end - s.at] = '\0';
	*v = strtod(copy, &end);
	return *end == '\0' && *v < 1e308 && *v > -1e308;
}

/* --- times --- */

static int
number_take(struct span *s, int n)
{
	int v = 0;

	for (; n > 0; n--, s->at++) {
		if (s->at == s->end || *s->at < '0' || *s->at > '9')
			return -1;
		v = 10 * v + (*s->at - '0');
	}
	return v;
}

static bool
char_take(struct span *s, const char *any)
{
	if (s->at == s->end || strchr(any, *s->at) == NULL)
		return false;
	s->at++;
	return true;
}

/* ".25" to 250,000,000; digits beyond the ninth are cut. */
static bool
fraction_take(struct span *s, int64_t *ns)
{
	int64_t unit = NS_PER_S;
	const char *first;

	*ns = 0;
	if (!char_take(s, ".,"))
		return true;
	for (first = s->at; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
		*ns += (*s->at - '0') * (unit /= 10);
	return s->at > first;
}

/* Z, +hh:mm, -hhmm or nothing: seconds to add. */
static bool
zone_take(struct span *s, int64_t *add_s)
{
	bool west;
	int h, m;

	*add_s = 0;
	if (s->at == s->end || char_take(s, "Zz"))
		return true;
	west = *s->at == '-';
	if (!char_take(s, "+-") || (h = number_take(s, 2)) < 0)
		return false;
	char_take(s, ":");
	m = s->at == s->end ? 0 : number_take(s, 2);
	if (m < 0 || m > 59 || h > 23)
		return false;
	*add_s = (west ? 1 : -1) * (int64_t)(3600 * h + 60 * m);
	return true;
}

static bool
date_take(struct span *s, const char *separators, struct calendar *c)
{
	int *const field[] = { &c->year, &c->month, &c->day, &c->hour, &c->minute, &c->second };
	static const char *const by[] = { "", "-", "-", "Tt ", ":", ":" };
	int i;

	for (i = 0; i < 6; i++) {
		if (i > 0 && separators != NULL && !char_take(s, by[i]))
			return false;
		if ((*field[i] = number_take(s, i == 0 ? 4 : 2)) < 0)
			return false;
	}
	return true;
}

/* 20061208T183918 */
static bool
compact_take(struct span *s, struct calendar *c)
{
	struct span t = *s;
	int n = 0;

	if (s->end - s->at < 15 || digits_skip(s->at, s->end, &n) != s->at + 8 ||
	    (s->at[8] != 'T' && s->at[8] != 't'))
		return false;
	c->year = number_take(&t, 4);
	c->month = number_take(&t, 2);
	c->day = number_take(&t, 2);
	t.at++;
	c->hour = number_take(&t, 2);
	c->minute = number_take(&t, 2);
	c->second = number_take(&t, 2);
	if (c->hour < 0 || c->minute < 0 || c->second < 0)
		return false;
	*s = t;
	return true;
}

static int
time_set(struct nw_event_line *l, int64_t s, int64_t ns)
{
	if (s < 0 || s >= TIME_END_S)
		return bad(l, "a time before 1970 or after 2099");
	l->event.t_wall_ns = s * NS_PER_S + ns;
	l->has_time = true;
	return NW_OK;
}

/* ISO 8601, or seconds since 1970 with a fraction. */
static int
time_bp(struct nw_event_line *l, struct span s)
{
	struct calendar c = { .ns = 0 };
	struct span seconds = s;
	int64_t t = 0, ns, add;
	int n = 0;

	seconds.at = digits_skip(s.at, s.end, &n);
	if (n > 4 && n < 12 && fraction_take(&seconds, &ns) && seconds.at == s.end) {
		for (; s.at < s.end && *s.at >= '0' && *s.at <= '9'; s.at++)
			t = 10 * t + (*s.at - '0');
		return time_set(l, t, ns);
	}
	if (!(compact_take(&s, &c) || date_take(&s, "", &c)) || !fraction_take(&s, &ns) ||
	    !zone_take(&s, &add) || s.at != s.end || !calendar_seconds(&c, &t))
		return bad(l, "ts is not a time");
	return time_set(l, t + add, ns);
}

/* 20260504100431.204417. Old servers wrote microseconds without leading zeros: of fewer than six
 * digits the zeros are missing on the left. */
static int
time_ulm(struct nw_event_line *l, struct span s)
{
	struct calendar c = { .ns = 0 };
	int64_t t, ns = 0;
	int n = 0, v;

	if (!date_take(&s, NULL, &c) || !calendar_seconds(&c, &t))
		return bad(l, "DATE is not a time");
	if (s.at < s.end && *s.at == '.' && s.end - s.at > 1 && s.end - s.at < 7 &&
	    digits_skip(s.at + 1, s.end, &n) == s.end) {
		s.at++;
		v = number_take(&s, n);
		return time_set(l, t, (int64_t)v * 1000);
	}
	if (!fraction_take(&s, &ns) || (s.at != s.end && !span_is(s, "Z")))
		return bad(l, "DATE is not a time");
	return time_set(l, t, ns);
}

/* --- attributes --- */

static int
attr_put(struct nw_event_line *l, struct span key, struct span value, bool quoted, bool is_id)
{
	struct nw_attr *a = &l->attrs[l->n_attrs];

	if (l->n_attrs == NW_EVENT_ATTRS_MAX)
		return bad(l, "more than 64 values");
	if (!is_utf8(key))
		return bad(l, "a name that is not UTF-8");
	a->key = text_copy(l, key, false);
	a->is_id = is_id || nw_event_key_is_id(a->key);
	if (!quoted && integer(value, &a->v.i)) {
		a->type = NW_ATTR_INT;
	} else if (!quoted && !a->is_id && real(value, &a->v.d)) {
		a->type = NW_ATTR_REAL;
	} else {
		a->type = NW_ATTR_TEXT;
		a->v.text = text_copy(l, value, quoted);
	}
	l->n_attrs++;
	return NW_OK;
}

/* A text of the line's head (host, program, name); the first counts. */
static int
head_put(struct nw_event_line *l, const char **where, struct span value, bool quoted)
{
	if (!is_utf8(value))
		return bad(l, "a host, program or event that is not UTF-8");
	if (*where == NULL && value.at < value.end)
		*where = text_copy(l, value, quoted);
	return NW_OK;
}

/* --- BP and ULM: NAME=value, NAME="value" --- */

static int
pair_put(struct nw_event_line *l, struct span name, struct span value, bool quoted)
{
	const struct {
		const char *name;
		const char **where;
	} heads[] = { { "event", &l->event.name }, { "NL.EVNT", &l->event.name },
		{ "host", &l->event.host }, { "HOST", &l->event.host },
		{ "prog", &l->event.program }, { "PROG", &l->event.program },
		{ "level", &l->event.level }, { "LVL", &l->event.level } };
	size_t i;

	if (span_is(name, "ts"))
		return l->has_time ? NW_OK : time_bp(l, value);
	if (span_is(name, "DATE"))
		return l->has_time ? NW_OK : time_ulm(l, value);
	if (span_is(name, "NL.SEC") && integer(value, &l->sec))
		return NW_OK;
	if (span_is(name, "NL.USEC") && integer(value, &l->usec))
		return NW_OK;
	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (span_is(name, heads[i].name))
			return head_put(l, heads[i].where, value, quoted);
	return attr_put(l, name, value, quoted, false);
}

static bool
is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == ':';
}

/* The blank before the next "BUFFER=", where the file name of a transfer line ends. */
static const char *
file_end(struct span s)
{
	const char *p = memmem(s.at, (size_t)(s.end - s.at), " BUFFER=", 8);

	if (p != NULL)
		return p;
	for (p = s.at; p < s.end && !is_blank(*p); p++)
		continue;
	return p;
}

/* Takes a value; false if its quote has no end. */
static bool
value_take(struct span *s, struct span name, struct span *value, bool *quoted)
{
	const char *p = s->at;

	*quoted = p < s->end && *p == '"';
	if (*quoted) {
		value->at = ++p;
		for (; p < s->end && *p != '"'; p++)
			p += *p == '\\' && p + 1 < s->end;
		if (p >= s->end)
			return false;
		value->end = p;
		s->at = p + 1;
		return true;
	}
	value->at = p;
	if (span_is(name, "FILE"))
		p = file_end(*s);
	else
		while (p < s->end && !is_blank(*p))
			p++;
	value->end = s->at = p;
	return true;
}

static int
pairs_take(struct nw_event_line *l, struct span s)
{
	struct span name, value;
	bool quoted;
	int rc = NW_OK;

	while (rc == NW_OK && s.at < s.end) {
		while (s.at < s.end && is_blank(*s.at))
			s.at++;
		for (name.at = s.at; s.at < s.end && is_name(*s.at); s.at++)
			continue;
		name.end = s.at;
		if (s.at == s.end || *s.at != '=' || name.at == name.end) { /* other text */
			while (s.at < s.end && !is_blank(*s.at))
				s.at++;
			continue;
		}
		s.at++;
		if (!value_take(&s, name, &value, &quoted))
			return bad(l, "a quote without end");
		rc = pair_put(l, name, value, quoted);
	}
	if (rc != NW_OK)
		return rc;
	if (!l->has_time && l->sec >= 0 && l->usec >= 0 && l->usec < 1000000)
		rc = time_set(l, l->sec, l->usec * 1000);
	if (rc == NW_OK && !l->has_time)
		return bad(l, "no time: neither ts nor DATE");
	return rc == NW_OK && l->event.name == NULL ? bad(l, "no event: neither event nor NL.EVNT")
						    : rc;
}

/* --- the common format --- */

/* The names of the data in lines of the storage system. */
static const struct {
	const char *begins;
	const char *names[7];
} known[] = {
	{ "DPSS_MASTER_LIST_", { "session", "set", "list" } },
	/* the bytes of a block in the stream of a socket */
	{ "DPSS_STREAM", { "block", "set", "session", "list", "cookie", "first", "behind" } },
	{ "DPSS_", { "block", "set", "session", "list", "server" } },
	{ "APP_", { "block", "set", "session", "list", "server" } },
	{ "SWITCH_", { "server" } }, /* drops in front of a server's client */
};

static struct span
field_take(struct span *s)
{
	struct span field = *s;
	const char *semicolon = memchr(s->at, ';', (size_t)(s->end - s->at));

	field.end = semicolon != NULL ? semicolon : s->end;
	s->at = semicolon != NULL ? semicolon + 1 : s->end;
	return trimmed(field);
}

static int
data_put(struct nw_event_line *l, size_t i, struct span value)
{
	const char *name = NULL;
	char number[16];
	size_t k, n;

	for (k = 0; k < sizeof(known) / sizeof(known[0]) && name == NULL; k++)
		if (strncmp(l->event.name, known[k].begins, strlen(known[k].begins)) == 0) {
			name = i < sizeof(known[k].names) / sizeof(known[k].names[0])
			    ? known[k].names[i]
			    : NULL;
			break;
		}
	if (name != NULL)
		return attr_put(l, (struct span){ name, name + strlen(name) }, value, false, true);
	for (n = 0, k = i + 1; k > 0; k /= 10)
		number[sizeof(number) - ++n] = (char)('0' + k % 10);
	number[sizeof(number) - ++n] = 'd';
	return attr_put(l, (struct span){ number + sizeof(number) - n, number + sizeof(number) },
	    value, false, false);
}

static int
common_take(struct nw_event_line *l, struct span s)
{
	struct span keyword = field_take(&s), host = field_take(&s), program = keyword;
	int64_t sec, ns;
	size_t i;
	int rc;

	if (keyword.at == keyword.end)
		return bad(l, "no keyword");
	if (!integer(field_take(&s), &sec))
		return bad(l, "the seconds are no number");
	for (; s.at < s.end && is_blank(*s.at); s.at++)
		continue;
	for (; s.end - s.at > 1 && *s.at == '0' && isdigit((unsigned char)s.at[1]); s.at++)
		continue;
	if (!integer(field_take(&s), &ns) || ns < 0 || ns >= NS_PER_S)
		return bad(l, "the nanoseconds are not below 10^9");
	for (program.end = program.at; program.end < keyword.end && *program.end != '_';)
		program.end++;
	if ((rc = head_put(l, &l->event.name, keyword, false)) != NW_OK ||
	    (rc = head_put(l, &l->event.host, host, false)) != NW_OK ||
	    (rc = head_put(l, &l->event.program, program, false)) != NW_OK ||
	    (rc = time_set(l, sec, ns)) != NW_OK)
		return rc;
	s = trimmed(s);
	if (s.at < s.end && s.end[-1] == ';')
		s.end--; /* the last separator ends the line */
	for (i = 0; s.at < s.end && rc == NW_OK; i++)
		rc = data_put(l, i, field_take(&s));
	return rc;
}

/* Are the third and fourth fields numbers, and is no pair before? */
static bool
is_common(struct span s)
{
	const char *equals = memchr(s.at, '=', (size_t)(s.end - s.at)),
		   *semicolon = memchr(s.at, ';', (size_t)(s.end - s.at));

	return semicolon != NULL && (equals == NULL || semicolon < equals);
}

/* --- syslog --- */

static struct span
word_take(struct span *s)
{
	struct span word;

	while (s->at < s->end && is_blank(*s->at))
		s->at++;
	for (word.at = s->at; s->at < s->end && !is_blank(*s->at); s->at++)
		continue;
	word.end = s->at;
	return word;
}

/* Skips the structured data of RFC 5424. */
static void
structured_skip(struct span *s)
{
	bool quoted = false;

	while (s->at < s->end && is_blank(*s->at))
		s->at++;
	if (char_take(s, "-"))
		return;
	while (s->at < s->end && *s->at == '[') {
		for (; s->at < s->end && (quoted || *s->at != ']'); s->at++) {
			if (*s->at == '\\' && s->end - s->at > 1)
				s->at++;
			else if (*s->at == '"')
				quoted = !quoted;
		}
		s->at += s->at < s->end;
	}
}

/* Where a time stamp of RFC 3164 ends ("Oct 11 22:14:15 "); NULL: there is none. */
static const char *
stamp_end(struct span s)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec",
			  form[] = "aaa nn nn:nn:nn ";
	const char *m;
	size_t i;

	if ((size_t)(s.end - s.at) < sizeof(form) - 1 ||
	    (m = memmem(months, sizeof(months) - 1, s.at, 3)) == NULL || (m - months) % 3 != 0)
		return NULL;
	for (i = 3; i < sizeof(form) - 1; i++)
		if (form[i] == 'n' ? !isdigit((unsigned char)s.at[i]) && (i != 4 || s.at[i] != ' ')
				   : s.at[i] != form[i])
			return NULL;
	return s.at + sizeof(form) - 1;
}

/* What a header of syslog says; used where the event does not say it. */
struct header {
	struct span host, program, msgid, time;
	bool full; /* of RFC 5424, with a time */
};

/* Takes a header, if there is one. */
static void
header_take(struct span *s, struct header *h)
{
	struct span rest = *s, tag;
	const char *stamp;

	if (char_take(&rest, "<")) {
		while (rest.at < rest.end && *rest.at >= '0' && *rest.at <= '9')
			rest.at++;
		if (!char_take(&rest, ">"))
			return;
	}
	if (rest.at > s->at && rest.end - rest.at > 2 && rest.at[0] == '1' && rest.at[1] == ' ') {
		rest.at += 2;
		h->time = word_take(&rest);
		h->host = word_take(&rest);
		h->program = word_take(&rest);
		word_take(&rest); /* the process */
		h->msgid = word_take(&rest);
		structured_skip(&rest);
		h->full = true;
		*s = rest;
		return;
	}
	if ((stamp = stamp_end(rest)) == NULL) {
		*s = rest;
		return;
	}
	rest.at = stamp;
	h->host = word_take(&rest);
	tag = word_take(&rest);
	if (tag.at < tag.end && tag.end[-1] == ':')
		tag.end--;
	for (h->program.at = h->program.end = tag.at;
	     h->program.end < tag.end && *h->program.end != '[';)
		h->program.end++;
	*s = rest;
}

/* Any text behind a full header is an event of its own. */
static int
message_take(struct nw_event_line *l, struct span s, const struct header *h)
{
	static const char msg[] = "msg";
	int rc;

	if ((rc = time_bp(l, h->time)) != NW_OK ||
	    (rc = head_put(l, &l->event.name, span_is(h->msgid, "-") ? h->program : h->msgid,
		 false)) != NW_OK)
		return rc;
	if (l->event.name == NULL)
		return bad(l, "a message without a name");
	return attr_put(l, (struct span){ msg, msg + 3 }, trimmed(s), true, false);
}

static int
header_use(struct nw_event_line *l, const struct header *h)
{
	int rc = NW_OK;

	if (h->host.at < h->host.end && !span_is(h->host, "-"))
		rc = head_put(l, &l->event.host, h->host, false);
	if (rc == NW_OK && h->program.at < h->program.end && !span_is(h->program, "-"))
		rc = head_put(l, &l->event.program, h->program, false);
	return rc;
}

static bool
has_pair(struct span s, const char *name)
{
	size_t len = strlen(name);
	const char *p = s.at;

	while ((p = memmem(p, (size_t)(s.end - p), name, len)) != NULL) {
		if (p == s.at || is_blank(p[-1]))
			return true;
		p++;
	}
	return false;
}

static int
line_take(struct nw_event_line *l, struct span s)
{
	struct header h = { { NULL, NULL }, { NULL, NULL }, { NULL, NULL }, { NULL, NULL }, false };
	int rc;

	header_take(&s, &h);
	s = trimmed(s);
	if (h.full && s.end - s.at >= 3 && memcmp(s.at, "\xef\xbb\xbf", 3) == 0)
		s.at += 3;
	if (has_pair(s, "event=") || has_pair(s, "NL.EVNT=") || has_pair(s, "ts=") ||
	    has_pair(s, "DATE="))
		rc = pairs_take(l, s);
	else if (is_common(s))
		rc = common_take(l, s);
	else if (h.full)
		rc = message_take(l, s, &h);
	else
		return bad(l, "neither BP nor ULM nor the common format");
	return rc == NW_OK ? header_use(l, &h) : rc;
}

int
nw_event_line_read(
    struct nw_event_line *l, const char *line, size_t len, struct nw_event *out, const char **why)
{
	struct span s = { line, line + len };
	int rc;

	l->event = (struct nw_event){ 0 };
	l->n_attrs = l->len = 0;
	l->has_time = false;
	l->sec = l->usec = -1;
	l->why = NULL;
	if (len > 0 && line[len - 1] == '\r')
		s.end--;
	s = trimmed(s);
	if (s.at == s.end || *s.at == '#')
		return NW_ENOTFOUND;
	if (len > NW_EVENT_LINE_MAX_BYTES)
		rc = bad(l, "a line of more than 49,000 bytes");
	else if (memchr(s.at, 0, (size_t)(s.end - s.at)) != NULL)
		rc = bad(l, "a NUL byte in the line");
	else
		rc = line_take(l, s);
	if (rc != NW_OK) {
		*why = l->why;
		return rc;
	}
	l->event.attrs = l->attrs;
	l->event.n_attrs = l->n_attrs;
	*out = l->event;
	return NW_OK;
}
