/* SPDX-License-Identifier: BSD-3-Clause */
/* The common ground of the files of lifelines. */
#ifndef LIFELINE_IN_H
#define LIFELINE_IN_H

#include <stdbool.h>

#include "narrows/lifeline.h"

static inline const int64_t *
line_times(const struct nw_lines *l, size_t line)
{
	return l->t_ns + line * l->n_points;
}

static inline double
line_seconds(int64_t from_ns, int64_t to_ns)
{
	return ((double)to_ns - (double)from_ns) > 1e15 || (double)to_ns - (double)from_ns < -1e15
	    ? ((double)to_ns - (double)from_ns) * 1e-9
	    : (double)(to_ns - from_ns) * 1e-9;
}

/* What one event of a line says of the lead of its host's clock over the clock where lines end. */
struct line_bound {
	uint32_t host;
	size_t line;
	int64_t t_ns; /* by the host's clock */
	double lead_s;
	bool is_upper; /* the lead is at most so large; else at least */
};
typedef void line_bound_fn(void *arg, const struct line_bound *b);
/* Each bound of each line with a last point. */
void line_bounds_each(const struct nw_lines *l, line_bound_fn *fn, void *arg);

/* The leads of hosts for which no constant lead fits, against the host where all lines end; and
 * behind these, one lead of all hosts together. from_ns and to_ns of the others are 0.
 * out: n_hosts + 1. NW_ENOMEM. */
int line_drifts(const struct nw_lines *l, uint32_t home, struct nw_line_wrong *out);

/* A level of durations with a single lasting rise. */
struct line_step {
	size_t at; /* the first of the longer durations, about */
	double size_s, low_s, high_s;
};
/* Durations in the order of time; room for n. Returns false if there is no step. */
bool line_step(const double *s, size_t n, double *scratch, struct line_step *out);

/* The longest wait of a segment, and the longest one at another time. */
struct line_longest {
	struct nw_line_stall stall;
	bool alone;     /* no other lane waits meanwhile */
	double rival_s; /* 0: there is none */
	bool *hit;      /* by line: waits at the end of the wait; room for l->n */
};
/* Sets stall.waiting to 0 if no wait is unusually long. NW_ENOMEM. */
int
line_longest(const struct nw_lines *l, const struct nw_line_segment *s, struct line_longest *out);

/* Adds a single stall that stands out; material_s: shorter ones do not matter. NW_ENOMEM. */
int line_once(const struct nw_lines *l, const struct nw_line_segments *s, double material_s,
    struct nw_line_findings *out);

/* Shares of excess of the slow lines, into the segments. NW_ENOMEM. */
int line_excess(const struct nw_lines *l, struct nw_line_segments *out);

#endif
