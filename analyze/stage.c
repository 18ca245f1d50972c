/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/stage.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

static const double MAIN_SHARE = 0.1;        /* a process with less of an operation than this is not on the path */
static const double STAGE_SHARE = 0.01;      /* a disk that carried less of the bytes than this is no stage */

const char *
nw_place_name(enum nw_place place)
{
	static const char *const names[NW_PLACE_COUNT] = {
		"disk.read", "sender.host", "net.write", "network", "net.read", "receiver.host", "host", "disk.write"
	};

	return names[place];
}

const char *
nw_op_name(enum nw_op op)
{
	static const char *const names[NW_OP_COUNT] = { "disk.read", "net.write", "net.read", "disk.write" };

	return names[op];
}

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

/* What all that follows needs: totals per process and operation, and who is on the path. */
struct work {
	const struct nw_flow *flows;
	size_t n_flows, n_windows;
	double window_s;
	double (*sum)[NW_OP_COUNT];
	double op_max[NW_OP_COUNT];      /* of the process with most of it */
	double op_sum[NW_OP_COUNT];
	struct { size_t first, end; } *span;   /* windows from a process's first operation to its last */
	double *ref;                     /* bytes that crossed, per window */
};

/* Sends and receives answer each other in small change: an end is who moves most in that direction. */
static bool
on_path(const struct work *w, size_t flow, enum nw_op op)
{
	if (!(w->sum[flow][op] > 0) || w->sum[flow][op] < MAIN_SHARE * w->op_max[op])
		return false;
	if (op == NW_OP_NET_WRITE)
		return w->sum[flow][op] > w->sum[flow][NW_OP_NET_READ];
	if (op == NW_OP_NET_READ)
		return w->sum[flow][op] > w->sum[flow][NW_OP_NET_WRITE];
	return true;
}

static bool
main_flow(const struct work *w, enum nw_op op, size_t *flow)
{
	bool found = false;
	size_t i;

	for (i = 0; i < w->n_flows; i++)
		if (on_path(w, i, op) && (!found || w->sum[i][op] > w->sum[*flow][op])) {
			*flow = i;
			found = true;
		}
	return found;
}

static void
reference_add(struct work *w, enum nw_op op, double *ref)
{
	size_t f, i;

	for (f = 0; f < w->n_flows; f++)
		for (i = 0; on_path(w, f, op) && i < w->n_windows; i++)
			ref[i] += at(w->flows[f].bytes[op], i);
}

/* Busiest process of the operation, per window: parallel ones overlap, and sums of small shares would not. */
static double
op_time(const struct work *w, enum nw_op op, size_t i, double *busy)
{
	double most = 0, t, b;
	size_t f;

	*busy = 0;
	for (f = 0; f < w->n_flows; f++) {
		if (!on_path(w, f, op))
			continue;
		b = at(w->flows[f].busy_s[op], i);
		t = b + at(w->flows[f].wait_s[op], i);
		if (t > most) {
			most = t;
			*busy = b;
		}
	}
	if (most > w->window_s) {
		*busy *= w->window_s / most;
		most = w->window_s;
	}
	return most;
}

static bool
is_at_work(const struct work *w, size_t flow, size_t i)
{
	return i >= w->span[flow].first && i < w->span[flow].end;
}

/*
 * Outside every call: what is left of the window of a process with one thread, the main one or whoever is at it
 * before or after. Bytes still cross when a sender has handed over its last ones and ended: nobody's own time.
 */
static double
own_time(const struct work *w, size_t main, enum nw_op end, size_t i)
{
	size_t flow = main;
	double used = 0;
	int op;

	if (!is_at_work(w, main, i))
		for (flow = 0; flow < w->n_flows; flow++)
			if (w->flows[flow].one_thread && on_path(w, flow, end) && is_at_work(w, flow, i))
				break;
	if (flow == w->n_flows)
		return 0;
	for (op = 0; op < NW_OP_COUNT; op++)
		used += at(w->flows[flow].busy_s[op], i) + at(w->flows[flow].wait_s[op], i);
	return used < w->window_s ? w->window_s - used : 0;
}

