/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/limit.h"

#include <math.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/special.h"

static const double held_min = 1.0 / 3;

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

/*
 * Ratio of held shares with Fieller's interval (1954), effective n, normal quantile. The next stage
 * may have held few windows only; on a logarithmic scale such windows would make any ratio
 * uncertain.
 */
static void
effect_find(struct limit *l, size_t n_stages, double alpha)
{
	const struct nw_bottleneck *b = &l->bottleneck;
	const struct nw_group *lowest, *next;
	double held, held_next, z2, var, var_next, a, root;

	l->effect = l->effect_low = l->effect_high = NAN;
	if (b->status != NW_STATUS_OK || b->runner_up >= n_stages)
		return;
	lowest = &l->tests[b->lowest].group;
	next = &l->tests[b->runner_up].group;
	held = 1 - lowest->mean;
	held_next = fmax(1 - next->mean, 1e-6);
	if (!(held > 0) || !(lowest->n >= 2) || !(next->n >= 2))
		return;
	z2 = pow(nw_norm_quantile(1 - alpha / 2), 2);
	var = pow(lowest->sd, 2) / lowest->n;
	var_next = pow(next->sd, 2) / next->n;
	l->effect = held / held_next;
	/* roots r of (held - r held_next)^2 = z^2 (var + r^2 var_next) */
	a = held_next * held_next - z2 * var_next;
	root = sqrt(fmax(0, held * held * held_next * held_next - a * (held * held - z2 * var)));
	l->effect_low = (held * held - z2 * var) / (held * held_next + root);
	l->effect_high = a > 0 ? (held * held_next + root) / a : INFINITY;
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

int
limit_find(const struct nw_path *p, size_t first, size_t end, double alpha, double margin,
    struct limit *out)
{
	struct nw_bottleneck_options o = nw_bottleneck_better;
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
	effect_find(out, p->n, alpha);
	out->stage = out->bottleneck.lowest;
	out->n_windows = out->stage < p->n ? out->tests[out->stage].n_values : 0;
	out->p = out->stage < p->n ? verdict_p(out, p->n) : NAN;
	out->known = p->n >= 2 && out->bottleneck.status == NW_STATUS_OK &&
	    out->bottleneck.unique && out->n_windows >= LIMIT_WINDOWS_MIN &&
	    out->effect_low >= 1 + margin;
	return NW_OK;
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
