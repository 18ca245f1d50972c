/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of a series go through the stages of the query one after the other. An aggregation
 * keeps values in a group; after the last series the groups go on through the stages behind it.
 */
#include "web/query/prom_eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "web/query/find.h"
#include "web/query/prom_labels.h"
#include "web/query/prom_window.h"

enum {
	SAMPLES_MAX = 1 << 17,
	GROUPS_MAX_BYTES = 4 << 20,
	SLICE_BYTES = 128 << 10,
	SLICE_SERIES = 64
};
#define LOOK_BACK_NS INT64_C(300000000000) /* how old the newest sample of a selector may be */

struct group {
	json_t *labels;
	double *value, *n; /* per step; n 0: no value */
};

struct groups {
	json_t *index; /* of each group, by the text of its labels */
	struct group *list;
	size_t n;
};

struct eval {
	struct store_reader *reader;
	struct promql q;
	struct prom_range range;
	struct query query;
	struct find *find;
	const struct found *at;
	size_t layout, field; /* next series of the metadata in hand */
	struct groups groups[PROMQL_STAGES];
	size_t group_bytes, n_written;
	bool begun, found_all;
	size_t stage, group; /* groups that go on next */
	struct prom_sample *samples;
	size_t n_samples, cap_samples;
	bool too_many;
	uint32_t column;          /* of the rows that are being read */
	double *values, *scratch; /* per step; per sample */
	bool *has;
	char *text; /* of this slice */
	size_t text_len;
	FILE *out;
};

/* --- samples of a series --- */

/* The place of a field among those of a layout, or n_fields. */
static size_t
field_place(const struct found_layout *l, const char *field)
{
	size_t k;

	for (k = 0; k < l->n_fields && strcmp(l->fields[k], field) != 0; k++)
		;
	return k;
}

static int
on_rows(void *arg, const struct store_block *b)
{
	struct eval *e = arg;
	const double *v = b->columns[e->column];
	size_t need = e->n_samples + b->n_rows, i;
	struct prom_sample *grown;

	if (need > SAMPLES_MAX) {
		e->too_many = true;
		return 1;
	}
	if (need > e->cap_samples) {
		e->cap_samples = 2 * need < SAMPLES_MAX ? 2 * need : SAMPLES_MAX;
		if ((grown = reallocarray(e->samples, e->cap_samples, sizeof(*grown))) == NULL)
			return NW_ENOMEM;
		e->samples = grown;
	}
	for (i = 0; i < b->n_rows; i++)
		if (!isnan(v[i]))
			e->samples[e->n_samples++] = (struct prom_sample){ b->t_wall_ns[i], v[i] };
	return 0;
}

static int
by_time(const void *a, const void *b)
{
	const struct prom_sample *x = a, *y = b;

	return (x->t_wall_ns > y->t_wall_ns) - (x->t_wall_ns < y->t_wall_ns);
}

/* Samples of the series with t0 <= t <= t1, from all layouts that have its field. */
static int
samples_read(struct eval *e, int64_t t0, int64_t t1)
{
	const char *field = e->at->layouts[e->layout].fields[e->field];
	size_t i, k, n_read = 0;
	int rc = NW_OK;

	e->n_samples = 0;
	e->too_many = false;
	for (i = e->layout; i < e->at->n_layouts && rc == NW_OK && !e->too_many; i++) {
		const struct found_layout *l = &e->at->layouts[i];

		if ((k = field_place(l, field)) == l->n_fields)
			continue;
		e->column = l->columns[k];
		n_read++;
		rc = store_rows_of(e->reader, l->id, &e->column, 1, t0, t1 + 1, on_rows, e);
	}
	if (n_read > 1 && e->n_samples > 0)
		qsort(e->samples, e->n_samples, sizeof(*e->samples), by_time);
	return rc;
}

static int64_t
window_ns(const struct eval *e)
{
	return e->q.function == PROMQL_INSTANT ? LOOK_BACK_NS : e->q.range_ns;
}

static int64_t
step_time(const struct eval *e, size_t k)
{
	return e->range.start_ns + (int64_t)k * e->range.step_ns;
}

/* Values at steps from..to-1, whose samples are in hand. */
static void
steps_compute(struct eval *e, size_t from, size_t to)
{
	size_t low = 0, high = 0, k;

	for (k = from; k < to; k++) {
		int64_t end = step_time(e, k);

		while (high < e->n_samples && e->samples[high].t_wall_ns <= end)
			high++;
		while (low < high && e->samples[low].t_wall_ns < end - window_ns(e))
			low++;
		e->values[k] =
		    prom_window(&e->q, e->samples + low, high - low, end, e->scratch, &e->has[k]);
	}
}

/* The range in stretches of steps whose samples fit into memory. */
static int
series_compute(struct eval *e)
{
	size_t from = 0, to, n = e->range.n_steps;
	int rc;

	while (from < n) {
		for (to = n;; to = from + (to - from) / 2) {
			rc = samples_read(
			    e, step_time(e, from) - window_ns(e), step_time(e, to - 1));
			if (rc < 0 || !e->too_many)
				break;
			if (to - from == 1)
				return NW_ETOOBIG;
		}
		if (rc < 0)
			return rc;
		steps_compute(e, from, to);
		from = to;
	}
	return NW_OK;
}

