/* SPDX-License-Identifier: BSD-3-Clause */
/* Recorded changes of a route's hosts as evidence that a slowdown begins (narrows/incident.h). */
#ifndef SUSPICION_H
#define SUSPICION_H

#include "analyze/verdict/usual/past.h"

/*
 * Fills the suspicion of sessions in their order: what the recorded changes of the hosts at both
 * ends of the route add to the log odds of a slowdown's begin with that session. First reports of
 * settings are no changes. The store's code.
 */
int
suspicion_fill(struct store_reader *r, const char *route, struct past_session *session, size_t n);

/* The end of a session, when its settings are known: blipp reports a change seconds after the
 * session's start. */
int64_t past_settled(const struct past_session *s);

#endif
