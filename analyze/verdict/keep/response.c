/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/keep/response.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "analyze/verdict/evidence/hosttime.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

static const double NS = 1e-9;
static const int64_t LEAD_NS = 60000000000; /* longest row to reach back into the grid */

/* Whether a process of the evidence is the program on the host. */
static bool
is_process(const struct evidence_process *f, size_t host, const char *program)
{
	return f->host == host && strcmp(f->program != NULL ? f->program : "?", program) == 0;
}

/* --- the operation of delivery --- */

static double
op_bytes(const struct evidence *e, size_t host, const char *program, int op)
{
	double sum = 0;
	size_t f, i;

	for (f = 0; f < e->n_processes; f++)
		for (i = 0; is_process(&e->processes[f], host, program) &&
		     e->processes[f].bytes[op] != NULL && i < e->n_windows;
		     i++)
			sum += e->processes[f].bytes[op][i];
	return sum;
}

double
response_choose(const struct evidence *e, size_t host, const char *program, enum nw_op *op)
{
	static const enum nw_op order[] = { NW_OP_NET_WRITE, NW_OP_NET_READ, NW_OP_DISK_WRITE,
		NW_OP_DISK_READ };
	double bytes[NW_OP_COUNT], most = 0;
	int i;

	*op = order[0];
	for (i = 0; i < NW_OP_COUNT; i++)
		most = fmax(most, bytes[i] = op_bytes(e, host, program, i));
	for (i = 0; most > 0 && i < NW_OP_COUNT; i++)
		if (bytes[order[i]] >= 0.5 * most) {
			*op = order[i];
			return bytes[order[i]];
		}
	return 0;
}

/* --- the session at hand --- */

/* Windows between the first and the last activity count, idle windows included. */
static void
add_own(struct response *r, const struct evidence *e, size_t by)
{
	size_t row, i, f, first,
	    covered = r->n_rows < e->n_windows / by ? r->n_rows : e->n_windows / by;

	for (row = r->n_rows - covered; row < r->n_rows; row++) {
		first = e->n_windows - (r->n_rows - row) * by;
		r->active[row] = true;
		for (f = 0; f < e->n_processes; f++)
			for (i = first; is_process(&e->processes[f], r->host, r->program) &&
			     e->processes[f].bytes[r->op] != NULL && i < first + by;
			     i++) {
				r->bytes[row] += e->processes[f].bytes[r->op][i];
				r->busy_s[row] += e->processes[f].busy_s[r->op][i];
				r->ops[row] += e->processes[f].ops[r->op][i];
			}
	}
}

void
response_init(struct response *r, const struct evidence *e, size_t host, char *program,
    enum nw_op op, size_t by, size_t n_rows)
{
	*r = (struct response){ .host = host,
		.program = program,
		.op = op,
		.n_rows = n_rows,
		.n_sessions = 1,
		.step_ns = e->step_ns * (int64_t)by };
	r->t0_wall_ns =
	    e->t0_wall_ns + (int64_t)e->n_windows * e->step_ns - (int64_t)n_rows * r->step_ns;
	r->bytes = xcalloc(n_rows + 1, sizeof(*r->bytes));
	r->busy_s = xcalloc(n_rows + 1, sizeof(*r->busy_s));
	r->ops = xcalloc(n_rows + 1, sizeof(*r->ops));
	r->active = xcalloc(n_rows + 1, sizeof(*r->active));
	add_own(r, e, by);
}

void
response_clear(struct response *r)
{
	free(r->program);
	free(r->bytes);
	free(r->busy_s);
	free(r->ops);
	free(r->active);
	memset(r, 0, sizeof(*r));
}

/* --- earlier sessions --- */

struct metas {
	const struct response *r;
	int64_t host_id;
	int64_t *id;
	size_t n;
};

static int
on_meta(void *arg, const struct nw_meta_rec *rec)
{
	struct metas *m = arg;
	json_t *subject;
	const char *program;
	enum nw_op op;

	if (rec->host_id != m->host_id || rec->subject_json == NULL ||
	    (subject = json_loads(rec->subject_json, 0, NULL)) == NULL)
		return 0;
	program = json_string_value(json_object_get(subject, "program"));
	if (evidence_caliper_op(rec->event_type, subject, &op) && op == m->r->op &&
	    strcmp(program != NULL ? program : "?", m->r->program) == 0) {
		m->id = xreallocarray(m->id, m->n + 1, sizeof(*m->id));
		m->id[m->n++] = rec->id;
	}
	json_decref(subject);
	return 0;
}

enum { SUM_V, COUNT, BUSY, BUSY_MAX, WINDOW, N_FIELDS };
static const char *const field_names[N_FIELDS] = { "sum_v", "count", "busy", "busy_max", "window" };

struct rows {
	struct response *r;
	int64_t begin_wall_ns, end_wall_ns; /* extent of the session's rows; 0 before the first */
	struct {
		int64_t id;
		int at[N_FIELDS];
	} * layout;
	size_t n_layouts, now;
	int64_t ahead_ns; /* lead of the host's clock */
};

