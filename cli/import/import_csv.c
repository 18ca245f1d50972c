/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of `narrows export`, and other tables with the same columns:
 *
 *	tidy       by header names: event_type, field, value, and t_ns or time; others optional
 *	wide       time,t_ns,HOST/METRIC [UNIT],...; METRIC: event type of a field "value"
 *	keys       key,timestamp,value
 *	keys-long  key,type,subject,param,timestamp,value
 */
#include <stdlib.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/csv.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

enum { CELLS_MAX = 65536, SUBJECT_MAX_BYTES = 65536 };

/* --- records --- */

struct cell {
	struct slice text;
	const char *at;
	char *owned;
};

struct records {
	struct import *im;
	struct csv_cursor cursor;
	const char *start; /* first byte of the record in hand */
	struct cell *cells;
	size_t n, cap;
};

static struct records
records_of(struct import *im)
{
	struct records c = { .im = im,
		.cursor = csv_begin(im->bytes, (size_t)(im->end - im->bytes)) };

	c.cursor.lenient = true;
	return c;
}

static void
records_clear(struct records *c)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		free(c->cells[i].owned);
	free(c->cells);
}

static int
cell_read(struct records *c, struct csv_field *f)
{
	struct cell *cell;

	if (c->n == CELLS_MAX)
		return import_fail(c->im, c->cursor.at, "more than %d columns", CELLS_MAX);
	if (!csv_next(&c->cursor, f))
		return import_fail(c->im, c->cursor.at, "%s", c->cursor.why);
	if (c->n == c->cap) {
		c->cap = c->cap > 0 ? 2 * c->cap : 16;
		c->cells = xreallocarray(c->cells, c->cap, sizeof(*c->cells));
	}
	cell = &c->cells[c->n++];
	*cell = (struct cell){ .text = { f->s, f->len }, .at = f->start };
	if (f->doubled) {
		cell->owned = xmalloc(f->len + 1);
		cell->text = (struct slice){ cell->owned, csv_copy(f, cell->owned) };
	}
	return NW_OK;
}

/* 1: a record; empty lines are none. 0: the end. */
static int
record_next(struct records *c)
{
	struct csv_field f = { .last = false };
	struct csv_cursor ahead;
	size_t i;
	int rc;

	for (i = 0; i < c->n; i++)
		free(c->cells[i].owned);
	c->n = 0;
	for (ahead = c->cursor; ahead.at < ahead.end; c->cursor = ahead)
		if (!csv_next(&ahead, &f) || !f.last || *f.start == '"' || f.len > 0)
			break;
	if (c->cursor.at == c->cursor.end)
		return 0;
	c->start = c->cursor.at;
	do {
		if ((rc = cell_read(c, &f)) < 0)
			return rc;
	} while (!f.last);
	return 1;
}

/* A record as wide as the header. */
static int
record_row(struct records *c, size_t n_columns)
{
	int rc = record_next(c);

	if (rc == 1 && c->n != n_columns)
		return import_fail(
		    c->im, c->start, "%zu cells, but the header has %zu", c->n, n_columns);
	return rc;
}

static int
cell_number(struct records *c, size_t i, double *v)
{
	return import_number(c->cells[i].text, v)
	    ? NW_OK
	    : import_fail(c->im, c->cells[i].at, "not a number");
}

static int
cell_time(struct records *c, size_t i, int64_t *t)
{
	return import_time(c->cells[i].text, t) ? NW_OK
						: import_fail(c->im, c->cells[i].at, "not a time");
}

static int
cell_ns(struct records *c, size_t i, int64_t *t)
{
	if (import_integer(c->cells[i].text, t))
		return NW_OK;
	return import_fail(c->im, c->cells[i].at, "not a number of nanoseconds");
}

/* --- k=v;k=v --- */

static int
set_text(struct import *im, const char *at, json_t *object, struct slice key, struct slice value)
{
	char *name;
	int rc;

	if (key.len == 0)
		return import_fail(im, at, "a subject without a name before its =");
	if (value.len > 0)
		return import_set(im, at, object, key, value);
	name = xasprintf("%.*s", (int)key.len, key.s);
	rc = json_object_set_new(object, name, json_string(""));
	free(name);
	return rc == 0 ? NW_OK : import_fail(im, at, "a name is not UTF-8");
}

