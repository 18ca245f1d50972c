/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/stage.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

/* least share of an operation, against the busiest process, for a place on the path */
static const double MAIN_SHARE = 0.1;
/* least share of the moved bytes for a disk as a stage */
static const double STAGE_SHARE = 0.01;
/* least share of a window without bytes that a stage must hold to count the window as work */
static const double STALL_SHARE = 0.5;
/* most bytes read as acknowledgements of bytes sent */
static const double ACKS_SHARE = 0.05;
/* least share of the moved bytes from the device of a mapped file */
static const double MAPPED_SHARE = 0.5;
/* most bytes of read calls, in parts of the device's bytes, of a process that maps files */
static const double MAPPED_CALLS = 0.1;

static double
total(const double *x, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; x != NULL && i < n; i++)
		sum += x[i];
	return sum;
}

static double
at(const double *x, size_t i)
{
	return x != NULL ? x[i] : 0;
}

/* Inputs of all steps below: totals per process and operation, and the processes on the path. */
struct work {
	struct nw_process *processes; /* a copy: pipes may stand for the network */
	size_t n_processes, n_windows;
	double window_s;
	double (*sum)[NW_OP_COUNT];
	double op_max[NW_OP_COUNT]; /* bytes of the process with most of the operation */
	double op_sum[NW_OP_COUNT];
	/* bytes over pipes, per process; 0 where pipes carry next to nothing beside the other
	 * operations */
	double *piped;
	/* of the host in hand */
	struct end {
		size_t main;
		enum nw_op op;
		bool *member;
		double *own_s;
		size_t n;
	} end;
	/* windows from a process's first operation to its last */
	struct {
		size_t first, end;
	} * span;
	double *ref;  /* bytes crossed, per window */
	bool *active; /* per window: bytes crossed, or a stage held the bytes up */
	bool *mapped; /* per process: reads a mapped file */
	/* of several hops in a row, the hop counted as the network, by the hosts of its ends */
	struct {
		bool chosen;
		size_t from, to;
	} hop;
};

/* How a process spent a window, after corrections by the kernel's account. */
struct account {
	double busy[NW_OP_COUNT], wait[NW_OP_COUNT];
	double own; /* outside every call, and not waiting for a neighbour */
};

/* The part of a window with the process present. */
static double
presence(const struct work *w, const struct nw_process *p, size_t i)
{
	double there = w->window_s;

	if (p->end_s > p->begin_s)
		there = fmin(p->end_s, (double)(i + 1) * w->window_s) -
		    fmax(p->begin_s, (double)i * w->window_s);
	return there > 0 ? there : 0;
}

static void
account_scale(struct account *a, double factor)
{
	int op;

	for (op = 0; op < NW_OP_COUNT; op++) {
		a->busy[op] *= factor;
		a->wait[op] *= factor;
	}
}

/* Time without a processor is own time; the part that the time outside the calls does not cover
 * lay within the calls, evenly. */
static void
account_starve(struct account *a, double used, double starved)
{
	if (!(starved > a->own))
		return;
	if (used > 0)
		account_scale(a, fmax(0, 1 - (starved - a->own) / used));
	a->own = starved;
}

/* Time without a processor beside a full network, or a full disk, cost nothing: network or disk
 * held the bytes. Where both were full, the one full for longer is the excuse. */
static void
account_excuse(
    const struct work *w, size_t process, size_t i, double there, double starved, struct account *a)
{
	const struct nw_process *p = &w->processes[process];
	const double *sum = w->sum[process];
	double harm = nw_starved_harm(starved, nw_full_s(p, i), there);
	double excused = fmax(0, fmin(a->own - harm, starved - harm));

	a->own -= excused;
	if (at(p->full_s, i) >= at(p->disk_full_s, i))
		a->wait[sum[NW_OP_NET_READ] > sum[NW_OP_NET_WRITE] ? NW_OP_NET_READ
								   : NW_OP_NET_WRITE] += excused;
	else
		a->busy[sum[NW_OP_DISK_READ] > sum[NW_OP_DISK_WRITE] ? NW_OP_DISK_READ
								     : NW_OP_DISK_WRITE] += excused;
}

