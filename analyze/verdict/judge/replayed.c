/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/replayed.h"

#include <math.h>

#include "analyze/verdict/judge/gain.h"
#include "analyze/verdict/judge/resources.h"

/* A stage alone differs from the stage in a transfer, and from one minute to the next, by so
 * much. Measured by lifting planted limits: replays of a second told 0.95 to 1.1 times what was
 * reached. Behind sends of 0.05 to 0.1 s, in which a connection is still slow, 0.51 to 1.63 times
 * the rate alone was reached. */
static const double LOWER = 0.7, HIGHER = 1.38;
static const double LOWER_SHORT = 0.5, HIGHER_SHORT = 1.65, SHORT_S = 0.25;
/* A throttle lets bytes pass in slices of a tenth of a second: what is not slower than this part of
 * the throttle's rate, over a short time, is the throttle. Measured: 0.64 to 140 times the rate. */
static const double SLICED = 0.5;
/* A replay of no more bytes than pass in this time of the transfer may be all burst: the stage is
 * as fast as found, or slower. */
static const double BRIEF_S = 0.1;
/* Memory took what a disk carried alone so many times more slowly. */
static const double CACHED = 1.25;
/* Of two stages, the limit worked so many times as long for the same bytes as the other stage, and
 * for most of the time. */
static const double APART = 1.4, MOSTLY = 0.6;
/* .. by brief replays of both stages. Measured: round trips of the start made a link look 0 to 12 %
 * slower in a brief replay. */
static const double APART_BRIEF = 1.3, STARTED = 0.07;
/* Two stages whose work differs by less limit together. */
static const double TOGETHER = 1.3;
/* Bounds further apart are of no help. */
static const double TELLING = 3;
/* The ends' own work for a faster network is not known beyond so many times the rate: measured, a
 * link without a limit carried 5 to 6 times the rate where disks alone carried 40 times. */
static const double NET_FAR = 4;

enum nw_replay_way
replayed_way(enum nw_stage_kind kind)
{
	if (nw_stage_kind_reads(kind))
		return NW_REPLAY_READ;
	if (nw_stage_kind_writes(kind))
		return NW_REPLAY_WRITE;
	return kind == NW_STAGE_NETWORK || kind == NW_STAGE_NET_WRITE ? NW_REPLAY_SEND
								      : NW_REPLAY_NONE;
}

static const struct evidence_replay *
replay_of(const struct evidence *e, const struct nw_path_stage *s)
{
	enum nw_replay_way way = replayed_way(s->kind);
	const struct evidence_replay *y;

	for (y = e->replays; way != NW_REPLAY_NONE && y < e->replays + e->n_replays; y++)
		if (y->host == s->host && y->way == way && y->bytes > 0 && y->calls_s > 0 &&
		    y->took_s > 0)
			return y;
	return NULL;
}

void
replayed_find(const struct evidence *e, const struct nw_path *p, const struct resources *r,
    double bytes_per_s, struct replayed *out)
{
	const struct evidence_replay *y;
	struct replayed_stage *s;
	size_t i;

	*out = (struct replayed){ .n = 0 };
	for (y = e->replays; y < e->replays + e->n_replays; y++) {
		out->cost_bytes += y->cost_bytes;
		out->cost_s += y->cost_s;
	}
	for (i = 0; i < p->n; i++) {
		s = &out->stage[i];
		s->bytes_per_s = s->calls_s_per_byte = NAN;
		if ((s->by = replay_of(e, &p->stage[i])) == NULL)
			continue;
		s->bytes_per_s = s->by->bytes / s->by->took_s;
		s->calls_s_per_byte = s->by->calls_s / s->by->bytes;
		s->brief = s->by->bytes < BRIEF_S * bytes_per_s;
		if (s->bytes_per_s >= SLICED * r->throttle[i]) {
			s->bytes_per_s = r->throttle[i];
			s->calls_s_per_byte = 1 / r->throttle[i];
		}
		out->n++;
	}
}

/* Whether memory took what a program wrote: the device alone is slower than the transfer was. */
static bool
is_cached(const struct replayed_stage *s, const struct nw_path *p, size_t i, double bytes_per_s)
{
	return s->by != NULL && nw_stage_kind_writes(p->stage[i].kind) &&
	    s->bytes_per_s * CACHED < bytes_per_s;
}

/* The share of the session for which a stage worked: by its rate alone, else by the session. */
static double
worked(const struct replayed *y, const struct nw_path *p, const struct limit *l,
    const struct resources *r, double bytes_per_s, size_t i)
{
	const struct replayed_stage *s = &y->stage[i];
	double start = s->brief && s->by->way == NW_REPLAY_SEND ? STARTED : 0;

	return isfinite(s->bytes_per_s) ? fmin(1, bytes_per_s / (s->bytes_per_s * (1 + start)))
					: gain_worked(p, l, r, i);
}

/* Whether a stage may be named since the other had room: a brief replay shows room only beside the
 * slow replay of the named stage. */
static bool
is_met(const struct replayed *y, size_t stage, size_t other)
{
	return !y->stage[other].brief || y->stage[stage].by != NULL;
}

