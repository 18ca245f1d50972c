/* SPDX-License-Identifier: BSD-3-Clause */
/* The session behind "last": the user's newest run of nwrun to the box, else the newest session. */
#ifndef LAST_H
#define LAST_H

#include <stdint.h>

struct source;

/*
 * Takes the session of this user's newest run of nwrun. While the run is over and its session has
 * no final verdict, waits up to 60 s; for the session of a recent run, up to 10 s. If no session
 * comes, takes the newest one, and says on stderr why the run is missing. NW_ENOTFOUND: no session,
 * said on stderr.
 */
int last_session(struct source *s, int64_t *id);
/* The id of a session as typed: a number, or "last". NW_EINVAL, NW_ENOTFOUND, said on stderr. */
int last_or_number(struct source *s, const char *text, int64_t *id);

#endif
