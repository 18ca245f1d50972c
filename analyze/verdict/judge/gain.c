/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/gain.h"

#include <math.h>

#include "analyze/verdict/judge/replayed.h"

/* Measured with link and disk limits of known ratio: 1 / (share in flight) was 0.8 to 1.25 of the
 * gain found by lifting the other limit. */
static const double NET_LOW = 0.75, NET_HIGH = 1.33;
/* Measured likewise: the gain until the network limits was 0.6 to 1.0 of its room. A receive window
 * that is full for WINDOW_FULL of the time hides the room. */
static const double ROOM_LOW = 0.58, ROOM_ABOUT = 0.8, ROOM_HIGH = 1.15, ROOM_MOST = 4;
static const double WINDOW_FULL = 0.2;
/* Bounds further apart than by the factor are of no help. */
static const double TELLING = 3;
/* The kernel slows writers down before a disk is at its limit: a disk had up to so much more
 * room than by its share of held time. */
static const double PACING = 2;
/* A smaller gain needs no explanation by the route's history. */
static const double HISTORY_WORTH = 1.1;

/* A network in use for less of the time has the room that its better windows show. */
static const double NET_IN_USE = 0.85;
/* Measured: a transfer at the next disk's throttle had this share of the throttle's rate. */
static const double THROTTLE_LOW = 0.7, THROTTLE_ABOUT = 0.92, THROTTLE_HIGH = 1.05;

static double
held_of(const struct limit *l, size_t stage)
{
	return 1 - l->tests[stage].group.mean;
}

/* A slow receiver keeps data in flight, wherever the data wait. */
static bool
is_receiving(enum nw_stage_kind kind)
{
	return nw_stage_kind_writes(kind) || kind == NW_STAGE_RECEIVER_HOST;
}

/* Whether the kernel's account tells the network's share. Page faults inside send(2) leave segments
 * half filled, and so in flight. */
static bool
has_account(const struct nw_path *p, const struct limit *l, const struct resources *r)
{
	return isfinite(r->net_low) && !p->stage[l->stage].mapped;
}

double
gain_worked(const struct nw_path *p, const struct limit *l, const struct resources *r, size_t stage)
{
	if (stage_kind_is_net(p->stage[stage].kind) && has_account(p, l, r))
		return resources_net(r);
	return held_of(l, stage);
}

/* The stage with most work besides the limit. */
static size_t
next_find(const struct nw_path *p, const struct limit *l, const struct resources *r, size_t limit)
{
	size_t i, next = p->n;

	for (i = 0; i < p->n; i++)
		if (i != limit &&
		    (next == p->n || gain_worked(p, l, r, i) > gain_worked(p, l, r, next)))
			next = i;
	return next;
}

static size_t
network_of(const struct nw_path *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (stage_kind_is_net(p->stage[i].kind))
			break;
	return i;
}

bool
gain_by_room(const struct nw_path *p, const struct resources *r, size_t limit, struct gain *g)
{
	size_t net = network_of(p);

	if (net == p->n || net == limit || p->has_sender != p->has_receiver ||
	    p->stage[limit].mapped || !(r->room <= ROOM_MOST) || r->rwnd >= WINDOW_FULL)
		return false;
	g->source = GAIN_NETWORK;
	g->next = net;
	g->low = fmax(1, ROOM_LOW * r->room);
	g->about = fmax(1, ROOM_ABOUT * r->room);
	g->high = fmax(1.1, ROOM_HIGH * r->room);
	return true;
}

/* Bounds by the network's account of itself. */
static void
gain_by_network(const struct resources *r, bool receiving, struct gain *g)
{
	g->low = fmax(1, NET_LOW / fmin(1, r->net_high));
	g->high = NET_HIGH / r->net_low;
	if (!receiving && !(r->room > ROOM_MOST) && resources_net(r) >= 1 / TELLING &&
	    g->high <= TELLING * g->low) {
		g->about = fmin(g->high, fmax(g->low, 1 / resources_net(r)));
		g->source = GAIN_NETWORK;
		return;
	}
	g->low = g->high = NAN;
}

