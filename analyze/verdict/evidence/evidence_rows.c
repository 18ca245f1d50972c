/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a session's own documents: calipers, processes and files. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/hist.h"
#include "narrows/xmalloc.h"

static const double NS = 1e-9;

/*
 * The window of a row: its own word, else the time since the row before. The gap of a silent sender
 * is no window; there the reporting interval counts, or the bucket of a rolled-up row.
 */
struct span
row_span(struct loader *l, const struct row *r)
{
	const struct source *from = l->source;
	struct span s = { .window_s = row_cell(r, r->c->window),
		.end_wall_ns = r->b->t_wall_ns[r->i] };

	if (!(s.window_s > 0) && from->last_wall_ns != 0 && from->last_wall_ns < s.end_wall_ns)
		s.window_s = (double)(s.end_wall_ns - from->last_wall_ns) * NS;
	if (r->b->bucket_ns > 0 && !(s.window_s > 0))
		s.window_s = (double)(s.end_wall_ns % r->b->bucket_ns) * NS;
	else if (r->b->bucket_ns == 0 && isfinite(from->dt_s) && from->dt_s > 0 &&
	    r->c->window < 0 && (!(s.window_s > 0) || s.window_s > 2 * from->dt_s))
		s.window_s = from->dt_s;
	if (!(s.window_s > 1e-6) || s.window_s > 1e6)
		s.window_s = 1;
	s.begin_wall_ns = s.end_wall_ns - llround(s.window_s / NS);
	return s;
}

/* Counts a report, and the missing reports before. */
static void
intervals_count(struct loader *l, const struct span *s)
{
	double gap_s = (double)(s->begin_wall_ns - l->source->last_wall_ns) * NS;

	l->e->intervals_got++;
	l->e->intervals_expected++;
	if (l->source->last_wall_ns != 0 && gap_s > s->window_s / 2)
		l->e->intervals_expected += (uint64_t)lround(fmin(gap_s / s->window_s, 1e6));
}

/* A sender with numbered reports tells how many to expect; an idle interval has no report. */
static void
reports_count(struct loader *l, double number)
{
	uint64_t upto = number >= 0 && number < 1e12 ? (uint64_t)number + 1 : 0;

	l->e->intervals_got++;
	if (upto > l->source->reports) {
		l->e->intervals_expected += upto - l->source->reports;
		l->source->reports = upto;
	}
}

static int
size_class_of(double bytes)
{
	int e;

	if (!(bytes >= 1) || bytes > 1e18)
		return -1;
	(void)frexp(bytes, &e);
	return (e - 1) / 2;
}

static struct evidence_durations *
durations_of(struct evidence *e, size_t host, enum nw_op op, int size_class)
{
	struct evidence_durations *d;
	size_t i;

	for (i = 0; i < e->n_durations; i++) {
		d = &e->durations[i];
		if (d->host == host && d->op == op && d->size_class == size_class)
			return d;
	}
	if (e->n_durations == EVIDENCE_LIST_MAX)
		return NULL;
	e->durations = xreallocarray(e->durations, e->n_durations + 1, sizeof(*e->durations));
	d = &e->durations[e->n_durations++];
	*d = (struct evidence_durations){ .host = host,
		.op = op,
		.size_class = size_class,
		.counts = xcalloc(NW_HIST_BUCKETS, sizeof(*d->counts)) };
	return d;
}

/* The size of the mean operation decides where the histogram of a report belongs. */
static void
durations_add(struct loader *l, const struct row *r)
{
	double size = row_cell(r, r->c->mean_v);
	const struct store_block *b = r->b;
	struct evidence_durations *d;

	if (b->hist == NULL || b->hist[r->i] == NULL || b->hist_len[r->i] == 0)
		return;
	if (!isfinite(size))
		size = row_cell(r, r->c->sum_v) / row_cell(r, r->c->count);
	d = durations_of(l->e, l->source->host, l->source->op, size_class_of(size));
	/* The box stores no histogram that does not decode, so a failure means a damaged store. */
	if (d == NULL || nw_hist_decode_add(b->hist[r->i], b->hist_len[r->i], d->counts) < 0)
		l->e->durations_rejected++;
}

