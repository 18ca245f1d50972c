/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expiry by age: once a minute a pass over all tiers, each from its oldest on, and over sessions, a
 * bounded transaction at a time, so that commits come in between. A chunk goes as a whole, when its
 * last row is old enough.
 */
#include "narrows/err.h"
#include "store/writer.h"

static const int64_t pass_every_ns = INT64_C(60000000000);

static bool
pass_is_due(struct writer *w, int64_t now)
{
	int64_t wait = w->pass_wall_ns + pass_every_ns - now;

	return wait <= 0 || wait > pass_every_ns; /* the second: the clock was set back */
}

/* The next that is too old, of any tier from the one in hand on. */
static int
next_find(struct writer *w, struct aged *out)
{
	int rc;

	for (; w->pass_tier < STORE_TIERS; w->pass_tier++, w->pass_at = age_cursor_first) {
		*out = (struct aged){ 0 };
		if (w->keep_ns[w->pass_tier] == 0)
			continue;
		rc = rollup_oldest(
		    w, w->pass_tier, w->pass_wall_ns - w->keep_ns[w->pass_tier], &w->pass_at, out);
		if (rc != NW_OK || out->id != 0 || out->more)
			return rc;
	}
	*out = (struct aged){ 0 };
	return NW_OK;
}

/* After the tiers: what is left of sessions that are old. */
static int
sessions_step(struct writer *w)
{
	int64_t id = 0;
	int rc;

	if (w->keep_sessions_ns != 0 &&
	    (rc = forget_oldest(w, w->pass_wall_ns - w->keep_sessions_ns, &id)) != NW_OK)
		return rc;
	if (id == 0) {
		w->pass_tier++; /* the pass is over */
		return WRITER_DONE;
	}
	if ((rc = ceiling_make_room(w, w->limits.step_values)) != NW_OK ||
	    (rc = forget_session(w, id)) != NW_OK)
		return rc;
	w->pages_freed = true;
	return WRITER_MORE;
}

int
expire_step(struct writer *w)
{
	int64_t now = writer_now(w);
	struct age_cursor start;
	struct aged what;
	int rc, tier;

	if (w->pass_tier > STORE_TIERS) {
		if (!pass_is_due(w, now))
			return WRITER_DONE;
		w->pass_tier = 0;
		w->pass_at = age_cursor_first;
		w->pass_wall_ns = now;
		w->forget_after = 0;
	}
	tier = w->pass_tier;
	start = w->pass_at;
	if ((rc = next_find(w, &what)) != NW_OK)
		return rc;
	if (what.id == 0)
		return what.more ? WRITER_MORE : sessions_step(w);
	if ((rc = ceiling_make_room(w, w->limits.step_values)) != NW_OK ||
	    (rc = writer_begin(w)) != NW_OK)
		goto out;
	w->values_encoded = 0;
	do {
		if ((rc = rollup_demote(w, &what)) == NW_ECORRUPT)
			rc = NW_OK; /* it stays, for verify to name */
	} while (rc == NW_OK && w->values_encoded < w->limits.step_values &&
	    (rc = next_find(w, &what)) == NW_OK && what.id != 0);
	rc = writer_end(w, rc);
out:
	if (rc != NW_OK) {
		w->pass_tier = tier;
		w->pass_at = start;
		return rc;
	}
	w->pages_freed = true;
	return WRITER_MORE;
}
