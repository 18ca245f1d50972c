/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics of a host in a stretch of time, as columns on a grid: every field of the host's own
 * series, and resources used there by the processes of some sessions.
 *
 *	gauge    holds for the time before the sample; the mean over a row
 *	counter  difference over time between two samples, per second; none where the counter fell
 *	amount   total of an interval, spread evenly, per second; 0 without report
 *
 * A row covered by less than half is missing (NaN).
 */
#ifndef HOSTMETRICS_H
#define HOSTMETRICS_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/store.h"

enum hostmetric_kind { METRIC_GAUGE, METRIC_COUNTER, METRIC_AMOUNT };

struct hostmetric {
	char *name; /* "disk:partition:sda io_ms" */
	size_t name_len;
	char *unit; /* unit of x; NULL if unknown */
	enum hostmetric_kind kind;
	double *x;          /* n_rows */
	double *covered_ns; /* covered time of each row, while loading */
};

struct hostmetrics {
	int64_t t0_wall_ns, step_ns, ahead_ns; /* ahead_ns: lead of the host's clock (hosttime.h) */
	size_t n_rows;
	struct hostmetric *metric;
	size_t n;
	size_t n_idle; /* metrics of idle devices, dropped, 0 in all rows */
	char **idle;   /* their names, n_idle */
	size_t n_cut;  /* metrics beyond HOSTMETRICS_MAX, not looked at */
	uint64_t samples;
};

enum { HOSTMETRICS_MAX = 2000 }; /* largest number of busy metrics of a host */

/* Loads the rows given by t0, step, n_rows and ahead of `out`. O(samples). NW_ENOMEM or the store's
 * code. */
int hostmetrics_load(struct store_reader *r, int64_t host_id, const int64_t *sessions,
    size_t n_sessions, struct hostmetrics *out);
void hostmetrics_clear(struct hostmetrics *m);

#endif
