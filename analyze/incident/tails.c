/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/incident/tails.h"

#include <math.h>

#include "narrows/special.h"

/* Degrees of freedom (0: normal), weight before the first session, and the log of the density at 0
 * over the normal one's, with a variance of 1. */
static const struct {
	double df, weight, peak;
} kinds[TAILS] = {
	{ 0, 0.61, 0 },
	{ 8, 0.23, 0.11267 },
	{ 4, 0.12, 0.28468 },
	{ 3, 0.04, 0.46736 },
};

void
tails_init(struct tails *t)
{
	int k;

	for (k = 0; k < TAILS; k++)
		t->log_weight[k] = log(kinds[k].weight);
}

void
tails_ratios(double score, double ratio[TAILS])
{
	const double square = score * score;
	int k;

	ratio[0] = 0;
	for (k = 1; k < TAILS; k++)
		ratio[k] = kinds[k].peak + square / 2 -
		    (kinds[k].df + 1) / 2 * log1p(square / (kinds[k].df - 2));
}

void
tails_see(struct tails *t, const double ratio[TAILS])
{
	int k;

	for (k = 0; k < TAILS; k++)
		t->log_weight[k] += ratio[k];
}

double
tails_evidence(const struct tails *t)
{
	double most = -INFINITY, sum = 0;
	int k;

	for (k = 0; k < TAILS; k++)
		most = fmax(most, t->log_weight[k]);
	for (k = 0; k < TAILS; k++)
		sum += exp(t->log_weight[k] - most);
	return most + log(sum);
}

double
tails_upper(const struct tails *t, double score)
{
	const double all = tails_evidence(t);
	double sum = exp(t->log_weight[0] - all) * nw_norm_upper(score);
	int k;

	for (k = 1; k < TAILS; k++)
		sum += exp(t->log_weight[k] - all) *
		    nw_t_cdf(-score * sqrt(kinds[k].df / (kinds[k].df - 2)), kinds[k].df);
	return sum;
}
