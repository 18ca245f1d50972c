/* SPDX-License-Identifier: BSD-3-Clause */
/* Results for people: lines of words and values, and aligned tables. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat.h"

enum { CELL = 64, ROWS_MAX = 60, VALUES_MAX = 8, DEPTH_MAX = 4 };

/* Words for keys that are terms of art or short for something. */
static const struct {
	const char *key, *words;
} words[] = {
	{ "n", "values" },
	{ "values", "values in all" },
	{ "sd", "standard deviation" },
	{ "sd_population", "standard deviation (of these values)" },
	{ "lag1_autocorrelation", "autocorrelation" },
	{ "rho_robust", "autocorrelation" },
	{ "r2", "R2" },
	{ "adj_r2", "adjusted R2" },
	{ "predicted_r2", "R2 of rows left out one by one" },
	{ "blocked_cv_r2", "R2 of blocks left out" },
	{ "out_of_sample_r2", "R2 of rows left out" },
	{ "full_r2", "R2 with all metrics" },
	{ "sse", "sum of squared errors" },
	{ "df", "degrees of freedom" },
	{ "se", "standard error" },
	{ "std_error", "standard error" },
	{ "rel_err_pct", "relative error (%)" },
	{ "abs_err", "absolute error (s)" },
	{ "outliers_exp_pct", "outliers by limit (%)" },
	{ "outliers_model_pct", "outliers by model (%)" },
	{ "I", "I (s)" },
	{ "c", "c (s/byte)" },
	{ "size", "size (bytes)" },
	{ "p90", "90 % are below" },
	{ "p99", "99 % are below" },
	{ "r_response", "r with the response" },
	{ "r_critical", "r to exceed" },
};

struct cell {
	char s[CELL];
};

static struct cell
label_of(const char *key)
{
	struct cell c;
	char *p;
	size_t n;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].key, key) == 0) {
			snprintf(c.s, sizeof(c.s), "%s", words[i].words);
			return c;
		}
	snprintf(c.s, sizeof(c.s), "%s", key);
	n = strlen(c.s);
	if (n > 4 && strcmp(c.s + n - 4, "_pct") == 0)
		memcpy(c.s + n - 4, " (%)", 4);
	for (p = c.s; *p != '\0'; p++)
		*p = *p == '_' ? ' ' : *p;
	return c;
}

/* --- values --- */

static bool
is_plain(const json_t *v)
{
	return !json_is_object(v) && !json_is_array(v);
}

/* Six digits are what a person reads. Control bytes of names become question marks. */
static struct cell
value_of(const json_t *v)
{
	struct cell c = { "-" };

	if (json_is_string(v))
		snprintf(c.s, sizeof(c.s), "%s", json_string_value(v));
	else if (json_is_integer(v))
		snprintf(c.s, sizeof(c.s), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_real(v) && fabs(json_real_value(v)) < 1e15 &&
	    json_real_value(v) == floor(json_real_value(v)))
		snprintf(c.s, sizeof(c.s), "%.0f", json_real_value(v));
	else if (json_is_real(v))
		snprintf(c.s, sizeof(c.s), "%.6g", json_real_value(v));
	else if (json_is_boolean(v))
		snprintf(c.s, sizeof(c.s), "%s", json_is_true(v) ? "yes" : "no");
	for (char *p = c.s; *p != '\0'; p++)
		*p = (unsigned char)*p < ' ' ? '?' : *p;
	return c;
}

static void
put_list(FILE *f, const json_t *list)
{
	size_t i, n = json_array_size(list);

	for (i = 0; i < n && i < VALUES_MAX; i++)
		fprintf(f, "%s%s", i > 0 ? ", " : "", value_of(json_array_get(list, i)).s);
	if (n > VALUES_MAX)
		fprintf(f, ", .. (%zu in all)", n);
}

/* Characters of UTF-8. */
static int
places(const char *s)
{
	int n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void
put_padded(FILE *f, const char *s, int width, bool right)
{
	int pad = width - places(s);

	fprintf(f, "%*s%s%*s", right && pad > 0 ? pad : 0, "", s, !right && pad > 0 ? pad : 0, "");
}

/* --- tables --- */

struct column {
	const char *key;
	int width;
	bool right; /* numbers */
};

static const char *
row_name(const json_t *rows, size_t i)
{
	void *at = json_is_object(rows) ? json_object_iter((json_t *)(uintptr_t)rows) : NULL;

	while (at != NULL && i-- > 0)
		at = json_object_iter_next((json_t *)(uintptr_t)rows, at);
	return at != NULL ? json_object_iter_key(at) : NULL;
}

static const json_t *
row_at(const json_t *rows, size_t i)
{
	const char *name = row_name(rows, i);

	return name != NULL ? json_object_get(rows, name) : json_array_get(rows, i);
}

static int
max_width(int width, const char *s)
{
	int n = places(s);

	return n > width ? n : width;
}

static void
column_meet(struct column *c, size_t *n, size_t room, const char *key, const json_t *v)
{
	size_t i;

	for (i = 0; i < *n && strcmp(c[i].key, key) != 0; i++)
		;
	if (i == room)
		return;
	if (i == *n)
		c[(*n)++] = (struct column){ key, max_width(0, label_of(key).s), true };
	c[i].width = max_width(c[i].width, value_of(v).s);
	c[i].right &= json_is_number(v) || json_is_null(v);
}

static void
put_row(
    FILE *f, const json_t *row, const char *name, int name_width, const struct column *c, size_t n)
{
	if (name_width > 0)
		put_padded(f, name, name_width, false);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = row != NULL ? json_object_get(row, c[i].key) : NULL;
		bool last = i + 1 == n && !c[i].right;

		fputs(i > 0 || name_width > 0 ? "  " : "", f);
		put_padded(f,
		    row == NULL     ? label_of(c[i].key).s
			: v != NULL ? value_of(v).s
				    : "",
		    last ? 0 : c[i].width, c[i].right);
	}
	fputs("\n", f);
}

