/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/turns.h"

#include <stdio.h>
#include <stdlib.h>

#include <event2/event.h>

#include "narrows/clock.h"
#include "narrows/err.h"

enum { OWNERS_MAX = 1024, OWNER_BYTES = 160 };

struct turns {
	struct fairq *waiting;
	struct event *next;
};

static void
go_on(struct turns *t)
{
	static const struct timeval now = { 0 };

	if (fairq_count(t->waiting) > 0 && !evtimer_pending(t->next, NULL))
		evtimer_add(t->next, &now);
}

static void
on_next(evutil_socket_t fd, short what, void *arg)
{
	struct turns *t = arg;
	struct fairq_item *item = fairq_take(t->waiting);
	struct turn *turn;
	char owner[OWNER_BYTES];
	int64_t begin = nw_mono_ns();

	(void)fd, (void)what;
	if (item == NULL)
		return;
	turn = fairq_of(item, struct turn, item);
	snprintf(owner, sizeof(owner), "%s", turn->owner);
	turn->run(turn->arg);
	fairq_charge(t->waiting, owner, (double)(nw_mono_ns() - begin));
	go_on(t);
}

struct turns *
turns_new(struct event_base *base)
{
	/* connections bound the number of turns */
	const struct fairq_limits limits = { SIZE_MAX, SIZE_MAX, OWNERS_MAX };
	struct turns *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	if ((t->waiting = fairq_new(&limits)) == NULL ||
	    (t->next = evtimer_new(base, on_next, t)) == NULL) {
		turns_free(t);
		return NULL;
	}
	event_priority_set(t->next, EVENTS_SLOW);
	return t;
}

void
turns_free(struct turns *t)
{
	if (t == NULL)
		return;
	if (t->next != NULL)
		event_free(t->next);
	fairq_free(t->waiting);
	free(t);
}

int
turns_wait(struct turns *t, struct turn *turn)
{
	struct fairq_item *displaced;
	int rc = fairq_put(t->waiting, turn->owner, &turn->item, &displaced);

	if (rc == NW_OK)
		go_on(t);
	return rc;
}

void
turns_leave(struct turns *t, struct turn *turn)
{
	fairq_remove(t->waiting, &turn->item);
}
