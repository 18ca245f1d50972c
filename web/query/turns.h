/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns of the web thread: answers, and slices of long answers, of which one at a time is made. The
 * owners of requests share the thread by time (narrows/fairq.h). Between two turns the thread
 * handles all other events.
 */
#ifndef NARROWS_WEB_TURNS_H
#define NARROWS_WEB_TURNS_H

#include "narrows/fairq.h"

struct event_base;
struct turns;

/* Priorities of the web thread's events, of three: turns wait for all other events. */
enum { EVENTS_USUAL = 1, EVENTS_SLOW, EVENTS_PRIORITIES };

/* Member of the caller's state, which may be freed in run(). */
struct turn {
	struct fairq_item item;
	const char *owner; /* on loan while the turn waits */
	void (*run)(void *arg);
	void *arg;
};

struct turns *turns_new(struct event_base *base); /* NULL: no memory */
void turns_free(struct turns *t);
/* Runs the turn once, some time after this call. NW_ENOMEM. */
int turns_wait(struct turns *t, struct turn *turn);
/* Ends the wait of a turn; nothing if the turn does not wait. */
void turns_leave(struct turns *t, struct turn *turn);

#endif
