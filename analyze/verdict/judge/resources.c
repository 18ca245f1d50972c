/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/resources.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"
#include "narrows/xmalloc.h"

/* A connection with a smaller share of the bytes carries requests or acknowledgements. */
static const double CARRIES_SHARE = 0.01;
/* The kernels' account must cover this share of the bytes to speak for the path. */
static const double COVERED_SHARE = 0.5;
/* A connection whose flight is this share of its congestion window is limited by the window: half
 * of the window is in flight where the kernel paces. */
static const double WINDOW_FILLED = 0.4;
/* Held for so large a share, a window counts as a peak of its stage. */
static const double PEAK = 0.3;
/* Fewer windows with deliveries tell nothing of the network's better windows. */
static const size_t ROOM_WINDOWS = 8;
static const double ROOM_QUANTILE = 0.9;
/* If the files of a transfer are unknown, a device with the path's bytes within a quarter (the
 * logarithm of the ratio) counts as the disk. */
static const double ALIKE = 0.23;
/* An interface carries the path's bytes if it sent so large a part of them. */
static const double THROUGH = 0.8;
/* Of a packet of 1,514 bytes, as a shaper counts, 1,448 are payload. */
static const double PAYLOAD = 0.956;
/* Looks at a queue must stand for so large a share of the time. */
static const double LOOKED_SHARE = 0.5;
/* Written bytes wait for a throttled disk, and not for memory, from this share of the throttle's
 * rate on. Measured: disks that took turns with a full network had 0.75 to 0.9. */
static const double WRITTEN_FULL = 0.7;
/* At so large a share of its throttle's rate a disk is full whatever the looks found: nothing else
 * can make the transfer much faster. More than the throttle's rate went to memory. */
static const double NO_FASTER_LOW = 0.9, NO_FASTER_HIGH = 1.1;
/* A throttle must exist for so large a share of the time. */
static const double THROTTLED_SHARE = 0.75;
/* Measured: written bytes waited 60 to 200 ms for a disk at its limit, 0 to 9 ms for others. */
static const double IDLE_BACKLOG_S = 0.02, IDLE_DEVICE = 0.5;
/* Measured: looks found reads waiting in 0.6 to 0.9 of the cases at a disk at its limit, and in
 * at most 0.1 at disks whose readers lacked a processor. */
static const double IDLE_QUEUE = 0.2;
/* A receiver without a processor acknowledges late, and a sender without one sends late. Measured
 * beside busy loops: the flight took 0.87 to 0.99 of the time where a link limited, and 0.43 to 0.6
 * of it where nothing but the loops did. */
static const double FLIGHT_FULL = 0.7;
/* Measured: receivers that lacked a processor, or a disk, left 0.67 to 1.08 of the largest window
 * unread, and receivers behind a full link 0.01 to 0.03, beside twenty loops on two processors. */
static const double UNREAD_DRAINED = 0.25;
/* Measured: the better windows of a full token bucket or link had up to 1.5 times the mean rate.
 * With more than QUEUE_BURSTS the bucket's bursts were measured. */
static const double QUEUE_ROOM = 1.5, QUEUE_BURSTS = 4;
/* Between these shares of its throttle's rate a disk is at its limit. Measured: pauses of the
 * program and the first and last bytes keep the mean up to a quarter below the throttle. */
static const double AT_THROTTLE_LOW = 0.77, AT_THROTTLE_HIGH = 1.25;

static double
at(const double *x, size_t i)
{
	return x != NULL ? x[i] : 0;
}

/* Forked processes report an inherited connection twice: the report with more counts. */
static bool
is_repeated(const struct evidence *e, size_t k)
{
	const struct evidence_connection *c = &e->connections[k], *o;
	size_t i;

	for (i = 0; i < e->n_connections; i++) {
		o = &e->connections[i];
		if (i != k && o->host == c->host && o->sport == c->sport && o->dport == c->dport &&
		    isfinite(o->busy_s) && strcmp(o->src, c->src) == 0 &&
		    strcmp(o->dst, c->dst) == 0 &&
		    (o->busy_s > c->busy_s || (o->busy_s == c->busy_s && i < k)))
			return true;
	}
	return false;
}