/* Whether the text behind a ; is k= with a new key. */
static bool
begins_pair(const char *p, const char *end, json_t *object, struct slice current)
{
	const char *eq = memchr(p, '=', (size_t)(end - p));
	char *key;
	bool is_new;

	if (eq == NULL || eq == p || memchr(p, ';', (size_t)(eq - p)) != NULL)
		return false;
	key = xasprintf("%.*s", (int)(eq - p), p);
	is_new = json_object_get(object, key) == NULL && !slice_is(current, key);
	free(key);
	return is_new;
}

/* Parses k=v;k=v. Flattening the object gives the same text again: a part without "=" or with a
 * known key belongs to the value before. */
static int
subject_parse(struct import *im, const char *at, struct slice text, json_t *object)
{
	const char *p = text.s, *end = text.s + text.len, *eq, *stop;
	struct slice key;
	int rc = NW_OK;

	if (text.len > SUBJECT_MAX_BYTES)
		return import_fail(im, at, "the subject is too long");
	if (text.len > 0 && memchr(text.s, '=', text.len) == NULL)
		return import_set(im, at, object, slice_of("subject"), text);
	for (; p < end && rc == NW_OK; p = stop + 1) {
		/* never NULL: begins_pair saw the "=" */
		eq = memchr(p, '=', (size_t)(end - p));
		key = (struct slice){ p, (size_t)(eq - p) };
		for (stop = eq;
		     stop < end && !(*stop == ';' && begins_pair(stop + 1, end, object, key));
		     stop++)
			;
		rc = set_text(
		    im, at, object, key, (struct slice){ eq + 1, (size_t)(stop - eq - 1) });
	}
	return rc;
}

/* --- tidy --- */

enum tidy_column {
	SESSION,
	SERIES_ID,
	HOST,
	SUBJECT,
	EVENT_TYPE,
	FIELD,
	UNIT,
	TIME,
	T_NS,
	VALUE,
	N_TIDY
};

static int
tidy_header(struct records *c, size_t column[N_TIDY])
{
	static const char *const names[N_TIDY] = {
		"session",
		"series_id",
		"host",
		"subject",
		"event_type",
		"field",
		"unit",
		"time",
		"t_ns",
		"value",
	};
	size_t i, k;

	for (k = 0; k < N_TIDY; k++)
		for (i = 0, column[k] = SIZE_MAX; i < c->n; i++)
			if (slice_is(c->cells[i].text, names[k]) && column[k] == SIZE_MAX)
				column[k] = i;
	for (k = EVENT_TYPE; k < N_TIDY; k++)
		if (column[k] == SIZE_MAX && k != UNIT &&
		    k != (column[T_NS] == SIZE_MAX ? T_NS : TIME))
			return import_fail(c->im, c->start, "no column %s", names[k]);
	return NW_OK;
}

static struct slice
cell_or_empty(const struct records *c, size_t column)
{
	return column == SIZE_MAX ? (struct slice){ "", 0 } : c->cells[column].text;
}

/* Finds the series of a row. The key is the text of all cells about the series, equal in all its
 * rows. */
static int
tidy_series(struct records *c, const size_t column[N_TIDY], char **key, size_t *key_cap,
    struct import_series **out)
{
	size_t k, len = 0;
	struct slice part;

	for (k = SESSION; k <= EVENT_TYPE; k++) {
		part = cell_or_empty(c, column[k]);
		if (len + part.len + 1 > *key_cap)
			*key = xreallocarray(*key, *key_cap = 2 * (len + part.len + 1), 1);
		memcpy(*key + len, part.s, part.len);
		len += part.len;
		(*key)[len++] = '\n';
	}
	if ((*out = import_series_find(c->im, *key, len)) != NULL)
		return NW_OK;
	*out = import_series_add(c->im, c->start, (struct slice){ *key, len },
	    cell_or_empty(c, column[HOST]), c->cells[column[EVENT_TYPE]].text);
	if (*out == NULL)
		return NW_EPROTO;
	return subject_parse(c->im, c->start, cell_or_empty(c, column[SUBJECT]), (*out)->subject);
}

