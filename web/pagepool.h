/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads that make long answers: a few, each with its own reader of the store. Owners of
 * requests share them by time (narrows/fairq.h), and one owner never has all of them.
 *
 *	pool_put --> waits --> runs in a thread --> done() in the web thread
 *	               |         | stop asked: the job ends soon, done() as usual
 *	               | pool_drop
 *	               v
 *	            the caller's again
 */
#ifndef NARROWS_WEB_PAGEPOOL_H
#define NARROWS_WEB_PAGEPOOL_H

#include <stdatomic.h>

#include "narrows/fairq.h"
#include "narrows/store.h"

struct event_base;
struct lines_cache;
struct pool;

/* The tools of one thread. */
struct pool_hand {
	struct store_reader *reader;
	struct lines_cache *lines; /* NULL: memory was short */
};

/* Member of the caller's state. */
struct pool_job {
	struct fairq_item item;
	const char *owner; /* on loan until done() */
	/* Called in a thread of the pool; looks at `stop` often. */
	void (*run)(struct pool_job *job, const struct pool_hand *hand);
	void (*done)(struct pool_job *job); /* called in the web thread */
	atomic_bool stop;
	struct pool_job *next; /* of the finished jobs */
};

/* All functions: the web thread, or before its start and behind its end. Codes of the store,
 * NW_EIO. */
int pool_new(
    struct event_base *base, const char *store_path, struct pool **out, char why[STORE_WHY_BYTES]);
/* NW_ENOMEM. */
int pool_put(struct pool *p, struct pool_job *job);
/* Nobody wants the result. Returns true if the job waited: the job is the caller's again. Else
 * done() comes soon. */
bool pool_drop(struct pool *p, struct pool_job *job);
/* Stops the jobs at work and all that wait or come; done() of each follows. */
void pool_stop(struct pool *p);
/* Ends the threads, and calls done() of jobs that are left. NULL is fine. */
void pool_free(struct pool *p);

#endif
