/* SPDX-License-Identifier: BSD-3-Clause */
/* The session that "last" means: the newest one, after a wait for the newest run of nwrun here. */
#ifndef LAST_H
#define LAST_H

#include <stdint.h>

struct source;

/*
 * Takes the newest session. If this user's newest run of nwrun began later than that session and is
 * in no newer one, or is over and not judged yet, waits up to 10 s; if no session comes, says on
 * stderr that the session is older than the run, and why. NW_ENOTFOUND: no session, said on stderr.
 */
int last_session(struct source *s, int64_t *id);
/* The id of a session as typed: a number, or "last". NW_EINVAL, NW_ENOTFOUND, said on stderr. */
int last_or_number(struct source *s, const char *text, int64_t *id);

#endif