static void
account_find(const struct work *w, size_t process, size_t i, struct account *a)
{
	const struct nw_process *p = &w->processes[process];
	double there = presence(w, p, i), starved = fmin(at(p->starved_s, i), there);
	double used = w->piped[process] > 0 ? at(p->pipe_s[0], i) + at(p->pipe_s[1], i) : 0;
	double blocked = w->mapped[process] ? fmin(at(p->blocked_s, i), there) : 0;
	int op;

	for (op = 0; op < NW_OP_COUNT; op++) {
		a->busy[op] = at(p->busy_s[op], i);
		a->wait[op] = at(p->wait_s[op], i);
		used += a->busy[op] + a->wait[op];
	}
	a->own = used < there ? there - used : 0;
	account_starve(a, used, starved);
	if (!p->one_thread)
		a->own = fmin(a->own, at(p->cpu_s, i) + starved);
	account_excuse(w, process, i, there, starved, a);
	if (blocked > 0) {
		account_scale(a, 1 - blocked / there);
		a->own *= 1 - blocked / there;
		a->busy[NW_OP_DISK_READ] = blocked;
	}
}

/* Sends and receives answer each other in small change: an end is the process that moves most in
 * the end's direction. */
static bool
on_path(const struct work *w, size_t process, enum nw_op op)
{
	if (!(w->sum[process][op] > 0) || w->sum[process][op] < MAIN_SHARE * w->op_max[op])
		return false;
	if (op == NW_OP_NET_WRITE)
		return w->sum[process][op] > w->sum[process][NW_OP_NET_READ];
	if (op == NW_OP_NET_READ)
		return w->sum[process][op] > w->sum[process][NW_OP_NET_WRITE];
	return true;
}

/* Whether a process's sends or receives belong to the hop that counts; disks always do. */
static bool
on_hop(const struct work *w, size_t process, enum nw_op op)
{
	size_t host = w->processes[process].host;

	return !w->hop.chosen ||
	    (op == NW_OP_NET_WRITE ? host == w->hop.from
				   : op != NW_OP_NET_READ || host == w->hop.to);
}

static bool
main_process(const struct work *w, enum nw_op op, size_t *process)
{
	bool found = false;
	size_t i;

	for (i = 0; i < w->n_processes; i++)
		if (on_path(w, i, op) && (!found || w->sum[i][op] > w->sum[*process][op])) {
			*process = i;
			found = true;
		}
	return found;
}

static void
reference_add(struct work *w, enum nw_op op, double *ref)
{
	size_t f, i;

	for (f = 0; f < w->n_processes; f++)
		for (i = 0; on_path(w, f, op) && on_hop(w, f, op) && i < w->n_windows; i++)
			ref[i] += at(w->processes[f].bytes[op], i);
}

static bool
reads_acks(const struct work *w, size_t process)
{
	return w->sum[process][NW_OP_NET_READ] < ACKS_SHARE * w->sum[process][NW_OP_NET_WRITE];
}

/*
 * Waits of a sender for the receiver's next request. While one thread of a server reads the file,
 * and another thread waits for the next request, the wait holds no bytes.
 */
static double
asking_time(const struct work *w, size_t process, size_t i, const struct account *a)
{
	double asking = a->busy[NW_OP_NET_READ] + a->wait[NW_OP_NET_READ];
	double at_work = a->busy[NW_OP_DISK_READ] + a->wait[NW_OP_DISK_READ] +
	    a->busy[NW_OP_NET_WRITE] + a->wait[NW_OP_NET_WRITE];

	return fmin(asking, fmax(0, presence(w, &w->processes[process], i) - at_work));
}

/* Takes the busiest process of the operation in each window: parallel processes overlap, so sums
 * would exceed the window. */
