/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far a route's noise reaches. Normal scores of sessions come from normal noise, or from
 * Student's with 8, 4 or 3 degrees of freedom and the same variance; each kind has a weight by
 * the scores so far. A far session of a route with long tails is then no wonder.
 */
#ifndef ANALYZE_TAILS_H
#define ANALYZE_TAILS_H

enum { TAILS = 4 };

struct tails {
	double log_weight[TAILS];
};

/* Before the first session. */
void tails_init(struct tails *t);
/* Log of the density of a score with each kind of noise, over that with normal noise. */
void tails_ratios(double score, double ratio[TAILS]);
/* Learns from a session by the ratios of the score. */
void tails_see(struct tails *t, const double ratio[TAILS]);
/* Log of the density of all scores seen, over that with normal noise alone. */
double tails_evidence(const struct tails *t);
/* The chance of a score above a positive one. */
double tails_upper(const struct tails *t, double score);

#endif