/* Whether a connection carries the path's bytes away from a host that keeps account. */
static bool
carries(const struct evidence *e, const struct nw_path *p, size_t k)
{
	const struct evidence_connection *c = &e->connections[k];

	return isfinite(c->busy_s) && c->bytes_out > c->bytes_in &&
	    c->bytes_out >= CARRIES_SHARE * p->bytes &&
	    (!p->relayed || c->host == p->sender_host) && !is_repeated(e, k);
}

/* Whether the kernels' account covers enough of the path's bytes to speak for the path. */
static bool
is_covered(const struct evidence *e, const struct nw_path *p)
{
	double bytes = 0;
	size_t k;

	for (k = 0; k < e->n_connections; k++)
		bytes += carries(e, p, k) ? e->connections[k].bytes_out : 0;
	return bytes > 0 && bytes >= COVERED_SHARE * p->bytes;
}

struct sums {
	double flight, net, rwnd, sndbuf; /* seconds, of all connections */
	double net_most;                  /* of the busiest connection */
};

/* Several connections in the same window share the network: together they take no more than the
 * window. */
static void
window_add(const struct evidence *e, const struct nw_path *p, size_t i, struct sums *s)
{
	double flight = 0, net = 0, rwnd = 0, sndbuf = 0, own;
	size_t k;

	for (k = 0; k < e->n_connections; k++) {
		const struct evidence_connection *c = &e->connections[k];

		if (!carries(e, p, k))
			continue;
		own = fmax(0, at(c->busy, i) - at(c->rwnd, i));
		flight += at(c->busy, i);
		net += own;
		rwnd += at(c->rwnd, i);
		sndbuf += at(c->sndbuf, i);
	}
	s->flight += fmin(flight, p->window_s);
	s->net += fmin(net, p->window_s);
	s->rwnd += fmin(rwnd, p->window_s);
	s->sndbuf += fmin(sndbuf, p->window_s);
}

static double
busiest(const struct evidence *e, const struct nw_path *p, size_t first, size_t end)
{
	double most = 0, sum;
	size_t i, k;

	for (k = 0; k < e->n_connections; k++) {
		const struct evidence_connection *c = &e->connections[k];

		if (!carries(e, p, k))
			continue;
		for (sum = 0, i = first; i < end; i++)
			if (isfinite(p->stage[0].free_share[i]))
				sum += fmax(0, at(c->busy, i) - at(c->rwnd, i));
		most = fmax(most, sum);
	}
	return most;
}

static double
at_work_s(const struct nw_path *p, size_t first, size_t end)
{
	double s = 0;
	size_t i;

	for (i = first; p->n > 0 && i < end; i++)
		s += isfinite(p->stage[0].free_share[i]) ? p->window_s : 0;
	return s;
}

/* The connections' delivery in a window with data in flight, by the kernel, bytes/s; NaN without
 * such data. The send queue of a connection may rest while the rest send, so all count in full. */
static double
delivered(const struct evidence *e, const struct nw_path *p, size_t i)
{
	double sum = NAN;
	size_t k;

	for (k = 0; k < e->n_connections; k++) {
		const struct evidence_connection *c = &e->connections[k];

		if (carries(e, p, k) && c->delivery != NULL && isfinite(c->delivery[i]) &&
		    at(c->busy, i) > at(c->rwnd, i))
			sum = (isfinite(sum) ? sum : 0) + c->delivery[i];
	}
	return sum;
}

/* The room, and the spread of the rates, unless NULL. */
static double
room_find(
    const struct evidence *e, const struct nw_path *p, size_t first, size_t end, double *spread)
{
	double *best = xcalloc(end - first + 1, sizeof(*best)), sent = 0, work_s, v, room = NAN;
	size_t i, k, n = 0;

	for (i = first; p->n > 0 && i < end; i++) {
		if (!isfinite(p->stage[0].free_share[i]))
			continue;
		for (k = 0; k < e->n_connections; k++)
			sent += carries(e, p, k) ? at(e->connections[k].sent, i) : 0;
		if (isfinite(v = delivered(e, p, i)))
			best[n++] = v;
	}
	work_s = at_work_s(p, first, end);
	if (n >= ROOM_WINDOWS && sent > 0) {
		room = quantile(best, n, ROOM_QUANTILE) * work_s / sent;
		if (spread != NULL)
			*spread = quantile(best, n, 0.75) / quantile(best, n, 0.25);
	}
	free(best);
	return room;
}

