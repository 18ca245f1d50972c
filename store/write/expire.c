/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/expire.h"

#include <string.h>

#include "narrows/err.h"

static const int64_t pass_every_ns = INT64_C(60000000000);
/* A clock that leaps by more is believed only when the leap has lasted. */
static const int64_t leap_ns = INT64_C(3600000000000), leap_lasts_ns = INT64_C(86400000000000);

enum { EVENT_ROWS_AT_ONCE = 64 };

void
expiry_init(struct expiry *e, struct compactor *k, struct forgetter *f, struct ceiling *ceiling,
    const struct store_opts *opts)
{
	e->k = k;
	e->forgetter = f;
	e->ceiling = ceiling;
	memcpy(e->keep_ns, opts->keep_ns, sizeof(e->keep_ns));
	e->keep_events_ns = opts->keep_events_ns;
	e->keep_sessions_ns = opts->keep_sessions_ns;
	e->pass_tier = PASS_NONE;
	e->pass_wall_ns = INT64_MIN / 2;
}

/*
 * The time by which rows are old. A clock set forward by weeks, by mistake or by a bad source, must
 * not roll up rows of today: until a leap has lasted for a day the time goes on as before.
 */
static int64_t
time_believed(struct expiry *e)
{
	int64_t wall = connection_now(e->k->c), mono = connection_mono(e->k->c),
		expected = e->believed_wall_ns + (mono - e->believed_mono_ns);

	if (e->believed_mono_ns != 0 && mono != 0 && wall - expected > leap_ns) {
		if (e->leap_mono_ns == 0)
			e->leap_mono_ns = mono;
		if (mono - e->leap_mono_ns < leap_lasts_ns)
			return expected;
	}
	e->leap_mono_ns = 0;
	e->believed_wall_ns = wall;
	e->believed_mono_ns = mono;
	return wall;
}

static bool
pass_is_due(struct expiry *e, int64_t now)
{
	int64_t wait = e->pass_wall_ns + pass_every_ns - now;

	return wait <= 0 || wait > pass_every_ns; /* a longer wait: the clock was set back */
}

/* Finds the next chunk that is too old, of any tier from the tier in hand on. */
static int
next_find(struct expiry *e, struct aged *out)
{
	struct aged_search search;
	int rc;

	for (; e->pass_tier < STORE_TIERS; e->pass_tier++, e->pass_at = age_cursor_first) {
		*out = (struct aged){ 0 };
		if (e->keep_ns[e->pass_tier] == 0)
			continue;
		search = (struct aged_search){ e->pass_tier,
			e->pass_wall_ns - e->keep_ns[e->pass_tier], HOST_ANY };
		rc = rollup_oldest(e->k->c, &search, &e->pass_at, out);
		if (rc != NW_OK || out->id != AGED_NONE || out->more)
			return rc;
	}
	*out = (struct aged){ 0 };
	return NW_OK;
}

/* Deletes old events. WRITER_DONE: there are none. */
static int
events_step(struct expiry *e)
{
	struct event_old old;
	int rc, n = 0;

	if (e->keep_events_ns == 0)
		return WRITER_DONE;
	if ((rc = event_writer_oldest(
		 e->k->c, HOST_ANY, e->pass_wall_ns - e->keep_events_ns, &old)) != NW_OK ||
	    !old.found)
		return rc == NW_OK ? WRITER_DONE : rc;
	if ((rc = ceiling_make_room(e->ceiling, e->k->limits.step_values)) != NW_OK ||
	    (rc = connection_begin(e->k->c)) != NW_OK)
		return rc;
	while (rc == NW_OK && old.found && n++ < EVENT_ROWS_AT_ONCE &&
	    (rc = event_writer_drop(e->k->c, &old)) == NW_OK)
		rc = event_writer_oldest(
		    e->k->c, HOST_ANY, e->pass_wall_ns - e->keep_events_ns, &old);
	e->k->c->pages_freed = true;
	rc = connection_end(e->k->c, rc);
	return rc == NW_OK ? WRITER_MORE : rc;
}

/* After the tiers: forgets old sessions. */
static int
sessions_step(struct expiry *e)
{
	const struct forget_search search = { .closed_before_wall_ns =
						  e->pass_wall_ns - e->keep_sessions_ns,
		.settled_ns = forget_settled_ns,
		.host_id = HOST_ANY };
	int64_t id = SESSION_NONE;
	int rc;

	if (e->keep_sessions_ns != 0 && (rc = forget_oldest(e->forgetter, &search, &id)) != NW_OK)
		return rc;
	if (id == SESSION_NONE) {
		e->pass_tier = PASS_NONE;
		return WRITER_DONE;
	}
	if ((rc = ceiling_make_room(e->ceiling, e->k->limits.step_values)) != NW_OK ||
	    (rc = forget_session(e->forgetter, id)) != NW_OK)
		return rc;
	e->k->c->pages_freed = true;
	return WRITER_MORE;
}

int
expire_step(struct expiry *e)
{
	int64_t now = time_believed(e);
	struct age_cursor start;
	struct aged what;
	int rc, tier;

	if (e->pass_tier == PASS_NONE) {
		if (!pass_is_due(e, now))
			return WRITER_DONE;
		e->pass_tier = 0;
		e->pass_at = age_cursor_first;
		e->pass_wall_ns = now;
		e->forgetter->after = 0;
	}
	tier = e->pass_tier;
	start = e->pass_at;
	if ((rc = next_find(e, &what)) != NW_OK)
		return rc;
	if (what.id == AGED_NONE)
		return what.more                           ? WRITER_MORE
		    : (rc = events_step(e)) != WRITER_DONE ? rc
							   : sessions_step(e);
	if ((rc = ceiling_make_room(e->ceiling, e->k->limits.step_values)) != NW_OK ||
	    (rc = connection_begin(e->k->c)) != NW_OK)
		goto out;
	e->k->values_encoded = 0;
	do {
		if ((rc = rollup_demote(e->k, &what, false)) == NW_ECORRUPT)
			rc = NW_OK; /* the chunk stays, for verify to name */
	} while (rc == NW_OK && e->k->values_encoded < e->k->limits.step_values &&
	    (rc = next_find(e, &what)) == NW_OK && what.id != AGED_NONE);
	rc = connection_end(e->k->c, rc);
out:
	if (rc != NW_OK) {
		e->pass_tier = tier;
		e->pass_at = start;
		return rc;
	}
	e->k->c->pages_freed = true;
	return WRITER_MORE;
}
