/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/csv.h"
#include "narrows/terminal.h"

#include <string.h>

/* --- reading --- */

struct csv_cursor
csv_begin(const char *bytes, size_t n)
{
	struct csv_cursor c = { .at = bytes, .end = bytes + n, .line = 1, .separator = ',' };

	if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		c.at += 3;
	c.line_start = c.at;
	return c;
}

size_t
csv_column(const struct csv_cursor *c)
{
	return (size_t)(c->at - c->line_start) + 1;
}

static bool
fail_at(struct csv_cursor *c, const char *at, const char *why)
{
	c->at = at;
	c->why = why;
	return false;
}

/* The end of a field: a separator, a line end or the end of the file. */
static bool
field_end(struct csv_cursor *c, struct csv_field *f)
{
	const char *p = c->at;

	f->last = true;
	if (p == c->end)
		return true;
	if (*p == c->separator) {
		f->last = false;
		c->at = p + 1;
		return true;
	}
	if (*p == '\r' && p + 1 < c->end && p[1] == '\n')
		p++;
	else if (*p == '\r' && p + 1 == c->end && c->lenient) {
		c->at = c->end;
		return true;
	}
	if (*p != '\n')
		return fail_at(c, p,
		    *p == '\r' ? "carriage return without line feed"
			       : "text after a closing quote");
	c->at = c->line_start = p + 1;
	c->line++;
	return true;
}

static bool
quoted_field(struct csv_cursor *c, struct csv_field *f)
{
	const char *p = c->at + 1;

	f->s = p;
	for (;; p++) {
		if (p == c->end) {
			c->line = f->line;
			c->line_start = f->start - (f->byte - 1);
			return fail_at(c, f->start, "quote that is never closed");
		}
		if (*p == '"' && p + 1 < c->end && p[1] == '"') {
			f->doubled = true;
			p++;
		} else if (*p == '"') {
			break;
		} else if (*p == '\n') {
			c->line++;
			c->line_start = p + 1;
		} else if (*p == '\0' && !c->lenient) {
			return fail_at(c, p, "NUL byte");
		}
	}
	f->len = (size_t)(p - f->s);
	c->at = p + 1;
	return field_end(c, f);
}

/* Where an unquoted field stops: at a separator or a line end. */
static const char *
unquoted_end(const struct csv_cursor *c, const char *p)
{
	for (; p < c->end && *p != c->separator && *p != '\n'; p++)
		if (*p == '\r' && (!c->lenient || p + 1 == c->end || p[1] == '\n'))
			break;
	return p;
}

bool
csv_next(struct csv_cursor *c, struct csv_field *f)
{
	const char *p = c->at, *end;

	f->start = f->s = p;
	f->line = c->line;
	f->byte = csv_column(c);
	f->doubled = false;
	if (p < c->end && *p == '"')
		return quoted_field(c, f);
	end = unquoted_end(c, p);
	for (; p < end && !c->lenient; p++)
		if (*p == '"' || *p == '\0')
			return fail_at(
			    c, p, *p == '"' ? "quote inside an unquoted field" : "NUL byte");
	f->len = (size_t)(end - f->s);
	c->at = end;
	return field_end(c, f);
}

size_t
csv_copy(const struct csv_field *f, char *out)
{
	size_t i, n = 0;

	for (i = 0; i < f->len; i++) {
		if (f->doubled && f->s[i] == '"')
			i++;
		out[n++] = f->s[i];
	}
	out[n] = '\0';
	return n;
}

/* --- writing --- */

void
csv_cell(FILE *f, const char *text, unsigned how)
{
	bool formula =
	    (how & CSV_SAFE) != 0 && text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL;

	if ((how & CSV_QUOTED) == 0 && text[strcspn(text, ",\"\r\n")] == '\0') {
		fputs(formula ? "'" : "", f);
		terminal_put(f, text);
		return;
	}
	fputs(formula ? "\"'" : "\"", f);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			putc('"', f);
		terminal_put(f, (const char[]){ *text, '\0' });
	}
	putc('"', f);
}