static void
net_find(const struct evidence *e, const struct nw_path *p, size_t first, size_t end,
    struct resources *out)
{
	double work_s = at_work_s(p, first, end);
	const struct evidence_connection *largest = NULL;
	struct sums s = { 0 };
	size_t i, k;

	for (k = 0; k < e->n_connections; k++) {
		if (!carries(e, p, k))
			continue;
		out->resent += isfinite(e->connections[k].retrans) ? e->connections[k].retrans : 0;
		if (largest == NULL || e->connections[k].bytes_out > largest->bytes_out)
			largest = &e->connections[k];
	}
	if (largest == NULL || !is_covered(e, p) || !(work_s > 0))
		return;
	for (i = first; i < end; i++)
		if (isfinite(p->stage[0].free_share[i]))
			window_add(e, p, i, &s);
	out->in_flight = fmin(1, s.flight / work_s);
	out->net_high = fmin(1, s.net / work_s);
	out->net_low = fmin(out->net_high, busiest(e, p, first, end) / work_s);
	out->rwnd = fmin(1, s.rwnd / work_s);
	out->sndbuf = fmin(1, s.sndbuf / work_s);
	out->room = room_find(e, p, first, end, &out->spread);
	out->window_bytes = largest->snd_wnd_bytes;
	if (largest->snd_wnd_most_bytes > 0)
		out->window_used =
		    largest->bytes_out / p->active_s * largest->rtt_s / largest->snd_wnd_most_bytes;
	out->rtt_s = largest->rtt_s;
}

static double
mean_between(const double *x, size_t first, size_t end)
{
	double sum = 0;
	size_t i, n = 0;

	for (i = first; x != NULL && i < end; i++)
		if (isfinite(x[i])) {
			sum += x[i];
			n++;
		}
	return n > 0 ? sum / (double)n : NAN;
}

/* Whether a connection's flight, its rate times its round trip, filled its congestion window; true
 * where the kernel does not tell. */
static bool
fills_window(const struct nw_path *p, const struct evidence_connection *c)
{
	double flight = mean_between(c->sent, p->first, p->end) / p->window_s *
	    mean_between(c->rtt, p->first, p->end);
	double window = mean_between(c->cwnd, p->first, p->end);

	return !(flight < WINDOW_FILLED * window);
}

/* The share of a window's flight that lay in the network's queues: a queue is there only while the
 * network is at work. Without queues a round trip takes the shortest, which is 0 where it took less
 * than the kernel's clock resolves. 0 where the kernel does not tell. */
static double
queued_share(const struct evidence_connection *c, size_t i)
{
	double trip = c->rtt != NULL && isfinite(c->rtt[i]) ? c->rtt[i] : c->rtt_s;

	return trip > c->rtt_min_s && c->rtt_min_s >= 0 ? 1 - c->rtt_min_s / trip : 0;
}

/* The share of the time at work with data in flight, for whatever reason. */
static double
flight_share(const struct evidence *e, const struct nw_path *p)
{
	struct sums s = { 0 };
	size_t i;

	for (i = 0; p->n > 0 && i < p->n_windows; i++)
		if (isfinite(p->stage[0].free_share[i]))
			window_add(e, p, i, &s);
	return s.flight / p->active_s;
}

bool
resources_full(const struct evidence *e, const struct nw_path *p, bool for_sender, double *full)
{
	const struct evidence_connection *c;
	double room, queued;
	size_t i, k;

	if (!is_covered(e, p) || flight_share(e, p) < FLIGHT_FULL)
		return false;
	/* a network that carries far more in its better windows is not at work all the time */
	room = room_find(e, p, 0, p->n_windows, NULL);
	queued = room > QUEUE_ROOM && room <= QUEUE_BURSTS ? QUEUE_ROOM / room : 1;
	for (k = 0; k < e->n_connections; k++) {
		bool filled;

		c = &e->connections[k];
		if (!carries(e, p, k))
			continue;
		filled = !for_sender || fills_window(p, c);
		for (i = 0; i < p->n_windows; i++)
			full[i] = fmin(p->window_s,
			    full[i] +
				fmax(0, at(c->busy, i) - at(c->rwnd, i) - at(c->sndbuf, i)) *
				    (filled ? 1 : queued * queued_share(c, i)));
	}
	return true;
}

