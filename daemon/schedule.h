/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The analysis thread: sessions wait in a queue (each at most once), one at a time is read from the
 * store and analysed, and its result document handed to the writer. It also asks chronyd for the
 * box's own clock now and then.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/analysis.h"
#include "narrows/store.h"

struct schedule;

struct schedule_stats {
	uint64_t queued, runs, failures;
	int64_t last_wall_ns, last_took_ns;
	bool clock_known, clock_synchronised;
	double clock_offset_s, clock_bound_s;
};

/* first_run_id: the next free one. NW_EIO or what the store says; why has the reason. */
int schedule_start(struct store *st, const char *store_path, const struct analysis_params *params,
    int64_t first_run_id, struct schedule **out, char why[STORE_WHY_BYTES]);
/* Finishes what is queued, joins the thread. The store must still be open. */
void schedule_stop(struct schedule *s);
/* Any thread. A session that is over is judged next; an open one when there is time for it. */
void schedule_push(struct schedule *s, int64_t session_id, bool is_over);
void schedule_get_stats(struct schedule *s, struct schedule_stats *out);

#endif