static double
op_time(const struct work *w, enum nw_op op, size_t i, double *busy)
{
	struct account a;
	double most = 0;
	size_t f;

	*busy = 0;
	for (f = 0; f < w->n_processes; f++) {
		if (!on_path(w, f, op) || !on_hop(w, f, op))
			continue;
		account_find(w, f, i, &a);
		if (op == NW_OP_NET_WRITE && at(w->processes[f].bytes[op], i) > 0 &&
		    reads_acks(w, f))
			a.wait[op] += asking_time(w, f, i, &a);
		if (a.busy[op] + a.wait[op] > most) {
			most = a.busy[op] + a.wait[op];
			*busy = a.busy[op];
		}
	}
	if (most > w->window_s) {
		*busy *= w->window_s / most;
		most = w->window_s;
	}
	return most;
}

static bool
is_at_work(const struct work *w, size_t process, size_t i)
{
	return i >= w->span[process].first && i < w->span[process].end;
}

/* Own time is known of a process of one thread, and of threads by their processor time. */
static bool
has_own_time(const struct work *w, size_t process)
{
	return w->processes[process].one_thread || w->processes[process].cpu_s != NULL;
}

/*
 * Finds the processes of an end beside its main process: processes on the same host that move much
 * over pipes, if the main process does so, except processes of the other end. The border between
 * two pipelines is unknown: with both ends on one host, a process between pipes counts for both
 * ends, and makes no difference between the two.
 */
static void
end_fill(struct work *w, const struct nw_path *p, enum nw_stage_kind kind)
{
	struct end *e = &w->end;
	enum nw_op other = kind == NW_STAGE_SENDER_HOST ? NW_OP_NET_READ : NW_OP_NET_WRITE;
	double most = 0;
	size_t f;

	e->main = kind == NW_STAGE_RECEIVER_HOST ? p->receiver_process : p->sender_process;
	e->op = kind == NW_STAGE_SENDER_HOST        ? NW_OP_NET_WRITE
	    : kind == NW_STAGE_RECEIVER_HOST        ? NW_OP_NET_READ
	    : on_path(w, e->main, NW_OP_DISK_WRITE) ? NW_OP_DISK_WRITE
						    : NW_OP_DISK_READ;
	e->n = 0;
	for (f = 0; f < w->n_processes; f++)
		if (w->processes[f].host == w->processes[e->main].host && w->piped[f] > most)
			most = w->piped[f];
	for (f = 0; f < w->n_processes; f++) {
		e->own_s[f] = 0;
		e->member[f] = f == e->main ||
		    (w->piped[e->main] > 0 && has_own_time(w, f) &&
			w->processes[f].host == w->processes[e->main].host && w->piped[f] > 0 &&
			w->piped[f] >= MAIN_SHARE * most &&
			(kind == NW_STAGE_HOST || !on_path(w, f, other)));
		e->n += e->member[f];
	}
}

/*
 * Own time of the end's busiest process. Where the main process is not at work, the process before
 * or after stands in. When a sender has handed over its last bytes and ended, bytes still cross,
 * and the own time is 0.
 */
static double
end_time(struct work *w, size_t i)
{
	struct end *e = &w->end;
	size_t stand_in = e->main, f;
	struct account a;
	double most = 0;

	if (!is_at_work(w, e->main, i))
		for (stand_in = 0; stand_in < w->n_processes; stand_in++)
			if (has_own_time(w, stand_in) && on_path(w, stand_in, e->op) &&
			    is_at_work(w, stand_in, i))
				break;
	for (f = 0; f < w->n_processes; f++) {
		if (f != stand_in && (!e->member[f] || !is_at_work(w, f, i)))
			continue;
		account_find(w, f, i, &a);
		e->own_s[f] += a.own;
		most = fmax(most, a.own);
	}
	return most;
}

static size_t
end_busiest(const struct work *w)
{
	size_t f, best = w->end.main;

	for (f = 0; w->end.n > 1 && f < w->n_processes; f++)
		if (w->end.member[f] && w->end.own_s[f] > w->end.own_s[best])
			best = f;
	return best;
}