static int
tidy_row(struct records *c, const size_t column[N_TIDY], char **key, size_t *key_cap)
{
	struct import_series *s;
	struct slice unit = cell_or_empty(c, column[UNIT]);
	char text[64];
	int64_t t;
	double v;
	int rc;

	if ((rc = tidy_series(c, column, key, key_cap, &s)) < 0 ||
	    (rc = cell_number(c, column[VALUE], &v)) < 0 ||
	    (rc = column[T_NS] != SIZE_MAX ? cell_ns(c, column[T_NS], &t)
					   : cell_time(c, column[TIME], &t)) < 0)
		return rc;
	if (unit.len > 0 && unit.len < sizeof(text) && c->cells[column[FIELD]].text.len < 256) {
		snprintf(text, sizeof(text), "%.*s", (int)unit.len, unit.s);
		import_set_unit(s, c->cells[column[FIELD]].text, text);
	}
	return import_value(
	    c->im, s, c->cells[column[VALUE]].at, t, c->cells[column[FIELD]].text, v);
}

int
import_tidy(struct import *im)
{
	struct records c = records_of(im);
	size_t column[N_TIDY], key_cap = 0, n_columns;
	char *key = NULL;
	int rc;

	if ((rc = record_next(&c)) == 1 && (rc = tidy_header(&c, column)) == NW_OK) {
		n_columns = c.n;
		while ((rc = record_row(&c, n_columns)) == 1)
			if ((rc = tidy_row(&c, column, &key, &key_cap)) < 0)
				break;
	}
	free(key);
	records_clear(&c);
	return rc;
}

/* --- wide --- */

struct column {
	struct slice host, metric, subject, unit;
};

/* Parses HOST/METRIC{SUBJECT}#ID [UNIT]; only METRIC is required. */
static struct column
column_parse(struct slice text)
{
	struct column c = { .host = { "", 0 }, .subject = { "", 0 }, .unit = { "", 0 } };
	const char *open, *close, *slash, *end = text.s + text.len;

	open = memrchr(text.s, '[', text.len);
	if (open != NULL && open > text.s && open[-1] == ' ' && end[-1] == ']') {
		c.unit = (struct slice){ open + 1, (size_t)(end - open) - 2 };
		end = open - 1;
	}
	if ((slash = memchr(text.s, '/', (size_t)(end - text.s))) != NULL) {
		c.host = (struct slice){ text.s, (size_t)(slash - text.s) };
		text.s = slash + 1;
	}
	open = memchr(text.s, '{', (size_t)(end - text.s));
	close = memrchr(text.s, '}', (size_t)(end - text.s));
	if (open != NULL && close != NULL && close > open && close + 1 < end && close[1] == '#') {
		c.subject = (struct slice){ open + 1, (size_t)(close - open) - 1 };
		end = open;
	}
	c.metric = (struct slice){ text.s, (size_t)(end - text.s) };
	return c;
}

static int
wide_series(struct records *c, size_t i, struct import_series **out)
{
	struct slice text = c->cells[i].text;
	struct column column = column_parse(text);
	char unit[64];

	if (import_series_find(c->im, text.s, text.len) != NULL)
		return import_fail(c->im, c->cells[i].at, "this column is there twice");
	*out = import_series_add(c->im, c->cells[i].at, text, column.host, column.metric);
	if (*out == NULL)
		return NW_EPROTO;
	if (column.unit.len < sizeof(unit)) {
		snprintf(unit, sizeof(unit), "%.*s", (int)column.unit.len, column.unit.s);
		import_set_unit(*out, slice_of("value"), unit);
	}
	return subject_parse(c->im, c->cells[i].at, column.subject, (*out)->subject);
}

int
import_wide(struct import *im)
{
	struct records c = records_of(im);
	struct import_series **series = NULL;
	size_t n_columns = 0, i;
	int64_t t;
	double v;
	int rc;

	if ((rc = record_next(&c)) == 1) {
		n_columns = c.n;
		series = xcalloc(n_columns, sizeof(struct import_series *));
		if (n_columns < 2 || !slice_is(c.cells[0].text, "time") ||
		    !slice_is(c.cells[1].text, "t_ns"))
			rc = import_fail(
			    im, c.start, "a wide table begins with the columns time and t_ns");
		for (i = 2; i < n_columns && rc >= 0; i++)
			rc = wide_series(&c, i, &series[i]);
	}
	while (rc >= 0 && (rc = record_row(&c, n_columns)) == 1) {
		rc = cell_ns(&c, 1, &t);
		for (i = 2; i < n_columns && rc >= 0; i++)
			if (c.cells[i].text.len > 0 && (rc = cell_number(&c, i, &v)) >= 0)
				rc = import_value(
				    im, series[i], c.cells[i].at, t, slice_of("value"), v);
	}
	free(series);
	records_clear(&c);
	return rc;
}

/* --- keys --- */