/* Whether a connection carries the path's bytes to the receiver, with its kernel's word of unread
 * bytes. */
static bool
tells_unread(const struct evidence *e, const struct nw_path *p, size_t k)
{
	const struct evidence_connection *c = &e->connections[k];

	return c->unread != NULL && c->host == p->receiver_host && c->bytes_in > c->bytes_out &&
	    c->bytes_in >= CARRIES_SHARE * p->bytes;
}

bool
resources_drained(const struct evidence *e, const struct nw_path *p, double *full)
{
	double bytes = 0, most, unread;
	size_t i, k;

	for (k = 0; k < e->n_connections; k++)
		bytes += tells_unread(e, p, k) ? e->connections[k].bytes_in : 0;
	if (!(bytes > 0) || bytes < COVERED_SHARE * p->bytes)
		return false;
	for (i = 0; i < p->n_windows; i++) {
		for (k = 0, most = NAN; k < e->n_connections; k++) {
			unread = tells_unread(e, p, k) ? e->connections[k].unread[i] : NAN;
			most = isfinite(unread) ? fmax(most, unread) : most;
		}
		full[i] += most < UNREAD_DRAINED ? p->window_s : 0;
	}
	return true;
}

static double
peaks_of(const struct nw_path_stage *s, size_t first, size_t end)
{
	size_t i, n = 0, peaks = 0;

	for (i = first; i < end; i++)
		if (isfinite(s->free_share[i])) {
			n++;
			peaks += 1 - s->free_share[i] > PEAK;
		}
	return n > 0 ? (double)peaks / (double)n : 0;
}

static double
disk_bytes(const struct evidence *e, const struct nw_path_stage *s, size_t i)
{
	enum nw_op op = nw_stage_kind_reads(s->kind) ? NW_OP_DISK_READ : NW_OP_DISK_WRITE;
	double sum = 0;
	size_t f;

	for (f = 0; f < e->n_processes; f++)
		sum += e->processes[f].host == s->host ? at(e->processes[f].bytes[op], i) : 0;
	return sum;
}

static double
pace_of(const struct evidence *e, const struct nw_path_stage *s, size_t first, size_t end)
{
	double bytes, moved = 0, held = 0, moved_held = 0, n = 0;
	size_t i;

	if (!nw_stage_kind_reads(s->kind) && !nw_stage_kind_writes(s->kind))
		return NAN;
	for (i = first; i < end; i++)
		if (isfinite(s->free_share[i]) && (bytes = disk_bytes(e, s, i)) > 0) {
			n++;
			moved += bytes;
			held += 1 - s->free_share[i];
			moved_held += bytes * (1 - s->free_share[i]);
		}
	return held > 0 ? moved_held / held * n / moved : NAN;
}

/* --- the queue in front of a disk --- */

static double
sum_of(const struct nw_path *p, const double *x, size_t first, size_t end)
{
	double sum = 0;
	size_t i;

	for (i = first; i < end; i++)
		sum += isfinite(p->stage[0].free_share[i]) ? at(x, i) : 0;
	return sum;
}

/* Bytes of the session's own files on a device, by way: read 0, written 1. */
static double
own_bytes(const struct evidence *e, const struct evidence_use *u, int way)
{
	const struct evidence_use_file *f;
	double sum = 0;

	for (f = e->use_files; f < e->use_files + e->n_use_files; f++)
		if (f->session_id == e->session_id && f->host == u->host &&
		    strcmp(f->device, u->place) == 0)
			sum += way == 0 ? f->read : f->written;
	return sum;
}

/* The device of a disk's bytes: that of the session's files; where no file is known, the device
 * that moved most nearly as many bytes as the path. NULL if unknown. */
