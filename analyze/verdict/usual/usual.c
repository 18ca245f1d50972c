/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/usual/usual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/usual/changed.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/xmalloc.h"

/* A session that differs from the level after a change by this factor is not on that level. */
static const double RECOVERED = 1.25;

enum { NEW_USUAL = 30 /* sessions after which a new level is usual */ };

static void
usual_say(const struct nw_usual *u, struct claims *told)
{
	const struct claim_value n = claim_number((double)u->n), ratio = claim_number(u->ratio),
				 inverse = claim_number(1 / u->ratio),
				 share = claim_number(u->slower_than);

	switch (u->said) {
	case NW_AGAINST_SLOWER:
		CLAIM_SAY(told, usual_slower, CLAIM_NO_STAGE, ratio, share, n);
		break;
	case NW_AGAINST_FASTER:
		CLAIM_SAY(told, usual_faster, CLAIM_NO_STAGE, inverse,
		    claim_number(1 - u->slower_than), n);
		break;
	case NW_AGAINST_USUAL:
		if (u->slower_than >= 1 || u->slower_than <= 0)
			CLAIM_SAY(told, usual_beyond, CLAIM_NO_STAGE,
			    claim_text(u->slower_than >= 1 ? "Slower" : "Faster"), n);
		else if (u->ratio >= NW_USEFUL)
			CLAIM_SAY(told, usual_within_slower, CLAIM_NO_STAGE, ratio, n);
		else if (u->ratio <= 1 / NW_USEFUL)
			CLAIM_SAY(told, usual_within_faster, CLAIM_NO_STAGE, inverse, n);
		else
			CLAIM_SAY(told, usual_same, CLAIM_NO_STAGE, share, n);
		break;
	case NW_AGAINST_TOO_FEW: break;
	}
}

/* Earlier sessions of about the size; the session itself comes last. */
static size_t
peers_keep(struct past *p, const struct judgement *j)
{
	size_t i, kept = 0;

	for (i = 0; i < p->n; i++)
		if (past_is_alike(&p->session[i], j->bytes)) {
			struct past_session one = p->session[i];

			p->session[i] = p->session[kept];
			p->session[kept++] = one;
		}
	return kept;
}

/* Keeps the sessions around the split: from `first` on, the latest before the split, the latest
 * of all. */
static void
around_keep(struct usual *out, const struct past_session *all, size_t n, size_t first, size_t split)
{
	size_t i, after = n - split,
		  skip = after > CHANGED_AFTER_MAX ? after - CHANGED_AFTER_MAX : 0;

	if (split - first > CHANGED_BEFORE_MAX)
		first = split - CHANGED_BEFORE_MAX;
	out->session = xcalloc(n, sizeof(*out->session));
	for (i = first; i < n; i++) {
		if (i >= split && i < split + skip)
			continue;
		out->session[out->n] = all[i];
		out->session[out->n++].stage = NULL;
	}
	out->split = split - first;
}

/* Indexes of the sessions behind the usual rate. */
struct level {
	size_t first, end;
};

/*
 * The usual level: all earlier sessions; after a change the sessions between the two latest
 * changes; from NEW_USUAL sessions on the level since the change. A level with too few sessions
 * does not count.
 */
static struct level
level_choose(const struct nw_route_changes *c, size_t n_earlier)
{
	const struct nw_route_change *last = c->n > 0 ? &c->change[c->n - 1] : NULL;
	struct level l = { 0, n_earlier };

	if (last == NULL)
		return l;
	if (n_earlier - last->at >= NEW_USUAL)
		l.first = last->at;
	else if (last->at - (c->n > 1 ? last[-1].at : 0) >= NW_USUAL_MIN)
		l = (struct level){ c->n > 1 ? last[-1].at : 0, last->at };
	return l;
}

/* Whether a rate lies on the other side of a change. */
static bool
is_recovered(const struct change_told *c, double rate)
{
	return c->ratio > RECOVERED ? rate > RECOVERED * c->after
				    : c->ratio < 1 / RECOVERED && rate < c->after / RECOVERED;
}

static void
change_keep(
    struct usual *out, const struct past_session *all, size_t n, const struct nw_route_changes *c)
{
	const struct nw_route_change *last;

	if (c->n > 0) {
		last = &c->change[c->n - 1];
		out->has_since = true;
		change_tell(all, last, &out->since);
		if (out->usual.said == NW_AGAINST_USUAL &&
		    is_recovered(&out->since, all[n - 1].bytes_per_s)) {
			CLAIM_SAY(&out->since.told, route_recovered, CLAIM_NO_STAGE);
			free(out->since.sentence);
			out->since.sentence = claims_text(&out->since.told);
		}
		if (n - last->at > 2 * NEW_USUAL && out->usual.said != NW_AGAINST_SLOWER)
			return; /* explained often enough */
		around_keep(out, all, n, c->n > 1 ? last[-1].at : 0, last->at);
		out->low =
		    out->split - (last->at - last->low < out->split ? last->at - last->low : 0);
		out->high = out->split + (last->high - last->at);
	} else if (out->usual.said == NW_AGAINST_SLOWER)
		around_keep(out, all, n, 0, n - 1);
}

static int
peers_compare(struct store_reader *r, struct past *p, size_t n, const struct past_session *own,
    struct usual *out)
{
	double *rate = xcalloc(n + 1, sizeof(*rate));
	struct past_session *all = xcalloc(n + 1, sizeof(*all));
	struct nw_route_changes c = { 0 };
	struct level l;
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < n; i++) {
		all[i] = p->session[i];
		rate[i] = all[i].bytes_per_s;
	}
	all[n] = *own;
	rate[n] = own->bytes_per_s;
	if (n >= NW_USUAL_MIN)
		rc = nw_route_changes(rate, n + 1, &c);
	l = level_choose(&c, n);
	if (rc == NW_OK)
		rc = nw_reached(rate, n, rate[n], &out->reached);
	if (rc == NW_OK && out->reached.best < n) {
		out->best_bytes_per_s = rate[out->reached.best];
		out->best_wall_ns = all[out->reached.best].start_wall_ns;
	}
	if (rc == NW_OK)
		rc = nw_usual(rate + l.first, l.end - l.first, rate[n], &out->usual);
	if (rc == NW_OK && out->usual.n >= NW_USUAL_MIN)
		rc = usual_ops_find(r, all + l.first, l.end - l.first, &out->ops);
	if (rc == NW_OK)
		change_keep(out, all, n + 1, &c);
	usual_say(&out->usual, &out->told);
	out->sentence = claims_text(&out->told);
	free(all);
	free(rate);
	return rc;
}

int
usual_find(
    struct store_reader *r, const struct evidence *e, const struct judgement *j, struct usual *out)
{
	int64_t start = j->first_wall_ns != 0 ? j->first_wall_ns : e->opened_wall_ns;
	struct past_session own = { e->session_id, start, j->bytes_per_s, j->bytes, NULL };
	struct past p;
	int rc;

	memset(out, 0, sizeof(*out));
	if (e->open || j->route == NULL || !(isfinite(j->bytes_per_s) && j->bytes_per_s > 0))
		return NW_OK;
	if ((rc = past_load(r, j->route, j->program, start, e->session_id, &p)) < 0)
		return rc;
	out->known = true;
	rc = peers_compare(r, &p, peers_keep(&p, j), &own, out);
	past_clear(&p);
	return rc;
}

void
usual_clear(struct usual *u)
{
	usual_ops_clear(&u->ops);
	free(u->session);
	free(u->sentence);
	claims_clear(&u->told);
	change_told_clear(&u->since);
	memset(u, 0, sizeof(*u));
}
