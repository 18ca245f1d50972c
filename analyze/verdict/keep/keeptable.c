/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "analyze/verdict/keep/keeptable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/evidence/hostmetrics.h"
#include "analyze/verdict/keep/keepseries.h"
#include "analyze/verdict/keep/response.h"
#include "narrows/err.h"
#include "narrows/timerival.h"

struct keep_column {
	char *name, *unit;
	double *x;              /* cap_rows values; NULL while the metric is idle everywhere */
	struct keep_rows *idle; /* rows at 0 */
	size_t n_idle;
	UT_hash_handle hh;
};

void
keeptable_init(struct keeptable *t, size_t cap_rows, int64_t step_ns)
{
	*t = (struct keeptable){ .cap_rows = cap_rows,
		.end_row = cap_rows,
		.step_ns = step_ns,
		.y = xcalloc(cap_rows + 1, sizeof(*t->y)),
		.t_wall_ns = xcalloc(cap_rows + 1, sizeof(*t->t_wall_ns)),
		.column = xcalloc(KEEP_COLUMNS_MAX, sizeof(*t->column)) };
}

void
keeptable_clear(struct keeptable *t)
{
	struct keep_column *c, *next;
	size_t i;

	HASH_ITER (hh, t->names, c, next) {
		HASH_DEL(t->names, c);
		free(c->name);
		free(c->unit);
		free(c->x);
		free(c->idle);
		free(c);
	}
	for (i = 0; i < t->n_hosts; i++) {
		free(t->host[i].role);
		free(t->host[i].name);
	}
	free(t->column);
	free(t->y);
	free(t->t_wall_ns);
	memset(t, 0, sizeof(*t));
}

const char *
keeptable_name(const struct keeptable *t, size_t column)
{
	return t->column[column]->name;
}

const char *
keeptable_unit(const struct keeptable *t, size_t column)
{
	return t->column[column]->unit;
}

const double *
keeptable_values(const struct keeptable *t, size_t column)
{
	return t->column[column]->x;
}

void
keeptable_replace(
    struct keeptable *t, size_t column, size_t first_row, const double *values, size_t n)
{
	memcpy(t->column[column]->x + first_row, values, n * sizeof(*values));
}

void
keeptable_each_name(const struct keeptable *t, void (*fn)(void *arg, const char *name), void *arg)
{
	const struct keep_column *c, *next;

	HASH_ITER (hh, t->names, c, next)
		fn(arg, c->name);
}

/* --- columns --- */

/* The column of a name, made if there is room; NULL else. */
static struct keep_column *
column_of(struct keeptable *t, const char *role, const char *metric)
{
	char *name = xasprintf("%s: %s", role, metric);
	struct keep_column *c;

	HASH_FIND_STR(t->names, name, c);
	if (c != NULL || t->n_names == KEEP_NAMES_MAX) {
		t->n_cut += c == NULL;
		free(name);
		return c;
	}
	c = xcalloc(1, sizeof(*c));
	c->name = name;
	HASH_ADD_KEYPTR(hh, t->names, c->name, strlen(c->name), c);
	t->n_names++;
	return c;
}

static void
column_idle(struct keep_column *c, size_t first, size_t end)
{
	size_t i;

	c->idle = xreallocarray(c->idle, c->n_idle + 1, sizeof(*c->idle));
	c->idle[c->n_idle++] = (struct keep_rows){ first, end };
	for (i = first; c->x != NULL && i < end; i++)
		c->x[i] = 0;
}

/* Gives a column values: missing ones, and 0 where the metric was idle. */
static bool
column_move(struct keeptable *t, struct keep_column *c)
{
	size_t i, k;

	if (c->x != NULL)
		return true;
	if (t->n == KEEP_COLUMNS_MAX) {
		t->n_cut++;
		return false;
	}
	c->x = xcalloc(t->cap_rows, sizeof(*c->x));
	for (i = 0; i < t->cap_rows; i++)
		c->x[i] = NAN;
	for (k = 0; k < c->n_idle; k++)
		for (i = c->idle[k].first; i < c->idle[k].end; i++)
			c->x[i] = 0;
	t->column[t->n++] = c;
	return true;
}

