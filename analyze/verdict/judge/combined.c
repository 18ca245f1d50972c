/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/combined.h"

#include <string.h>

/* Least share of the time for a network that single calls with the disk may hide. */
static const double COMBINED_HELD = 1.0 / 3;
/* .. and for data in flight, if a slow receiver made such calls long; the network itself must hold
 * less than COMBINED_RATIO of the receiver's time. */
static const double COMBINED_FLIGHT = 0.85, COMBINED_RATIO = 0.7;
/* Two stages of a process with more than its time between them share calls. */
static const double PAIR_HELD = 1.1;

static double
held_of(const struct limit *l, size_t stage)
{
	return 1 - l->tests[stage].group.mean;
}

/* Whether most bytes went, or may have gone, through calls that read and send at once. */
static bool
is_combined(const struct evidence *e, const struct nw_path *p)
{
	return !(e->processes[p->sender_process].combined_bytes < 0.5 * p->bytes);
}

bool
combined_is_pair(
    const struct evidence *e, const struct nw_path *p, const struct limit *l, size_t a, size_t b)
{
	enum nw_stage_kind one = p->stage[a].kind, other = p->stage[b].kind;

	return is_combined(e, p) &&
	    ((nw_stage_kind_reads(one) && stage_kind_is_net(other)) ||
		(nw_stage_kind_reads(other) && stage_kind_is_net(one))) &&
	    held_of(l, a) + held_of(l, b) > PAIR_HELD;
}

static size_t
stage_of_kinds(const struct nw_path *p, enum nw_stage_kind one, enum nw_stage_kind other)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->stage[i].kind == one || p->stage[i].kind == other)
			break;
	return i;
}

/* The stage behind the network with most held time. */
static size_t
receiving_stage(const struct nw_path *p, const struct limit *l)
{
	size_t i, most = p->n;

	for (i = 0; i < p->n; i++)
		if ((p->stage[i].kind == NW_STAGE_RECEIVER_HOST ||
			nw_stage_kind_writes(p->stage[i].kind)) &&
		    (most == p->n || held_of(l, i) > held_of(l, most)))
			most = i;
	return most;
}

/*
 * A call that reads the disk and sends blocks in the send while the receiver is slow, and seems to
 * read the disk meanwhile. With data in flight nearly all the time, and the receiver at work, the
 * disk did not hold the bytes.
 */
static bool
receiver_decides(const struct nw_path *p, const struct resources *r, struct limit *l, size_t net)
{
	size_t to = receiving_stage(p, l);

	if (to == p->n || !(r->in_flight >= COMBINED_FLIGHT) || held_of(l, to) < COMBINED_HELD ||
	    held_of(l, net) >= COMBINED_RATIO * held_of(l, to))
		return false;
	l->stage = to;
	l->known = true;
	l->claim = limit_is_sample(l) ? LIMIT_INFERENCE : LIMIT_ACCOUNT;
	return true;
}

bool
combined_decide(
    const struct evidence *e, const struct nw_path *p, const struct resources *r, struct limit *l)
{
	enum nw_says says = resources_opinion(r);
	size_t disk = stage_of_kinds(p, NW_STAGE_DISK_READ, NW_STAGE_STORAGE_READ);
	size_t net = stage_of_kinds(p, NW_STAGE_NETWORK, NW_STAGE_NET_WRITE);

	if (disk == p->n || net == p->n || l->n_windows < LIMIT_WINDOWS_MIN || !limit_is_held(l) ||
	    !is_combined(e, p))
		return false;
	if (receiver_decides(p, r, l, net))
		return true;
	if ((l->stage != disk && l->stage != net) ||
	    (!combined_is_pair(e, p, l, disk, net) && l->known))
		return false;
	l->known = says != NW_SAYS_NOTHING;
	if (says == NW_SAYS_SENDING_END)
		l->stage = disk;
	else if (says != NW_SAYS_NOTHING && held_of(l, net) >= COMBINED_HELD)
		l->stage = net;
	else
		l->known = false;
	l->claim = !l->known ? LIMIT_NONE : limit_is_sample(l) ? LIMIT_INFERENCE : LIMIT_ACCOUNT;
	return l->known;
}
