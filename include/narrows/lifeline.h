/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lifelines: the way of objects (blocks, files, requests) through the points of a distributed
 * system, one line per object, one time per point. Arrays in, structs out; all times are wall clock
 * in nanoseconds, corrected as far as their caller knows the clocks. Functions return NW_OK or
 * NW_ENOMEM.
 *
 *   point    a place on the path at which a time is taken; points are numbered in path order
 *   lane     the server, disk or connection of a line; lines of a lane may hinder each other
 *   segment  two points that follow each other on a line; a line that leaves points out has a
 *            segment across the gap
 */
#ifndef NARROWS_LIFELINE_H
#define NARROWS_LIFELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NW_LINE_NEVER INT64_MIN /* time of a point that a line does not have */

enum { NW_LINE_POINTS_MAX = 32, NW_LINE_SEGMENTS_MAX = 128 };

struct nw_lines {
	size_t n, n_points, n_lanes, n_hosts;
	const int64_t *t_ns;   /* n rows of n_points times */
	const uint32_t *lane;  /* of each line, below n_lanes */
	const uint32_t *host;  /* n_lanes rows of n_points hosts, below n_hosts */
	const double *bound_s; /* of each host's clock: largest error; NaN where unknown */
};

/* Path of `n` names: before[a * n + b] counts the objects on which name a comes before name b.
 * rank[name] becomes the name's place. Names with the most wins come first; of equal ones the lower
 * number. */
void nw_lines_path(const uint32_t *before, size_t n, uint32_t *rank);

/* --- segments --- */

enum nw_line_quantile {
	NW_LINE_MIN,
	NW_LINE_Q05,
	NW_LINE_Q25,
	NW_LINE_MEDIAN,
	NW_LINE_Q75,
	NW_LINE_Q95,
	NW_LINE_Q99,
	NW_LINE_MAX,
	NW_LINE_QUANTILES
};
extern const double nw_line_quantile_at[NW_LINE_QUANTILES];

struct nw_line_segment {
	unsigned from, to;
	size_t n; /* lines */
	double mean_s, q_s[NW_LINE_QUANTILES];
	size_t crossings; /* pairs of lines of which the later one at `from` is first at `to` */
	size_t lane_crossings; /* those of one lane */
	size_t backwards; /* lines whose order is impossible, beyond the bounds of the clocks */
	size_t uncertain; /* lines whose order the bounds of the clocks leave open */
	size_t reversed;  /* lines that a single host's clock saw in the other order */
	/* share of the segment in what the slow lines take more than the median, and its 95 %
	 * interval over moments; NaN without slow lines */
	double excess_share, excess_low, excess_high;
};

struct nw_line_segments {
	size_t n;
	struct nw_line_segment segment[NW_LINE_SEGMENTS_MAX];
	size_t n_finished;                 /* lines that have the last point */
	double total_s[NW_LINE_QUANTILES]; /* of finished lines, from their first point; or NaN */
	size_t n_slow;                     /* lines that the shares of excess stand on */
	double slow_s;                     /* their total is at least so long */
};
int nw_lines_segments(const struct nw_lines *l, struct nw_line_segments *out);
/* Seconds from one point to another of lines that have the two as neighbours; room for l->n.
 * line, unless NULL, gets the lines. Returns their number. */
size_t
nw_lines_durations(const struct nw_lines *l, unsigned from, unsigned to, double *s, uint32_t *line);
/* From the first to the last point, or NaN for an unfinished line. */
double nw_line_total(const struct nw_lines *l, size_t line);
/* The point before `to` on the line; n_points if there is none. */
unsigned nw_line_before(const struct nw_lines *l, size_t line, unsigned to);

/* --- order and clocks --- */

#define NW_LINE_ANY UINT32_MAX

/* REVERSED: the clock of one host saw the second point first, so the path does not hold for the
 * line. IMPOSSIBLE: a clock of the two hosts is wrong. */
enum nw_line_order { NW_LINE_SURE, NW_LINE_UNCERTAIN, NW_LINE_REVERSED, NW_LINE_IMPOSSIBLE };
/* Of two neighbours on a line. A clock without known bound counts as right, so its impossible order
 * is told. */
enum nw_line_order
nw_line_order_of(const struct nw_lines *l, size_t line, unsigned from, unsigned to);

/* What the lines themselves say of a host's clock against the clock at the ends of the path: no
 * event comes before its cause. Valid if low_s <= high_s. */
struct nw_line_clock {
	double low_s, high_s; /* lead of the host's clock; infinite where no line bounds the lead */
	size_t n;             /* events of the host that bound the lead from below */
};
/* out: n_hosts. Lines without the last point say nothing. */
void nw_lines_clocks(const struct nw_lines *l, struct nw_line_clock *out);