/* --- hosts --- */

/* "sender" and "receiver" of "a -> b", "host" of "a (local)"; the name of any other host. */
static const char *
role_of(const char *route, const char *host)
{
	size_t len = strlen(host), first;
	const char *arrow;

	if (route == NULL)
		return host;
	arrow = strstr(route, " -> ");
	first = arrow != NULL ? (size_t)(arrow - route) : strcspn(route, " ");
	if (first == len && strncmp(route, host, len) == 0)
		return arrow != NULL ? "sender" : "host";
	return arrow != NULL && strcmp(arrow + 4, host) == 0 ? "receiver" : host;
}

static void
host_note(struct keeptable *t, const char *role, const char *name)
{
	size_t i;

	for (i = 0; i < t->n_hosts; i++)
		if (strcmp(t->host[i].role, role) == 0 && strcmp(t->host[i].name, name) == 0)
			return;
	if (t->n_hosts < KEEP_HOSTS_MAX)
		t->host[t->n_hosts++] = (struct keep_host){ xstrdup(role), xstrdup(name) };
}

/* A session's stretch of time on the grid of the table. */
struct stretch {
	int64_t t0_wall_ns, step_ns;
	size_t n_rows;
};

static int
host_add(struct keeptable *t, struct store_reader *r, const struct evidence_host *h,
    int64_t session_id, const char *role, const struct stretch *at)
{
	struct hostmetrics m = { .t0_wall_ns = at->t0_wall_ns,
		.step_ns = at->step_ns,
		.n_rows = at->n_rows,
		.ahead_ns = h->ahead_ns };
	struct keep_column *c;
	size_t i;
	int rc = hostmetrics_load(r, h->id, &session_id, 1, &m);

	if (rc < 0)
		return rc;
	/* a series begun anew may be idle in one part and move in the other */
	for (i = 0; i < m.n_idle; i++)
		if ((c = column_of(t, role, m.idle[i])) != NULL)
			column_idle(c, t->n_rows, t->n_rows + at->n_rows);
	for (i = 0; i < m.n; i++)
		if ((c = column_of(t, role, m.metric[i].name)) != NULL && column_move(t, c)) {
			memcpy(c->x + t->n_rows, m.metric[i].x, at->n_rows * sizeof(*c->x));
			if (c->unit == NULL && m.metric[i].unit != NULL)
				c->unit = xstrdup(m.metric[i].unit);
		}
	t->n_cut += m.n_cut;
	if (m.n + m.n_idle > 0)
		host_note(t, role, h->name);
	hostmetrics_clear(&m);
	return NW_OK;
}

/* --- responses --- */

/* The process whose bytes are the transfer's: at the receiver rather than elsewhere, of the program
 * rather than of another, and with the most bytes. NULL without bytes. */
static const struct evidence_process *
deliverer(const struct evidence *e, const struct keep_response *what, enum nw_op *op)
{
	const struct evidence_process *best = NULL;
	double bytes, best_bytes = 0;
	int rank, best_rank = -1;
	enum nw_op its;
	size_t i;

	for (i = 0; i < e->n_processes; i++) {
		const struct evidence_process *p = &e->processes[i];
		const char *program = p->program != NULL ? p->program : "?";

		bytes = response_choose(e, p->host, program, &its);
		rank = 2 * (strcmp(role_of(what->route, e->hosts[p->host].name), "receiver") == 0) +
		    (what->program != NULL && strcmp(program, what->program) == 0);
		if (bytes > 0 && (rank > best_rank || (rank == best_rank && bytes > best_bytes))) {
			best = p;
			best_rank = rank;
			best_bytes = bytes;
			*op = its;
		}
	}
	return best;
}