void
extent_widen(int64_t *first_wall_ns, int64_t *last_wall_ns, const struct span *s)
{
	if (*first_wall_ns == 0 || s->begin_wall_ns < *first_wall_ns)
		*first_wall_ns = s->begin_wall_ns;
	if (s->end_wall_ns > *last_wall_ns)
		*last_wall_ns = s->end_wall_ns;
}

/* Spreads the value of a column over a grid array. A layout without the column leaves the array
 * alone. */
static void
column_spread(
    const struct loader *l, double **a, const struct span *s, const struct row *r, int column)
{
	if (column >= 0)
		grid_spread(l->e, grid_array(l->e, a, 0), s, known_or_0(row_cell(r, column)));
}

/* The time inside calls: of the busiest thread where the sender tells. */
static double
busy_of(const struct row *r)
{
	double busy = row_cell(r, r->c->busy_max);

	if (!isfinite(busy))
		busy = row_cell(r, r->c->busy);
	return known_or_0(isfinite(busy) ? busy : row_cell(r, r->c->dur_inst));
}

/* Original senders have neither file nor connection documents: the caliper's bytes are theirs. */
static void
item_add(struct loader *l, double bytes)
{
	const struct source *from = l->source;
	struct evidence *e = l->e;

	if (from->has_connection)
		*(from->op == NW_OP_NET_READ ? &e->connections[from->item].bytes_in
					     : &e->connections[from->item].bytes_out) += bytes;
	if (from->has_file)
		*(from->op == NW_OP_DISK_READ ? &e->files[from->item].read_bytes
					      : &e->files[from->item].write_bytes) += bytes;
}

/* A wait is reported at its end, so a wait longer than the window of its report began before. */
void
wait_spread(const struct evidence *e, double **a, const struct span *s, double wait_s)
{
	struct span w = *s;

	if (wait_s > s->window_s && wait_s < 1e6)
		w.begin_wall_ns = w.end_wall_ns - llround(wait_s / NS);
	grid_spread(e, grid_array(e, a, 0), &w, wait_s);
}

static void
caliper_fill(struct loader *l, const struct row *r, const struct span *s)
{
	struct evidence *e = l->e;
	struct evidence_process *p = &e->processes[l->source->process];
	enum nw_op op = l->source->op;
	double ops = known_or_0(row_cell(r, r->c->count)), threads = row_cell(r, r->c->threads);
	/* throughput is reported in bytes per nanosecond */
	double rate = known_or_0(row_cell(r, r->c->mean_r)) / NS;
	double rate_sd = known_or_0(row_cell(r, r->c->sd_r)) / NS;

	grid_spread(e, grid_array(e, &p->bytes[op], 0), s, known_or_0(row_cell(r, r->c->sum_v)));
	grid_spread(e, grid_array(e, &p->busy_s[op], 0), s, busy_of(r));
	wait_spread(e, &p->wait_s[op], s, known_or_0(row_cell(r, r->c->wait)));
	grid_spread(e, grid_array(e, &p->ops[op], 0), s, ops);
	grid_spread(e, grid_array(e, &p->rate_sum[op], 0), s, rate * ops);
	grid_spread(e, grid_array(e, &p->rate_sd_sum[op], 0), s, rate_sd * ops);
	if (threads > p->threads && threads < 1e6)
		p->threads = (unsigned)threads;
}

