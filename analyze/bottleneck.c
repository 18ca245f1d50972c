/* SPDX-License-Identifier: BSD-3-Clause */
/* The bottleneck verdict. See narrows/bottleneck.h. */
#include "narrows/bottleneck.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/quantile.h"
#include "narrows/autocorr.h"
#include "narrows/err.h"
#include "narrows/special.h"

#define CHANGE_MIN    0.05 /* smaller moves of a mean are noise */
#define OPS_FALL      0.7
#define SPREAD_GROWTH 1.25
#define SPREAD_ALPHA  0.025 /* of each of the two tests of spread */
#define BUSY_MIN      0.7

const struct nw_bottleneck_options nw_bottleneck_faithful = { .alpha = 0.05 };
const struct nw_bottleneck_options nw_bottleneck_better = {
	.alpha = 0.05, .n_eff = true, .halve_alpha = true
};
const struct nw_bottleneck_options nw_bottleneck_windows = {
	.alpha = 0.05, .n_eff = true, .paired = true, .halve_alpha = true
};

/* Lowest mean, then second lowest; ties go to the first in order. */
static void
find_lowest(const struct nw_component_result *r, size_t n, struct nw_bottleneck *out)
{
	size_t i;

	out->lowest = out->runner_up = n;
	for (i = 0; i < n; i++) {
		if (!r[i].has_data)
			continue;
		out->n_components++;
		if (out->lowest == n || r[i].group.mean < r[out->lowest].group.mean) {
			out->runner_up = out->lowest;
			out->lowest = i;
		} else if (out->runner_up == n || r[i].group.mean < r[out->runner_up].group.mean) {
			out->runner_up = i;
		}
	}
}

static void
set_effect(const struct nw_group *low, const struct nw_group *next, struct nw_bottleneck *out)
{
	double cv_low, cv_next, u, v, half, df;

	if (!(low->mean > 0) || !(next->mean > 0))
		return;
	out->effect = next->mean / low->mean;
	if (!(low->n >= 2) || !(next->n >= 2))
		return;
	cv_low = low->sd / low->mean;
	cv_next = next->sd / next->mean;
	u = cv_low * cv_low / low->n;
	v = cv_next * cv_next / next->n;
	half = 0;
	if (u + v > 0) {
		df = (u + v) * (u + v) / (u * u / (low->n - 1) + v * v / (next->n - 1));
		half = nw_t_quantile(1 - out->alpha / 2, df) * sqrt(u + v);
	}
	out->effect_low = out->effect * exp(-half);
	out->effect_high = out->effect * exp(half);
}

