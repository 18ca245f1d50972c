/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expiry by age: once a minute a pass over all tiers, each from its oldest chunk on, and over
 * sessions. Each step is a bounded transaction, so that commits come in between. A chunk goes as a
 * whole, once its last row is old enough.
 */
#ifndef STORE_EXPIRE_H
#define STORE_EXPIRE_H

#include "store/write/ceiling.h"

/* Where a pass is: at a tier, at the sessions, or nowhere. */
enum { PASS_SESSIONS = STORE_TIERS, PASS_NONE };

struct expiry {
	struct compactor *k;
	struct forgetter *forgetter;
	struct ceiling *ceiling;
	int64_t keep_ns[STORE_TIERS]; /* by tier; 0 keeps rows for ever */
	int64_t keep_events_ns;       /* after events were stored; 0: for ever */
	int64_t keep_sessions_ns;     /* after sessions closed; 0 keeps them for ever */
	int64_t pass_wall_ns;         /* begin of the pass in hand, or of the last pass */
	int pass_tier;
	struct age_cursor pass_at;
	/* the time of day when the clock was believed last, and both clocks' moments */
	int64_t believed_wall_ns, believed_mono_ns;
	int64_t leap_mono_ns; /* time since when the clock is ahead; 0: not ahead */
};

void expiry_init(struct expiry *e, struct compactor *k, struct forgetter *f,
    struct ceiling *ceiling, const struct store_opts *opts);
/* One bounded step: WRITER_MORE, WRITER_DONE or an error. */
int expire_step(struct expiry *e);

#endif