static int
on_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct rows *rs = arg;
	size_t i, k;

	rs->layout = xreallocarray(rs->layout, rs->n_layouts + 1, sizeof(*rs->layout));
	rs->layout[rs->n_layouts].id = rec->id;
	for (k = 0; k < N_FIELDS; k++) {
		rs->layout[rs->n_layouts].at[k] = -1;
		for (i = 0; i < rec->n_fields; i++)
			if (strcmp(rec->fields[i], field_names[k]) == 0)
				rs->layout[rs->n_layouts].at[k] = (int)i;
	}
	rs->n_layouts++;
	return 0;
}

static void
spread(const struct response *r, double *to, double from_ns, double to_ns, double amount)
{
	double step = (double)r->step_ns, lo, hi;
	size_t i = from_ns > 0 ? (size_t)(from_ns / step) : 0;

	for (; amount > 0 && i < r->n_rows && (double)i * step < to_ns; i++) {
		lo = fmax(from_ns, (double)i * step);
		hi = fmin(to_ns, (double)(i + 1) * step);
		to[i] += amount * (hi - lo) / (to_ns - from_ns);
	}
}

static double
cell(const struct store_block *b, int column, size_t row)
{
	return column >= 0 ? b->columns[column][row] : NAN;
}

static int
on_block(void *arg, const struct store_block *b)
{
	struct rows *rs = arg;
	struct response *r = rs->r;
	const int *at = rs->layout[rs->now].at;
	size_t i;

	for (i = 0; i < b->n_rows; i++) {
		double window_s = cell(b, at[WINDOW], i), busy = cell(b, at[BUSY_MAX], i), to, from;

		if (!(window_s > 1e-6 && window_s < 1e6))
			window_s = 1;
		to = (double)(b->t_wall_ns[i] - r->t0_wall_ns);
		from = to - window_s / NS;
		spread(r, r->bytes, from, to, cell(b, at[SUM_V], i));
		spread(r, r->ops, from, to, cell(b, at[COUNT], i));
		spread(r, r->busy_s, from, to, isfinite(busy) ? busy : cell(b, at[BUSY], i));
		if (rs->begin_wall_ns == 0 || r->t0_wall_ns + (int64_t)from < rs->begin_wall_ns)
			rs->begin_wall_ns = r->t0_wall_ns + (int64_t)from;
		if (b->t_wall_ns[i] > rs->end_wall_ns)
			rs->end_wall_ns = b->t_wall_ns[i];
	}
	return 0;
}

static int
rows_read(struct rows *rs, struct store_reader *reader, int64_t meta_id)
{
	int64_t end = rs->r->t0_wall_ns + (int64_t)rs->r->n_rows * rs->r->step_ns;
	uint32_t fields[N_FIELDS];
	size_t n, k;
	int rc;

	rs->n_layouts = 0;
	rc = store_layouts(reader, meta_id, on_layout, rs);
	for (rs->now = 0; rs->now < rs->n_layouts && rc == NW_OK; rs->now++) {
		for (n = 0, k = 0; k < N_FIELDS; k++)
			if (rs->layout[rs->now].at[k] >= 0)
				fields[n++] = (uint32_t)rs->layout[rs->now].at[k];
		if (n > 0)
			rc = hosttime_rows(reader, rs->layout[rs->now].id, fields, n,
			    rs->r->t0_wall_ns, end + LEAD_NS, rs->ahead_ns, on_block, rs);
	}
	return rc;
}

/* Rows wholly within the reports of the session are active, even without bytes. */
static void
mark_active(const struct rows *rs)
{
	struct response *r = rs->r;
	size_t i;

	for (i = 0; i < r->n_rows; i++) {
		int64_t from = r->t0_wall_ns + (int64_t)i * r->step_ns;

		if (from >= rs->begin_wall_ns && from + r->step_ns <= rs->end_wall_ns)
			r->active[i] = true;
	}
	r->n_sessions++;
}

int
response_add(
    struct response *r, const struct evidence *e, struct store_reader *reader, int64_t session_id)
{
	struct metas m = { .r = r, .host_id = e->hosts[r->host].id };
	struct rows rs = { .r = r, .ahead_ns = e->hosts[r->host].ahead_ns };
	size_t i;
	int rc = store_metas(reader, session_id, 0, "nl", on_meta, &m);

	for (i = 0; i < m.n && rc == NW_OK; i++)
		rc = rows_read(&rs, reader, m.id[i]);
	if (rc == NW_OK && rs.end_wall_ns != 0)
		mark_active(&rs);
	free(rs.layout);
	free(m.id);
	return rc;
}

double
response_at(const struct response *r, size_t row, bool operation_time)
{
	if (operation_time)
		return r->ops[row] > 0 ? r->busy_s[row] / r->ops[row] : NAN;
	return r->active[row] ? r->bytes[row] / ((double)r->step_ns * NS) : NAN;
}
