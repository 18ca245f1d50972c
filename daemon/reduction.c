/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/reduction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/xmalloc.h"
#include "narrows/err.h"

static const int64_t STEP_MIN_NS = 1000000000;
static const double PROGRAM_SHARE = 0.1;     /* programs that moved less than this of the busiest one's bytes: noise */

/* The published scan, and the one chosen from; 0.95 is where the published selection is made. */
static const double scan_faithful[] = { 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1 };

/* --- the grid and what the hosts say --- */

/* Whole windows of the evidence's grid, a second or more, the last `window` of the session. */
static size_t
grid_choose(const struct evidence *e, const struct reduction_params *params, struct reductions *out, size_t *first)
{
	size_t by = (size_t)((STEP_MIN_NS + e->step_ns - 1) / e->step_ns), rows;

	out->step_ns = e->step_ns * (int64_t)by;
	rows = e->n_windows / by;
	if (rows > (size_t)(params->window_ns / out->step_ns))
		rows = (size_t)(params->window_ns / out->step_ns);
	out->n_rows = rows;
	*first = e->n_windows - rows * by;
	return by;
}

int
reductions_load(struct store_reader *r, const struct evidence *e, const struct reduction_params *params,
    struct reductions *out)
{
	size_t i, first;
	int rc = NW_OK;

	memset(out, 0, sizeof(*out));
	if (e->n_windows == 0)
		return NW_OK;
	(void)grid_choose(e, params, out, &first);
	if (out->n_rows < params->rows_min)
		return NW_OK;
	out->n_hosts = e->n_hosts;
	out->metrics = xcalloc(e->n_hosts + 1, sizeof(*out->metrics));
	for (i = 0; i < e->n_hosts && rc == NW_OK; i++) {
		out->metrics[i] = (struct hostmetrics){ .t0_wall_ns = e->t0_wall_ns + (int64_t)first * e->step_ns,
			.step_ns = out->step_ns, .n_rows = out->n_rows };
		rc = hostmetrics_load(r, e->hosts[i].id, e->session_id, &out->metrics[i]);
	}
	if (rc < 0)
		reductions_clear(out);
	return rc;
}

/* --- programs and their response --- */

static bool
flow_is(const struct evidence_flow *f, size_t host, const char *program)
{
	return f->host == host && strcmp(f->program != NULL ? f->program : "?", program) == 0;
}

static double
op_bytes(const struct evidence *e, const struct reduction *r, int op)
{
	double sum = 0;
	size_t f, i;

	for (f = 0; f < e->n_flows; f++)
		for (i = 0; flow_is(&e->flows[f], r->host, r->program) && e->flows[f].bytes[op] != NULL && i < e->n_windows; i++)
			sum += e->flows[f].bytes[op][i];
	return sum;
}

/* What the program delivers: to or from the network where it moves about as much there as anywhere. Returns the bytes. */
static double
op_choose(const struct evidence *e, struct reduction *r)
{
	static const enum nw_op order[] = { NW_OP_NET_WRITE, NW_OP_NET_READ, NW_OP_DISK_WRITE, NW_OP_DISK_READ };
	double bytes[NW_OP_COUNT], most = 0;
	int i;

	for (i = 0; i < NW_OP_COUNT; i++)
		most = fmax(most, bytes[i] = op_bytes(e, r, i));
	for (i = 0; i < NW_OP_COUNT; i++)
		if (bytes[order[i]] > 0 && bytes[order[i]] >= 0.5 * most) {
			r->op = order[i];
			return bytes[order[i]];
		}
	return 0;
}

