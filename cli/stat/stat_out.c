/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results as text. jansson prints 17 digits of every number; 0.1 then reads 0.10000000000000001.
 * Here a number has the fewest digits that read back to the same double.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat.h"

#define NUMBER_ROOM 40
#define DEPTH_MAX   64

json_t *
stat_json(double v)
{
	if (isnan(v))
		return json_null();
	return isinf(v) ? json_string(v > 0 ? "Inf" : "-Inf") : json_real(v);
}

json_t *
stat_json_array(const double *v, size_t n)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(a, stat_json(v[i]));
	return a;
}

json_t *
stat_json_strings(const char *const *s, size_t n)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(a, json_string(s[i]));
	return a;
}

struct text {
	char *s;
	size_t n, room;
	bool failed; /* once out of memory, nothing more is added */
};

static void
put_bytes(struct text *t, const char *s, size_t n)
{
	size_t room = t->room == 0 ? 256 : t->room;
	char *grown;

	while (!t->failed && room < t->n + n + 1) {
		if (room > SIZE_MAX / 2)
			t->failed = true;
		room *= 2;
	}
	if (!t->failed && room != t->room) {
		if ((grown = realloc(t->s, room)) == NULL)
			t->failed = true;
		else {
			t->s = grown;
			t->room = room;
		}
	}
	if (t->failed)
		return;
	memcpy(t->s + t->n, s, n);
	t->n += n;
	t->s[t->n] = '\0';
}

static void
put(struct text *t, const char *s)
{
	put_bytes(t, s, strlen(s));
}

static char *
text_take(struct text *t)
{
	if (t->failed) {
		free(t->s);
		return NULL;
	}
	return t->s;
}

/* "1e+22" and "1e-07" as "1e22" and "1e-7". */
static void
shorten_exponent(char *s)
{
	char *e = strchr(s, 'e'), *to, *from;

	if (e == NULL)
		return;
	from = to = e + 1;
	if (*from == '-')
		to++;
	from++;
	while (*from == '0' && from[1] != '\0')
		from++;
	memmove(to, from, strlen(from) + 1);
}

/* Finite values only. 15 digits without trailing zeros are the shortest form wherever they read
 * back; subnormal numbers carry fewer digits and start at one digit. */
static void
print_number(char *s, double v)
{
	int digits;

	for (digits = fabs(v) < 2.3e-308 ? 1 : 15; digits < 17; digits++) {
		snprintf(s, NUMBER_ROOM, "%.*g", digits, v);
		if (strtod(s, NULL) == v)
			break;
	}
	if (digits == 17)
		snprintf(s, NUMBER_ROOM, "%.17g", v);
	shorten_exponent(s);
}

static void
put_string(struct text *t, const char *s, size_t n)
{
	char escape[8];
	size_t i, start = 0;

	put(t, "\"");
	for (i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
			continue;
		put_bytes(t, s + start, i - start);
		if (c == '"' || c == '\\')
			snprintf(escape, sizeof(escape), "\\%c", c);
		else
			snprintf(escape, sizeof(escape), "\\u%04x", c);
		put(t, escape);
		start = i + 1;
	}
	put_bytes(t, s + start, n - start);
	put(t, "\"");
}

static void
put_scalar(struct text *t, const json_t *v)
{
	char number[NUMBER_ROOM];

	switch (json_typeof(v)) {
	case JSON_STRING: put_string(t, json_string_value(v), json_string_length(v)); return;
	case JSON_INTEGER:
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		put(t, number);
		return;
	case JSON_REAL:
		if (!isfinite(json_real_value(v))) { /* jansson makes none; JSON has none */
			put(t, "null");
			return;
		}
		print_number(number, json_real_value(v));
		put(t, number);
		return;
	case JSON_TRUE: put(t, "true"); return;
	case JSON_FALSE: put(t, "false"); return;
	default: put(t, "null");
	}
}

static void
new_line(struct text *t, int depth)
{
	put(t, "\n");
	while (depth-- > 0)
		put(t, "  ");
}

static bool
is_nested(const json_t *v)
{
	return json_is_object(v) || json_is_array(v);
}

