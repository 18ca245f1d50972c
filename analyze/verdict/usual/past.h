/* SPDX-License-Identifier: BSD-3-Clause */
/* The sessions of a route with data and without a failed program, in time order. */
#ifndef PAST_H
#define PAST_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/store.h"

/* Of an old route up to PAST_SLACK fewer sessions are taken: the first session stays the same
 * for some dozens of sessions, so a story goes on (nw_story_go_on()). */
enum { PAST_MAX = 500, PAST_SLACK = 128 };

struct past_session {
	int64_t id, start_wall_ns;
	double bytes_per_s, bytes;
	char *stage;      /* NULL: cannot tell */
	double suspicion; /* of a slowdown that begins here, see suspicion_fill() */
};

/* An incident that is over, and that the sessions left do not show any more: too few of the earlier
 * ones are there. */
struct past_kept {
	char *json; /* its object */
	int64_t begin_wall_ns, end_wall_ns;
	bool accepted;
};

struct past {
	struct past_session *session; /* rising in start */
	size_t n;
	size_t n_failed;
	int64_t *accepted_wall_ns; /* times at which an operator accepted an incident, rising */
	size_t n_accepted;
	struct past_kept *kept; /* rising in begin; their sessions are left out */
	size_t n_kept;
};

/* The latest sessions begun before a time, PAST_MAX at most and without `session`, and the
 * acceptances until then. Sessions expire, and a window of sessions slides: an incident that is
 * over stays as it was told. The sessions of an incident that has ended are left out, and those
 * before an incident that was accepted, so the level is as before. Expired sessions that show an
 * open step are there as the step's record keeps them (past_showing). The store's code. */
int past_load(struct store_reader *r, const char *route, const char *program,
    int64_t before_wall_ns, int64_t except_id, struct past *out);
void past_clear(struct past *p);

/*
 * The sessions that show an open step, as its record keeps them: JSON, a list of [number, begin in
 * ns, bytes/s, bytes, stage or null]. NULL: memory was short. free() the text.
 */
char *past_showing(const struct past_session *const *session, size_t n);

/* Whether a session compares with `bytes` by size: a tenth to ten times. */
bool past_is_alike(const struct past_session *s, double bytes);

#endif
