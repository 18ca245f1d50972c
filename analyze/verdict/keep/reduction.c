/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/keep/reduction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/xmalloc.h"
#include "narrows/err.h"

static const int64_t STEP_MIN_NS = 1000000000;
static const int64_t MINUTE_NS = 60000000000;
static const int64_t DAY_NS = 86400000000000;
/* A program with a smaller share of the busiest program's bytes is noise. */
static const double PROGRAM_SHARE = 0.1;

/* The published scan of thresholds, and the scan used; the publication selects at 0.95. */
static const double scan_faithful[] = { 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1 };

/* --- programs --- */

struct candidate {
	char *program;
	enum nw_op op;
	double bytes;
};

static int
most_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : strcmp(x->program, y->program);
}

/* Appends the programs of a host with a part in the session, the busiest first. */
static void
host_programs(const struct evidence *e, size_t host, size_t by, struct reductions *out)
{
	struct candidate *all = xcalloc(e->n_processes + 1, sizeof(*all));
	size_t f, n = 0, i;

	for (f = 0; f < e->n_processes; f++) {
		const char *program =
		    e->processes[f].program != NULL ? e->processes[f].program : "?";

		for (i = 0; i < n && strcmp(all[i].program, program) != 0; i++)
			;
		if (e->processes[f].host != host || i < n)
			continue;
		all[n].program = xstrdup(program);
		all[n].bytes = response_choose(e, host, program, &all[n].op);
		n++;
	}
	if (n > 0)
		qsort(all, n, sizeof(*all), most_first);
	for (i = 0; i < n; i++) {
		if (i >= REDUCTION_PROGRAMS_MAX || !(all[i].bytes > 0) ||
		    all[i].bytes < PROGRAM_SHARE * all[0].bytes) {
			free(all[i].program);
			continue;
		}
		out->list = xreallocarray(out->list, out->n + 1, sizeof(*out->list));
		out->list[out->n] = (struct reduction){ .status = "too_few_rows" };
		response_init(&out->list[out->n++].response, e, host, all[i].program, all[i].op, by,
		    out->n_rows);
	}
	free(all);
}

/* --- the window and its earlier sessions --- */

struct earlier {
	int64_t from_wall_ns;                   /* begin of the window */
	int64_t first_wall_ns;                  /* begin of the earliest session in the window */
	int64_t id[REDUCTION_SESSIONS_MAX + 1]; /* earlier sessions, then the session itself */
	size_t n;
};

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct earlier *e = arg;
	int64_t last =
	    s->last_data_wall_ns > s->closed_wall_ns ? s->last_data_wall_ns : s->closed_wall_ns;

	(void)res;
	if (last <= e->from_wall_ns)
		return 0;
	e->id[e->n++] = s->id;
	if (s->opened_wall_ns < e->first_wall_ns)
		e->first_wall_ns = s->opened_wall_ns;
	return e->n == REDUCTION_SESSIONS_MAX;
}

/* A row is a whole number of windows of the evidence, and a second at least. */
static size_t
windows_per_row(const struct evidence *e)
{
	return (size_t)((STEP_MIN_NS + e->step_ns - 1) / e->step_ns);
}

/* Rows begin with the earliest session in the window, or the window, and end with the session. */
static int
window_choose(struct store_reader *r, const struct evidence *e,
    const struct reduction_params *params, struct reductions *out, struct earlier *before)
{
	int64_t end = e->t0_wall_ns + (int64_t)e->n_windows * e->step_ns, rows;
	int rc;

	*before = (struct earlier){ .from_wall_ns = end - params->window_ns,
		.first_wall_ns = e->t0_wall_ns };
	if ((rc = store_sessions(
		 r, e->session_id, 4 * REDUCTION_SESSIONS_MAX, on_session, before)) < 0)
		return rc;
	before->id[before->n] = e->session_id;
	out->step_ns = e->step_ns * (int64_t)windows_per_row(e);
	rows = (end - before->first_wall_ns) / out->step_ns;
	if (rows > params->window_ns / out->step_ns)
		rows = params->window_ns / out->step_ns;
	out->n_rows = rows > REDUCTION_ROWS_MAX ? REDUCTION_ROWS_MAX : (size_t)rows;
	return NW_OK;
}

static int
responses_load(struct store_reader *r, const struct evidence *e, const struct earlier *before,
    struct reductions *out)
{
	size_t i, k;
	int rc = NW_OK;

	for (i = 0; i < e->n_hosts; i++)
		host_programs(e, i, windows_per_row(e), out);
	for (i = 0; i < out->n; i++)
		for (k = 0; k < before->n && rc == NW_OK; k++)
			rc = response_add(&out->list[i].response, e, r, before->id[k]);
	return rc;
}

