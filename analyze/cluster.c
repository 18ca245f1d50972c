/* SPDX-License-Identifier: BSD-3-Clause */
/* Families of metrics with the same story, and a representative of each family. See
 * narrows/correlate.h. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/autocorr.h"
#include "narrows/correlate.h"
#include "narrows/special.h"

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

/* What the Z test of nw_correlation_test() asks of every pair alike. */
struct edge_test {
	double critical; /* r for n_rows rows, the least of any pair; NaN: no pair can pass */
	double z_rho0, z_critical;
	bool each; /* pairs have numbers of rows of their own */
};

static bool
is_edge(const struct nw_correlations *c, const struct edge_test *t, size_t i, size_t j)
{
	double r = fabs(c->r[i * c->p + j]), n;

	if (!(r > t->critical) && !(r >= 1 && !isnan(t->critical)))
		return false;
	if (!t->each)
		return true;
	n = pair_size(c, i, j);
	return n > 3 && nw_correlation_z(r, n, t->z_rho0) > t->z_critical;
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

/* Whether any of the EDGES values from r on may be an edge: most are none, and a loop without a way
 * out takes several at a time. */
enum { EDGES = 8 };
static bool
may_have_edge(const double *r, double critical)
{
	int any = 0;

	for (int k = 0; k < EDGES; k++)
		any |= fabs(r[k]) >= critical;
	return any;
}

static void
link_all(
    const struct nw_correlations *c, const struct nw_cluster_options *opts, struct nw_clusters *out)
{
	struct edge_test t = { nw_correlation_critical(c->n_rows, opts->rho0, opts->alpha),
		atanh(opts->rho0), nw_norm_quantile(1 - opts->alpha),
		c->n_pairs != NULL || opts->n_eff };

	for (size_t i = 0; i < c->p; i++)
		out->label[i] = i;
	for (size_t i = 0; i < c->p; i++)
		for (size_t j = i + 1; j < c->p; j++) {
			while (j + EDGES <= c->p && !may_have_edge(c->r + i * c->p + j, t.critical))
				j += EDGES;
			if (j < c->p && is_edge(c, &t, i, j)) {
				join(out->label, i, j);
				out->n_edges++;
			}
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

/* Each member looks at the cluster's earlier members, chained by `before`. */
static int
find_ends(const struct nw_correlations *c, struct nw_clusters *out)
{
	size_t *before = calloc(c->p + 1, sizeof(*before)), *last = calloc(c->p + 1, sizeof(*last));
	int rc = before != NULL && last != NULL ? NW_OK : NW_ENOMEM;

	for (size_t k = 0; k < out->n_clusters; k++)
		out->min_abs_r[k] = NAN;
	for (size_t j = 0; rc == NW_OK && j < c->p; j++) {
		size_t k = out->label[j];

		before[j] = last[k];
		last[k] = j + 1; /* 0: none */
		for (size_t i = before[j]; i > 0; i = before[i - 1])
			out->min_abs_r[k] = fmin(out->min_abs_r[k], fabs(c->r[(i - 1) * c->p + j]));
	}
	free(before);
	free(last);
	return rc;
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
	if (find_ends(c, out) != NW_OK)
		return NW_ENOMEM;
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