/*
 * A clock that the lines prove wrong: its lead is not 0, beyond the known errors of both clocks. If
 * no constant lead fits, the lead runs from one interval at from_ns to another at to_ns, at a
 * steady rate. If no such lead fits either, moved_s is above 0, and the rest is not known.
 */
struct nw_line_wrong {
	uint32_t host, against; /* NW_LINE_ANY: the clocks of all other hosts */
	double low_s, high_s;   /* lead at from_ns; high_s is infinite without an upper bound */
	double end_low_s, end_high_s; /* lead at to_ns; the same for a constant lead */
	double rate_low, rate_high;   /* of the lead in seconds a second; 0: a constant lead */
	double lead_s, rate;          /* a lead in the middle, at from_ns; and its rate */
	double error_s;               /* the largest error of that lead from from_ns to to_ns */
	double moved_s;               /* least change of a lead without a steady rate; else 0 */
	int64_t from_ns, to_ns; /* the first and the last event of the host, of a drift alone */
};
/* c: of nw_lines_clocks(). out: n_hosts. *n becomes their number; 0 if lines end on several hosts.
 * If all other clocks, at least two, lead or trail alike, the clock at the ends of the path is
 * wrong. */
int nw_lines_wrong(
    const struct nw_lines *l, const struct nw_line_clock *c, struct nw_line_wrong *out, size_t *n);
/* The lead of the middle at a time of the host. */
double nw_line_wrong_lead(const struct nw_line_wrong *w, int64_t t_ns);

/* --- blocked and unblocked --- */

struct nw_line_stall {
	uint32_t lane;
	unsigned from, to;
	int64_t blocked_ns, unblocked_ns;
	size_t waiting;  /* lines between `from` and `to` at the end of the stretch */
	double excess_s; /* most time that a line waited beyond the segment's median */
};
/*
 * Stretches in which lines wait between two points, and no line of the lane passes the second one,
 * for unusually long: four robust standard deviations above the median of such waits, on a
 * logarithmic scale. free() the array.
 */
int nw_lines_stalls(const struct nw_lines *l, const struct nw_line_segment *s,
    struct nw_line_stall **out, size_t *n);

/* --- the finding --- */

enum nw_line_kind {
	NW_LINE_CLASS, /* some lines take longer than the others, by about the same time */
	NW_LINE_LANE,  /* the lines of a lane take longer */
	NW_LINE_STALL, /* a lane stands still again and again, or once (one moment) */
	NW_LINE_STEP   /* from first_ns on, lines take longer */
};

struct nw_line_finding {
	enum nw_line_kind kind;
	unsigned from, to;
	uint32_t lane;  /* lane of nine in ten such lines, or NW_LINE_ANY */
	double split_s; /* slow lines take at least so long between the points */
	double size_s, size_low_s,
	    size_high_s; /* time added to a line that is hit; 95 % interval, NaN of one stall */
	size_t n_lines, n_moments; /* lines with the delay; pairs of times among these */
	/* share of lines with the delay; of stalls, share of the time; of one stall, share of the
	 * slow lines' excess */
	double share;
	double cost_s; /* added time of all lines */
	int64_t first_ns, last_ns;
};

enum { NW_LINE_FINDINGS_MAX = 16 };

struct nw_line_findings {
	size_t n; /* the costliest first */
	struct nw_line_finding finding[NW_LINE_FINDINGS_MAX];
};
/*
 * Delays that stand out. A segment counts if its durations fall into classes with a tested valley
 * between them (narrows/density.h), if a lane differs from all others, if the lane stands still, or
 * if all durations are longer from some moment on. The delays of classes and stalls come again and
 * again, and a delay below a fifth of the median line, or below the noise of a busy machine,
 * does not matter. Where nothing comes again, a single stall counts that is far longer than any
 * other wait and has most of what the slow lines lost. Lines that wait in front of a segment
 * because that segment is occupied are its consequence, and no finding.
 */
int nw_lines_find(
    const struct nw_lines *l, const struct nw_line_segments *s, struct nw_line_findings *out);

/* --- events of hosts --- */

struct nw_line_with {
	size_t n, n_within;
	double expected; /* within, if the events came at any time alike */
	double p;        /* chance of so many or more then */
};
/* Events within any of n stretches, out of those from t0 to t1. The stretches may overlap. */
int nw_lines_with(const int64_t *event_ns, size_t n_events, const int64_t *begin_ns,
    const int64_t *end_ns, size_t n, int64_t t0_ns, int64_t t1_ns, struct nw_line_with *out);

#endif