static int
set_holm(struct nw_component_result *r, size_t n)
{
	double *p = malloc((n + 1) * sizeof(*p));
	size_t i;
	int rc;

	if (p == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		p[i] = r[i].test.p;
	if ((rc = nw_holm(p, n, p)) == NW_OK)
		for (i = 0; i < n; i++)
			r[i].p_holm = p[i];
	free(p);
	return rc;
}

static struct nw_component_result
untested(const struct nw_group *group, uint64_t n_values, double r1)
{
	struct nw_component_result r = { .group = *group,
		.n_values = (size_t)n_values,
		.r1 = r1,
		.p_holm = NAN,
		.n_pairs = NAN };
	struct nw_group none = { 0, NAN, NAN };

	r.has_data = n_values > 0 && isfinite(group->mean);
	r.test = nw_ttest_welch(&none, &none);
	return r;
}

/* Fills the rest of the verdict, from groups, and from the paired tests if the samples are
 * paired. */
static int
decide(struct nw_component_result *r, size_t n, const struct nw_bottleneck_options *o,
    struct nw_bottleneck *out)
{
	const struct nw_group *low = &r[out->lowest].group;
	size_t i;

	for (i = 0; i < n; i++) {
		if (i != out->lowest && r[i].has_data && !o->paired)
			r[i].test = o->student ? nw_ttest_student(low, &r[i].group)
					       : nw_ttest_welch(low, &r[i].group);
		r[i].candidate = r[i].has_data && !(r[i].test.p < out->alpha);
		out->n_candidates += r[i].candidate;
	}
	out->unique = out->n_candidates == 1 && r[out->lowest].n_values >= 2;
	if (out->runner_up < n)
		set_effect(&r[out->lowest].group, &r[out->runner_up].group, out);
	return set_holm(r, n);
}

static void
start(struct nw_component_result *r, size_t n, const struct nw_bottleneck_options *o,
    struct nw_bottleneck *out)
{
	*out = (struct nw_bottleneck){
		.alpha = o->alpha, .effect = NAN, .effect_low = NAN, .effect_high = NAN
	};
	find_lowest(r, n, out);
	if (out->n_components == 0)
		out->status = NW_STATUS_INSUFFICIENT;
	if (out->n_components == 2 && o->halve_alpha)
		out->alpha /= 2;
}

int
nw_bottleneck_groups(const struct nw_group *groups, size_t n,
    const struct nw_bottleneck_options *options, struct nw_component_result *result,
    struct nw_bottleneck *out)
{
	struct nw_bottleneck_options o = *options;
	size_t i;

	o.paired = false;
	for (i = 0; i < n; i++)
		result[i] = untested(&groups[i], groups[i].n > 0 ? (uint64_t)groups[i].n : 0, NAN);
	start(result, n, &o, out);
	return out->status == NW_STATUS_OK ? decide(result, n, &o, out) : NW_OK;
}

static int
test_paired(const struct nw_component *c, struct nw_component_result *r, size_t n, size_t lowest,
    const struct nw_bottleneck_options *o)
{
	double *d;
	size_t i;

	if ((d = malloc((c[lowest].n + 1) * sizeof(*d))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++) {
		struct nw_autocorr a;
		struct nw_group g;

		if (i == lowest || !r[i].has_data)
			continue;
		nw_paired_difference(c[lowest].x, c[i].x, c[i].n, d);
		a = nw_autocorr(d, c[i].n);
		g = o->n_eff ? nw_autocorr_group(&a) : nw_group_of(&a.sum);
		r[i].test = nw_ttest_single(&g);
		r[i].n_pairs = g.n;
	}
	free(d);
	return NW_OK;
}

int
nw_bottleneck(const struct nw_component *components, size_t n,
    const struct nw_bottleneck_options *options, struct nw_component_result *result,
    struct nw_bottleneck *out)
{
	size_t i;
	int rc;

	for (i = 0; i < n; i++) {
		struct nw_autocorr a = nw_autocorr(components[i].x, components[i].n);
		struct nw_group g = options->n_eff ? nw_autocorr_group(&a) : nw_group_of(&a.sum);

		if (options->paired && components[i].n != components[0].n)
			return NW_EINVAL;
		result[i] = untested(&g, a.sum.n, a.r1);
	}
	start(result, n, options, out);
	if (out->status != NW_STATUS_OK)
		return NW_OK;
	if (options->paired &&
	    (rc = test_paired(components, result, n, out->lowest, options)) != NW_OK)
		return rc;
	return decide(result, n, options, out);
}

/* |x - median| of the finite values of a group; returns their number. */
static size_t
deviations(const struct nw_component *g, double *dev)
{
	double median;
	size_t i, m = 0;

	for (i = 0; i < g->n; i++)
		if (isfinite(g->x[i]))
			dev[m++] = g->x[i];
	if (m == 0)
		return 0;
	median = quantile(dev, m, 0.5);
	for (i = 0; i < m; i++)
		dev[i] = fabs(dev[i] - median);
	return m;
}

int
nw_brown_forsythe(const struct nw_component *groups, size_t n, struct nw_variance_test *out)
{
	struct nw_summary s, all = { 0 };
	double *dev, within = 0, between;
	size_t i, largest = 0, k = 0;

	*out = (struct nw_variance_test){ NW_STATUS_INSUFFICIENT, NAN, NAN, NAN, NAN };
	for (i = 0; i < n; i++)
		largest = groups[i].n > largest ? groups[i].n : largest;
	if ((dev = malloc((largest + 1) * sizeof(*dev))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++) {
		s = nw_summary_of(dev, deviations(&groups[i], dev));
		if (s.n < 2)
			continue;
		k++;
		within += nw_summary_variance(&s) * (double)(s.n - 1);
		nw_summary_merge(&all, &s);
	}
	free(dev);
	if (k < 2)
		return NW_OK;
	between = nw_summary_variance(&all) * (double)(all.n - 1) - within;
	out->df1 = (double)(k - 1);
	out->df2 = (double)all.n - (double)k;
	out->status = within > 0 ? NW_STATUS_OK : NW_STATUS_DEGENERATE;
	if (out->status == NW_STATUS_OK) {
		out->f = fmax(0, between) / out->df1 / (within / out->df2);
		out->p = nw_f_upper(out->f, out->df1, out->df2);
	}
	return NW_OK;
}

/* --- hidden waits --- */

/* The operations that the windows stand for, divided by `unit`; returns their number. */
static size_t
spread_points(const struct nw_stage_segment *s, double unit, double *out)
{
	size_t i, n = 0;

	for (i = 0; i < s->n_windows; i++) {
		double sd = isfinite(s->window_sd[i]) ? s->window_sd[i] : 0;

		if (!isfinite(s->window_mean[i]))
			continue;
		out[n++] = (s->window_mean[i] - sd) / unit;
		out[n++] = (s->window_mean[i] + sd) / unit;
	}
	return n;
}

/* Whether the groups' points deviate more in the second, by more than chance. `dev` is scratch. */
static int
spread_grew(const struct nw_component g[2], double n_eff, double *dev, bool *grew)
{
	struct nw_variance_test v;
	double mean[2] = { 0, 0 }, f;
	size_t k, i, n;
	int rc;

	for (k = 0; k < 2; k++) {
		n = deviations(&g[k], dev);
		for (i = 0; i < n; i++)
			mean[k] += dev[i] / (double)n;
	}
	if ((rc = nw_brown_forsythe(g, 2, &v)) != NW_OK || v.status != NW_STATUS_OK || n_eff <= 3)
		return rc;
	f = v.f * (n_eff - 2) / v.df2;
	*grew |= mean[1] > SPREAD_GROWTH * mean[0] && nw_f_upper(f, 1, n_eff - 2) < SPREAD_ALPHA;
	return NW_OK;
}

/* Squares of an autocorrelated series have the square of its autocorrelation (Bartlett 1935). */
static double
spread_n_eff(const struct nw_stage_segment *s)
{
	double r = nw_autocorr(s->window_mean, s->n_windows).r;

	r = isfinite(r) ? r : 0;
	return (double)s->n_windows * (1 - r * r) / (1 + r * r);
}

static int
spread_compare(
    const struct nw_stage_segment *before, const struct nw_stage_segment *after, bool *grew)
{
	const struct nw_stage_segment *s[2] = { before, after };
	size_t room = 2 * (before->n_windows + after->n_windows) + 2, k;
	double *x = calloc(2 * room, sizeof(*x)), *at, n_eff = 0;
	struct nw_component g[2];
	int rc = x != NULL ? NW_OK : NW_ENOMEM, relative;

	for (k = 0; rc == NW_OK && k < 2; k++)
		n_eff += spread_n_eff(s[k]);
	for (relative = 0; rc == NW_OK && relative < 2; relative++) {
		for (at = x, k = 0; k < 2; k++) {
			size_t n = spread_points(s[k], relative ? s[k]->tput_mean : 1, at);

			g[k] = (struct nw_component){ k == 0 ? "before" : "after", at, n };
			at += n;
		}
		rc = spread_grew(g, n_eff, x + room, grew);
	}
	free(x);
	return rc;
}

int
nw_hidden_wait(
    const struct nw_stage_segment *before, const struct nw_stage_segment *after, unsigned *found)
{
	bool grew = false;
	int rc = NW_OK;

	*found = 0;
	if (after->tput_mean > before->tput_mean * (1 + CHANGE_MIN) &&
	    after->delivered_bytes_per_s < before->delivered_bytes_per_s * (1 - CHANGE_MIN))
		*found |= NW_HIDDEN_FASTER_YET_LESS;
	if (after->ops_per_window < OPS_FALL * before->ops_per_window &&
	    before->window_mean != NULL && after->window_mean != NULL)
		rc = spread_compare(before, after, &grew);
	if (grew)
		*found |= NW_HIDDEN_FEWER_AND_WILDER;
	if (before->busy_fraction >= BUSY_MIN && after->busy_fraction < BUSY_MIN)
		*found |= NW_HIDDEN_UNACCOUNTED;
	return rc;
}