bool
replayed_is_brief(const struct replayed *y, size_t n_stages)
{
	size_t i;

	for (i = 0; i < n_stages && !y->stage[i].brief; i++)
		continue;
	return i < n_stages;
}

enum replayed_says
replayed_compare(const struct replayed *y, const struct nw_path *p, const struct limit *l,
    const struct resources *r, double bytes_per_s, size_t first, size_t second)
{
	double a, b, apart;

	if (first >= p->n || second >= p->n || first == second ||
	    (y->stage[first].by == NULL && y->stage[second].by == NULL) ||
	    is_cached(&y->stage[first], p, first, bytes_per_s) ||
	    is_cached(&y->stage[second], p, second, bytes_per_s))
		return REPLAYED_NOTHING;
	a = worked(y, p, l, r, bytes_per_s, first);
	b = worked(y, p, l, r, bytes_per_s, second);
	apart = y->stage[first].brief && y->stage[second].brief ? APART_BRIEF : APART;
	if (a >= MOSTLY && a >= apart * b)
		return is_met(y, first, second) ? REPLAYED_FIRST : REPLAYED_NOTHING;
	if (b >= MOSTLY && b >= apart * a)
		return is_met(y, second, first) ? REPLAYED_SECOND : REPLAYED_NOTHING;
	if (y->stage[first].by != NULL && y->stage[second].by != NULL && a >= MOSTLY &&
	    b >= MOSTLY && a <= TOGETHER * b && b <= TOGETHER * a)
		return REPLAYED_BOTH;
	return REPLAYED_NOTHING;
}

/* Whether a stage takes the time of the programs at an end: the network takes the sender's. */
static bool
is_of_end(const struct nw_path *p, size_t i, bool sending)
{
	const struct nw_path_stage *s = &p->stage[i];

	if (!sending && stage_kind_is_net(s->kind))
		return s->kind == NW_STAGE_NET_READ;
	return p->has_sender && p->has_receiver && p->sender_host != p->receiver_host
	    ? s->host == (sending ? p->sender_host : p->receiver_host)
	    : true;
}

/* Seconds for a byte at an end where all its stages but the limit take turns. */
static double
turns_s_per_byte(const struct replayed *y, const struct nw_path *p, const struct limit *l,
    const struct resources *r, double bytes_per_s, size_t limit, bool sending)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (i == limit || !is_of_end(p, i, sending))
			continue;
		sum += isfinite(y->stage[i].calls_s_per_byte) && !y->stage[i].brief
		    ? y->stage[i].calls_s_per_byte
		    : gain_worked(p, l, r, i) / bytes_per_s;
	}
	return sum;
}

bool
replayed_carries(const struct replayed *y, size_t stage, double bytes_per_s)
{
	const struct replayed_stage *s = &y->stage[stage];

	return s->by != NULL && !s->brief && LOWER * s->bytes_per_s >= bytes_per_s;
}

/* Whether a stage is the network by a short send. */
static bool
is_short_send(const struct replayed_stage *s)
{
	return s->by != NULL && s->by->way == NW_REPLAY_SEND && s->by->took_s < SHORT_S;
}

void
replayed_gain(const struct replayed *y, const struct nw_path *p, const struct limit *l,
    const struct resources *r, double bytes_per_s, size_t limit, struct gain *g)
{
	struct gain found = { .about = NAN, .high = INFINITY, .next = p->n, .source = GAIN_REPLAY };
	double turns_s, one;
	size_t i;

	for (i = 0; i < p->n; i++) {
		one = (is_short_send(&y->stage[i]) ? HIGHER_SHORT : HIGHER) *
		    y->stage[i].bytes_per_s / bytes_per_s;
		if (i != limit && !y->stage[i].brief && one < found.high &&
		    !is_cached(&y->stage[i], p, i, bytes_per_s)) {
			found.high = fmax(1, one);
			found.next = i;
		}
	}
	if (found.next == p->n || !(bytes_per_s > 0))
		return;
	if (stage_kind_is_net(p->stage[limit].kind) && found.high > NET_FAR) {
		if (!(g->high <= found.high)) {
			found.low = g->low <= found.high ? g->low : NAN;
			*g = found;
		}
		return;
	}
	turns_s = fmax(turns_s_per_byte(y, p, l, r, bytes_per_s, limit, true),
	    turns_s_per_byte(y, p, l, r, bytes_per_s, limit, false));
	/* stages of several threads take less than the sum of their times */
	one = is_short_send(&y->stage[found.next]) ? LOWER_SHORT : LOWER;
	found.low = fmin(
	    one * y->stage[found.next].bytes_per_s / bytes_per_s, LOWER / (turns_s * bytes_per_s));
	found.low = fmax(1, found.low);
	if (found.high <= TELLING * found.low)
		found.about = sqrt(found.low * found.high);
	if (!isfinite(g->high) || found.high < g->high ||
	    (found.low > 1 && (!(g->low > 1) || found.high / found.low < g->high / g->low)))
		*g = found;
}
