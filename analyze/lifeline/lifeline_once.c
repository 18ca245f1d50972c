/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A single stall. Nothing comes again here, so the tests of lifeline_find.c have no say; a stall
 * stands out alone if it is many times as long as any wait at another time, and holds most of the
 * time lost by the slow lines.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/lifeline/lifeline_in.h"
#include "narrows/err.h"

enum { WAITING_MIN = 3 };
#define RIVALS      3.0  /* the stall is so many times as long as the next one */
#define EXCESS_MOST 0.75 /* of the excess of the slow lines, at least */
/* The excess of a shorter stall is less beside that of ordinary slow lines; a stall beyond all
 * comparison needs only half. */
#define RIVALS_FAR  8.0
#define EXCESS_HALF 0.5
#define MEANWHILE   0.7 /* of the time of a wait, at least, the next segment stood still, too */

static double
stood_s(const struct line_longest *w)
{
	return line_seconds(w->stall.blocked_ns, w->stall.unblocked_ns);
}

/* The part of the slow lines' excess over the median line that the marked lines have. */
static double
excess_of(const struct nw_lines *l, const struct nw_line_segments *s, const bool *hit)
{
	double all = 0, marked = 0, total;
	size_t i;

	for (i = 0; i < l->n; i++) {
		total = nw_line_total(l, i);
		if (!(total >= s->slow_s))
			continue;
		all += total - s->total_s[NW_LINE_MEDIAN];
		marked += hit[i] ? total - s->total_s[NW_LINE_MEDIAN] : 0;
	}
	return all > 0 ? marked / all : 0;
}

/* Lines wait in front of a segment that is occupied: the stall belongs to the segment behind, of
 * the same lane, that stood still most of that time. Follows such segments. */
static int
cause_follow(
    const struct nw_lines *l, const struct nw_line_segments *s, struct line_longest *w, bool *spare)
{
	struct line_longest next = { .hit = spare };
	size_t i;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < s->n; i++) {
		if (s->segment[i].from != w->stall.to)
			continue;
		rc = line_longest(l, &s->segment[i], &next);
		if (rc != NW_OK || next.stall.waiting == 0 || next.stall.lane != w->stall.lane ||
		    line_seconds(next.stall.blocked_ns, w->stall.unblocked_ns) <
			MEANWHILE * stood_s(w) ||
		    line_seconds(w->stall.blocked_ns, next.stall.unblocked_ns) <
			MEANWHILE * stood_s(w))
			continue;
		next.stall.waiting = w->stall.waiting;
		next.stall.excess_s = w->stall.excess_s;
		w->stall = next.stall;
	}
	return rc;
}

static void
once_put(const struct line_longest *w, double share, struct nw_line_findings *out)
{
	const struct nw_line_stall *x = &w->stall;

	if (out->n == NW_LINE_FINDINGS_MAX)
		return;
	out->finding[out->n++] = (struct nw_line_finding){ .kind = NW_LINE_STALL,
		.from = x->from,
		.to = x->to,
		.lane = w->alone ? x->lane : NW_LINE_ANY,
		.split_s = -INFINITY,
		.size_s = x->excess_s,
		.size_low_s = NAN,
		.size_high_s = NAN,
		.n_lines = x->waiting,
		.n_moments = 1,
		.share = share,
		.cost_s = line_seconds(x->blocked_ns, x->unblocked_ns),
		.first_ns = x->blocked_ns,
		.last_ns = x->unblocked_ns };
}

static bool
is_most(const struct line_longest *w, double share)
{
	return share >= EXCESS_MOST ||
	    (share >= EXCESS_HALF && stood_s(w) >= RIVALS_FAR * w->rival_s);
}

int
line_once(const struct nw_lines *l, const struct nw_line_segments *s, double material_s,
    struct nw_line_findings *out)
{
	struct line_longest w = { .hit = calloc(l->n + 1, sizeof(*w.hit)) };
	bool *spare = calloc(l->n + 1, sizeof(*spare));
	int rc = w.hit != NULL && spare != NULL ? NW_OK : NW_ENOMEM;
	double share;
	size_t i, k;

	for (i = 0; rc == NW_OK && i < s->n && s->n_slow > 0; i++) {
		for (k = 0; k < l->n; k++)
			w.hit[k] = false;
		rc = line_longest(l, &s->segment[i], &w);
		if (rc != NW_OK || w.stall.waiting < WAITING_MIN || !(stood_s(&w) >= material_s) ||
		    stood_s(&w) < RIVALS * w.rival_s)
			continue;
		share = excess_of(l, s, w.hit);
		if (is_most(&w, share) && (rc = cause_follow(l, s, &w, spare)) == NW_OK)
			once_put(&w, share, out);
	}
	free(w.hit);
	free(spare);
	return rc;
}