static double
stage_time(struct work *w, enum nw_stage_kind kind, size_t i, double *busy)
{
	double sent, received, busy_sent, busy_received;

	switch (kind) {
	case NW_STAGE_DISK_READ: return op_time(w, NW_OP_DISK_READ, i, busy);
	case NW_STAGE_DISK_WRITE: return op_time(w, NW_OP_DISK_WRITE, i, busy);
	case NW_STAGE_NET_WRITE: return op_time(w, NW_OP_NET_WRITE, i, busy);
	case NW_STAGE_NET_READ: return op_time(w, NW_OP_NET_READ, i, busy);
	case NW_STAGE_NETWORK:
		sent = op_time(w, NW_OP_NET_WRITE, i, &busy_sent);
		received = op_time(w, NW_OP_NET_READ, i, &busy_received);
		*busy = sent < received ? busy_sent : busy_received;
		return sent < received ? sent : received;
	default: return *busy = end_time(w, i);
	}
}

static bool
is_host(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_SENDER_HOST || kind == NW_STAGE_RECEIVER_HOST ||
	    kind == NW_STAGE_HOST;
}

static int
stage_add(struct work *w, struct nw_path *p, enum nw_stage_kind kind, size_t host, double bytes)
{
	struct nw_path_stage *s = &p->stage[p->n];
	double crossed = 0, held = 0, busy_sum = 0, t, busy;
	size_t i;

	if ((s->free_share = malloc(w->n_windows * sizeof(*s->free_share))) == NULL)
		return NW_ENOMEM;
	p->n++;
	s->kind = kind;
	s->host = host;
	s->to_host = kind == NW_STAGE_NETWORK ? p->receiver_host : host;
	s->bytes = bytes;
	if (is_host(kind))
		end_fill(w, p, kind);
	for (i = 0; i < w->n_windows; i++) {
		s->free_share[i] = NAN;
		if (!w->active[i])
			continue;
		t = stage_time(w, kind, i, &busy);
		s->free_share[i] = 1 - t / w->window_s;
		crossed += w->ref[i];
		busy_sum += busy;
		held += t;
	}
	s->service_rate = held > 0 ? crossed / held : INFINITY;
	s->busy_share = p->active_s > 0 ? busy_sum / p->active_s : NAN;
	s->wait_share = p->active_s > 0 ? (held - busy_sum) / p->active_s : NAN;
	if (is_host(kind))
		s->process = end_busiest(w);
	else if (kind == NW_STAGE_DISK_READ || kind == NW_STAGE_DISK_WRITE)
		(void)main_process(w,
		    kind == NW_STAGE_DISK_READ ? NW_OP_DISK_READ : NW_OP_DISK_WRITE, &s->process);
	s->of_several = is_host(kind) && w->end.n > 1;
	s->mapped = kind == NW_STAGE_DISK_READ && w->mapped[s->process];
	if (kind == NW_STAGE_DISK_READ && w->processes[s->process].far_read)
		s->kind = NW_STAGE_STORAGE_READ;
	if (kind == NW_STAGE_DISK_WRITE && w->processes[s->process].far_write)
		s->kind = NW_STAGE_STORAGE_WRITE;
	return NW_OK;
}

/* A protocol's own bytes are a few percent: then the file's size tells better how much was
 * moved. */
static bool
nearly(double a, double b)
{
	return fabs(a - b) <= 0.05 * b;
}

static bool
is_local(const struct nw_path *p)
{
	return !p->has_sender && !p->has_receiver;
}

