/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of any sender, on their way into the current batch. */
#ifndef EVENTPUT_H
#define EVENTPUT_H

#include <stdint.h>

struct box;
struct host;
struct nw_event;
struct session_guest;

/* Reads the grants of the box (narrows/speakers.h) anew. */
void event_speakers_read(struct box *box);
/* The task named by an event (task_id, TASKID), or NULL. */
const char *event_task(const struct nw_event *e);
struct event_source {
	const struct session_guest *guest;
	const struct host *host; /* of the sender */
	int64_t session_id;      /* 0: none */
};

/* Puts an event into the current batch, with labels in the place of secret task ids. If a host with
 * a certificate names another host without a grant, the event becomes the sender's own, and says in
 * the attribute said_host what the sender said. NW_EINVAL: no event that a block takes; NW_ENOMEM.
 */
int event_put(struct box *box, const struct event_source *from, const struct nw_event *e);

#endif