/* --- output --- */

static void
put_value(FILE *f, int64_t t_wall_ns, double v)
{
	fprintf(f, "[%s.%03d,\"%s\"]", fmt_int(t_wall_ns / 1000000000).s,
	    (int)(t_wall_ns / 1000000 % 1000),
	    isnan(v)       ? "NaN"
		: isinf(v) ? v > 0 ? "+Inf" : "-Inf"
			   : fmt_exact(v).s);
}

static void
put_begin(struct eval *e)
{
	if (e->begun)
		return;
	e->begun = true;
	fprintf(e->out, "{\"status\":\"success\",\"data\":{\"resultType\":\"%s\",\"result\":[",
	    e->range.instant ? "vector" : "matrix");
}

/* A series without a value at any step is not in the answer. */
static int
series_write(struct eval *e, const json_t *labels, const double *v, const bool *has)
{
	size_t k, n = 0;

	for (k = 0; k < e->range.n_steps; k++) {
		if (!has[k])
			continue;
		if (n++ == 0) {
			put_begin(e);
			fputs(e->n_written++ > 0 ? ",\n{\"metric\":" : "\n{\"metric\":", e->out);
			json_dumpf(labels, e->out, JSON_COMPACT);
			fputs(e->range.instant ? ",\"value\":" : ",\"values\":[", e->out);
		} else
			putc(',', e->out);
		put_value(e->out, step_time(e, k), v[k]);
	}
	if (n > 0)
		fputs(e->range.instant ? "}" : "]}", e->out);
	return ferror(e->out) ? NW_ENOMEM : NW_OK;
}

/* --- stages --- */

