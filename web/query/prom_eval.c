/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of a series go through the stages of a node one after the other. An aggregation keeps
 * values in a group; after the last series the groups go on through the stages behind it. The
 * results of a node go into the node's join, or into the answer. So the right side
 * of a join is computed first, then the left side, then the join itself.
 *
 *	COUNT --------> SERIES or JOINED ------> GROUPS ---> the next node
 *	  cost of all series is known, and not too high
 *
 * A slice ends when its time is over, within a series too: between two stretches of samples, and
 * between two steps.
 */
#include "web/query/prom_eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "web/query/find.h"
#include "web/query/prom_group.h"
#include "web/query/prom_join.h"
#include "web/query/prom_labels.h"
#include "web/query/prom_window.h"

enum {
	SAMPLES_MAX = 1 << 17,
	GROUPS_MAX_BYTES = 4 << 20,
	SLICE_BYTES = 128 << 10,
	STEPS_A_LOOK = 64 /* steps between two looks at the clock */
};
#define SLICE_NS INT64_C(10000000)

enum phase { COUNT, SERIES, JOINED, GROUPS };

struct eval {
	struct store_reader *reader;
	struct promql q;
	struct prom_range range;
	/* nodes in the order of evaluation, and the join for the results of each node */
	size_t order[PROMQL_NODES], n_order, turn;
	struct {
		bool is_root;
		size_t node;
		enum prom_side side;
	} sink[PROMQL_NODES];
	const struct promql_node *node;         /* in hand */
	const struct promql_selector *selector; /* in hand */
	size_t n_counted;                       /* selectors whose cost is known */
	struct query query;                     /* on loan to find */
	struct find *find;
	const struct found *at;
	size_t layout, field;                     /* next series of the metadata in hand */
	struct prom_groups groups[PROMQL_STAGES]; /* of the node in hand */
	struct prom_join joins[PROMQL_NODES];
	size_t bytes_left, n_written;
	enum phase phase;
	bool begun;
	size_t stage;        /* whose groups go on next */
	size_t row;          /* of the join in hand: the row that goes on next */
	json_t *labels;      /* of the series in hand, NULL between two */
	size_t step, loaded; /* of the series: first without value, and first without samples */
	size_t stretch;      /* steps whose samples fit into memory, as far as is known */
	struct prom_windows *windows;
	struct prom_sample *samples;
	size_t n_samples, cap_samples;
	bool too_many;
	uint32_t column; /* of the rows that are being read */
	double *values;  /* per step */
	bool *has;
	char *text; /* of this slice */
	size_t text_len;
	FILE *out;
	int64_t slice_end_mono_ns;
	double n_rows, n_values, cost_max; /* rows read, steps computed, in all */
	char why[PROMQL_WHY_BYTES];
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
step_time(const struct eval *e, size_t k)
{
	return e->range.start_ns + (int64_t)k * e->range.step_ns;
}

/* The time of the samples that belong to a step. */
static int64_t
sample_time(const struct eval *e, size_t k)
{
	return step_time(e, k) - e->selector->offset_ns;
}

static bool
slice_is_over(const struct eval *e)
{
	return nw_mono_ns() >= e->slice_end_mono_ns;
}

/* Reads the samples of the next steps: as many steps as fit into memory. */
static int
stretch_load(struct eval *e)
{
	size_t to =
	    e->range.n_steps - e->step < e->stretch ? e->range.n_steps : e->step + e->stretch;
	int rc = samples_read(
	    e, sample_time(e, e->step) - prom_window_ns(e->selector), sample_time(e, to - 1));

	if (rc < 0)
		return rc;
	if (e->too_many && to - e->step == 1) {
		snprintf(e->why, sizeof(e->why),
		    "query: more than %d samples in one window: choose a shorter range",
		    SAMPLES_MAX);
		return NW_ETOOBIG;
	}
	e->stretch = to - e->step;
	if (e->too_many)
		e->stretch /= 2;
	else {
		e->loaded = to;
		prom_windows_begin(e->windows, e->samples, e->n_samples);
	}
	return NW_OK;
}

/* The steps of the series in hand, until the slice is over. */
static int
series_compute(struct eval *e)
{
	size_t k;
	int rc = NW_OK;

	while (rc == NW_OK && e->step < e->range.n_steps && !slice_is_over(e)) {
		if (e->step == e->loaded) {
			rc = stretch_load(e);
			continue;
		}
		for (k = 0; k < STEPS_A_LOOK && e->step < e->loaded; k++, e->step++)
			e->values[e->step] =
			    prom_windows_at(e->windows, sample_time(e, e->step), &e->has[e->step]);
	}
	return rc;
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

/* Takes a result of the node in hand. */
static int
yield(struct eval *e, const json_t *labels, const double *v, const bool *has)
{
	size_t node = e->order[e->turn];
	const char *why = NULL;
	int rc;

	if (e->sink[node].is_root)
		return series_write(e, labels, v, has);
	rc = prom_join_add(&e->joins[e->sink[node].node], e->sink[node].side, labels, v, has, &why);
	if (why != NULL)
		snprintf(e->why, sizeof(e->why), "query: %s", why);
	return rc;
}

/* Without bool, a comparison keeps the values of its true results. */
static void
calculate(const struct promql_stage *s, double *v, bool *has, size_t n)
{
	bool filters = !promql_drops_name(s);
	double result;
	size_t k;

	for (k = 0; k < n; k++) {
		result = s->number_first ? promql_calculate(s->op, s->number, v[k])
					 : promql_calculate(s->op, v[k], s->number);
		if (filters)
			has[k] = has[k] && result != 0;
		else
			v[k] = result;
	}
}

/* Values from one stage on, up to the next aggregation or the end. Changes labels, v and has. */
static int
stages_run(struct eval *e, size_t stage, json_t *labels, double *v, bool *has)
{
	for (; stage < e->node->n_stages; stage++) {
		const struct promql_stage *s = &e->node->stages[stage];

		if (s->aggregate != PROMQL_ARITHMETIC)
			return prom_groups_add(&e->groups[stage], labels, v, has);
		if (promql_drops_name(s))
			json_object_del(labels, "__name__");
		calculate(s, v, has, e->range.n_steps);
	}
	return yield(e, labels, v, has);
}

/* --- the cost --- */

/*
 * Adds what a series costs: its rows, read once if all fit into memory; else read in stretches,
 * each of which begins with the rows of its first window, and may be too long at the first try.
 */
static int
cost_add(struct eval *e)
{
	const char *field = e->at->layouts[e->layout].fields[e->field];
	double window = (double)prom_window_ns(e->selector), n_rows = 0, in_window;
	int64_t t0 = sample_time(e, 0) - prom_window_ns(e->selector),
		t1 = sample_time(e, e->range.n_steps - 1) + 1, n;
	size_t i;
	int rc = NW_OK;

	for (i = e->layout; i < e->at->n_layouts && rc == NW_OK; i++) {
		const struct found_layout *l = &e->at->layouts[i];

		if (field_place(l, field) == l->n_fields)
			continue;
		rc = store_rows_count(e->reader, l->id, t0, t1, &n);
		n_rows += (double)n;
	}
	in_window = n_rows * fmin(1, window / (double)(t1 - t0));
	if (n_rows > SAMPLES_MAX)
		n_rows *= 2 * SAMPLES_MAX / fmax(1, SAMPLES_MAX - in_window);
	e->n_rows += n_rows;
	e->n_values += (double)e->range.n_steps;
	return rc;
}

static int
cost_judge(struct eval *e)
{
	double cost = e->n_rows + e->n_values;

	if (e->cost_max <= 0 || cost <= e->cost_max)
		return NW_OK;
	snprintf(e->why, sizeof(e->why),
	    "%s: the query costs %.0f values, at most %.0f (http-query-cost): choose a %s, or name "
	    "fewer series by labels",
	    e->n_rows < e->n_values ? "step" : "start", cost, e->cost_max,
	    e->n_rows < e->n_values ? "larger step" : "later start");
	return NW_ETOOBIG;
}

/* --- the walk over series and groups --- */

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

/* The next series and its labels; e->labels stays NULL if the query does not choose the series. */
static int
series_find(struct eval *e, bool *found_all)
{
	const struct found_layout *l;
	int state;

	if (e->at == NULL || !field_next(e)) {
		if ((state = find_next(e->find, &e->at)) != FIND_ONE) {
			e->at = NULL;
			*found_all = state == FIND_END;
			return state < 0 ? state : NW_OK;
		}
		e->layout = e->field = 0;
	}
	l = &e->at->layouts[e->layout];
	if ((e->labels = prom_labels(e->at, l->fields[e->field])) == NULL)
		return NW_ENOMEM;
	if (!prom_labels_match(e->selector, e->labels)) {
		json_decref(e->labels);
		e->labels = NULL;
	}
	e->step = e->loaded = 0;
	return NW_OK;
}

/* The series in hand is complete. */
static int
series_end(struct eval *e)
{
	int rc;

	if (e->selector->function != PROMQL_INSTANT && e->selector->function != PROMQL_LAST)
		json_object_del(e->labels, "__name__");
	rc = stages_run(e, 0, e->labels, e->values, e->has);
	json_decref(e->labels);
	e->labels = NULL;
	return rc;
}

static int
next_series(struct eval *e)
{
	bool found_all = false;
	int rc = NW_OK;

	if (e->labels == NULL)
		rc = series_find(e, &found_all);
	if (found_all)
		e->phase = GROUPS;
	if (rc == NW_OK && e->labels != NULL)
		rc = series_compute(e);
	return rc == NW_OK && e->labels != NULL && e->step == e->range.n_steps ? series_end(e) : rc;
}

/* Begins to look for the series of a selector. */
static int
selector_begin(struct eval *e, const struct promql_selector *s)
{
	struct store_span span = { 0, INT64_MAX };
	int rc;

	find_free(e->find);
	e->find = NULL;
	e->at = NULL;
	e->selector = s;
	prom_find_query(s, &e->query);
	if ((rc = find_new(e->reader, &e->query, &e->find)) < 0 ||
	    (rc = prom_narrow(e->reader, s, &span)) < 0)
		return rc;
	find_between(e->find, &span);
	return NW_OK;
}

/* Begins with the next node. */
static int
node_begin(struct eval *e)
{
	size_t i;

	e->node = &e->q.nodes[e->order[e->turn]];
	e->stage = e->row = 0;
	for (i = 0; i < e->node->n_stages; i++)
		e->groups[i] = (struct prom_groups){ .stage = &e->node->stages[i],
			.n_steps = e->range.n_steps,
			.bytes_left = &e->bytes_left };
	if (e->node->is_join) {
		e->phase = JOINED;
		return NW_OK;
	}
	e->phase = SERIES;
	e->stretch = e->range.n_steps;
	prom_windows_free(e->windows);
	e->windows = prom_windows_new(&e->q.selectors[e->node->selector], SAMPLES_MAX);
	return e->windows == NULL ? NW_ENOMEM
				  : selector_begin(e, &e->q.selectors[e->node->selector]);
}

static int
next_count(struct eval *e)
{
	bool found_all = false;
	int rc = series_find(e, &found_all);

	if (rc == NW_OK && e->labels != NULL)
		rc = cost_add(e);
	json_decref(e->labels);
	e->labels = NULL;
	if (rc == NW_OK)
		rc = cost_judge(e);
	if (rc < 0 || !found_all)
		return rc;
	return ++e->n_counted < e->q.n_selectors ? selector_begin(e, &e->q.selectors[e->n_counted])
						 : node_begin(e);
}

/* A row of a join goes on through the stages behind the join. */
static int
next_joined(struct eval *e)
{
	const struct prom_join *j = &e->joins[e->order[e->turn]];
	const struct prom_row *row;
	size_t k;

	if (e->row == j->out.n) {
		e->phase = GROUPS;
		return NW_OK;
	}
	row = &j->out.list[e->row++];
	for (k = 0; k < e->range.n_steps; k++) {
		e->values[k] = row->v[k];
		e->has[k] = row->has[k] != 0;
	}
	return stages_run(e, 0, row->labels, e->values, e->has);
}

static void
node_clear(struct eval *e)
{
	size_t i;

	for (i = 0; i < PROMQL_STAGES; i++)
		prom_groups_clear(&e->groups[i]);
}

/* A group of an aggregation goes on through the stages behind the aggregation. */
static int
next_group(struct eval *e, bool *done)
{
	json_t *labels;

	for (; e->stage < e->node->n_stages; e->stage++)
		if (prom_groups_next(&e->groups[e->stage], &labels, e->values, e->has))
			return stages_run(e, e->stage + 1, labels, e->values, e->has);
	node_clear(e);
	if (e->node->is_join)
		prom_join_clear(&e->joins[e->order[e->turn]]);
	if (++e->turn < e->n_order)
		return node_begin(e);
	put_begin(e);
	fputs("\n]}}\n", e->out);
	*done = true;
	return NW_OK;
}

static int
eval_next(void *state, stream_write_fn *write, void *arg, bool *done)
{
	struct eval *e = state;
	int rc = NW_OK;

	*done = false;
	e->slice_end_mono_ns = nw_mono_ns() + SLICE_NS;
	if ((e->out = open_memstream(&e->text, &e->text_len)) == NULL)
		return NW_ENOMEM;
	do {
		rc = e->phase == COUNT   ? next_count(e)
		    : e->phase == SERIES ? next_series(e)
		    : e->phase == JOINED ? next_joined(e)
					 : next_group(e, done);
		fflush(e->out);
	} while (rc == NW_OK && !*done && e->text_len <= SLICE_BYTES && !slice_is_over(e));
	if (fclose(e->out) != 0)
		rc = NW_ENOMEM;
	if (rc == NW_OK && e->text_len > 0)
		rc = write(arg, e->text, e->text_len);
	free(e->text);
	e->text = NULL;
	return rc;
}

static const char *
eval_why(const void *state)
{
	const struct eval *e = state;

	return e->why[0] != '\0' ? e->why : NULL;
}

static bool
eval_may_refuse(const void *state)
{
	const struct eval *e = state;

	return !e->begun;
}

static void
eval_free(void *state)
{
	struct eval *e = state;
	size_t i;

	node_clear(e);
	for (i = 0; i < PROMQL_NODES; i++)
		prom_join_clear(&e->joins[i]);
	find_free(e->find);
	free(e->samples);
	free(e->values);
	prom_windows_free(e->windows);
	json_decref(e->labels);
	free(e->has);
	free(e);
}

/* The right side of a join comes before the left side, the join behind both. The root is last. */
static void
order_make(struct eval *e, size_t root)
{
	size_t wait[PROMQL_NODES], n = 0, i = PROMQL_NODES, node;

	e->sink[root].is_root = true;
	for (wait[n++] = root; n > 0;) {
		node = wait[--n];
		e->order[--i] = node;
		if (!e->q.nodes[node].is_join)
			continue;
		e->joins[node] = (struct prom_join){ .how = &e->q.nodes[node].join,
			.n_steps = e->range.n_steps,
			.bytes_left = &e->bytes_left };
		e->sink[e->q.nodes[node].left].node = e->sink[e->q.nodes[node].right].node = node;
		e->sink[e->q.nodes[node].left].side = PROM_LEFT;
		e->sink[e->q.nodes[node].right].side = PROM_RIGHT;
		wait[n++] = e->q.nodes[node].right;
		wait[n++] = e->q.nodes[node].left;
	}
	e->n_order = PROMQL_NODES - i;
	memmove(e->order, e->order + i, e->n_order * sizeof(e->order[0]));
}

int
prom_eval_stream(struct store_reader *r, const struct promql *q, const struct prom_range *range,
    double cost_max, struct stream *out)
{
	struct eval *e = calloc(1, sizeof(*e));
	int rc = NW_ENOMEM;

	if (e == NULL)
		return NW_ENOMEM;
	e->reader = r;
	e->q = *q;
	e->range = *range;
	e->bytes_left = GROUPS_MAX_BYTES;
	order_make(e, q->n_nodes - 1);
	e->values = calloc(range->n_steps, sizeof(*e->values));
	e->has = calloc(range->n_steps, sizeof(*e->has));
	e->cost_max = cost_max;
	if (e->values == NULL || e->has == NULL ||
	    (rc = selector_begin(e, &e->q.selectors[0])) < 0) {
		eval_free(e);
		return rc;
	}
	*out = (struct stream){ .next = eval_next,
		.free = eval_free,
		.state = e,
		.why = eval_why,
		.may_refuse = eval_may_refuse };
	return NW_OK;
}