static double
stage_time(const struct work *w, const struct nw_path *p, enum nw_place place, size_t i, double *busy)
{
	double sent, received, busy_sent, busy_received;

	switch (place) {
	case NW_PLACE_DISK_READ:
		return op_time(w, NW_OP_DISK_READ, i, busy);
	case NW_PLACE_DISK_WRITE:
		return op_time(w, NW_OP_DISK_WRITE, i, busy);
	case NW_PLACE_NET_WRITE:
		return op_time(w, NW_OP_NET_WRITE, i, busy);
	case NW_PLACE_NET_READ:
		return op_time(w, NW_OP_NET_READ, i, busy);
	case NW_PLACE_NETWORK:
		sent = op_time(w, NW_OP_NET_WRITE, i, &busy_sent);
		received = op_time(w, NW_OP_NET_READ, i, &busy_received);
		*busy = sent < received ? busy_sent : busy_received;
		return sent < received ? sent : received;
	case NW_PLACE_SENDER_HOST:
		return *busy = own_time(w, p->sender_flow, NW_OP_NET_WRITE, i);
	case NW_PLACE_RECEIVER_HOST:
		return *busy = own_time(w, p->receiver_flow, NW_OP_NET_READ, i);
	default:
		return *busy = own_time(w, p->sender_flow, on_path(w, p->sender_flow, NW_OP_DISK_WRITE) ? NW_OP_DISK_WRITE :
		    NW_OP_DISK_READ, i);
	}
}

static int
stage_add(const struct work *w, struct nw_path *p, enum nw_place place, size_t host, double bytes)
{
	struct nw_path_stage *s = &p->stage[p->n];
	double crossed = 0, held = 0, busy_sum = 0, t, busy;
	size_t i;

	if ((s->free_share = malloc(w->n_windows * sizeof(*s->free_share))) == NULL)
		return NW_ENOMEM;
	p->n++;
	s->place = place;
	s->host = host;
	s->to_host = place == NW_PLACE_NETWORK ? p->receiver_host : host;
	s->bytes = bytes;
	for (i = 0; i < w->n_windows; i++) {
		s->free_share[i] = NAN;
		if (!(w->ref[i] > 0))
			continue;
		t = stage_time(w, p, place, i, &busy);
		s->free_share[i] = 1 - t / w->window_s;
		crossed += w->ref[i];
		busy_sum += busy;
		held += t;
	}
	s->service_rate = held > 0 ? crossed / held : INFINITY;
	s->busy_share = p->active_s > 0 ? busy_sum / p->active_s : NAN;
	s->wait_share = p->active_s > 0 ? (held - busy_sum) / p->active_s : NAN;
	return NW_OK;
}

/* A protocol's own bytes are a few percent: then the file's size is the better word for what was moved. */
static bool
nearly(double a, double b)
{
	return fabs(a - b) <= 0.05 * b;
}

static int
stages_add(const struct work *w, struct nw_path *p)
{
	const double moved = total(w->ref, w->n_windows);
	bool local = !p->has_sender && !p->has_receiver;
	size_t reader = 0, writer = 0;
	bool reads = main_flow(w, NW_OP_DISK_READ, &reader) && w->op_sum[NW_OP_DISK_READ] >= STAGE_SHARE * moved;
	bool writes = main_flow(w, NW_OP_DISK_WRITE, &writer) && w->op_sum[NW_OP_DISK_WRITE] >= STAGE_SHARE * moved;
	int rc = NW_OK;

	if (local)
		p->sender_flow = p->receiver_flow = writes ? writer : reader;
	if (reads)
		rc = stage_add(w, p, NW_PLACE_DISK_READ, w->flows[reader].host, w->op_sum[NW_OP_DISK_READ]);
	if (rc == NW_OK && p->has_sender && w->flows[p->sender_flow].one_thread)
		rc = stage_add(w, p, NW_PLACE_SENDER_HOST, p->sender_host, moved);
	if (rc == NW_OK && !local)
		rc = stage_add(w, p, !p->has_receiver ? NW_PLACE_NET_WRITE : !p->has_sender ? NW_PLACE_NET_READ :
		    NW_PLACE_NETWORK, p->has_sender ? p->sender_host : p->receiver_host, moved);
	if (rc == NW_OK && p->has_receiver && w->flows[p->receiver_flow].one_thread)
		rc = stage_add(w, p, NW_PLACE_RECEIVER_HOST, p->receiver_host, moved);
	if (rc == NW_OK && local && w->flows[p->sender_flow].one_thread)
		rc = stage_add(w, p, NW_PLACE_HOST, w->flows[p->sender_flow].host, moved);
	if (rc == NW_OK && writes)
		rc = stage_add(w, p, NW_PLACE_DISK_WRITE, w->flows[writer].host, w->op_sum[NW_OP_DISK_WRITE]);
	if (rc == NW_OK)
		p->bytes = writes && nearly(w->op_sum[NW_OP_DISK_WRITE], moved) ? w->op_sum[NW_OP_DISK_WRITE] :
		    reads && nearly(w->op_sum[NW_OP_DISK_READ], moved) ? w->op_sum[NW_OP_DISK_READ] : moved;
	return rc;
}

