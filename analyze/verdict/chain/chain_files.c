/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits for files that another process writes. No call tells of such a wait: the reader sleeps and
 * looks again, or is woken by a notice. So the wait is the time in which the reader did nothing
 * that is known of, as long as nothing was there to be read: the writer has not written its last
 * file of the two, no complete file lies unread, and of a file that both use the reader has most.
 * A reader behind its writer takes its own time.
 */
#include <math.h>
#include <string.h>

#include "analyze/verdict/chain/chain_in.h"

/* Least part of the reader's time for a channel; part of a growing file that may lie unread. */
static const double WAITS_MIN = 0.1, LIES_MAX = 0.1;
static const double LIES_BYTES = 1 << 20;

static double
at(const double *a, size_t i)
{
	return a != NULL && a[i] > 0 ? a[i] : 0;
}

/* The same file in the hands of two processes. */
static bool
is_handed(
    const struct evidence *e, const struct evidence_shared *from, const struct evidence_shared *to)
{
	return from->is_shared && to->is_shared && from->process != to->process &&
	    from->sum[1] > 0 && to->sum[0] > 0 &&
	    e->processes[from->process].host == e->processes[to->process].host &&
	    strcmp(from->path, to->path) == 0;
}

struct pair {
	const struct evidence *e;
	size_t writer, reader;
	int64_t first_wall_ns, last_wall_ns; /* of the writer's writing of files of the two */
	int64_t read_wall_ns;                /* last reading */
	double bytes;
};

static const struct evidence_shared *
other_use(const struct pair *p, const struct evidence_shared *from)
{
	const struct evidence_shared *to;

	for (to = p->e->shared; to < p->e->shared + p->e->n_shared; to++)
		if (to->process == p->reader && is_handed(p->e, from, to))
			return to;
	return NULL;
}

/* Whether bytes of a file lie unread at the end of a window. */
static bool
lies_unread(const struct pair *p, const struct evidence_shared *from,
    const struct evidence_shared *to, size_t window)
{
	int64_t begin_wall_ns = p->e->t0_wall_ns + (int64_t)window * p->e->step_ns;
	double written = 0, read = 0;
	size_t w;

	if (from->last_wall_ns[1] <= begin_wall_ns)
		return to->last_wall_ns[0] > begin_wall_ns;
	if (to->first_wall_ns[0] > begin_wall_ns + p->e->step_ns)
		return false; /* such a reader takes whole files */
	for (w = 0; w <= window; w++) {
		written += w < window ? at(from->bytes[1], w) : 0;
		read += at(to->bytes[0], w);
	}
	return written - read > fmax(LIES_BYTES, LIES_MAX * written);
}

static bool
has_something_to_read(const struct pair *p, size_t window)
{
	const struct evidence_shared *from, *to;

	for (from = p->e->shared; from < p->e->shared + p->e->n_shared; from++)
		if (from->process == p->writer && (to = other_use(p, from)) != NULL &&
		    lies_unread(p, from, to, window))
			return true;
	return false;
}

/* Seconds of a window in which a process did nothing that is known of. */
static double
idle_s(const struct evidence *e, const struct evidence_process *p, size_t w)
{
	double used = at(p->cpu, w) + at(p->starved, w) + at(p->blocked, w) + at(p->pipe_s[0], w) +
	    at(p->pipe_s[1], w);
	int op;

	for (op = 0; op < NW_OP_COUNT; op++)
		used += at(p->busy_s[op], w) + at(p->wait_s[op], w);
	return fmax(0, (double)e->step_ns * 1e-9 - used);
}

/* The reader's waits in each window; returns their sum. */
static double
waits_fill(const struct pair *p, double *wait_s)
{
	const struct evidence *e = p->e;
	const struct evidence_process *reader = &e->processes[p->reader];
	int64_t begin_wall_ns;
	double sum = 0;
	size_t w;

	for (w = 0; w < e->n_windows; w++) {
		begin_wall_ns = e->t0_wall_ns + (int64_t)w * e->step_ns;
		if (begin_wall_ns < p->first_wall_ns ||
		    begin_wall_ns + e->step_ns > p->last_wall_ns ||
		    begin_wall_ns < reader->first_wall_ns || has_something_to_read(p, w))
			continue;
		sum += wait_s[w] = idle_s(e, reader, w);
	}
	return sum;
}

static void
pair_join(struct finder *f, const struct pair *p)
{
	double *wait_s = chain_array(f), begin_s, end_s;
	struct nw_chain_end *end;

	begin_s = chain_seconds_of(p->e,
	    p->first_wall_ns > p->e->processes[p->reader].first_wall_ns
		? p->first_wall_ns
		: p->e->processes[p->reader].first_wall_ns);
	end_s = chain_seconds_of(
	    p->e, p->read_wall_ns > p->last_wall_ns ? p->read_wall_ns : p->last_wall_ns);
	if (!(waits_fill(p, wait_s) >= WAITS_MIN * (end_s - begin_s)))
		return;
	if ((end = chain_end_add(f, p->writer, f->n_channels, NULL)) == NULL)
		return;
	end->by = NW_CHAIN_FILE;
	end->bytes[1] = p->bytes;
	end->begin_s = chain_seconds_of(p->e, p->first_wall_ns);
	end->end_s = chain_seconds_of(p->e, p->last_wall_ns);
	if ((end = chain_end_add(f, p->reader, f->n_channels++, NULL)) == NULL)
		return;
	end->by = NW_CHAIN_FILE;
	end->bytes[0] = p->bytes;
	end->wait_s[0] = wait_s;
	end->begin_s = begin_s;
	end->end_s = end_s;
}

/* The extent of the files of two processes; false: there is none. */
static bool
pair_find(struct pair *p)
{
	const struct evidence_shared *from, *to;

	for (from = p->e->shared; from < p->e->shared + p->e->n_shared; from++) {
		if (from->process != p->writer || (to = other_use(p, from)) == NULL)
			continue;
		if (p->first_wall_ns == 0 || from->first_wall_ns[1] < p->first_wall_ns)
			p->first_wall_ns = from->first_wall_ns[1];
		if (from->last_wall_ns[1] > p->last_wall_ns)
			p->last_wall_ns = from->last_wall_ns[1];
		if (to->last_wall_ns[0] > p->read_wall_ns)
			p->read_wall_ns = to->last_wall_ns[0];
		p->bytes += fmin(from->sum[1], to->sum[0]);
	}
	return p->bytes > 0;
}

/* Whether an earlier file is of the same two processes. */
static bool
is_done(
    const struct evidence *e, const struct evidence_shared *from, const struct evidence_shared *to)
{
	const struct evidence_shared *a, *b;

	for (a = e->shared; a < from; a++)
		for (b = e->shared; a->process == from->process && b < e->shared + e->n_shared; b++)
			if (b->process == to->process && is_handed(e, a, b))
				return true;
	return false;
}

void
chain_files_add(struct finder *f)
{
	const struct evidence *e = f->e;
	const struct evidence_shared *from, *to;

	for (from = e->shared; from < e->shared + e->n_shared; from++)
		for (to = e->shared; from->is_shared && to < e->shared + e->n_shared; to++) {
			struct pair p = { .e = e, .writer = from->process, .reader = to->process };

			if (is_handed(e, from, to) && !is_done(e, from, to) && pair_find(&p))
				pair_join(f, &p);
		}
}