static int
stages_add(struct work *w, struct nw_path *p)
{
	const double moved = total(w->ref, w->n_windows);
	bool local = is_local(p);
	size_t reader = 0, writer = 0;
	bool reads = main_process(w, NW_OP_DISK_READ, &reader) &&
	    w->op_sum[NW_OP_DISK_READ] >= STAGE_SHARE * moved;
	bool writes = main_process(w, NW_OP_DISK_WRITE, &writer) &&
	    w->op_sum[NW_OP_DISK_WRITE] >= STAGE_SHARE * moved;
	int rc = NW_OK;

	if (reads)
		rc = stage_add(w, p, NW_STAGE_DISK_READ, w->processes[reader].host,
		    w->op_sum[NW_OP_DISK_READ]);
	if (rc == NW_OK && p->has_sender && has_own_time(w, p->sender_process))
		rc = stage_add(w, p, NW_STAGE_SENDER_HOST, p->sender_host, moved);
	if (rc == NW_OK && !local)
		rc = stage_add(w, p,
		    !p->has_receiver     ? NW_STAGE_NET_WRITE
			: !p->has_sender ? NW_STAGE_NET_READ
					 : NW_STAGE_NETWORK,
		    p->has_sender ? p->sender_host : p->receiver_host, moved);
	if (rc == NW_OK && p->has_receiver && has_own_time(w, p->receiver_process))
		rc = stage_add(w, p, NW_STAGE_RECEIVER_HOST, p->receiver_host, moved);
	if (rc == NW_OK && local && has_own_time(w, p->sender_process))
		rc = stage_add(w, p, NW_STAGE_HOST, w->processes[p->sender_process].host, moved);
	if (rc == NW_OK && writes)
		rc = stage_add(w, p, NW_STAGE_DISK_WRITE, w->processes[writer].host,
		    w->op_sum[NW_OP_DISK_WRITE]);
	if (rc == NW_OK)
		p->bytes = writes && nearly(w->op_sum[NW_OP_DISK_WRITE], moved)
		    ? w->op_sum[NW_OP_DISK_WRITE]
		    : reads && nearly(w->op_sum[NW_OP_DISK_READ], moved)
		    ? w->op_sum[NW_OP_DISK_READ]
		    : moved;
	return rc;
}

static void
spans_fill(struct work *w)
{
	size_t f, i;
	int op;

	for (f = 0; f < w->n_processes; f++) {
		w->span[f].first = w->n_windows;
		for (i = 0; i < w->n_windows; i++) {
			const struct nw_process *process = &w->processes[f];
			double any = w->piped[f] > 0
			    ? at(process->pipe_bytes[0], i) + at(process->pipe_bytes[1], i) +
				at(process->pipe_s[0], i) + at(process->pipe_s[1], i)
			    : 0;

			for (op = 0; op < NW_OP_COUNT; op++)
				any += at(process->bytes[op], i) + at(process->busy_s[op], i) +
				    at(process->wait_s[op], i);
			if (!(any > 0))
				continue;
			if (i < w->span[f].first)
				w->span[f].first = i;
			w->span[f].end = i + 1;
		}
	}
}

static void
sums_fill(struct work *w)
{
	double most;
	size_t f;
	int op;

	for (op = 0; op < NW_OP_COUNT; op++)
		w->op_max[op] = w->op_sum[op] = 0;
	for (f = 0; f < w->n_processes; f++) {
		for (op = 0, most = 0; op < NW_OP_COUNT; op++) {
			w->sum[f][op] = total(w->processes[f].bytes[op], w->n_windows);
			if (w->sum[f][op] > w->op_max[op])
				w->op_max[op] = w->sum[f][op];
			if (w->sum[f][op] > most)
				most = w->sum[f][op];
		}
		/* A process that is only woken over a pipe does not wait for bytes there. */
		w->piped[f] = total(w->processes[f].pipe_bytes[0], w->n_windows) +
		    total(w->processes[f].pipe_bytes[1], w->n_windows);
		if (w->piped[f] < STAGE_SHARE * most)
			w->piped[f] = 0;
	}
	for (f = 0; f < w->n_processes; f++)
		for (op = 0; op < NW_OP_COUNT; op++)
			if (on_path(w, f, op))
				w->op_sum[op] += w->sum[f][op];
}

/*
 * Finds the end without sockets: a process on another host that moved over a pipe about as many
 * bytes as crossed here. Of several such programs in a row, all programs behind a slow program
 * wait, and programs before the slow program do not: the program with the least waiting is next to
 * the network, or as good.
 */