/* Fills y of the rows behind the table's from what a program delivered; no rows without bytes. */
static void
rate_fill(struct keeptable *t, const struct evidence *e, const struct keep_response *what,
    struct stretch *at)
{
	size_t by = (size_t)((t->step_ns + e->step_ns / 2) / e->step_ns), i;
	enum nw_op op = NW_OP_NET_READ;
	const struct evidence_process *p = deliverer(e, what, &op);
	struct response resp;

	by = by > 0 ? by : 1;
	at->n_rows = e->n_windows / by;
	if (at->n_rows > t->end_row - t->n_rows)
		at->n_rows = t->end_row - t->n_rows;
	if (p == NULL || at->n_rows == 0) {
		at->n_rows = 0;
		return;
	}
	response_init(
	    &resp, e, p->host, xstrdup(p->program != NULL ? p->program : "?"), op, by, at->n_rows);
	at->t0_wall_ns = resp.t0_wall_ns;
	at->step_ns = resp.step_ns;
	for (i = 0; i < at->n_rows; i++)
		t->y[t->n_rows + i] = response_at(&resp, i, what->operation_time);
	response_clear(&resp);
	t->unit = what->operation_time ? "s" : "B/s";
}

static int
series_fill(struct keeptable *t, struct store_reader *r, const struct evidence *e,
    const struct keep_response *what, struct stretch *at)
{
	struct keepseries s = {
		.step_ns = t->step_ns, .y = t->y + t->n_rows, .cap_rows = t->end_row - t->n_rows
	};
	int rc = keepseries_load(r, e, what->series, &s);

	*at = (struct stretch){ s.t0_wall_ns, t->step_ns, s.n_rows };
	t->unit = NULL;
	return rc;
}

/* --- sessions --- */

static int
session_add(struct keeptable *t, struct store_reader *r, const struct evidence *e,
    const struct keep_response *what)
{
	struct stretch at = { 0 };
	size_t i;
	int rc = NW_OK;

	if (what->series != NULL)
		rc = series_fill(t, r, e, what, &at);
	else if (e->n_windows > 0)
		rate_fill(t, e, what, &at);
	for (i = 0; rc == NW_OK && at.n_rows > 0 && i < e->n_hosts; i++)
		rc = host_add(
		    t, r, &e->hosts[i], e->session_id, role_of(what->route, e->hosts[i].name), &at);
	if (rc < 0 || at.n_rows == 0)
		return rc;
	for (i = 0; i < at.n_rows; i++)
		t->t_wall_ns[t->n_rows + i] = at.t0_wall_ns + (int64_t)i * at.step_ns;
	t->n_rows += at.n_rows;
	if (t->first_wall_ns == 0 || at.t0_wall_ns < t->first_wall_ns)
		t->first_wall_ns = at.t0_wall_ns;
	if (at.t0_wall_ns + (int64_t)at.n_rows * at.step_ns > t->last_wall_ns)
		t->last_wall_ns = at.t0_wall_ns + (int64_t)at.n_rows * at.step_ns;
	return NW_OK;
}

int
keeptable_add(struct keeptable *t, struct store_reader *r, int64_t session_id,
    const struct keep_response *what)
{
	const size_t before = t->n_rows, pause = before > 0 ? NW_TIME_PAUSE : 0;
	struct evidence e;
	int rc;

	if (before + pause >= t->end_row)
		return NW_OK;
	if ((rc = store_reader_begin(r)) < 0)
		return rc;
	rc = evidence_load(r, session_id, EVIDENCE_OF_TIED, &e);
	if (rc == NW_OK) {
		while (t->n_rows < before + pause)
			t->y[t->n_rows++] = NAN;
		rc = session_add(t, r, &e, what);
		if (t->n_rows == before + pause)
			t->n_rows = before;
		evidence_clear(&e);
	}
	store_reader_end(r);
	return rc == NW_ENOTFOUND ? NW_OK : rc; /* forgotten meanwhile */
}
