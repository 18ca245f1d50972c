/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The analysis thread. Sessions wait in two queues (each session at most once): complete ones, and
 * open ones. The thread reads a session from the store, analyses it and hands the result document
 * to the writer; now and then it asks chronyd for the box's own clock.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/analysis/behaviour.h"
#include "narrows/analysis.h"
#include "narrows/store.h"

struct schedule;

enum { SCHEDULE_UNDECIDED_MAX = 64 };

struct schedule_stats {
	uint64_t queued, runs, failures;
	int64_t last_wall_ns, last_took_ns;
	/* how long the work in hand takes so far, 0 while the thread waits; of which session (0: a
	 * route) */
	int64_t busy_ns, busy_session_id;
	bool clock_known, clock_synchronised;
	/* how long ago the clock was last seen to be synchronised, or the box began; 0 while it is,
	 * and where no time service ever answered */
	int64_t clock_lost_ns;
	double clock_offset_s, clock_bound_s;
};

/* first_run_id is the next free id of a run; linger_ns the time between the last data of a session
 * and its end. Sessions of the store that lack a verdict join the queue. A negative code comes with
 * its reason in why. */
int schedule_start(struct store *st, const char *store_path, const struct analysis_params *params,
    int64_t first_run_id, int64_t linger_ns, struct schedule **out, char why[STORE_WHY_BYTES]);
/*
 * Analyses complete sessions of the queue for two seconds more, and joins the thread. The store
 * must be open. NW_EFULL: a session takes longer than four seconds; the thread stays, and the
 * process must end without a return from main(). What is left unjudged is judged at the next start.
 */
int schedule_stop(struct schedule *s);
/* Any thread. Complete sessions (is_over) come first, open ones while the thread has time. Owners
 * share the time: the next session is one of the owner that had the least of it. */
void schedule_push(struct schedule *s, int64_t session_id, const char *owner, bool is_over);
/* Any thread. Whether the newest look at an open session found no answer; the newest
 * SCHEDULE_UNDECIDED_MAX such sessions are known. */
bool schedule_is_undecided(struct schedule *s, int64_t session_id);
/* Hands over the outcomes of analyses since the last call, oldest first; the newest 256. */
void schedule_outcomes(
    struct schedule *s, void (*fn)(void *arg, const struct session_outcome *o), void *arg);
/* Hands over the active tests that came since, oldest first, and once in a life of the box each.
 * The provider TESTS_OWNER, TESTS_PROVIDER has the number of the newest test that earlier lives
 * handed over. */
#define TESTS_OWNER    "active tests"
#define TESTS_PROVIDER "series"
void schedule_tests(
    struct schedule *s, void (*fn)(void *arg, const struct nw_active_test *t), void *arg);
void schedule_get_stats(struct schedule *s, struct schedule_stats *out);

#endif