/* Per row: bytes per second, or seconds per operation (missing where there was none). */
static void
response_fill(const struct evidence *e, const struct reduction *r, bool operation_time, size_t first, size_t by, double *y)
{
	size_t row, i, f;

	for (row = 0; row < r->n_rows; row++) {
		double bytes = 0, busy = 0, ops = 0;

		for (f = 0; f < e->n_flows; f++)
			for (i = first + row * by; flow_is(&e->flows[f], r->host, r->program) &&
			    e->flows[f].bytes[r->op] != NULL && i < first + (row + 1) * by; i++) {
				bytes += e->flows[f].bytes[r->op][i];
				busy += e->flows[f].busy_s[r->op][i];
				ops += e->flows[f].ops[r->op][i];
			}
		y[row] = operation_time ? (ops > 0 ? busy / ops : NAN) : bytes / ((double)e->step_ns * (double)by * 1e-9);
	}
}

static int
reduction_find(const struct evidence *e, const struct reduction_params *params, const struct reductions *all,
    size_t first, size_t by, struct reduction *r)
{
	const struct hostmetrics *m = r->metrics;
	const double **x;
	double *y;
	size_t i;
	int rc;

	r->n_rows = all->n_rows;
	if (r->n_rows < params->rows_min) {
		r->status = "too_few_rows";
		return NW_OK;
	}
	if (m == NULL || m->n == 0) {
		r->status = "no_metrics";
		return NW_OK;
	}
	x = xcalloc(m->n, sizeof(*x));
	y = xcalloc(r->n_rows, sizeof(*y));
	for (i = 0; i < m->n; i++)
		x[i] = m->metric[i].x;
	response_fill(e, r, params->operation_time, first, by, y);
	rc = nw_reduce(x, m->n, y, r->n_rows, NULL, 0, &all->options, &r->result);
	r->status = nw_status_text(rc == NW_OK ? r->result.elimination.status : NW_STATUS_UNDEFINED);
	if (rc == NW_OK && r->result.prepared.n_rows < params->rows_min)
		r->status = "too_few_rows";
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

struct ranked { struct reduction r; double bytes; };

static int
most_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : strcmp(x->r.program, y->r.program);
}

/* The programs of a host that carried the session, the busiest first, onto the list. */
static void
host_programs(const struct evidence *e, size_t host, struct reductions *out)
{
	struct ranked *all = xcalloc(e->n_flows + 1, sizeof(*all));
	size_t f, n = 0, i;

	for (f = 0; f < e->n_flows; f++) {
		const char *program = e->flows[f].program != NULL ? e->flows[f].program : "?";

		for (i = 0; i < n && strcmp(all[i].r.program, program) != 0; i++)
			;
		if (e->flows[f].host != host || i < n)
			continue;
		all[n].r = (struct reduction){ .host = host, .program = xstrdup(program),
			.metrics = host < out->n_hosts ? &out->metrics[host] : NULL };
		all[n].bytes = op_choose(e, &all[n].r);
		n++;
	}
	if (n > 0)
		qsort(all, n, sizeof(*all), most_first);
	for (i = 0; i < n; i++) {
		if (i >= REDUCTION_PROGRAMS_MAX || !(all[i].bytes > 0) || all[i].bytes < PROGRAM_SHARE * all[0].bytes) {
			free(all[i].r.program);
			continue;
		}
		out->list = xreallocarray(out->list, out->n + 1, sizeof(*out->list));
		out->list[out->n++] = all[i].r;
	}
	free(all);
}

int
reductions_find(const struct evidence *e, const struct reduction_params *params, struct reductions *out)
{
	size_t i, by, first;
	int rc = NW_OK;

	out->options = options_of(params);
	if (e->n_windows == 0)
		return NW_OK;
	by = grid_choose(e, params, out, &first);
	for (i = 0; i < e->n_hosts; i++)
		host_programs(e, i, out);
	for (i = 0; i < out->n && rc == NW_OK; i++)
		rc = reduction_find(e, params, out, first, by, &out->list[i]);
	return rc;
}

void
reductions_clear(struct reductions *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		nw_reduction_clear(&s->list[i].result);
		free(s->list[i].program);
	}
	for (i = 0; i < s->n_hosts; i++)
		hostmetrics_clear(&s->metrics[i]);
	free(s->list);
	free(s->metrics);
	memset(s, 0, sizeof(*s));
}