static bool
end_at_pipe(struct work *w, size_t near, enum nw_op crossed, enum nw_op missing, size_t *process)
{
	int dir = missing == NW_OP_NET_WRITE;
	double bytes, waited, least = INFINITY;
	bool found = false;
	size_t f;

	for (f = 0; f < w->n_processes; f++) {
		bytes = total(w->processes[f].pipe_bytes[dir], w->n_windows);
		waited = total(w->processes[f].pipe_s[dir], w->n_windows);
		if (w->processes[f].host == w->processes[near].host ||
		    bytes < 0.5 * w->op_sum[crossed] || bytes > 2 * w->op_sum[crossed] ||
		    !(waited < least) ||
		    w->sum[f][NW_OP_NET_READ] + w->sum[f][NW_OP_NET_WRITE] > STAGE_SHARE * bytes)
			continue;
		least = waited;
		*process = f;
		found = true;
	}
	if (!found)
		return false;
	w->processes[*process].bytes[missing] = w->processes[*process].pipe_bytes[dir];
	w->processes[*process].busy_s[missing] = w->processes[*process].pipe_s[dir];
	w->processes[*process].wait_s[missing] = w->processes[*process].pipe_s[dir] = NULL;
	sums_fill(w);
	return true;
}

static double
call_time(const struct work *w, size_t process, enum nw_op op)
{
	return total(w->processes[process].busy_s[op], w->n_windows) +
	    total(w->processes[process].wait_s[op], w->n_windows);
}

/* The process with most of an operation on hosts other than two given ones; false if none. */
static bool
elsewhere(const struct work *w, enum nw_op op, size_t not_here, size_t nor_there, size_t *process)
{
	bool found = false;
	size_t f;

	for (f = 0; f < w->n_processes; f++)
		if (on_path(w, f, op) && w->processes[f].host != not_here &&
		    w->processes[f].host != nor_there &&
		    (!found || w->sum[f][op] > w->sum[*process][op])) {
			*process = f;
			found = true;
		}
	return found;
}

/*
 * Of three hosts in a row, two programs on the middle host receive and send the same bytes. The
 * hop after the middle counts where the middle waits longer to send than to receive, else the hop
 * before: the slow part of the transfer is there. The other hop's bytes are the same bytes.
 */
static void
hop_choose(struct work *w, struct nw_path *p)
{
	size_t taker, giver, first, last;

	for (taker = 0; taker < w->n_processes; taker++)
		for (giver = 0; on_path(w, taker, NW_OP_NET_READ) && giver < w->n_processes;
		     giver++) {
			size_t middle = w->processes[taker].host;

			if (w->processes[giver].host != middle ||
			    !on_path(w, giver, NW_OP_NET_WRITE) ||
			    !elsewhere(w, NW_OP_NET_WRITE, middle, middle, &first) ||
			    !elsewhere(w, NW_OP_NET_READ, middle, w->processes[first].host, &last))
				continue;
			w->hop.chosen = p->relayed = true;
			if (call_time(w, giver, NW_OP_NET_WRITE) >
			    call_time(w, taker, NW_OP_NET_READ)) {
				p->sender_process = giver;
				p->receiver_process = last;
			} else {
				p->sender_process = first;
				p->receiver_process = taker;
			}
			w->hop.from = w->processes[p->sender_process].host;
			w->hop.to = w->processes[p->receiver_process].host;
			return;
		}
}

/* Finds sender and receiver. */
static void
ends_find(struct work *w, struct nw_path *p)
{
	const double *sum = w->op_sum;

	p->has_sender = main_process(w, NW_OP_NET_WRITE, &p->sender_process);
	p->has_receiver = main_process(w, NW_OP_NET_READ, &p->receiver_process);
	/* A program that reads a disk and answers a few requests is no network transfer. */
	if (p->has_sender && sum[NW_OP_NET_WRITE] < STAGE_SHARE * sum[NW_OP_DISK_READ])
		p->has_sender = false;
	if (p->has_receiver && sum[NW_OP_NET_READ] < STAGE_SHARE * sum[NW_OP_DISK_WRITE])
		p->has_receiver = false;
	/* Two ends belong together only if about as many bytes left the sender as reached the
	 * receiver. */
	if (p->has_sender && p->has_receiver && sum[NW_OP_NET_WRITE] < 0.5 * sum[NW_OP_NET_READ])
		p->has_sender = false;
	else if (p->has_sender && p->has_receiver &&
	    sum[NW_OP_NET_READ] < 0.5 * sum[NW_OP_NET_WRITE])
		p->has_receiver = false;
	if (p->has_sender && !p->has_receiver)
		p->has_receiver = p->end_at_pipe = end_at_pipe(
		    w, p->sender_process, NW_OP_NET_WRITE, NW_OP_NET_READ, &p->receiver_process);
	else if (p->has_receiver && !p->has_sender)
		p->has_sender = p->end_at_pipe = end_at_pipe(
		    w, p->receiver_process, NW_OP_NET_READ, NW_OP_NET_WRITE, &p->sender_process);
	else if (p->has_sender && p->has_receiver)
		hop_choose(w, p);
	p->sender_host = w->processes[p->sender_process].host;
	p->receiver_host = w->processes[p->receiver_process].host;
}