const char *
gain_source_name(enum gain_source source)
{
	static const char *const names[] = { NULL,
#define X(id, name) [GAIN_##id] = name,
		GAIN_SOURCE_LIST(X)
#undef X
	};

	return names[source];
}

struct gain
gain_find(const struct nw_path *p, const struct limit *l, const struct resources *r, size_t limit)
{
	struct gain g = { .about = NAN, .low = NAN, .high = NAN };
	double worked, high;

	g.next = next_find(p, l, r, limit);
	if (g.next == p->n || p->has_sender != p->has_receiver)
		return g;
	if (p->stage[limit].mapped) /* looks tell roughly how long the disk held the program */
		return g;
	if (gain_by_room(p, r, limit, &g))
		return g;
	worked = gain_worked(p, l, r, g.next);
	high = nw_stage_kind_writes(p->stage[g.next].kind) ? PACING / worked : 1 / worked;
	if (stage_kind_is_net(p->stage[g.next].kind) && has_account(p, l, r) &&
	    1 / worked <= 2 * TELLING)
		gain_by_network(r, is_receiving(p->stage[limit].kind), &g);
	else if (high <= TELLING) {
		g.low = 1;
		g.high = fmax(1, high);
		g.source = GAIN_STAGES;
	}
	return g;
}

/* Whether a stage had room for `rate` times the bytes: by its account, by its rate alone, or, of
 * the network, by its better windows. */
static bool
carries(const struct nw_path *p, const struct limit *l, const struct resources *r,
    const struct replayed *y, size_t i, double rate)
{
	return gain_worked(p, l, r, i) * rate <= 1 ||
	    replayed_carries(y, i, rate * p->bytes / p->active_s) ||
	    (stage_kind_is_net(p->stage[i].kind) && resources_net(r) < NET_IN_USE &&
		ROOM_LOW * r->room >= rate);
}

static bool
others_carry(const struct nw_path *p, const struct limit *l, const struct resources *r,
    const struct replayed *y, size_t limit, size_t next, double rate)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (i != limit && i != next && !carries(p, l, r, y, i, rate))
			return false;
	return true;
}

void
gain_by_throttle(const struct nw_path *p, const struct limit *l, const struct resources *r,
    const struct replayed *y, size_t limit, struct gain *g)
{
	double room = NAN, one;
	size_t i, next = p->n;

	for (i = 0; i < p->n; i++) {
		one = r->throttle[i] / resources_rate(p, i);
		if (i != limit && isfinite(one) && !(room <= one)) {
			room = one;
			next = i;
		}
	}
	if (next == p->n || g->high <= THROTTLE_HIGH * room || !(room > 1))
		return;
	g->high = THROTTLE_HIGH * room;
	g->source = GAIN_THROTTLE;
	g->next = next;
	g->about = NAN;
	if (others_carry(p, l, r, y, limit, next, room)) {
		g->low = fmax(1, THROTTLE_LOW * room);
		g->about = fmax(1, THROTTLE_ABOUT * room);
	} else if (g->low > g->high)
		g->low = 1;
}

void
gain_by_history(const struct gain_history *h, double bytes_per_s, size_t n_stages, struct gain *g)
{
	double low = h->low / bytes_per_s, high = h->high / bytes_per_s;

	if (!(low >= HISTORY_WORTH) || (isfinite(g->high) && !(low <= g->high)))
		return;
	if (g->low > 1 && isfinite(g->high) && g->high / g->low <= high / low)
		return;
	*g = (struct gain){ .about = h->about / bytes_per_s,
		.low = low,
		.high = high,
		.next = n_stages,
		.source = GAIN_HISTORY,
		.seen_bytes_per_s = h->best,
		.seen_wall_ns = h->best_wall_ns };
}
