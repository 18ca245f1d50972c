/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/usual/memo.h"
#include "analyze/verdict/usual/usual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/usual/changed.h"
#include "analyze/verdict/usual/suspicion.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/xmalloc.h"

static void
usual_say(const struct usual *of, struct claims *told)
{
	const struct nw_usual *u = &of->usual;
	const struct claim_value n = claim_number((double)u->n), ratio = claim_number(u->ratio),
				 inverse = claim_number(1 / u->ratio),
				 share = claim_number(u->slower_than), chance = claim_number(u->p);

	switch (u->said) {
	case NW_AGAINST_SLOWER:
		if (u->slower_than >= 1)
			CLAIM_SAY(told, usual_slower_all, CLAIM_NO_STAGE, ratio, n);
		else
			CLAIM_SAY(told, usual_slower, CLAIM_NO_STAGE, ratio, share, n);
		break;
	case NW_AGAINST_FASTER:
		if (u->slower_than <= 0)
			CLAIM_SAY(told, usual_faster_all, CLAIM_NO_STAGE, inverse, n);
		else
			CLAIM_SAY(told, usual_faster, CLAIM_NO_STAGE, inverse,
			    claim_number(1 - u->slower_than), n);
		break;
	case NW_AGAINST_USUAL:
		if (of->has_incident && of->incident.kind == NW_INCIDENT_STEP)
			CLAIM_SAY(told, usual_in_incident, CLAIM_NO_STAGE);
		else if (of->has_incident)
			CLAIM_SAY(told, usual_in_drift, CLAIM_NO_STAGE);
		else if (u->ratio >= NW_USEFUL)
			CLAIM_SAY(told, usual_within_slower, CLAIM_NO_STAGE, ratio, n, chance);
		else if (u->ratio <= 1 / NW_USEFUL)
			CLAIM_SAY(told, usual_within_faster, CLAIM_NO_STAGE, inverse, n, chance);
		else
			CLAIM_SAY(told, usual_same, CLAIM_NO_STAGE,
			    claim_number(fmax(u->ratio, 1 / u->ratio) - 1), n);
		break;
	case NW_AGAINST_TOO_FEW: break;
	}
}

/* Moves the sessions of about the size to the front, in their order. Their number. */
static size_t
peers_keep(struct past *p, double bytes)
{
	size_t i, kept = 0;

	for (i = 0; i < p->n; i++)
		if (past_is_alike(&p->session[i], bytes)) {
			struct past_session one = p->session[i];

			p->session[i] = p->session[kept];
			p->session[kept++] = one;
		}
	return kept;
}

/* What needs an explanation: the session's incident, or the session alone. */
static int
incident_keep(struct usual *out, const struct past_session *all, const struct nw_story *story)
{
	const struct nw_incident *in = nw_story_incident_of(story, story->n - 1);
	struct nw_around around;
	size_t i;
	int rc = nw_story_around(story, &around);

	if (in != NULL) {
		out->has_incident = true;
		incident_tell(all, story, in, &out->incident);
	}
	if (rc < 0)
		return rc == NW_ENOTFOUND ? NW_OK : rc;
	out->session = xcalloc(around.n + 1, sizeof(*out->session));
	for (i = 0; i < around.n; i++) {
		out->session[i] = all[around.session[i]];
		out->session[i].stage = NULL;
	}
	out->n = around.n;
	out->split = around.split;
	out->low = around.low;
	out->high = around.high;
	return NW_OK;
}

/* The rate that sessions of about the size reached. */
static int
reached_find(const struct past_session *peer, size_t n, double own, struct usual *out)
{
	double *rate = xcalloc(n + 1, sizeof(*rate));
	size_t i;
	int rc;

	for (i = 0; i < n; i++)
		rate[i] = peer[i].bytes_per_s;
	if ((rc = nw_reached(rate, n, own, &out->reached)) == NW_OK && out->reached.best < n) {
		out->best_bytes_per_s = rate[out->reached.best];
		out->best_wall_ns = peer[out->reached.best].start_wall_ns;
	}
	free(rate);
	return rc;
}

/* Durations of operations in the newest usual sessions of about the size. */
static int
operations_find(struct store_reader *r, struct analysis_memo *memo, const struct past_session *all,
    const struct nw_story *story, struct usual *out)
{
	const size_t own = story->n - 1;
	size_t *level = xcalloc(story->n + 1, sizeof(*level)),
	       n = nw_story_level(story, own, level), i, kept = 0;
	struct past_session *peer = xcalloc(n + 1, sizeof(*peer));
	int rc;

	for (i = 0; i < n; i++)
		if (past_is_alike(&all[level[i]], all[own].bytes))
			peer[kept++] = all[level[i]];
	rc = usual_ops_find(r, memo, peer, kept, &out->ops);
	free(peer);
	free(level);
	return rc;
}

static int
session_compare(struct store_reader *r, struct analysis_memo *memo, const struct judgement *j,
    struct past *p, const struct past_session *own, struct usual *out)
{
	struct past_session *all = xcalloc(p->n + 1, sizeof(*all));
	struct nw_story_memo *read = memo_story(memo, j->route, j->program);
	struct nw_story story = { 0 };
	int rc;

	if (p->n > 0) /* a route's first session has none before it, and no array */
		memcpy(all, p->session, p->n * sizeof(*all));
	all[p->n] = *own;
	rc = suspicion_fill(r, j->route, all, p->n + 1);
	if (rc == NW_OK && (rc = story_make(all, p->n + 1, p, read, &story)) == NW_OK) {
		out->usual = story.usual[p->n];
		rc = incident_keep(out, all, &story);
		usual_say(out, &out->told);
		out->sentence = claims_text(&out->told);
		if (rc == NW_OK && out->usual.said != NW_AGAINST_TOO_FEW)
			rc = operations_find(r, memo, all, &story, out);
	}
	if (rc == NW_OK)
		rc = reached_find(p->session, peers_keep(p, own->bytes), own->bytes_per_s, out);
	nw_story_clear(&story);
	free(all);
	return rc;
}

int
usual_find(struct store_reader *r, struct analysis_memo *memo, const struct evidence *e,
    const struct judgement *j, struct usual *out)
{
	int64_t start = j->first_wall_ns != 0 ? j->first_wall_ns : e->opened_wall_ns;
	const struct past_session own = { .id = e->session_id,
		.start_wall_ns = start,
		.bytes_per_s = j->bytes_per_s,
		.bytes = j->bytes };
	struct past p;
	int rc;

	memset(out, 0, sizeof(*out));
	if (e->open || j->route == NULL || !(isfinite(j->bytes_per_s) && j->bytes_per_s > 0))
		return NW_OK;
	if ((rc = past_load(r, j->route, j->program, start, e->session_id, &p)) < 0)
		return rc;
	out->known = true;
	rc = session_compare(r, memo, j, &p, &own, out);
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
	incident_told_clear(&u->incident);
	memset(u, 0, sizeof(*u));
}