static void
put_table(FILE *f, const json_t *rows, const char *hide)
{
	struct column c[32] = { 0 };
	size_t n = 0, i,
	       all = json_is_object(rows) ? json_object_size(rows) : json_array_size(rows);
	size_t n_rows = all < ROWS_MAX ? all : ROWS_MAX;
	int name_width = 0;
	const char *key;
	char word[CELL + 2];
	json_t *v;

	for (i = 0; i < n_rows; i++) {
		if (json_is_object(rows))
			name_width = max_width(name_width, row_name(rows, i));
		json_object_foreach((json_t *)(uintptr_t)row_at(rows, i), key, v)
		{
			snprintf(word, sizeof(word), " %s ", key);
			if (is_plain(v) && (hide == NULL || strstr(hide, word) == NULL))
				column_meet(c, &n, sizeof(c) / sizeof(*c), key, v);
		}
	}
	put_row(f, NULL, "", name_width, c, n);
	for (i = 0; i < n_rows; i++)
		put_row(f, row_at(rows, i), row_name(rows, i), name_width, c, n);
	if (all > n_rows)
		fprintf(f, ".. and %zu more: --csv\n", all - n_rows);
}

/* --- documents --- */

static bool
has_objects(const json_t *row)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)row, key, v) if (json_is_object(v)) return true;
	return false;
}

/* Objects, all with the same kind of plain values: rows of a table. An object within a row would
 * have no place there. */
static bool
is_table(const json_t *v)
{
	size_t i, n = json_is_object(v) ? json_object_size(v) : json_array_size(v);

	if (is_plain(v) || n == 0 || (json_is_object(v) && n < 2))
		return false;
	for (i = 0; i < n; i++)
		if (!json_is_object(row_at(v, i)) || has_objects(row_at(v, i)))
			return false;
	return true;
}

/* A value, or a list of values; an empty list says nothing. */
static bool
is_line(const json_t *v)
{
	return is_plain(v) || (json_array_size(v) > 0 && !is_table(v));
}

static void
put_lines(FILE *f, const json_t *doc, const char *hide, int depth)
{
	const char *key;
	char word[CELL + 2];
	int width = 0;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)doc, key, v) if (is_line(v)) width =
	    max_width(width, label_of(key).s);
	json_object_foreach((json_t *)(uintptr_t)doc, key, v)
	{
		snprintf(word, sizeof(word), " %s ", key);
		if (!is_line(v) || (hide != NULL && strstr(hide, word) != NULL))
			continue;
		fprintf(f, "%*s", 2 * depth, "");
		put_padded(f, label_of(key).s, width + 2, false);
		if (json_is_array(v))
			put_list(f, v);
		else
			fputs(value_of(v).s, f);
		fputs("\n", f);
	}
}

static void
put_document(FILE *f, const json_t *doc, const char *hide, int depth)
{
	const char *key;
	char word[CELL + 2];
	json_t *v;

	put_lines(f, doc, hide, depth);
	json_object_foreach((json_t *)(uintptr_t)doc, key, v)
	{
		snprintf(word, sizeof(word), " %s ", key);
		if (is_line(v) || depth > DEPTH_MAX || (hide != NULL && strstr(hide, word) != NULL))
			continue;
		if (json_object_size(v) == 0 && json_array_size(v) == 0)
			continue;
		fprintf(f, "%s%*s%s:\n", depth == 0 ? "\n" : "", 2 * depth, "", label_of(key).s);
		if (is_table(v))
			put_table(f, v, hide);
		else
			put_document(f, v, hide, depth + 1);
	}
}

char *
stat_text(const json_t *doc, const char *hide)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool whole;

	if (f == NULL)
		return NULL;
	if (is_table(doc))
		put_table(f, doc, hide);
	else
		put_document(f, doc, hide, 0);
	whole = !ferror(f);
	if (fclose(f) == 0 && whole)
		return text;
	free(text);
	return NULL;
}
