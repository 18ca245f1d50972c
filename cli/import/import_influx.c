/* SPDX-License-Identifier: BSD-3-Clause */
/* InfluxDB line protocol, times in nanoseconds. The measurement is the event type; the tags are
 * the subject, except host, session and series_id, which identify host and series. Numbers and
 * booleans are values; texts are not. */
#include <stdlib.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

/* Characters that a backslash escapes; before any other character a backslash is itself. */
static bool
is_escape(const char *p, const char *end)
{
	return *p == '\\' && p + 1 < end && strchr(",= ", p[1]) != NULL;
}

/* Scans to a separator without backslash. */
static struct slice
token(const char **p, const char *end, const char *separators)
{
	const char *start = *p;

	while (*p < end && strchr(separators, **p) == NULL)
		*p += is_escape(*p, end) ? 2 : 1;
	return (struct slice){ start, (size_t)(*p - start) };
}

/* Unescapes a name into buf, if the name has escapes. */
static struct slice
unescape(struct slice text, char **buf, size_t *cap)
{
	size_t i, n = 0;

	if (memchr(text.s, '\\', text.len) == NULL)
		return text;
	if (text.len > *cap)
		*buf = xreallocarray(*buf, *cap = 2 * text.len, 1);
	for (i = 0; i < text.len; i++) {
		i += is_escape(text.s + i, text.s + text.len);
		(*buf)[n++] = text.s[i];
	}
	return (struct slice){ *buf, n };
}

struct line {
	struct import *im;
	const char *start, *p, *end;
	char *a, *b; /* unescaped names */
	size_t a_cap, b_cap;
};

/* Finds the series by its key, "measurement,tag=value,..." as written. */
static int
line_series(struct line *l, struct import_series **out)
{
	struct slice whole, name, value, event, host = { "", 0 };
	const char *p = l->p, *tags;
	int rc = NW_OK;

	event = token(&p, l->end, ", ");
	tags = p;
	token(&p, l->end, " ");
	whole = (struct slice){ l->p, (size_t)(p - l->p) };
	l->p = p;
	if ((*out = import_series_find(l->im, whole.s, whole.len)) != NULL)
		return NW_OK;
	for (p = tags; p < l->p;) { /* host first: a series needs its host from the beginning */
		p++;
		name = token(&p, l->p, "=,");
		if (p == l->p || *p != '=')
			return import_fail(l->im, name.s, "a tag without a value");
		p++;
		value = token(&p, l->p, ",");
		if (slice_is(name, "host"))
			host = value;
	}
	*out = import_series_add(l->im, l->start, whole, unescape(host, &l->a, &l->a_cap),
	    unescape(event, &l->b, &l->b_cap));
	if (*out == NULL)
		return NW_EPROTO;
	for (p = tags; p < l->p && rc == NW_OK;) {
		p++;
		name = token(&p, l->p, "=,");
		p++;
		value = token(&p, l->p, ",");
		if (!slice_is(name, "host") && !slice_is(name, "session") &&
		    !slice_is(name, "series_id"))
			rc = import_set(l->im, name.s, (*out)->subject,
			    unescape(name, &l->a, &l->a_cap), unescape(value, &l->b, &l->b_cap));
	}
	return rc;
}

/* Skips a quoted text, in which \" does not end the text. */
static bool
skip_text(struct line *l)
{
	for (l->p++; l->p < l->end && *l->p != '"'; l->p++)
		if (*l->p == '\\' && l->p + 1 < l->end)
			l->p++;
	return l->p++ < l->end;
}

/* 1: a value; 0: a text. */
static int
line_value(struct line *l, double *v)
{
	static const char *const trues[] = { "t", "T", "true", "True", "TRUE" };
	static const char *const falses[] = { "f", "F", "false", "False", "FALSE" };
	struct slice text;
	int64_t i;
	size_t k;

	if (l->p < l->end && *l->p == '"')
		return skip_text(l) ? 0 : import_fail(l->im, l->start, "a text has no end");
	text = token(&l->p, l->end, ", ");
	for (k = 0; k < sizeof(trues) / sizeof(trues[0]); k++)
		if (slice_is(text, trues[k]) || slice_is(text, falses[k])) {
			*v = slice_is(text, trues[k]);
			return 1;
		}
	if (text.len > 1 && (text.s[text.len - 1] == 'i' || text.s[text.len - 1] == 'u')) {
		text.len--;
		if (import_integer(text, &i)) {
			*v = (double)i;
			return 1;
		}
	}
	return import_number(text, v) ? 1 : import_fail(l->im, text.s, "not a value");
}

/* Reads the fields twice: the time of all the fields stands behind them. */
static int
line_fields(struct line *l, struct import_series *s, const int64_t *t)
{
	struct slice name;
	double v;
	int rc;

	do {
		l->p++;
		name = token(&l->p, l->end, "=, ");
		if (name.len == 0 || l->p == l->end || *l->p != '=')
			return import_fail(l->im, name.s, "a field without a value");
		l->p++;
		if ((rc = line_value(l, &v)) < 0)
			return rc;
		if (rc == 1 && t != NULL &&
		    (rc = import_value(l->im, s, name.s, *t, unescape(name, &l->a, &l->a_cap), v)) <
			0)
			return rc;
	} while (l->p < l->end && *l->p == ',');
	return NW_OK;
}

static int
line_take(struct line *l)
{
	struct import_series *s;
	const char *fields;
	struct slice text;
	int64_t t;
	int rc;

	if ((rc = line_series(l, &s)) < 0)
		return rc;
	fields = l->p;
	if (fields == l->end)
		return import_fail(l->im, fields, "no fields");
	if ((rc = line_fields(l, s, NULL)) < 0)
		return rc;
	while (l->p < l->end && *l->p == ' ')
		l->p++;
	text = (struct slice){ l->p, (size_t)(l->end - l->p) };
	while (text.len > 0 && text.s[text.len - 1] == ' ')
		text.len--;
	if (!import_integer(text, &t))
		return import_fail(
		    l->im, l->p, text.len == 0 ? "no time" : "not a time in nanoseconds");
	l->p = fields;
	return line_fields(l, s, &t);
}

int
import_influx(struct import *im)
{
	struct line l = { .im = im };
	const char *at = im->bytes;
	struct slice text;
	int rc = NW_OK;

	while (rc == NW_OK && import_line(&at, im->end, &text)) {
		if (text.len == 0 || text.s[0] == '#')
			continue;
		l.start = l.p = text.s;
		l.end = text.s + text.len;
		rc = line_take(&l);
	}
	free(l.a);
	free(l.b);
	return rc;
}