/* Loads metrics of hosts with enough rows of their programs. */
static int
metrics_load(struct store_reader *r, const struct evidence *e,
    const struct reduction_params *params, const struct earlier *before, struct reductions *out)
{
	size_t i, k;
	int rc = NW_OK;

	out->n_hosts = e->n_hosts;
	out->metrics = xcalloc(e->n_hosts + 1, sizeof(*out->metrics));
	for (i = 0; i < out->n && rc == NW_OK; i++) {
		struct reduction *one = &out->list[i];
		struct hostmetrics *m = &out->metrics[one->response.host];

		for (k = 0; k < out->n_rows; k++)
			one->n_rows +=
			    isfinite(response_at(&one->response, k, params->operation_time));
		if (one->n_rows < params->rows_min)
			continue;
		one->metrics = m;
		if (m->n_rows > 0)
			continue;
		*m = (struct hostmetrics){ .t0_wall_ns = one->response.t0_wall_ns,
			.step_ns = out->step_ns,
			.n_rows = out->n_rows,
			.ahead_ns = e->hosts[one->response.host].ahead_ns };
		rc = hostmetrics_load(
		    r, e->hosts[one->response.host].id, before->id, before->n + 1, m);
	}
	return rc;
}

int
reductions_load(struct store_reader *r, const struct evidence *e,
    const struct reduction_params *params, struct reductions *out)
{
	struct earlier before;
	int rc;

	memset(out, 0, sizeof(*out));
	if (e->n_windows == 0)
		return NW_OK;
	rc = window_choose(r, e, params, out, &before);
	if (rc == NW_OK)
		rc = responses_load(r, e, &before, out);
	if (rc == NW_OK)
		rc = metrics_load(r, e, params, &before, out);
	if (rc < 0)
		reductions_clear(out);
	return rc;
}

/* --- the reduction --- */

/* Takes the courses in time from response and metrics; the table is on loan for the result. */
static int
time_find(const struct reductions *all, const struct nw_table *t, struct reduction *r)
{
	double *day = xcalloc(t->n_rows + 1, sizeof(*day));
	int rc;

	for (size_t i = 0; i < t->n_rows; i++)
		day[i] = (double)((r->response.t0_wall_ns + (int64_t)i * all->step_ns) % DAY_NS) /
		    (double)DAY_NS;
	rc = nw_time_rival(t, day, &r->time);
	free(day);
	return rc;
}

static int
reduce(const struct reduction_params *params, const struct reductions *all,
    const struct nw_table *t, struct reduction *r)
{
	const size_t minute_rows = (size_t)(MINUTE_NS / all->step_ns);
	struct nw_reduce_options o = all->options;
	int rc = NW_OK;

	r->time.rest = *t;
	if (!params->faithful)
		rc = time_find(all, t, r);
	o.n_courses = r->time.n_courses;
	o.course = r->time.course;
	o.response = r->time.parts != 0 ? t->y : NULL;
	if (rc == NW_OK)
		rc = nw_reduce(&r->time.rest, NULL, 0, &o, &r->result);
	r->status =
	    nw_status_text(rc == NW_OK ? r->result.elimination.status : NW_STATUS_UNDEFINED);
	if (rc == NW_OK && r->result.prepared.n_rows < params->rows_min)
		r->status = "too_few_rows";
	if (rc == NW_OK && !params->faithful && strcmp(r->status, "ok") == 0)
		rc = nw_reduce_worth(&r->time.rest, &o, minute_rows, &r->worth);
	/* The rest is needed no more, and may borrow the table. */
	r->time.rest = (struct nw_table){ 0 };
	return rc;
}

static int
reduction_find(
    const struct reduction_params *params, const struct reductions *all, struct reduction *r)
{
	const struct hostmetrics *m = r->metrics;
	struct nw_table t;
	const double **x;
	double *y;
	size_t i;
	int rc;

	r->worth = (struct nw_worth){ .r2 = NAN, .random_r2 = NAN, .minute_r2 = NAN };
	if (m == NULL) /* without enough rows */
		return NW_OK;
	if (m->n == 0) {
		r->status = "no_metrics";
		return NW_OK;
	}
	x = xcalloc(m->n, sizeof(*x));
	y = xcalloc(all->n_rows, sizeof(*y));
	t = (struct nw_table){ x, m->n, y, all->n_rows };
	for (i = 0; i < m->n; i++)
		x[i] = m->metric[i].x;
	for (i = 0; i < all->n_rows; i++)
		y[i] = response_at(&r->response, i, params->operation_time);
	rc = reduce(params, all, &t, r);
	free(x);
	free(y);
	return rc;
}

static struct nw_reduce_options
options_of(const struct reduction_params *params)
{
	struct nw_reduce_options o = params->faithful ? nw_reduce_faithful() : nw_reduce_better();

	if (params->faithful) {
		o.n_thresholds = sizeof(scan_faithful) / sizeof(scan_faithful[0]);
		o.threshold = scan_faithful;
		o.folds = 5;
	}
	o.n_random = 0;
	return o;
}

int
reductions_find(const struct reduction_params *params, struct reductions *out)
{
	size_t i;
	int rc = NW_OK;

	out->options = options_of(params);
	for (i = 0; i < out->n && rc == NW_OK; i++)
		rc = reduction_find(params, out, &out->list[i]);
	return rc;
}

void
reductions_clear(struct reductions *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		nw_reduction_clear(&s->list[i].result);
		nw_time_rival_clear(&s->list[i].time);
		response_clear(&s->list[i].response);
	}
	for (i = 0; i < s->n_hosts; i++)
		hostmetrics_clear(&s->metrics[i]);
	free(s->list);
	free(s->metrics);
	memset(s, 0, sizeof(*s));
}