static const struct evidence_use *
device_find(const struct evidence *e, const struct nw_path *p, size_t host, int way)
{
	const struct evidence_use *u, *most = NULL, *alike = NULL;
	double own, best = 0, far, least = ALIKE;

	for (u = e->uses; u < e->uses + e->n_uses; u++) {
		if (u->session_id != 0 || u->link || u->host != host || u->place == NULL)
			continue;
		if ((own = own_bytes(e, u, way)) > best) {
			best = own;
			most = u;
		}
		far = fabs(log(sum_of(p, way == 0 ? u->in : u->out, 0, p->n_windows) / p->bytes));
		if (far <= least) {
			least = far;
			alike = u;
		}
	}
	return most != NULL ? most : alike;
}

/* The mean throttle of the windows at work; NaN where there was none, or only for a while. */
static double
throttle_find(const struct nw_path *p, const double *limit, size_t first, size_t end)
{
	double sum = 0;
	size_t i, n = 0, known = 0;

	for (i = first; limit != NULL && i < end; i++) {
		if (!isfinite(p->stage[0].free_share[i]))
			continue;
		n++;
		known += isfinite(limit[i]);
		sum += isfinite(limit[i]) ? limit[i] : 0;
	}
	return known > 0 && (double)known >= THROTTLED_SHARE * (double)n ? sum / (double)known
									 : NAN;
}

/* The device of a stage's disk, and whether the disk is written; NULL of other stages, and where
 * the device is not known. */
static const struct evidence_use *
device_of(const struct evidence *e, const struct nw_path *p, size_t stage, int *way)
{
	enum nw_stage_kind kind = p->stage[stage].kind;

	*way = kind == NW_STAGE_DISK_WRITE;
	return kind == NW_STAGE_DISK_READ || kind == NW_STAGE_DISK_WRITE
	    ? device_find(e, p, p->stage[stage].host, *way)
	    : NULL;
}

/* Seconds for which looks at a device's queue stand; 0 where too few were taken. */
static double
looked_find(
    const struct nw_path *p, const struct evidence_use *u, int way, size_t first, size_t end)
{
	double looked_s = sum_of(p, u->looked_s[way], first, end);

	return looked_s >= LOOKED_SHARE * at_work_s(p, first, end) ? looked_s : 0;
}

/* The stage's disk: bytes waiting in front of the device, and the rate of a throttle. */
static void
queue_find(const struct evidence *e, const struct nw_path *p, size_t first, size_t end,
    struct resources *out, size_t stage)
{
	int way;
	const struct evidence_use *u = device_of(e, p, stage, &way);
	double looked_s;

	out->queued[stage] = out->throttle[stage] = NAN;
	if (u == NULL)
		return;
	if ((looked_s = looked_find(p, u, way, first, end)) > 0)
		out->queued[stage] = sum_of(p, u->queued_s[way], first, end) / looked_s;
	out->throttle[stage] = throttle_find(p, u->limit[way], first, end);
}

bool
resources_no_faster(double share)
{
	return share >= NO_FASTER_LOW && share <= NO_FASTER_HIGH;
}

bool
resources_disk_full(const struct evidence *e, const struct nw_path *p, size_t stage, double *full)
{
	int way;
	const struct evidence_use *u = device_of(e, p, stage, &way);
	double share;
	size_t i;

	if (u == NULL)
		return false;
	share = resources_rate(p, stage) / throttle_find(p, u->limit[way], 0, p->n_windows);
	if (resources_no_faster(share)) {
		for (i = 0; i < p->n_windows; i++)
			full[i] = p->window_s;
		return true;
	}
	if (looked_find(p, u, way, 0, p->n_windows) == 0 || (way == 1 && !(share >= WRITTEN_FULL)))
		return false;
	for (i = 0; i < p->n_windows; i++)
		if (at(u->looked_s[way], i) > 0)
			full[i] = fmin(p->window_s,
			    full[i] +
				p->window_s * at(u->queued_s[way], i) / at(u->looked_s[way], i));
	return true;
}