void
caliper_row(struct loader *l, const struct row *r)
{
	struct span s = row_span(l, r);
	struct evidence *e = l->e;
	struct evidence_process *p = &e->processes[l->source->process];
	double bytes = known_or_0(row_cell(r, r->c->sum_v));

	if (!l->filling) {
		span_vote(l, &s);
		return;
	}
	if (!l->have_processes)
		intervals_count(l, &s);
	extent_widen(&p->first_wall_ns, &p->last_wall_ns, &s);
	/* A file synced at the end moves no bytes any more, but is not on the disk yet. */
	if (bytes > 0 || (l->source->op == NW_OP_DISK_WRITE && busy_of(r) > 0))
		extent_widen(&e->first_wall_ns, &e->last_wall_ns, &s);
	caliper_fill(l, r, &s);
	durations_add(l, r);
	item_add(l, bytes);
}

static void
process_time(struct loader *l, const struct row *r, const struct span *s)
{
	struct evidence_process *p = &l->e->processes[l->source->process];
	double user_s = row_cell(r, r->c->cpu_user), sys_s = row_cell(r, r->c->cpu_sys);
	double cpu_s = known_or_0(user_s) + known_or_0(sys_s), wait_s = row_cell(r, r->c->cpu_wait);
	double throttled_s = known_or_0(row_cell(r, r->c->throttled));

	if (isfinite(user_s) || isfinite(sys_s)) {
		p->cpu_s = known_or_0(p->cpu_s) + cpu_s;
		grid_spread(l->e, grid_array(l->e, &p->cpu, 0), s, cpu_s);
	}
	if (isfinite(wait_s)) {
		p->cpu_wait_s = known_or_0(p->cpu_wait_s) + wait_s;
		grid_spread(l->e, grid_array(l->e, &p->starved, 0), s, wait_s);
	}
	column_spread(l, &p->blocked, s, r, r->c->blocked);
	column_spread(l, &p->paused, s, r, r->c->paused_s);
	if (r->c->first_s >= 0)
		wait_spread(l->e, &p->first_s, s, known_or_0(row_cell(r, r->c->first_s)));
	p->throttled_s += throttled_s;
	/* Not every kernel counts the time without quota as a wait for a processor. */
	if (throttled_s > known_or_0(wait_s))
		grid_spread(l->e, grid_array(l->e, &p->starved, 0), s,
		    fmin(throttled_s, s->window_s) - known_or_0(wait_s));
}

/* The status of the first failed program, else of an ended program. exit_settle() has the last word
 * about programs that were stopped. */
static void
exit_take(struct loader *l, double status, int64_t t_wall_ns)
{
	struct evidence *e = l->e;

	if (status == 128 + SIGINT || status == 128 + SIGTERM) {
		l->stopped_status = status;
		if (t_wall_ns > l->stopped_wall_ns)
			l->stopped_wall_ns = t_wall_ns;
		return;
	}
	if (status == 0 && (l->ended_well_wall_ns == 0 || t_wall_ns < l->ended_well_wall_ns))
		l->ended_well_wall_ns = t_wall_ns;
	if (status > 0 || !isfinite(e->exit_status))
		last_known(&e->exit_status, status);
}

/* A server is stopped after its client ended well: the transfer has not failed. A program that is
 * stopped before another one ends has not done its work. */
void
exit_settle(struct loader *l)
{
	const bool was_over =
	    l->ended_well_wall_ns != 0 && l->ended_well_wall_ns <= l->stopped_wall_ns;

	if (l->stopped_status > 0 && !was_over && !(l->e->exit_status > 0))
		l->e->exit_status = l->stopped_status;
}

