/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A slice goes on where the slice before ended: at a metadata, a layout, a time. Between slices no
 * query is open, so rows stored meanwhile may or may not be in the answer.
 */
#include "web/query/series_answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "web/query/find.h"
#include "web/query/frame_form.h"

enum { SLICE_BYTES = 256 << 10, COUNT_METAS = 64, WHY_BYTES = 200 };

struct series {
	struct store_reader *reader;
	struct query q;
	struct find *find;
	bool counted; /* the cost is known, and not too high */
	double cost, cost_max;
	char why[WHY_BYTES];
	const struct found *at; /* metadata in hand, NULL between two */
	size_t layout;          /* in hand */
	int64_t next_t;         /* rows of the layout before this time were written */
	bool begun, past_layout;
	const double **pointers; /* of a frame */
	double *derived;         /* mean and sd of a block of buckets */
	size_t n_pointers, n_derived;
	struct frame_out answer;
};

static int
frame_write(struct series *s, const struct frame *f)
{
	int rc = s->answer.form->frame(&s->answer, f);

	s->answer.begun = true;
	return rc;
}

static int
pointers_reserve(struct series *s, size_t n)
{
	const double **grown;

	if (n <= s->n_pointers)
		return NW_OK;
	if ((grown = reallocarray(s->pointers, n, sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	s->pointers = grown;
	s->n_pointers = n;
	return NW_OK;
}

static int
derived_reserve(struct series *s, size_t n)
{
	double *grown;

	if (n <= s->n_derived)
		return NW_OK;
	if ((grown = reallocarray(s->derived, n, sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	s->derived = grown;
	s->n_derived = n;
	return NW_OK;
}

/* --- values --- */

/*
 * Writes whole blocks until the slice is full; rows of one time never part, because the next slice
 * begins at a time.
 */
static int
on_values(void *arg, const struct store_block *b)
{
	struct series *s = arg;
	const struct found_layout *l = &s->at->layouts[s->layout];
	struct frame f = { .of = s->at,
		.n_fields = l->n_fields,
		.n_rows = b->n_rows,
		.fields = (const char *const *)l->fields,
		.units = (const char *const *)l->units,
		.t_wall_ns = b->t_wall_ns };
	size_t k;
	int rc;

	if (b->n_rows == 0)
		return 0;
	if (s->answer.out.n_bytes >= SLICE_BYTES && b->t_wall_ns[0] >= s->next_t) {
		s->next_t = b->t_wall_ns[0];
		s->past_layout = false;
		return 1;
	}
	if ((rc = pointers_reserve(s, l->n_fields)) < 0)
		return rc;
	for (k = 0; k < l->n_fields; k++)
		s->pointers[k] = b->columns[l->columns[k]];
	f.values = s->pointers;
	if (b->t_wall_ns[b->n_rows - 1] < INT64_MAX)
		s->next_t = b->t_wall_ns[b->n_rows - 1] + 1;
	return frame_write(s, &f);
}

static int
values_of(struct series *s, const struct found_layout *l)
{
	return store_rows_of(
	    s->reader, l->id, l->columns, l->n_fields, s->next_t, s->q.t1_wall_ns, on_values, s);
}

/* --- statistics --- */

static int64_t
step_begin(int64_t t_wall_ns, int64_t step_ns)
{
	int64_t rest = t_wall_ns % step_ns;

	return t_wall_ns - (rest < 0 ? rest + step_ns : rest);
}

/* Mean and standard deviation from sums; times become the begins of their steps. */
static void
derive(struct series *s, const struct store_bucket_block *b, size_t column, size_t k)
{
	double *mean = s->derived + 2 * k * b->n_buckets, *sd = mean + b->n_buckets;
	size_t i;

	for (i = 0; i < b->n_buckets; i++) {
		double n = b->n[column][i];

		mean[i] = n > 0 ? b->sum[column][i] / n : NAN;
		sd[i] = n > 1 ? sqrt(fmax(0, b->m2[column][i]) / (n - 1)) : NAN;
	}
}

/* Pointers to the columns of the frame; those to the counts stand behind them. */
static void
statistics_point(struct series *s, const struct found_layout *l, const struct store_bucket_block *b)
{
	size_t n = l->n_fields, k, i, column;

	for (k = 0; k < n; k++) {
		uint32_t c = l->columns[k];
		const double *mean = s->derived + 2 * k * b->n_buckets;
		const double *const all[QUERY_COLUMNS] = { b->n[c], b->sum[c], mean, b->min[c],
			b->max[c], mean + b->n_buckets };

		derive(s, b, c, k);
		for (i = 0, column = 0; i < QUERY_COLUMNS; i++)
			if (s->q.columns & 1U << i)
				s->pointers[column++ * n + k] = all[i];
		s->pointers[column * n + k] = b->n[c];
	}
}

static int
on_statistics(void *arg, const struct store_bucket_block *b)
{
	struct series *s = arg;
	const struct found_layout *l = &s->at->layouts[s->layout];
	struct frame f = { .of = s->at,
		.n_fields = l->n_fields,
		.n_rows = b->n_buckets,
		.fields = (const char *const *)l->fields,
		.units = (const char *const *)l->units };
	int64_t *t;
	size_t i;
	int rc;

	if (b->n_buckets == 0)
		return 0;
	if (s->answer.out.n_bytes >= SLICE_BYTES) {
		s->next_t = step_begin(b->t_wall_ns[0], s->q.step_ns);
		s->past_layout = false;
		return 1;
	}
	if ((rc = pointers_reserve(s, (QUERY_COLUMNS + 1) * l->n_fields)) < 0 ||
	    (rc = derived_reserve(s, 2 * l->n_fields * b->n_buckets)) < 0)
		return rc;
	if ((t = calloc(b->n_buckets, sizeof(*t))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < b->n_buckets; i++)
		t[i] = step_begin(b->t_wall_ns[i], s->q.step_ns);
	statistics_point(s, l, b);
	f.t_wall_ns = t;
	f.values = s->pointers;
	f.n = s->pointers + s->answer.columns.n * l->n_fields;
	rc = frame_write(s, &f);
	free(t);
	return rc;
}

static int
statistics_of(struct series *s, const struct found_layout *l)
{
	return store_buckets(s->reader, l->id, l->columns, l->n_fields, s->next_t, s->q.t1_wall_ns,
	    s->q.step_ns, on_statistics, s);
}

/* --- last values --- */

/* A copy of a layout's last row; fields that a newer row of another layout has are NaN. */
struct last_row {
	const struct found_layout *layout;
	int64_t t;
	double *values;
};

static int
on_last(void *arg, const struct store_block *b)
{
	struct last_row *row = arg;
	size_t k, i = b->n_rows - 1;

	if (b->n_rows == 0)
		return 0;
	row->t = b->t_wall_ns[i];
	for (k = 0; k < row->layout->n_fields; k++)
		row->values[k] = b->columns[row->layout->columns[k]][i];
	return 1;
}

static bool
is_newer_elsewhere(const struct last_row *rows, size_t n, size_t of, const char *field)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		const struct found_layout *l = rows[i].layout;

		if (i == of || l == NULL || rows[i].t < rows[of].t ||
		    (rows[i].t == rows[of].t && i < of))
			continue;
		for (k = 0; k < l->n_fields; k++)
			if (strcmp(l->fields[k], field) == 0 && !isnan(rows[i].values[k]))
				return true;
	}
	return false;
}

static int
last_write(struct series *s, struct last_row *rows, size_t n)
{
	size_t i, k;
	int rc = NW_OK;

	for (i = 0; i < n && rc == NW_OK; i++) {
		struct last_row *row = &rows[i];
		const struct found_layout *l = row->layout;
		struct frame f = { .of = s->at, .n_rows = 1, .t_wall_ns = &row->t };
		const char **texts;

		if (l == NULL)
			continue;
		if ((rc = pointers_reserve(s, l->n_fields)) < 0)
			return rc;
		if ((texts = calloc(2 * l->n_fields, sizeof(*texts))) == NULL)
			return NW_ENOMEM;
		for (k = 0; k < l->n_fields; k++) {
			if (isnan(row->values[k]) ||
			    (n > 1 && is_newer_elsewhere(rows, n, i, l->fields[k])))
				continue;
			texts[f.n_fields] = l->fields[k];
			texts[l->n_fields + f.n_fields] = l->units[k];
			s->pointers[f.n_fields++] = &row->values[k];
		}
		f.fields = texts;
		f.units = texts + l->n_fields;
		f.values = s->pointers;
		if (f.n_fields > 0)
			rc = frame_write(s, &f);
		free(texts);
	}
	return rc;
}

static int
last_of(struct series *s)
{
	size_t n = s->at->n_layouts, i;
	struct last_row *rows = calloc(n, sizeof(*rows));
	int rc = rows != NULL ? NW_OK : NW_ENOMEM;

	for (i = 0; i < n && rc == NW_OK; i++) {
		rows[i].layout = &s->at->layouts[i];
		rows[i].values = calloc(rows[i].layout->n_fields, sizeof(*rows[i].values));
		rc = rows[i].values == NULL
		    ? NW_ENOMEM
		    : store_last_row(s->reader, rows[i].layout->id, on_last, &rows[i]);
		if (rc == NW_ENOTFOUND) {
			rows[i].layout = NULL;
			rc = NW_OK;
		}
	}
	if (rc == NW_OK)
		rc = last_write(s, rows, n);
	for (i = 0; rows != NULL && i < n; i++)
		free(rows[i].values);
	free(rows);
	return rc;
}

/* --- descriptions --- */

static bool
is_listed(const char *const *fields, size_t n, const char *field)
{
	while (n-- > 0)
		if (strcmp(fields[n], field) == 0)
			return true;
	return false;
}

/* All fields of all layouts, once each. */
static int
description_of(struct series *s)
{
	struct frame f = { .of = s->at };
	const char **texts;
	size_t i, k, n = 0;
	int rc;

	for (i = 0; i < s->at->n_layouts; i++)
		n += s->at->layouts[i].n_fields;
	if ((texts = calloc(2 * n, sizeof(*texts))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < s->at->n_layouts; i++) {
		const struct found_layout *l = &s->at->layouts[i];

		for (k = 0; k < l->n_fields; k++) {
			if (is_listed(texts, f.n_fields, l->fields[k]))
				continue;
			texts[f.n_fields] = l->fields[k];
			texts[n + f.n_fields++] = l->units[k];
		}
	}
	f.fields = texts;
	f.units = texts + n;
	rc = frame_write(s, &f);
	free(texts);
	return rc;
}

/* --- the cost --- */

static bool
reads_rows(const struct series *s)
{
	return s->q.what == QUERY_VALUES || s->q.what == QUERY_STATISTICS;
}

static int
cost_judge(struct series *s, const char *parameter, const char *advice)
{
	if (s->cost <= s->cost_max)
		return NW_OK;
	snprintf(s->why, sizeof(s->why),
	    "%s: the query costs %.0f values or more, at most %.0f (http-query-cost): choose a %s",
	    parameter, s->cost, s->cost_max, advice);
	return NW_ETOOBIG;
}

/* Adds the rows of some metadata. At the last one the search begins anew, for the answer. */
static int
count_slice(struct series *s)
{
	const struct found *m = NULL;
	int state = FIND_ONE, rc;
	int64_t n_rows;
	size_t n, i;

	rc = cost_judge(s, "after", "higher number, or a session");
	if (!reads_rows(s))
		return rc; /* too high, or the query would be counted */
	for (n = 0; n < COUNT_METAS && state == FIND_ONE && rc == NW_OK; n++) {
		if ((state = find_next(s->find, &m)) < 0)
			return state;
		for (i = 0; state == FIND_ONE && i < m->n_layouts && rc == NW_OK; i++) {
			rc = store_rows_count(
			    s->reader, m->layouts[i].id, s->q.t0_wall_ns, s->q.t1_wall_ns, &n_rows);
			s->cost += (double)n_rows * (double)m->layouts[i].n_fields;
		}
		if (rc == NW_OK)
			rc = cost_judge(s, "from", "later time, or a lower limit");
	}
	if (rc < 0 || state != FIND_END)
		return rc;
	s->counted = true;
	if (find_again(s->find))
		return NW_OK;
	find_free(s->find);
	s->find = NULL;
	return find_new(s->reader, &s->q, &s->find);
}

/* --- slices --- */

/* Goes on with the metadata in hand; s->at becomes NULL behind its last row. */
static int
metadata_slice(struct series *s)
{
	int rc = NW_OK;

	if (s->q.what == QUERY_SERIES || s->q.what == QUERY_LAST) {
		rc = s->q.what == QUERY_SERIES ? description_of(s) : last_of(s);
		s->at = NULL;
		return rc;
	}
	while (s->layout < s->at->n_layouts && s->answer.out.n_bytes < SLICE_BYTES && rc == NW_OK) {
		const struct found_layout *l = &s->at->layouts[s->layout];

		s->past_layout = true;
		rc = s->q.what == QUERY_VALUES ? values_of(s, l) : statistics_of(s, l);
		if (rc == NW_OK && s->past_layout) {
			s->layout++;
			s->next_t = s->q.t0_wall_ns;
		}
	}
	if (s->layout == s->at->n_layouts)
		s->at = NULL;
	return rc;
}

static int
slice(struct series *s, bool *done)
{
	int state, rc = NW_OK;

	while (s->answer.out.n_bytes < SLICE_BYTES && rc == NW_OK) {
		if (s->at == NULL) {
			if ((state = find_next(s->find, &s->at)) < 0)
				return state;
			if (state == FIND_NONE_YET)
				return NW_OK;
			if (state == FIND_END) {
				*done = true;
				return s->answer.form->end(&s->answer, find_rest(s->find));
			}
			s->layout = 0;
			s->next_t = s->q.t0_wall_ns;
		}
		rc = metadata_slice(s);
	}
	return rc;
}

static int
slice_write(struct series *s, stream_write_fn *write, void *arg, bool *done)
{
	int rc = NW_OK, flushed;

	textout_begin(&s->answer.out, write, arg);
	if (!s->begun) {
		s->begun = true;
		rc = s->answer.form->begin(&s->answer);
	}
	if (rc == NW_OK)
		rc = slice(s, done);
	flushed = textout_flush(&s->answer.out);
	return rc != NW_OK ? rc : flushed;
}

/* One snapshot serves the questions of a slice: to begin one costs as much as a small question. */
static int
series_next(void *state, stream_write_fn *write, void *arg, bool *done)
{
	struct series *s = state;
	bool begun = store_reader_begin(s->reader) == NW_OK;
	int rc;

	*done = false;
	rc = s->counted ? slice_write(s, write, arg, done) : count_slice(s);
	if (begun)
		store_reader_end(s->reader);
	return rc;
}

static const char *
series_why(const void *state)
{
	const struct series *s = state;

	return s->why[0] != '\0' ? s->why : NULL;
}

static bool
series_may_refuse(const void *state)
{
	return !((const struct series *)state)->counted;
}

static void
series_free(void *state)
{
	struct series *s = state;

	if (s->answer.state != NULL)
		s->answer.form->state_free(s->answer.state);
	find_free(s->find);
	free(s->pointers);
	free(s->derived);
	free(s);
}

static const struct frame_form *
form_of(const struct query *q)
{
	return q->format == QUERY_CSV  ? &frame_csv
	    : q->format == QUERY_ARROW ? &frame_arrow
				       : &frame_json;
}

const char *
series_content_type(const struct query *q)
{
	return form_of(q)->content_type;
}

int
series_stream(struct store_reader *r, const struct query *q, double cost_max, struct stream *out)
{
	struct series *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return NW_ENOMEM;
	s->reader = r;
	s->q = *q;
	s->answer.form = form_of(q);
	s->answer.columns = frame_columns(q);
	if ((rc = find_new(r, &s->q, &s->find)) < 0) {
		series_free(s);
		return rc;
	}
	s->cost_max = cost_max;
	s->cost = find_cost(s->find);
	s->counted = cost_max <= 0 || (!reads_rows(s) && s->cost <= cost_max);
	*out = (struct stream){ .next = series_next,
		.free = series_free,
		.state = s,
		.why = series_why,
		.may_refuse = series_may_refuse };
	return NW_OK;
}
