/* SPDX-License-Identifier: BSD-3-Clause */
/* Families of metrics with the same story, and a representative of each family. See
 * narrows/correlate.h. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/autocorr.h"
#include "narrows/correlate.h"

static double
lag1(const double *x, size_t n)
{
	struct nw_autocorr a = nw_autocorr(x, n);

	return a.status == NW_STATUS_OK ? a.r1 : 0;
}

int
nw_correlations_of(const struct nw_prepared *prep, enum nw_missing missing, bool n_eff,
    struct nw_correlations *out)
{
	size_t p = prep->n_used;
	int rc;

	memset(out, 0, sizeof(*out));
	out->p = p;
	out->n_rows = (double)prep->n_rows;
	out->r = calloc(p + 1, (p + 1) * sizeof(*out->r));
	out->r_response = calloc(p + 1, sizeof(*out->r_response));
	if (missing == NW_MISSING_PAIRWISE)
		out->n_pairs = calloc(p + 1, (p + 1) * sizeof(*out->n_pairs));
	if (n_eff)
		out->lag1 = calloc(p + 1, sizeof(*out->lag1));
	if (out->r == NULL || out->r_response == NULL ||
	    (missing == NW_MISSING_PAIRWISE && out->n_pairs == NULL) ||
	    (n_eff && out->lag1 == NULL))
		return NW_ENOMEM;
	if (missing == NW_MISSING_PAIRWISE)
		rc = nw_correlate_pairwise(prep->x, p, prep->n_rows, out->r, out->n_pairs);
	else
		rc = nw_correlate(prep->x, p, prep->n_rows, out->r);
	if (rc == NW_OK)
		rc = nw_correlate_with(prep->x, p, prep->y, prep->n_rows, out->r_response);
	for (size_t j = 0; n_eff && j < p; j++)
		out->lag1[j] = lag1(prep->x[j], prep->n_rows);
	return rc;
}

void
nw_correlations_clear(struct nw_correlations *c)
{
	free(c->r);
	free(c->r_response);
	free(c->n_pairs);
	free(c->lag1);
	memset(c, 0, sizeof(*c));
}

/* --- edges --- */
/* Independent rows of a pair. Opposite autocorrelations would make more rows than the table has:
 * the function takes the table's rows then. */
static double
pair_size(const struct nw_correlations *c, size_t i, size_t j)
{
	double n = c->n_pairs != NULL ? (double)c->n_pairs[i * c->p + j] : c->n_rows, ab;

	if (c->lag1 == NULL)
		return n;
	ab = c->lag1[i] * c->lag1[j];
	return ab > 0 ? n * (1 - ab) / (1 + ab) : n;
}

/* `critical` belongs to n_rows, the least critical r of any pair: most pairs end at one comparison.
 * NaN: no pair can pass. */
static bool
is_edge(const struct nw_correlations *c, const struct nw_cluster_options *opts, double critical,
    size_t i, size_t j)
{
	double r = fabs(c->r[i * c->p + j]);

	if (!(r > critical) && !(r >= 1 && !isnan(critical)))
		return false;
	if (c->n_pairs == NULL && !opts->n_eff)
		return true;
	return nw_correlation_test(r, pair_size(c, i, j), opts->rho0, opts->alpha).significant;
}

static size_t
find(size_t *parent, size_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

/* The smaller index becomes the root, so a root is the first member of its cluster. */
static void
join(size_t *parent, size_t i, size_t j)
{
	i = find(parent, i);
	j = find(parent, j);
	if (i < j)
		parent[j] = i;
	else
		parent[i] = j;
}

static void
link_all(
    const struct nw_correlations *c, const struct nw_cluster_options *opts, struct nw_clusters *out)
{
	double critical = nw_correlation_critical(c->n_rows, opts->rho0, opts->alpha);

	for (size_t i = 0; i < c->p; i++)
		out->label[i] = i;
	for (size_t i = 0; i < c->p; i++)
		for (size_t j = i + 1; j < c->p; j++)
			if (is_edge(c, opts, critical, i, j)) {
				join(out->label, i, j);
				out->n_edges++;
			}
}

/* Roots become 0, 1, ... in order. Parents come before their children, so a root has its number by
 * then. */
static void
number(struct nw_clusters *out)
{
	for (size_t i = 0; i < out->n_metrics; i++)
		out->label[i] = find(out->label, i);
	for (size_t i = 0; i < out->n_metrics; i++) {
		size_t root = out->label[i];

		if (root == i) {
			out->rep[out->n_clusters] = i;
			out->label[i] = out->n_clusters++;
		} else
			out->label[i] = out->label[root];
		out->size[out->label[i]]++;
	}
}

static double
strength(const struct nw_correlations *c, size_t i)
{
	return isnan(c->r_response[i]) ? -1 : fabs(c->r_response[i]);
}

/* The first pass finds the strongest metric, the second the first metric as strong but for
 * rounding. */
static int
choose_representatives(const struct nw_correlations *c, struct nw_clusters *out)
{
	double *best = calloc(out->n_clusters + 1, sizeof(*best));

	if (best == NULL)
		return NW_ENOMEM;
	for (size_t k = 0; k < out->n_clusters; k++)
		best[k] = -1;
	for (size_t i = 0; i < out->n_metrics; i++)
		best[out->label[i]] = fmax(best[out->label[i]], strength(c, i));
	for (size_t i = out->n_metrics; i-- > 0;)
		if (strength(c, i) >= best[out->label[i]] - 1e-12)
			out->rep[out->label[i]] = i;
	free(best);
	return NW_OK;
}

static void
find_ends(const struct nw_correlations *c, struct nw_clusters *out)
{
	for (size_t k = 0; k < out->n_clusters; k++)
		out->min_abs_r[k] = NAN;
	for (size_t i = 0; i < c->p; i++)
		for (size_t j = i + 1; j < c->p && out->size[out->label[i]] > 1; j++)
			if (out->label[i] == out->label[j])
				out->min_abs_r[out->label[i]] =
				    fmin(out->min_abs_r[out->label[i]], fabs(c->r[i * c->p + j]));
}

int
nw_cluster(
    const struct nw_correlations *c, const struct nw_cluster_options *opts, struct nw_clusters *out)
{
	memset(out, 0, sizeof(*out));
	out->n_metrics = c->p;
	out->label = calloc(c->p + 1, sizeof(*out->label));
	out->rep = calloc(c->p + 1, sizeof(*out->rep));
	out->size = calloc(c->p + 1, sizeof(*out->size));
	out->min_abs_r = calloc(c->p + 1, sizeof(*out->min_abs_r));
	if (out->label == NULL || out->rep == NULL || out->size == NULL || out->min_abs_r == NULL)
		return NW_ENOMEM;
	link_all(c, opts, out);
	number(out);
	find_ends(c, out);
	return choose_representatives(c, out);
}

void
nw_clusters_clear(struct nw_clusters *cl)
{
	free(cl->label);
	free(cl->rep);
	free(cl->size);
	free(cl->min_abs_r);
	memset(cl, 0, sizeof(*cl));
}
