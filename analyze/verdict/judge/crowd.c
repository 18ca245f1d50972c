/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/crowd.h"

#include <math.h>

/* Measured beside 1, 2 and 4 busy loops a processor, by lifting limit and loops in turns: where
 * the network's better windows had ROOM times the mean rate, both helped 1.3-fold; below, the
 * loops did not. A program then had no processor for WAITED of the time. */
static const double ROOM = 1.55, ROOM_CERTAIN = 1.8, ROOM_MOST = 4, WAITED = 0.3;
/* A network needs for its bytes the share of the time by which its rate in the better windows is
 * above the mean rate. Measured beside token buckets of 27 to 400 MB/s and four loops a processor,
 * with windows closed for 0 to 0.96 of the time: the share was 1.15 times the quotient of the
 * rates in the median, and 0.8 to 2 times in all but one of 26. */
static const double BURSTS = 1.15;
/* A network with a queue delivers at its own rate, whenever. Measured likewise: the quartiles of
 * its rate lay 1.3 to 2.5 times apart in 13 of 16 cases of both limits. Where the loops alone
 * limited, they lay 2.6 to 400 times apart in 9 of 10: the rate is that of the programs, and
 * acknowledgements that come late keep data in flight. */
static const double EVEN = 2.5;
/* A closed receive window hides the network's rate. */
static const double WINDOW_OPEN = 0.2;
/* Where the kernel tells no rates: with data in flight for less of the time, late acknowledgements
 * look like a network. */
static const double FLIGHT = 0.7;
/* Without rates: a sender that waited for a processor for so large a part of the time waited little
 * for the network. Beside six loops a processor, the sender waited 0.6 on a path without a limit,
 * and 0.1 behind a token bucket; with rates and a bucket, up to 0.31 beside loops of 64 times the
 * weight. */
static const double SENDER_WAITED = 0.5;
/* A full network never rests: data were in flight for 0.99 of the time behind the bucket, and for
 * 0.5 to 0.87 without a limit. */
static const double NEVER_RESTS = 0.95;
/* Beside a window closed for so much longer than the network worked, data in flight tell nothing:
 * the network's lift gained nothing with 0.28 beside 0.56, and with 0.45 beside 0.5 it did. */
static const double REFUTED = 0.6;
/* From this share on, a wait for a processor is a wait for the quota. */
static const double BY_QUOTA = 0.5;
/* Parts of the time, of the network or the disk. Of two stages that take turns, the lift of the one
 * gains 1 / (1 - part) and that of the other 1 / part: at least 1.18 within the bounds. */
static const double PART_LOW = 0.2, PART_HIGH = 0.85;
/* Likewise of a wait that a processor would have saved, beside the network, and beside a disk, for
 * which kernel threads wait, too: at least 1.3. */
static const double HARMED_NET = 0.23, HARMED_DISK = 0.4;

static bool
is_end(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_SENDER_HOST || kind == NW_STAGE_RECEIVER_HOST ||
	    kind == NW_STAGE_HOST;
}

/* The end whose program waited longest for a processor; the number of stages if none waited for
 * WAITED of the time. */
static size_t
waiter_find(const struct evidence *e, const struct nw_path *p)
{
	double most = WAITED * p->active_s, wait_s;
	size_t i, found = p->n;

	for (i = 0; i < p->n; i++) {
		wait_s = e->processes[p->stage[i].process].cpu_wait_s;
		if (is_end(p->stage[i].kind) && wait_s >= most) {
			most = wait_s;
			found = i;
		}
	}
	return found;
}

/* Whether the kernel's account speaks for the receiving end, and against the network. */
static bool
is_refuted(const struct resources *r)
{
	return resources_opinion(r) == NW_SAYS_RECEIVING_END &&
	    resources_net(r) < REFUTED * r->rwnd;
}

/* Whether the program of a stage waited for its quota more than for other programs. */
static bool
has_quota(const struct evidence *e, const struct nw_path *p, size_t stage)
{
	const struct evidence_process *f = &e->processes[p->stage[stage].process];

	return f->throttled_s >= BY_QUOTA * f->cpu_wait_s;
}

/* How many times the mean rate the network carries. */
static double
room_of(const struct nw_path *p, const struct resources *r)
{
	return isfinite(r->shaper) ? r->shaper * p->active_s / p->bytes : r->room;
}

/* The part of the time that the network needed for the bytes: by the rate of a known shaper, else
 * by the network's accounts. NaN if unknown, and of a network with uneven delivery. A program with
 * a quota moves bytes at once when a period begins, as fast as any network: then both accounts must
 * speak for the network. */