/* depth < 0 puts everything on one line. An array of plain values stays on one line at any
 * depth. */
static void
put_value(struct text *t, const json_t *v, int depth)
{
	bool pretty = depth >= 0 &&
	    (json_is_object(v) || (json_array_size(v) > 0 && is_nested(json_array_get(v, 0))));
	int below = depth >= 0 ? depth + 1 : -1;
	const char *key, *comma = "";
	json_t *child;
	size_t i;

	if (!is_nested(v) || depth > DEPTH_MAX) {
		put_scalar(t, v);
		return;
	}
	put(t, json_is_object(v) ? "{" : "[");
	if (json_is_object(v)) {
		json_object_foreach((json_t *)(uintptr_t)v, key, child)
		{
			put(t, comma);
			if (pretty)
				new_line(t, below);
			put_string(t, key, strlen(key));
			put(t, pretty ? ": " : ":");
			put_value(t, child, below);
			comma = ",";
		}
	} else {
		json_array_foreach(v, i, child)
		{
			put(t, comma);
			if (pretty)
				new_line(t, below);
			else if (depth >= 0 && i > 0)
				put(t, " ");
			put_value(t, child, below);
			comma = ",";
		}
	}
	if (pretty && *comma != '\0')
		new_line(t, depth);
	put(t, json_is_object(v) ? "}" : "]");
}

char *
stat_out_text(const json_t *doc, bool pretty)
{
	struct text t = { 0 };

	put_value(&t, doc, pretty ? 0 : -1);
	put(&t, "\n");
	return text_take(&t);
}

/* --- tables --- */

static void
put_csv_text(struct text *t, const char *s)
{
	const char *quote;

	if (s[strcspn(s, ",\"\r\n")] == '\0') {
		put(t, s);
		return;
	}
	put(t, "\"");
	for (; (quote = strchr(s, '"')) != NULL; s = quote + 1) {
		put_bytes(t, s, (size_t)(quote - s));
		put(t, "\"\"");
	}
	put(t, s);
	put(t, "\"");
}

/* A value without a place in a cell (an array, an object, null) leaves the cell empty. */
static void
put_cell(struct text *t, const json_t *v)
{
	if (json_is_string(v))
		put_csv_text(t, json_string_value(v));
	else if (v != NULL && !json_is_null(v) && !is_nested(v))
		put_scalar(t, v);
}

/* Keys of all rows, in the order of first appearance, as keys of a set. */
static json_t *
collect_columns(const json_t *rows)
{
	json_t *set = json_object(), *row, *cell;
	const char *key, *name;
	size_t i;

	if (json_is_object(rows)) {
		json_object_foreach((json_t *)(uintptr_t)rows, name, row) json_object_foreach(row,
		    key, cell) if (!is_nested(cell)) json_object_set_new(set, key, json_true());
	} else {
		json_array_foreach(rows, i, row) json_object_foreach(row, key,
		    cell) if (!is_nested(cell)) json_object_set_new(set, key, json_true());
	}
	return set;
}

static void
put_row(struct text *t, const char *name, const json_t *row, json_t *columns)
{
	const char *key, *comma = "";
	json_t *unused;

	if (name != NULL) {
		put_csv_text(t, name);
		comma = ",";
	}
	json_object_foreach(columns, key, unused)
	{
		put(t, comma);
		if (row == NULL)
			put_csv_text(t, key);
		else
			put_cell(t, json_object_get(row, key));
		comma = ",";
	}
	put(t, "\n");
}

char *
stat_out_csv(const json_t *rows)
{
	struct text t = { 0 };
	json_t *columns = collect_columns(rows), *row;
	const char *name;
	size_t i;

	if (columns == NULL)
		return NULL;
	put_row(&t, json_is_object(rows) ? "name" : NULL, NULL, columns);
	if (json_is_object(rows)) {
		json_object_foreach((json_t *)(uintptr_t)rows, name, row)
		    put_row(&t, name, row, columns);
	} else {
		json_array_foreach(rows, i, row) put_row(&t, NULL, row, columns);
	}
	json_decref(columns);
	return text_take(&t);
}