static void
spans_fill(struct work *w)
{
	size_t f, i;
	int op;

	for (f = 0; f < w->n_flows; f++) {
		w->span[f].first = w->n_windows;
		for (op = 0; op < NW_OP_COUNT; op++)
			for (i = 0; i < w->n_windows; i++) {
				if (!(at(w->flows[f].bytes[op], i) + at(w->flows[f].busy_s[op], i) + at(w->flows[f].wait_s[op], i) > 0))
					continue;
				if (i < w->span[f].first)
					w->span[f].first = i;
				if (i >= w->span[f].end)
					w->span[f].end = i + 1;
			}
	}
}

static void
sums_fill(struct work *w)
{
	size_t f;
	int op;

	for (f = 0; f < w->n_flows; f++)
		for (op = 0; op < NW_OP_COUNT; op++) {
			w->sum[f][op] = total(w->flows[f].bytes[op], w->n_windows);
			if (w->sum[f][op] > w->op_max[op])
				w->op_max[op] = w->sum[f][op];
		}
	for (f = 0; f < w->n_flows; f++)
		for (op = 0; op < NW_OP_COUNT; op++)
			if (on_path(w, f, op))
				w->op_sum[op] += w->sum[f][op];
}

int
nw_path_build(const struct nw_flow *flows, size_t n_flows, size_t n_windows, double window_s, struct nw_path *out)
{
	struct work w = { .flows = flows, .n_flows = n_flows, .n_windows = n_windows, .window_s = window_s };
	int rc = NW_ENOMEM;
	size_t i;

	memset(out, 0, sizeof(*out));
	out->n_windows = n_windows;
	out->window_s = window_s;
	if (n_flows == 0 || n_windows == 0)
		return NW_OK;
	if ((w.sum = calloc(n_flows, sizeof(*w.sum))) == NULL || (w.ref = calloc(n_windows, sizeof(*w.ref))) == NULL ||
	    (w.span = calloc(n_flows, sizeof(*w.span))) == NULL)
		goto out;
	sums_fill(&w);
	spans_fill(&w);
	out->has_sender = main_flow(&w, NW_OP_NET_WRITE, &out->sender_flow);
	out->has_receiver = main_flow(&w, NW_OP_NET_READ, &out->receiver_flow);
	/* A program that reads a disk and answers a few requests is no network transfer. */
	if (out->has_sender && w.op_sum[NW_OP_NET_WRITE] < STAGE_SHARE * w.op_sum[NW_OP_DISK_READ])
		out->has_sender = false;
	if (out->has_receiver && w.op_sum[NW_OP_NET_READ] < STAGE_SHARE * w.op_sum[NW_OP_DISK_WRITE])
		out->has_receiver = false;
	/* Two ends belong together only if about as much left the one as reached the other. */
	if (out->has_sender && out->has_receiver) {
		double a = w.op_sum[NW_OP_NET_WRITE], b = w.op_sum[NW_OP_NET_READ];

		if (a < 0.5 * b)
			out->has_sender = false;
		else if (b < 0.5 * a)
			out->has_receiver = false;
	}
	out->sender_host = flows[out->sender_flow].host;
	out->receiver_host = flows[out->receiver_flow].host;
	if (out->has_receiver)
		reference_add(&w, NW_OP_NET_READ, w.ref);
	else if (out->has_sender)
		reference_add(&w, NW_OP_NET_WRITE, w.ref);
	else
		reference_add(&w, w.op_sum[NW_OP_DISK_WRITE] >= w.op_sum[NW_OP_DISK_READ] ? NW_OP_DISK_WRITE :
		    NW_OP_DISK_READ, w.ref);
	for (i = 0; i < n_windows; i++)
		if (w.ref[i] > 0)
			out->active_s += window_s;
	rc = out->active_s > 0 ? stages_add(&w, out) : NW_OK;
out:
	free(w.span);
	free(w.sum);
	free(w.ref);
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