/*
 * The extent of the transfer: while bytes crossed, and while an end moved more than a hundredth of
 * the bytes, such as a sender that reads everything before sending. A server that reads its
 * configuration and then waits for a client has not begun.
 */
static void
extent_find(const struct work *w, struct nw_path *p)
{
	const double little = STAGE_SHARE * total(w->ref, w->n_windows);
	double bytes, done;
	size_t f, i;
	int op;

	p->first = w->n_windows;
	p->end = 0;
	for (op = -1; op < NW_OP_COUNT; op++)
		for (i = 0, done = 0; i < w->n_windows; i++, done += bytes) {
			for (f = 0, bytes = op < 0 ? w->ref[i] : 0; op >= 0 && f < w->n_processes;
			     f++)
				bytes += on_path(w, f, (enum nw_op)op)
				    ? at(w->processes[f].bytes[op], i)
				    : 0;
			if (!(bytes > 0) ||
			    (op >= 0 && (done + bytes <= little || done >= w->op_sum[op] - little)))
				continue;
			p->first = i < p->first ? i : p->first;
			p->end = i + 1 > p->end ? i + 1 : p->end;
		}
}

/*
 * A process that reads a mapped file has hardly any read calls: the kernel brings about as many
 * bytes from the device as the process moves, or more, and blocks the process meanwhile.
 */
static void
mapped_find(struct work *w)
{
	double most, stored;
	size_t f;
	int op;

	for (f = 0; f < w->n_processes; f++) {
		struct nw_process *p = &w->processes[f];

		for (op = 0, most = 0; op < NW_OP_COUNT; op++)
			most = fmax(most, total(p->bytes[op], w->n_windows));
		stored = total(p->stored_bytes, w->n_windows);
		if (p->blocked_s == NULL || !(stored > MAPPED_SHARE * most) ||
		    total(p->bytes[NW_OP_DISK_READ], w->n_windows) >
			fmax(STAGE_SHARE * most, p->maps ? MAPPED_CALLS * stored : 0) ||
		    total(p->bytes[NW_OP_DISK_WRITE], w->n_windows) > STAGE_SHARE * most)
			continue;
		w->mapped[f] = true;
		p->bytes[NW_OP_DISK_READ] = p->stored_bytes;
		p->busy_s[NW_OP_DISK_READ] = p->wait_s[NW_OP_DISK_READ] = NULL;
	}
}

static bool
ends_at_work(const struct work *w, const struct nw_path *p, size_t i)
{
	bool local = is_local(p);

	return (!(p->has_sender || local) || is_at_work(w, p->sender_process, i)) &&
	    (!(p->has_receiver || local) || is_at_work(w, p->receiver_process, i));
}

/* Whether some stage held the bytes up in a window in which none crossed. */
static bool
is_stalled(const struct work *w, const struct nw_path *p, size_t i)
{
	double busy, sent = op_time(w, NW_OP_NET_WRITE, i, &busy),
		     received = op_time(w, NW_OP_NET_READ, i, &busy), net;
	double disk =
	    fmax(op_time(w, NW_OP_DISK_READ, i, &busy), op_time(w, NW_OP_DISK_WRITE, i, &busy));
	struct account a, b;

	net = p->has_sender && p->has_receiver ? fmin(sent, received)
	    : p->has_sender                    ? sent
					       : received;
	account_find(w, p->sender_process, i, &a);
	account_find(w, p->receiver_process, i, &b);
	return fmax(fmax(disk, net), fmax(a.own, b.own)) >= STALL_SHARE * w->window_s;
}

