/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time as a rival of metrics: two series that begin at the same moment, rise all day or follow the
 * hour go along without any relation.
 *
 *   response --search--> trend, hour, moments --project--> rest of response and metrics
 *
 * A reduction of the rest gives the coefficients of a model with time beside the metrics (Frisch &
 * Waugh 1933), where no metric can stand in for time. Metrics that follow the response, and not
 * its rest, are taken: a common cause in time explains the relation.
 */
#ifndef NARROWS_TIMERIVAL_H
#define NARROWS_TIMERIVAL_H
#include <stddef.h>

#include "narrows/linear.h"

enum nw_time_part {
	NW_TIME_TREND = 1, /* a polynomial of the row number, of degree 3 or 5 */
	NW_TIME_HOUR = 2,  /* periods of a day and of half a day */
	NW_TIME_START = 4  /* a new level from a row on, reached at once or by and by */
};

/* so many rows without a response part two runs of responses */
enum { NW_TIME_MOMENTS_MAX = 2, NW_TIME_PAUSE = 3 };

struct nw_time_rival {
	unsigned parts;   /* of the response, enum nw_time_part; 0 if time explains nothing */
	size_t n_moments; /* starts, or a start and an end */
	/* first row of each new level; the first row with a response where each run of responses
	 * begins in the same way */
	size_t moment[NW_TIME_MOMENTS_MAX];
	double r2;      /* share of the response's variance that time explains; NaN without rows */
	size_t n_taken; /* metrics related to the response by time alone */
	double *taken;  /* per column: r^2 of such a metric with the response; else 0 */
	/* columns less their courses in time, about their means; the given table itself if parts is
	 * 0. Rows that may lie before or behind a moment have no values. */
	struct nw_table rest;
	/* the courses in time, columns of n_rows, for nw_reduce_options.course */
	size_t n_courses;
	double *course;
	void *store;
};

/*
 * Rows are in the order of time. `day`: share of the day passed at each row, or NULL if unknown.
 * Without it, or with less than half a day of rows, there is no part NW_TIME_HOUR. A part takes
 * part if it lowers the extended BIC of the response. The columns may have gaps. O(n p) for few
 * parts; memory of a second table where time explains something. The table is on loan as long as
 * the result lives. NW_ENOMEM. Free with nw_time_rival_clear, also after an error.
 */
int nw_time_rival(const struct nw_table *t, const double *day, struct nw_time_rival *out);
void nw_time_rival_clear(struct nw_time_rival *r);

#endif