static int
group_new(struct eval *e, struct groups *g, json_t *labels, const char *key)
{
	size_t n = e->range.n_steps, bytes = 2 * n * sizeof(double) + strlen(key) * 4;
	struct group *grown;

	if ((e->group_bytes += bytes) > GROUPS_MAX_BYTES)
		return NW_ETOOBIG;
	if ((grown = reallocarray(g->list, g->n + 1, sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	g->list = grown;
	grown[g->n] = (struct group){ .labels = json_incref(labels),
		.value = calloc(n, sizeof(double)),
		.n = calloc(n, sizeof(double)) };
	g->n++;
	if (grown[g->n - 1].value == NULL || grown[g->n - 1].n == NULL)
		return NW_ENOMEM;
	return json_object_set_new(g->index, key, json_integer((json_int_t)g->n - 1)) == 0
	    ? NW_OK
	    : NW_ENOMEM;
}

static void
group_add(struct group *g, enum promql_aggregate how, size_t k, double v)
{
	if (g->n[k]++ == 0)
		g->value[k] = how == PROMQL_BY_COUNT ? 1 : v;
	else if (how == PROMQL_BY_COUNT)
		g->value[k]++;
	else if (how == PROMQL_BY_MIN)
		g->value[k] = fmin(g->value[k], v);
	else if (how == PROMQL_BY_MAX)
		g->value[k] = fmax(g->value[k], v);
	else
		g->value[k] += v;
}

static int
aggregate(struct eval *e, size_t stage, const json_t *labels, const double *v, const bool *has)
{
	const struct promql_stage *s = &e->q.stages[stage];
	struct groups *g = &e->groups[stage];
	json_t *group = prom_group_labels(s, labels);
	char *key = group != NULL ? json_dumps(group, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	const json_t *known;
	size_t k, i = g->n;
	int rc = key != NULL ? NW_OK : NW_ENOMEM;

	if (rc == NW_OK && g->index == NULL && (g->index = json_object()) == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK && (known = json_object_get(g->index, key)) != NULL)
		i = (size_t)json_integer_value(known);
	else if (rc == NW_OK)
		rc = group_new(e, g, group, key);
	for (k = 0; k < e->range.n_steps && rc == NW_OK; k++)
		if (has[k])
			group_add(&g->list[i], s->aggregate, k, v[k]);
	free(key);
	json_decref(group);
	return rc;
}

static double
calculate(const struct promql_stage *s, double v)
{
	double a = s->number_first ? s->number : v, b = s->number_first ? v : s->number;

	switch (s->operator) {
	case '+': return a + b;
	case '-': return a - b;
	case '*': return a * b;
	}
	return a / b;
}

/* Values from one stage on, up to the next aggregation or the answer. Changes labels and v. */
static int
stages_run(struct eval *e, size_t stage, json_t *labels, double *v, const bool *has)
{
	size_t k;

	for (; stage < e->q.n_stages; stage++) {
		const struct promql_stage *s = &e->q.stages[stage];

		if (s->aggregate != PROMQL_ARITHMETIC)
			return aggregate(e, stage, labels, v, has);
		json_object_del(labels, "__name__");
		for (k = 0; k < e->range.n_steps; k++)
			v[k] = calculate(s, v[k]);
	}
	return series_write(e, labels, v, has);
}

/* A group of an aggregation goes on through the stages behind it. */
static int
group_run(struct eval *e, size_t stage, struct group *g)
{
	size_t k;

	for (k = 0; k < e->range.n_steps; k++) {
		e->has[k] = g->n[k] > 0;
		e->values[k] = e->q.stages[stage].aggregate == PROMQL_BY_AVG ? g->value[k] / g->n[k]
									     : g->value[k];
	}
	return stages_run(e, stage + 1, g->labels, e->values, e->has);
}

/* --- the walk over series and groups --- */

static int
series_run(struct eval *e)
{
	const struct found_layout *l = &e->at->layouts[e->layout];
	json_t *labels = prom_labels(e->at, l->fields[e->field]);
	int rc = labels != NULL ? NW_OK : NW_ENOMEM;

	if (rc == NW_OK && prom_labels_match(&e->q, labels) && (rc = series_compute(e)) == NW_OK) {
		if (e->q.function != PROMQL_INSTANT && e->q.function != PROMQL_LAST)
			json_object_del(labels, "__name__");
		rc = stages_run(e, 0, labels, e->values, e->has);
	}
	json_decref(labels);
	return rc;
}

/* Moves on to the next field that no earlier layout has. Returns false behind the last field. */
static bool
field_next(struct eval *e)
{
	const struct found *m = e->at;
	size_t i;

	for (e->field++;; e->field++) {
		while (e->field >= m->layouts[e->layout].n_fields) {
			e->field = 0;
			if (++e->layout == m->n_layouts)
				return false;
		}
		for (i = 0; i < e->layout; i++)
			if (field_place(&m->layouts[i], m->layouts[e->layout].fields[e->field]) <
			    m->layouts[i].n_fields)
				break;
		if (i == e->layout)
			return true;
	}
}

static int
next_series(struct eval *e)
{
	int state;

	if (e->at != NULL && field_next(e))
		return series_run(e);
	e->at = NULL;
	if ((state = find_next(e->find, &e->at)) == FIND_END)
		e->found_all = true;
	if (state != FIND_ONE)
		return state < 0 ? state : NW_OK;
	e->layout = e->field = 0;
	return series_run(e);
}

static int
next_group(struct eval *e, bool *done)
{
	for (; e->stage < e->q.n_stages; e->stage++, e->group = 0)
		if (e->group < e->groups[e->stage].n)
			return group_run(e, e->stage, &e->groups[e->stage].list[e->group++]);
	put_begin(e);
	fputs("\n]}}\n", e->out);
	*done = true;
	return NW_OK;
}

static int
eval_next(void *state, stream_write_fn *write, void *arg, bool *done)
{
	struct eval *e = state;
	size_t n;
	int rc = NW_OK;

	*done = false;
	if ((e->out = open_memstream(&e->text, &e->text_len)) == NULL)
		return NW_ENOMEM;
	for (n = 0; n < SLICE_SERIES && !*done && rc == NW_OK; n++) {
		rc = e->found_all ? next_group(e, done) : next_series(e);
		fflush(e->out);
		if (e->text_len > SLICE_BYTES)
			break;
	}
	if (fclose(e->out) != 0)
		rc = NW_ENOMEM;
	if (rc == NW_OK && e->text_len > 0)
		rc = write(arg, e->text, e->text_len);
	free(e->text);
	e->text = NULL;
	return rc;
}

static void
eval_free(void *state)
{
	struct eval *e = state;
	size_t i, k;

	for (i = 0; i < PROMQL_STAGES; i++) {
		for (k = 0; k < e->groups[i].n; k++) {
			json_decref(e->groups[i].list[k].labels);
			free(e->groups[i].list[k].value);
			free(e->groups[i].list[k].n);
		}
		free(e->groups[i].list);
		json_decref(e->groups[i].index);
	}
	find_free(e->find);
	free(e->samples);
	free(e->values);
	free(e->scratch);
	free(e->has);
	free(e);
}

int
prom_eval_stream(struct store_reader *r, const struct promql *q, const struct prom_range *range,
    struct stream *out)
{
	struct eval *e = calloc(1, sizeof(*e));
	int rc = NW_ENOMEM;

	if (e == NULL)
		return NW_ENOMEM;
	e->reader = r;
	e->q = *q;
	e->range = *range;
	prom_find_query(&e->q, &e->query);
	e->values = calloc(range->n_steps, sizeof(*e->values));
	e->has = calloc(range->n_steps, sizeof(*e->has));
	e->scratch = calloc(SAMPLES_MAX, sizeof(*e->scratch));
	if (e->values == NULL || e->has == NULL || e->scratch == NULL ||
	    (rc = find_new(r, &e->query, &e->find)) < 0) {
		eval_free(e);
		return rc;
	}
	*out = (struct stream){ eval_next, eval_free, e };
	return NW_OK;
}
