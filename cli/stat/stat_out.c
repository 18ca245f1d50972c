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
#include "narrows/csv.h"
#include "narrows/format.h"
#include "narrows/jsontext.h"

#define NUMBER_ROOM sizeof(struct fmt)
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

/* Closes a stream into memory. NULL: no memory. */
static char *
text_take(FILE *f, char **text)
{
	bool whole = !ferror(f);

	if (fclose(f) == 0 && whole)
		return *text;
	free(*text);
	return NULL;
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

/* Writes the shortest decimal text that reads back as the same number; v is finite. */
static void
print_number(char *s, double v)
{
	snprintf(s, NUMBER_ROOM, "%s", fmt_exact(v).s);
	shorten_exponent(s);
}

static void
put_scalar(FILE *f, const json_t *v)
{
	char number[NUMBER_ROOM];

	switch (json_typeof(v)) {
	case JSON_STRING: jsontext_put(f, json_string_value(v), json_string_length(v)); return;
	case JSON_INTEGER:
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		fputs(number, f);
		return;
	case JSON_REAL:
		if (!isfinite(json_real_value(v))) { /* jansson makes none; JSON has none */
			fputs("null", f);
			return;
		}
		print_number(number, json_real_value(v));
		fputs(number, f);
		return;
	case JSON_TRUE: fputs("true", f); return;
	case JSON_FALSE: fputs("false", f); return;
	default: fputs("null", f);
	}
}

static void
new_line(FILE *f, int depth)
{
	fputs("\n", f);
	while (depth-- > 0)
		fputs("  ", f);
}

static bool
is_nested(const json_t *v)
{
	return json_is_object(v) || json_is_array(v);
}

/* depth < 0 puts everything on one line. An array of plain values stays on one line at any
 * depth. */
static void
put_value(FILE *f, const json_t *v, int depth)
{
	bool pretty = depth >= 0 &&
	    (json_is_object(v) || (json_array_size(v) > 0 && is_nested(json_array_get(v, 0))));
	int below = depth >= 0 ? depth + 1 : -1;
	const char *key, *comma = "";
	json_t *child;
	size_t i;

	if (!is_nested(v) || depth > DEPTH_MAX) {
		put_scalar(f, v);
		return;
	}
	fputs(json_is_object(v) ? "{" : "[", f);
	if (json_is_object(v)) {
		json_object_foreach((json_t *)(uintptr_t)v, key, child)
		{
			fputs(comma, f);
			if (pretty)
				new_line(f, below);
			jsontext_put(f, key, strlen(key));
			fputs(pretty ? ": " : ":", f);
			put_value(f, child, below);
			comma = ",";
		}
	} else {
		json_array_foreach(v, i, child)
		{
			fputs(comma, f);
			if (pretty)
				new_line(f, below);
			else if (depth >= 0 && i > 0)
				fputs(" ", f);
			put_value(f, child, below);
			comma = ",";
		}
	}
	if (pretty && *comma != '\0')
		new_line(f, depth);
	fputs(json_is_object(v) ? "}" : "]", f);
}

char *
stat_out_text(const json_t *doc, bool pretty)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	put_value(f, doc, pretty ? 0 : -1);
	fputs("\n", f);
	return text_take(f, &text);
}

/* --- tables --- */

/* A value without a place in a cell (an array, an object, null) leaves the cell empty. */
static void
put_cell(FILE *f, const json_t *v)
{
	if (json_is_string(v))
		csv_cell(f, json_string_value(v), 0);
	else if (v != NULL && !json_is_null(v) && !is_nested(v))
		put_scalar(f, v);
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

/* Plain values of `from` into the row `to`; those of nested objects as "prefix.key". */
static void
flatten(json_t *to, const char *prefix, const json_t *from, int depth)
{
	const char *key;
	char name[200];
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)from, key, v)
	{
		snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix != '\0' ? "." : "", key);
		if (json_is_object(v) && depth < DEPTH_MAX)
			flatten(to, name, v, depth + 1);
		else if (!is_nested(v))
			json_object_set(to, name, v);
	}
}

json_t *
stat_out_rows(const json_t *doc)
{
	json_t *rows = json_array(), *row, *v;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)doc, key, v)
	{
		if (!json_is_object(v) || json_object_size(v) == 0)
			continue;
		row = json_pack("{s:s}", "name", key);
		flatten(row, "", v, 0);
		json_array_append_new(rows, row);
	}
	if (json_array_size(rows) == 0) {
		row = json_object();
		flatten(row, "", doc, 0);
		json_array_append_new(rows, row);
	}
	return rows;
}

static void
put_row(FILE *f, const char *name, const json_t *row, json_t *columns)
{
	const char *key, *comma = "";
	json_t *unused;

	if (name != NULL) {
		csv_cell(f, name, 0);
		comma = ",";
	}
	json_object_foreach(columns, key, unused)
	{
		fputs(comma, f);
		if (row == NULL)
			csv_cell(f, key, 0);
		else
			put_cell(f, json_object_get(row, key));
		comma = ",";
	}
	fputs("\n", f);
}

char *
stat_out_csv(const json_t *rows)
{
	json_t *columns = collect_columns(rows), *row;
	const char *name;
	char *text = NULL;
	size_t len, i;
	FILE *f;

	if (columns == NULL)
		return NULL;
	if ((f = open_memstream(&text, &len)) == NULL) {
		json_decref(columns);
		return NULL;
	}
	put_row(f, json_is_object(rows) ? "name" : NULL, NULL, columns);
	if (json_is_object(rows)) {
		json_object_foreach((json_t *)(uintptr_t)rows, name, row)
		    put_row(f, name, row, columns);
	} else {
		json_array_foreach(rows, i, row) put_row(f, NULL, row, columns);
	}
	json_decref(columns);
	return text_take(f, &text);
}
