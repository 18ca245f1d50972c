/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/limit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/ratio.h"
#include "narrows/special.h"

static const double held_min = 1.0 / 3;
static const double HELD_LEAST = 1e-6;       /* gives a ratio to a stage held next to never */
static const double N_EFF_MIN = 8;           /* least independent windows for an inference */
static const size_t SAMPLE_WINDOWS_MIN = 15; /* fewer hide their memory, slow drifts above all */
static const double WINDOWS_SURE = 30;       /* least windows for a known autocorrelation */
static const double STRONG_P = 0.01;
/* Part of alpha for the printed interval, which knows of the choice: beside a strong inference, and
 * beside all else. */
static const double PRINTED_STRONG = 0.06, PRINTED_ALPHA = 0.0005;
static const double ACCOUNT_RATIO = 1.5; /* least ratio of held shares for an account */

/* One-sided: the chance of so small a held share in a stage with a true share of a third. */
static double
idle_p(const struct nw_group *g)
{
	double se = g->sd / sqrt(g->n), far = held_min - (1 - g->mean);

	if (!(g->n >= 2) || !(far > 0))
		return 1;
	return se > 0 ? 1 - nw_t_cdf(far / se, g->n - 1) : 0;
}

/*
 * Where a transfer has phases, few windows are independent, and the test cannot tell the slowest
 * stage from a stage idle nearly all the time. But a stage with less than a third of the time did
 * not limit the transfer.
 */
static void
idle_exclude(struct limit *l, size_t n_stages)
{
	struct nw_bottleneck *b = &l->bottleneck;
	size_t i;

	for (i = 0; b->status == NW_STATUS_OK && i < n_stages; i++)
		if (i != b->lowest && l->tests[i].candidate &&
		    idle_p(&l->tests[i].group) < b->alpha) {
			l->tests[i].candidate = false;
			b->n_candidates--;
		}
	b->unique =
	    b->n_candidates == 1 && b->lowest < n_stages && l->tests[b->lowest].n_values >= 2;
}

/* On the logarithm the interval grows as the quantile of t does. A claim was made because the ratio
 * came out large; the less evidence beside the claim, the more luck may be in the ratio. An account
 * was not told from a tie, so the interval goes as far below 1 as the ratio is above. */
static void
interval_print(struct limit *l, double alpha)
{
	double part = limit_is_strong(l) ? PRINTED_STRONG : PRINTED_ALPHA, more;

	if (!isfinite(l->effect) || !(l->n_eff >= LIMIT_PRINTED_N_EFF))
		return;
	more = nw_t_quantile(1 - part * alpha / 2, l->n_eff - 1) /
	    nw_t_quantile(1 - alpha / 2, l->n_eff - 1);
	l->printed_low = l->effect * pow(l->effect_low / l->effect, more);
	l->printed_high = l->effect * pow(l->effect_high / l->effect, more);
	if (l->claim == LIMIT_ACCOUNT)
		l->printed_low = fmin(l->printed_low, 1 / l->effect);
}

/* Ratio of the held shares of the slowest stage and the next, with an interval for stages of a
 * thread, which share the window (narrows/ratio.h), and the number of independent windows. */
static int
effect_find(struct limit *l, const struct nw_path *p, size_t first, size_t end, double alpha)
{
	const struct nw_bottleneck *b = &l->bottleneck;
	size_t n = end - first, i;
	double *held;
	struct nw_ratio r;
	int rc;

	l->effect = l->effect_low = l->effect_high = l->n_eff = NAN;
	l->printed_low = l->printed_high = NAN;
	if (b->status != NW_STATUS_OK || b->runner_up >= p->n)
		return NW_OK;
	if ((held = malloc((2 * n + 1) * sizeof(*held))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++) {
		held[i] = 1 - p->stage[b->lowest].free_share[first + i];
		held[n + i] = fmax(HELD_LEAST, 1 - p->stage[b->runner_up].free_share[first + i]);
	}
	if ((rc = nw_ratio_windows(held, held + n, n, alpha, &r)) == NW_OK) {
		l->effect = r.ratio;
		l->effect_low = r.low;
		l->effect_high = r.high;
		l->n_eff = r.n_eff;
	}
	l->n_eff = fmin(l->n_eff, l->tests[b->runner_up].n_pairs);
	free(held);
	return rc;
}

/*
 * Either of two tests excludes another stage, so the p of the verdict is the largest p of all other
 * stages; a pair was picked by looking, and pays twice.
 */
static double
verdict_p(const struct limit *l, size_t n_stages)
{
	double p = NAN, one;
	size_t i;

	for (i = 0; i < n_stages; i++) {
		one = fmin(l->tests[i].test.p, idle_p(&l->tests[i].group));
		if (i != l->bottleneck.lowest && l->tests[i].has_data && !(one <= p))
			p = one;
	}
	return l->bottleneck.n_components == 2 ? fmin(1, 2 * p) : p;
}

/* The claim supported by the windows. See limit.h. */
static enum limit_claim
claim_of(const struct limit *l, size_t n_stages, double alpha, double margin)
{
	const struct nw_bottleneck *b = &l->bottleneck;

	if (n_stages < 2 || b->status != NW_STATUS_OK || l->n_windows < LIMIT_WINDOWS_MIN)
		return LIMIT_NONE;
	if (b->unique && limit_is_sample(l) && l->effect_low >= 1 + margin &&
	    l->p < alpha * fmin(1, pow((double)l->n_windows / WINDOWS_SURE, 2)))
		return LIMIT_INFERENCE;
	return l->effect >= ACCOUNT_RATIO ? LIMIT_ACCOUNT : LIMIT_NONE;
}

int
limit_find(const struct nw_path *p, size_t first, size_t end, double alpha, double margin,
    struct limit *out)
{
	struct nw_bottleneck_options o = nw_bottleneck_windows;
	struct nw_component c[NW_STAGE_COUNT];
	size_t i;
	int rc;

	memset(out, 0, sizeof(*out));
	o.alpha = alpha;
	for (i = 0; i < p->n; i++)
		c[i] = (struct nw_component){ nw_stage_kind_name(p->stage[i].kind),
			p->stage[i].free_share + first, end - first };
	if ((rc = nw_bottleneck(c, p->n, &o, out->tests, &out->bottleneck)) < 0)
		return rc;
	idle_exclude(out, p->n);
	if ((rc = effect_find(out, p, first, end, alpha)) < 0)
		return rc;
	out->stage = out->bottleneck.lowest;
	out->n_windows = out->stage < p->n ? out->tests[out->stage].n_values : 0;
	out->p = out->stage < p->n ? verdict_p(out, p->n) : NAN;
	out->claim = claim_of(out, p->n, alpha, margin);
	out->known = out->claim != LIMIT_NONE;
	interval_print(out, alpha);
	return NW_OK;
}

const char *
limit_claim_name(enum limit_claim claim)
{
	static const char *const names[] = { NULL, "account", "inference" };

	return names[claim];
}

double
limit_held(const struct limit *l)
{
	return l->n_windows > 0 ? 1 - l->tests[l->stage].group.mean : NAN;
}

bool
limit_is_held(const struct limit *l)
{
	return limit_held(l) >= held_min;
}

bool
limit_is_sample(const struct limit *l)
{
	return l->n_eff >= N_EFF_MIN && l->n_windows >= SAMPLE_WINDOWS_MIN;
}

bool
limit_is_strong(const struct limit *l)
{
	return l->claim == LIMIT_INFERENCE && l->p < STRONG_P && l->n_eff >= 2 * N_EFF_MIN;
}