static double
net_part(const struct nw_path *p, const struct resources *r, bool by_quota)
{
	double by_rate = fmin(r->in_flight, BURSTS / r->room);
	double by_flight = is_refuted(r) ? NAN : resources_net(r);

	if (isfinite(r->shaper))
		return 1 / room_of(p, r);
	if (by_quota)
		return isnan(by_rate) || isnan(by_flight) ? NAN : fmin(by_rate, by_flight);
	if (isnan(r->spread))
		return r->in_flight < FLIGHT ? NAN : by_flight;
	return r->spread <= EVEN ? fmax(by_rate, by_flight) : NAN;
}

/* The part of the time for which a stage worked, whatever the programs did; NaN if unknown. */
static double
part_of(const struct nw_path *p, const struct resources *r, bool by_quota, size_t stage)
{
	if (stage_kind_is_net(p->stage[stage].kind))
		return net_part(p, r, by_quota);
	return is_end(p->stage[stage].kind) ? NAN : r->queued[stage];
}

/* The stage other than a program with the largest part between the bounds. */
static size_t
part_find(const struct nw_path *p, const struct resources *r, bool by_quota)
{
	double part, most = PART_LOW;
	size_t i, found = p->n;

	for (i = 0; i < p->n; i++)
		if ((part = part_of(p, r, by_quota, i)) >= most) {
			most = part;
			found = i;
		}
	return most <= PART_HIGH ? found : p->n;
}

static double
harmed(const struct nw_path *p, size_t part)
{
	return stage_kind_is_net(p->stage[part].kind) ? HARMED_NET : HARMED_DISK;
}

/* The end whose program lost most by its waits for a processor; the number of stages if none that
 * waited for WAITED of the time lost so large a share. */
static size_t
harmed_find(
    const struct evidence *e, const struct nw_path *p, const double *starved_s, double share)
{
	double most = share * p->active_s;
	size_t i, process, found = p->n;

	for (i = 0; i < p->n; i++) {
		process = p->stage[i].process;
		if (is_end(p->stage[i].kind) && starved_s[process] >= most &&
		    e->processes[process].cpu_wait_s >= WAITED * p->active_s) {
			most = starved_s[process];
			found = i;
		}
	}
	return found;
}

/* Whether a disk at its throttle is the limit: no processor would have made it faster. */
static bool
is_at_throttle(const struct nw_path *p, const struct limit *l, const struct resources *r)
{
	return l->known && resources_no_faster(resources_rate(p, l->stage) / r->throttle[l->stage]);
}

/* Whether the network is the limit, and ran dry while a program had no processor. */
static bool
runs_dry(const struct nw_path *p, const struct limit *l, const struct resources *r)
{
	const double room = room_of(p, r);

	return l->known && stage_kind_is_net(p->stage[l->stage].kind) && room >= ROOM &&
	    room <= ROOM_MOST && r->rwnd < WINDOW_OPEN;
}

/* The sender, if nothing tells the network from the sender's waits for a processor; the number of
 * stages if something does. */
static size_t
open_find(const struct evidence *e, const struct nw_path *p, const struct limit *l,
    const struct resources *r)
{
	size_t i;

	if (!l->known || !stage_kind_is_net(p->stage[l->stage].kind) || !isnan(room_of(p, r)) ||
	    r->in_flight >= NEVER_RESTS)
		return p->n;
	for (i = 0; i < p->n; i++)
		if ((p->stage[i].kind == NW_STAGE_SENDER_HOST ||
			p->stage[i].kind == NW_STAGE_HOST) &&
		    e->processes[p->stage[i].process].cpu_wait_s >= SENDER_WAITED * p->active_s)
			return i;
	return p->n;
}

void
crowd_find(const struct evidence *e, const struct nw_path *p, const struct limit *l,
    const struct resources *r, const double *starved_s, struct crowd *out)
{
	size_t waiter = waiter_find(e, p), open, part;

	*out = (struct crowd){ .stage = p->n, .program = p->n, .room = NAN };
	if (waiter == p->n || l->stage >= p->n || l->n_windows < LIMIT_WINDOWS_MIN ||
	    is_at_throttle(p, l, r))
		return;
	if (runs_dry(p, l, r)) {
		out->limits = true;
		out->stage = l->stage;
		out->room = room_of(p, r);
		out->is_certain = out->room >= ROOM_CERTAIN;
	} else if ((open = open_find(e, p, l, r)) < p->n) {
		out->limits = out->is_open = true;
		out->stage = l->stage;
		waiter = open;
	} else if ((part = part_find(p, r, has_quota(e, p, waiter))) < p->n &&
	    (waiter = harmed_find(e, p, starved_s, harmed(p, part))) < p->n) {
		out->limits = true;
		out->stage = part;
	}
	out->program = waiter;
	out->wait_s = waiter < p->n ? e->processes[p->stage[waiter].process].cpu_wait_s : 0;
}
