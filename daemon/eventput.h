/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of any sender, on their way into the current batch. */
#ifndef EVENTPUT_H
#define EVENTPUT_H

#include <stdint.h>

struct box;
struct nw_event;

/* The task named by an event (task_id, TASKID), or NULL. */
const char *event_task(const struct nw_event *e);
/* Puts an event into the current batch, with labels in the place of secret task ids. NW_EINVAL: no
 * event that a block takes; NW_ENOMEM. */
int event_put(struct box *box, int64_t session_id, int64_t host_id, const struct nw_event *e);

#endif
