/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session's tasks. Requests wait here and enter the queues of the disks as the connection takes
 * blocks away, so a slow client costs the memory of a few blocks. Thread: any, without the
 * session's lock.
 */
#ifndef NARROWS_DPSS_HELD_H
#define NARROWS_DPSS_HELD_H

#include "dpss/server/sessions.h"

/* Holds the session. NULL: no memory. */
struct task *task_new(struct session *s);
/* A task that was never under way. */
void task_free(struct task *t);
/* A task is over: its place is free for the next. */
void task_end(struct task *t);
/* Returns true if a newer list of the session replaces the task's. */
bool task_is_flushed(const struct task *t);
/* Logs this server's times of a read block. */
void task_log(const struct task *t, bool flushed);

/* Takes a chain of requests of one list; flush: requests of older lists go. */
void held_add(struct session *s, struct task *first, uint32_t list, bool flush);
/* Waits until a write may be under way. */
void held_enter(struct session *s);
/* As struct disk_calls has it. */
bool held_wanted(struct task *t);
/* Frees held requests, waits for those under way, which find the session over. */
void held_end(struct session *s);

#endif
