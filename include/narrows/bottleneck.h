/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bottleneck verdict (Kissel et al., section IV.C): the component with the lowest mean
 * throughput per operation is the candidate; it is tested against every other one, and those it is
 * not significantly slower than join the candidate set. The verdict is unique if the set has one
 * member.
 *
 * What a value is decides everything. Single operations come by the thousand and make any
 * difference significant; the values here are per-window means (one per second), and these remember
 * the window before. So by default n is the effective sample size (autocorr.h), and with two
 * components, where the candidate was picked by looking, each test runs at alpha / 2. Both off = as
 * published. Measured false unique verdicts for equal means, n = 60, AR 0/0.5/0.8/0.9: as published
 * 10/34/60/72 %, with both 3.2/4.8/4.5/4.1 %.
 */
#ifndef NARROWS_BOTTLENECK_H
#define NARROWS_BOTTLENECK_H
#include <stdbool.h>
#include <stddef.h>

#include "narrows/autocorr.h"
#include "narrows/ttest.h"

struct nw_bottleneck_options {
	double alpha;
	bool student; /* pooled variance instead of Welch */
	bool n_eff;   /* shrink n by the autocorrelation; needs series */
	/* test of per-window differences; needs series of one length; implies no Welch */
	bool paired;
	bool halve_alpha; /* alpha / 2 when two components have data */
};
/* alpha 0.05, everything else off */
extern const struct nw_bottleneck_options nw_bottleneck_faithful;
extern const struct nw_bottleneck_options nw_bottleneck_better; /* alpha 0.05, n_eff, halve_alpha */
/* The same, paired: for the stages of one path, which share the window if one thread runs them.
 * Welch's test takes the stages for independent, and is wrong in 15 to 17 % of 300 windows. */
extern const struct nw_bottleneck_options nw_bottleneck_windows;

/* A component: `x` holds one mean per window, NaN for a window without an operation. */
struct nw_component {
	const char *name;
	const double *x;
	size_t n;
};

struct nw_component_result {
	struct nw_group group; /* tested summary, whose n is the effective size on request */
	size_t n_values;
	double r1;     /* lag-1 autocorrelation; NaN if unknown */
	bool has_data; /* true for n_values > 0; other components take no part */
	bool candidate;
	/* test of the lowest against this component; INSUFFICIENT for the lowest itself */
	struct nw_ttest test;
	double n_pairs; /* size behind a paired test, effective on request; NaN without */
	double p_holm;  /* Holm's p over the tests of this verdict; NaN without a test */
};

/* ok; insufficient: no component has data, and all below is unset (lowest, runner_up = n) */
struct nw_bottleneck {
	enum nw_status status;
	size_t lowest;       /* index; ties go to the first */
	size_t runner_up;    /* second lowest mean; n if there is none */
	size_t n_components; /* with data */
	size_t n_candidates;
	bool unique;  /* true if one candidate remains, with at least 2 values */
	double alpha; /* each test's */
	/* mean of the runner-up / mean of the lowest: how much faster the transfer could get before
	 * the next stage limits. Interval of coverage 1 - alpha by the delta method on the
	 * logarithm, exp(ln ratio -+ t sqrt(u + v)) with u = (sd/mean)^2/n of each, df as Welch's;
	 * NaN without a runner-up or with a mean <= 0, the interval also with fewer than 2
	 * values. */
	double effect, effect_low, effect_high;
};

/* `result` has n entries. O(total values). NW_ENOMEM, NW_EINVAL (paired with different lengths). */
int nw_bottleneck(const struct nw_component *components, size_t n,
    const struct nw_bottleneck_options *options, struct nw_component_result *result,
    struct nw_bottleneck *out);
/* The same from summaries: n_eff and paired cannot be honoured and are ignored. n = 0 in a group =
 * no data. */
int nw_bottleneck_groups(const struct nw_group *groups, size_t n,
    const struct nw_bottleneck_options *options, struct nw_component_result *result,
    struct nw_bottleneck *out);

/*
 * What throughput per operation cannot see: an operation that waits outside itself. UDT under loss
 * reads rarely but fast, so its mean rises while the transfer starves, and the verdict would move
 * to an innocent stage. Compare the two segments on either side of a change point for the stage
 * that was the verdict before: any bit set means "hidden wait in that stage", not "the bottleneck
 * moved".
 */
struct nw_stage_segment {
	double tput_mean; /* mean of per-operation throughput */
	double tput_sd;   /* mean of the sd within windows */
	double ops_per_window;
	double delivered_bytes_per_s;
	double busy_fraction; /* sum of durations / window, of the thread */
	/* of each window with operations: mean and sd of their throughput; on loan, NULL if
	 * unknown */
	const double *window_mean, *window_sd;
	size_t n_windows;
};

enum {
	NW_HIDDEN_FASTER_YET_LESS = 1, /* mean up and delivered rate down, both by more than 5 % */
	/* operations down by > 30 %, and more spread: see below */
	NW_HIDDEN_FEWER_AND_WILDER = 2,
	NW_HIDDEN_UNACCOUNTED = 4 /* busy_fraction fell to below 0.7 from at least 0.7 */
};

/*
 * More spread means: throughput, or throughput relative to its mean, deviates from its median by a
 * quarter more than before, and nw_brown_forsythe() rejects equal spread (at 0.025 each). A window
 * stands for two operations, a standard deviation below and above its mean, and windows that
 * resemble each other count for less. A NaN field proves nothing. `found` gets the bits.
 * O(windows). NW_ENOMEM.
 */
int nw_hidden_wait(
    const struct nw_stage_segment *before, const struct nw_stage_segment *after, unsigned *found);

/* Equal spread? Brown & Forsythe 1974: one-way analysis of variance of |x - median of its group|.
 * Robust where an F test of variances is not. INSUFFICIENT: fewer than 2 groups with 2 values;
 * DEGENERATE: no spread at all. */
struct nw_variance_test {
	enum nw_status status;
	double f, df1, df2, p;
};
/* O(total values). Missing values are skipped. NW_ENOMEM. */
int nw_brown_forsythe(const struct nw_component *groups, size_t n, struct nw_variance_test *out);

#endif
