/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limit of a path over a stretch of windows, the whole session or a segment: the bottleneck
 * test on the shares left free by the stages, and how much faster the next slowest stage could have
 * gone.
 */
#ifndef NARROWS_LIMIT_H
#define NARROWS_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "narrows/bottleneck.h"
#include "narrows/stage.h"

enum { LIMIT_WINDOWS_MIN = 5, LIMIT_PRINTED_N_EFF = 10 };

/*
 * Two claims. An account says where the time of this transfer went: its error is that of the
 * measurement, and few windows bear it. An inference says that the path is so and would be so
 * again: the windows are a sample, the slowest stage must be told from all others by a test, and at
 * least 8 of the windows must be independent. Simulated, equal stages and AR 0 to 0.95: below 8 an
 * inference would be wrong in up to 57 %, from 8 on in at most 5 % (tests/calibrate);
 * with fewer than 30 windows the test must be the surer, as a short series hides its memory.
 */
enum limit_claim { LIMIT_NONE, LIMIT_ACCOUNT, LIMIT_INFERENCE };

struct limit {
	struct nw_component_result tests[NW_STAGE_COUNT]; /* a test per stage of the path */
	/* test of the free shares: the lowest held the bytes most of the time */
	struct nw_bottleneck bottleneck;
	/* service rate of the next slowest stage over that of the slowest; NaN if unknown */
	double effect, effect_low, effect_high;
	/* The interval to print. The slower stage was picked by looking, and the claim made where
	 * the ratio came out large, so `effect_low` and `effect_high` cover a near tie too seldom
	 * (simulated). Widened to a quantile of t that depends on the claim the interval covers at
	 * least 92 % beside each word (tests/calibrate, intervals). NaN with fewer than
	 * LIMIT_PRINTED_N_EFF independent windows. */
	double printed_low, printed_high;
	size_t n_windows; /* windows with the slowest stage measured */
	double n_eff; /* independent windows behind the tests and the interval; NaN if unknown */
	double p; /* p of the verdict: the largest of the tests, or twice that of a single test */
	enum limit_claim claim;
	bool known;   /* whether a claim is made */
	size_t stage; /* index of the slowest stage of the path */
};

/* "account", "inference", or NULL without claim; static text. */
const char *limit_claim_name(enum limit_claim claim);
/* Judges windows first to before end. NW_ENOMEM. */
int limit_find(const struct nw_path *p, size_t first, size_t end, double alpha, double margin,
    struct limit *out);
/* Whether at least 8 of at least 15 windows are independent, so that the windows are a sample of
 * the path. */
bool limit_is_sample(const struct limit *l);
/* Whether the evidence is strong enough for the word "high": p below 0.01 and twice the windows. */
bool limit_is_strong(const struct limit *l);
/* The share of the time in which the slowest stage held the bytes; NaN without measurement. */
double limit_held(const struct limit *l);
/* Whether the share is a third at least: a process has at most three stages, so with less in the
 * slowest of them the process was mostly somewhere else. */
bool limit_is_held(const struct limit *l);

#endif