/* What the kernel and the sender count of a process, whether a measured call moved bytes or not. */
static void
process_counts(struct evidence_process *p, const struct row *r)
{
	const struct columns *c = r->c;

	p->storage_read_bytes += known_or_0(row_cell(r, c->read_bytes));
	p->storage_written_bytes += known_or_0(row_cell(r, c->write_bytes));
	p->local_bytes[0] += known_or_0(row_cell(r, c->pipe_read_bytes));
	p->local_bytes[1] += known_or_0(row_cell(r, c->pipe_write_bytes));
	p->seen_bytes +=
	    known_or_0(row_cell(r, c->seen_read)) + known_or_0(row_cell(r, c->seen_written));
	p->kernel_bytes += known_or_0(row_cell(r, c->rchar)) + known_or_0(row_cell(r, c->wchar));
	if (c->unseen_read >= 0 || c->unseen_written >= 0)
		p->unseen_bytes = known_or_0(p->unseen_bytes) +
		    known_or_0(row_cell(r, c->unseen_read)) +
		    known_or_0(row_cell(r, c->unseen_written));
}

bool
process_maps(const struct evidence_process *p)
{
	return p->unseen_by != NULL && strcmp(p->unseen_by, "memory-map") == 0;
}

/* A window in which the kernel brought bytes from devices, and the process waited for them. */
static bool
reads_map(const struct row *r)
{
	return row_cell(r, r->c->read_bytes) > 0 && row_cell(r, r->c->blocked) > 0;
}

static void
map_span(struct loader *l, const struct row *r)
{
	struct span s = row_span(l, r);

	if (!reads_map(r))
		return;
	extent_widen(&l->pipes_begin_wall_ns, &l->pipes_end_wall_ns, &s);
	if (l->alone)
		span_vote(l, &s);
}

void
process_row(struct loader *l, const struct row *r)
{
	struct evidence_process *p = &l->e->processes[l->source->process];
	const struct columns *c = r->c;
	struct span s;

	if (l->mapping) {
		map_span(l, r);
		return;
	}
	exit_take(l, row_cell(r, c->exit_status), r->b->t_wall_ns[r->i]);
	process_counts(p, r);
	if (l->e->n_windows == 0) /* no measured call moved anything */
		return;
	s = row_span(l, r);
	extent_widen(&p->first_wall_ns, &p->last_wall_ns, &s);
	if (process_maps(p) && reads_map(r))
		extent_widen(&l->e->first_wall_ns, &l->e->last_wall_ns, &s);
	process_time(l, r, &s);
	column_spread(l, &p->pipe_bytes[0], &s, r, c->pipe_read_bytes);
	column_spread(l, &p->pipe_bytes[1], &s, r, c->pipe_write_bytes);
	column_spread(l, &p->pipe_s[0], &s, r, c->pipe_read_s);
	column_spread(l, &p->pipe_s[1], &s, r, c->pipe_write_s);
	if (c->report >= 0)
		reports_count(l, row_cell(r, c->report));
	else
		intervals_count(l, &s);
	/* senders leave out a 0 */
	p->combined_bytes =
	    known_or_0(p->combined_bytes) + known_or_0(row_cell(r, c->combined_bytes));
	column_spread(l, &p->stored, &s, r, c->read_bytes);
}

void
file_row(struct loader *l, const struct row *r)
{
	struct evidence_file *f = &l->e->files[l->source->item];
	double read = known_or_0(row_cell(r, r->c->read_bytes));
	double written = known_or_0(row_cell(r, r->c->write_bytes));

	f->read_bytes += read;
	f->write_bytes += written;
	shared_row(l, r, read, written);
	if (f->mount >= l->e->n_mounts)
		return;
	l->e->mounts[f->mount].bytes[0] += read;
	l->e->mounts[f->mount].bytes[1] += written;
}

void
replay_row(struct loader *l, const struct row *r)
{
	struct evidence_replay *y = &l->e->replays[l->source->item];

	y->bytes = row_cell(r, r->c->bytes);
	y->calls_s = row_cell(r, r->c->calls_s);
	y->took_s = row_cell(r, r->c->took_s);
	y->cost_bytes = known_or_0(row_cell(r, r->c->cost_bytes));
	y->cost_s = known_or_0(row_cell(r, r->c->cost_s));
	y->t_wall_ns = r->b->t_wall_ns[r->i];
}
