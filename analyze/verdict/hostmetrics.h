/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a host measured of itself in a stretch of time, as columns on one grid: every field of its
 * own series, and what the processes of some sessions used there.
 *
 *	gauge    holds for the time before its sample; the mean over a row
 *	counter  difference over time between two samples, per second; one that fell has started anew and tells nothing
 *	amount   of an interval, spread evenly over it, per second; 0 where nothing was reported
 *
 * A row that is covered by less than half is missing (NaN).
 */
#ifndef HOSTMETRICS_H
#define HOSTMETRICS_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/store.h"

enum hostmetric_kind { METRIC_GAUGE, METRIC_COUNTER, METRIC_AMOUNT };

struct hostmetric {
	char *name; /* "disk:partition:sda io_ms" */
	char *unit; /* of x; NULL: not told */
	enum hostmetric_kind kind;
	double *x;          /* n_rows */
	double *covered_ns; /* of each row, while loading */
};

struct hostmetrics {
	int64_t t0_wall_ns, step_ns, ahead_ns; /* the last: of the host's clock (hosttime.h) */
	size_t n_rows;
	struct hostmetric *metric;
	size_t n;
	uint64_t samples;
};

enum { HOSTMETRICS_MAX = 2000 }; /* of one host; more are not looked at */

/* t0, step, n_rows and ahead of `out` say what to load. O(samples). NW_ENOMEM or what the store
 * says. */
int hostmetrics_load(struct store_reader *r, int64_t host_id, const int64_t *sessions,
    size_t n_sessions, struct hostmetrics *out);
void hostmetrics_clear(struct hostmetrics *m);

#endif
