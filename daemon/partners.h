/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows of a partner, the box of another site, for a session that both boxes measured. The
 * process of `narrows partner run` exchanges, checks and feeds the windows as documents of hosts
 * "NAME@SITE", a name of no certificate. Net thread.
 */
#ifndef PARTNERS_H
#define PARTNERS_H

#include <stdbool.h>

struct box;
struct evbuffer;
struct session;

/*
 * Answers a line of that process on the control socket, behind "SITE partner ":
 *
 *	join SESSION    gives a task id of the session for hosts of the site
 *	refused         counts a refused question of the site
 *	clock           known, synchronised (0, 1), bound in seconds
 */
void partners_answer(struct box *box, const char *site, char *rest, struct evbuffer *out);
/* The session of a task id that partners_answer() gave out, for a host "NAME@SITE"; the caller gets
 * a reference. NULL for every other text or host. */
struct session *partners_session(struct box *box, const char *task_id, const char *host);

#endif