/*
 * The windows at work. A window without bytes counts while both ends are there and a stage holds
 * the bytes up; so do windows after the last bytes while the disk takes them.
 */
static void
active_find(struct work *w, struct nw_path *p)
{
	double busy;
	size_t i;

	while (p->end > 0 && p->end < w->n_windows &&
	    op_time(w, NW_OP_DISK_WRITE, p->end, &busy) >= STALL_SHARE * w->window_s)
		p->end++;
	for (i = 0; i < w->n_windows; i++) {
		w->active[i] = w->ref[i] > 0 ||
		    (i >= p->first && i < p->end &&
			(ends_at_work(w, p, i) || op_time(w, NW_OP_DISK_WRITE, i, &busy) > 0) &&
			is_stalled(w, p, i));
		p->active_s += w->active[i] ? w->window_s : 0;
	}
}

/* The bytes across the path: of a transfer within a host, the bytes read or written by its main
 * process. */
static void
reference_fill(struct work *w, struct nw_path *p)
{
	enum nw_op op = w->op_sum[NW_OP_DISK_WRITE] >= w->op_sum[NW_OP_DISK_READ] ? NW_OP_DISK_WRITE
										  : NW_OP_DISK_READ;

	if (p->has_receiver)
		op = NW_OP_NET_READ;
	else if (p->has_sender)
		op = NW_OP_NET_WRITE;
	else if (main_process(w, op, &p->sender_process))
		p->receiver_process = p->sender_process;
	reference_add(w, op, w->ref);
}

static int
work_init(struct work *w)
{
	size_t n = w->n_processes;

	w->processes = calloc(n, sizeof(*w->processes));
	w->sum = calloc(n, sizeof(*w->sum));
	w->span = calloc(n, sizeof(*w->span));
	w->piped = calloc(n, sizeof(*w->piped));
	w->mapped = calloc(n, sizeof(*w->mapped));
	w->end.member = calloc(n, sizeof(*w->end.member));
	w->end.own_s = calloc(n, sizeof(*w->end.own_s));
	w->ref = calloc(w->n_windows, sizeof(*w->ref));
	w->active = calloc(w->n_windows, sizeof(*w->active));
	return w->processes != NULL && w->sum != NULL && w->span != NULL && w->piped != NULL &&
		w->mapped != NULL && w->end.member != NULL && w->end.own_s != NULL &&
		w->ref != NULL && w->active != NULL
	    ? NW_OK
	    : NW_ENOMEM;
}

static void
work_clear(struct work *w)
{
	free(w->processes);
	free(w->sum);
	free(w->span);
	free(w->piped);
	free(w->mapped);
	free(w->end.member);
	free(w->end.own_s);
	free(w->ref);
	free(w->active);
}

int
nw_path_build(const struct nw_process *processes, size_t n_processes, size_t n_windows,
    double window_s, struct nw_path *out)
{
	struct work w = {
		.n_processes = n_processes, .n_windows = n_windows, .window_s = window_s
	};
	int rc = NW_ENOMEM;

	memset(out, 0, sizeof(*out));
	out->n_windows = n_windows;
	out->window_s = window_s;
	if (n_processes == 0 || n_windows == 0)
		return NW_OK;
	if (work_init(&w) < 0)
		goto out;
	memcpy(w.processes, processes, n_processes * sizeof(*w.processes));
	mapped_find(&w);
	sums_fill(&w);
	spans_fill(&w);
	ends_find(&w, out);
	reference_fill(&w, out);
	extent_find(&w, out);
	active_find(&w, out);
	rc = out->active_s > 0 ? stages_add(&w, out) : NW_OK;
out:
	work_clear(&w);
	return rc;
}

void
nw_path_clear(struct nw_path *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		free(p->stage[i].free_share);
	memset(p, 0, sizeof(*p));
}

double
nw_full_s(const struct nw_process *p, size_t window)
{
	return fmax(at(p->full_s, window), at(p->disk_full_s, window));
}

double
nw_starved_harm(double starved_s, double full_s, double there_s)
{
	return fmin(starved_s, fmax(0, there_s - full_s));
}
