/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The series of a session in a stable order: its own by id, then the series of each of its hosts by
 * id, within the session's time. A walk holds a window of descriptions at a time, whatever their
 * number.
 */
#ifndef NARROWS_WEB_WALK_H
#define NARROWS_WEB_WALK_H

#include <stdint.h>

#include "narrows/store.h"

struct walk;

struct walk_meta {
	int64_t id, host_id;
	const char *host; /* "" when unknown; so are the texts */
	char *mid, *pid, *event_type, *subject_json, *params_json;
	int64_t t0_wall_ns, t1_wall_ns; /* rows from t0 to before t1 belong to the session */
};

/*
 * A walk over series whose event type starts with `prefix`. The reader must outlive the walk.
 * NW_ENOTFOUND, NW_ENOMEM.
 */
int walk_new(struct store_reader *r, int64_t session_id, const char *prefix, struct walk **out);
/* Series of clocks count this long before and after the session, too. */
void walk_lead(struct walk *w, int64_t clock_lead_ns);
void walk_free(struct walk *w);
/*
 * The next series, on loan until the next call. NULL comes after the last series; then the walk
 * begins again.
 */
int walk_next(struct walk *w, const struct walk_meta **out);

#endif