/* The shaper of the interface through which the sending host sent the path's bytes. */
static double
shaper_find(const struct evidence *e, const struct nw_path *p, size_t first, size_t end)
{
	const struct evidence_use *u;
	double least = NAN;

	for (u = e->uses; p->has_sender && u < e->uses + e->n_uses; u++) {
		if (u->session_id != 0 || !u->link || u->host != p->sender_host ||
		    sum_of(p, u->out, 0, p->n_windows) < THROUGH * p->bytes)
			continue;
		least = fmin(least, PAYLOAD * throttle_find(p, u->limit[1], first, end));
	}
	return least;
}

/* By Little's law: the bytes waiting over the bytes leaving in a second. */
static double
backlog_of(
    const struct evidence *e, const struct nw_path *p, size_t stage, size_t first, size_t end)
{
	const double *waiting = e->hosts[p->stage[stage].host].writeback_bytes;
	double sum = 0;
	size_t i, n = 0, known = 0;

	for (i = first; i < end; i++) {
		if (!isfinite(p->stage[0].free_share[i]))
			continue;
		n++;
		if (waiting != NULL && isfinite(waiting[i])) {
			known++;
			sum += waiting[i];
		}
	}
	if (p->stage[stage].kind != NW_STAGE_DISK_WRITE || known == 0 ||
	    (double)known < LOOKED_SHARE * (double)n)
		return NAN;
	return sum / (double)known / resources_rate(p, stage);
}

void
resources_find(const struct evidence *e, const struct nw_path *p, size_t first, size_t end,
    struct resources *out)
{
	size_t i;

	*out = (struct resources){ .net_low = NAN,
		.net_high = NAN,
		.in_flight = NAN,
		.rwnd = NAN,
		.sndbuf = NAN,
		.window_bytes = NAN,
		.window_used = NAN,
		.shaper = shaper_find(e, p, first, end),
		.rtt_s = NAN,
		.room = NAN,
		.spread = NAN };
	net_find(e, p, first, end, out);
	for (i = 0; i < p->n; i++) {
		out->device[i] = mean_between(e->hosts[p->stage[i].host].disk_busy, first, end);
		out->peaks[i] = peaks_of(&p->stage[i], first, end);
		out->pace[i] = pace_of(e, &p->stage[i], first, end);
		queue_find(e, p, first, end, out, i);
		out->backlog_s[i] = backlog_of(e, p, i, first, end);
	}
}

double
resources_net(const struct resources *r)
{
	return sqrt(r->net_low * r->net_high);
}

bool
stage_kind_is_net(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_NETWORK || kind == NW_STAGE_NET_WRITE || kind == NW_STAGE_NET_READ;
}

enum nw_says
resources_opinion(const struct resources *r)
{
	if (r->rwnd > 0.5)
		return NW_SAYS_RECEIVING_END;
	if (resources_net(r) > 0.7)
		return NW_SAYS_NETWORK;
	return r->in_flight < 0.5 ? NW_SAYS_SENDING_END : NW_SAYS_NOTHING;
}

bool
resources_throttled(const struct resources *r, size_t stage, double bytes_per_s)
{
	double share = bytes_per_s / r->throttle[stage];

	return share >= AT_THROTTLE_LOW && share <= AT_THROTTLE_HIGH;
}

bool
resources_written_idle(const struct resources *r, size_t stage)
{
	return r->backlog_s[stage] < IDLE_BACKLOG_S && !(r->device[stage] >= IDLE_DEVICE) &&
	    !(r->queued[stage] >= IDLE_DEVICE) && !isfinite(r->throttle[stage]);
}

bool
resources_read_idle(const struct resources *r, size_t stage)
{
	return isnan(r->backlog_s[stage]) && r->queued[stage] < IDLE_QUEUE &&
	    r->device[stage] < IDLE_DEVICE && !isfinite(r->throttle[stage]);
}

double
resources_rate(const struct nw_path *p, size_t stage)
{
	double bytes = p->stage[stage].bytes > 0 ? p->stage[stage].bytes : p->bytes;

	return p->active_s > 0 ? bytes / p->active_s : NAN;
}

double
mean_known(const double *x, size_t n)
{
	double sum = 0;
	size_t i, k = 0;

	for (i = 0; x != NULL && i < n; i++)
		if (isfinite(x[i])) {
			sum += x[i];
			k++;
		}
	return k > 0 ? sum / (double)k : NAN;
}