/* Parses a chain of subjects: a / begins a part if a k= or nothing follows. Inner parts win. */
static int
chain_parse(struct import *im, const char *at, struct slice text, json_t *object)
{
	const char *p = text.s, *end = text.s + text.len, *stop, *q;
	const char *key;
	json_t *part, *v;
	int rc = NW_OK;

	for (; p < end && rc == NW_OK; p = stop < end ? stop + 1 : end) {
		for (stop = p; stop < end; stop++) {
			if (*stop != '/')
				continue;
			for (q = stop + 1; q < end && strchr("/;=", *q) == NULL; q++)
				;
			if (q == end ? q == stop + 1
				     : *q != ';' && (*q == '=' ? q > stop + 1 : q == stop + 1))
				break;
		}
		part = json_object();
		if (stop > p &&
		    (rc = subject_parse(im, at, (struct slice){ p, (size_t)(stop - p) }, part)) ==
			NW_OK)
			json_object_foreach(part, key, v) json_object_set(object, key, v);
		json_decref(part);
	}
	return rc;
}

static bool
ends_with(struct slice text, struct slice end)
{
	return text.len >= end.len && memcmp(text.s + text.len - end.len, end.s, end.len) == 0;
}

/* Whether the key (and the type, if present) ends with ":field", as the keys of series with
 * several fields do. */
static bool
has_field(struct slice key, struct slice type, bool has_type, struct slice *field)
{
	const char *colon = memrchr(key.s, ':', key.len);
	struct slice end;

	if (colon == NULL || colon + 1 == key.s + key.len)
		return false;
	end = (struct slice){ colon, (size_t)(key.s + key.len - colon) };
	if (has_type && (!ends_with(type, end) || type.len == end.len))
		return false;
	*field = (struct slice){ end.s + 1, end.len - 1 };
	return true;
}

/* Columns before the timestamp: key, or key, type, subject, param. */
static int
keys_series(struct records *c, bool is_long, struct import_series **out, struct slice *field)
{
	struct slice key = c->cells[0].text,
		     type = is_long ? c->cells[1].text : slice_of("untyped"), host = { "", 0 };
	const char *slash;
	json_t *subject;
	int rc = NW_OK;

	*field = slice_of("value");
	if (has_field(key, type, is_long, field)) {
		key.len -= field->len + 1;
		type.len -= is_long ? field->len + 1 : 0;
	}
	if ((*out = import_series_find(c->im, key.s, key.len)) != NULL)
		return NW_OK;
	if (is_long && (slash = memrchr(type.s, '/', type.len)) != NULL &&
	    slash + 1 < type.s + type.len)
		type = (struct slice){ slash + 1, (size_t)(type.s + type.len - slash) - 1 };
	subject = json_object();
	if (is_long &&
	    (rc = chain_parse(c->im, c->cells[2].at, c->cells[2].text, subject)) == NW_OK)
		host = slice_of(json_string_value(json_object_get(subject, "hostname")) != NULL
			? json_string_value(json_object_get(subject, "hostname"))
			: "");
	if (rc == NW_OK && (*out = import_series_add(c->im, c->start, key, host, type)) == NULL)
		rc = NW_EPROTO;
	if (rc == NW_OK) {
		json_object_update((*out)->subject, subject);
		if (!is_long)
			rc = import_set(c->im, c->start, (*out)->subject, slice_of("key"), key);
		else
			rc = chain_parse(c->im, c->cells[3].at, c->cells[3].text, (*out)->params);
	}
	json_decref(subject);
	return rc;
}

static int
keys_parse(struct import *im, bool is_long)
{
	struct records c = records_of(im);
	size_t n_columns = is_long ? 6 : 3;
	struct import_series *s;
	struct slice field;
	int64_t t;
	double v;
	int rc = record_row(&c, n_columns); /* the header */

	while (rc == 1 && (rc = record_row(&c, n_columns)) == 1) {
		if ((rc = keys_series(&c, is_long, &s, &field)) < 0 ||
		    (rc = cell_time(&c, n_columns - 2, &t)) < 0 ||
		    (rc = cell_number(&c, n_columns - 1, &v)) < 0 ||
		    (rc = import_value(im, s, c.cells[n_columns - 1].at, t, field, v)) < 0)
			break;
		rc = 1;
	}
	records_clear(&c);
	return rc;
}

int
import_keys(struct import *im)
{
	return keys_parse(im, false);
}

int
import_keys_long(struct import *im)
{
	return keys_parse(im, true);
}
