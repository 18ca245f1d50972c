/* SPDX-License-Identifier: BSD-3-Clause */
/* Pearson, Spearman and the Z test. See narrows/correlate.h. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "analyze/standardise.h"
#include "narrows/correlate.h"
#include "narrows/special.h"

/* Columns of S for R = S'S. */
struct columns {
	double *z;    /* n x p, column after column */
	bool *varies; /* p */
};

static int
columns_init(struct columns *s, size_t p, size_t n)
{
	if (p > INT_MAX || n > INT_MAX) {
		memset(s, 0, sizeof(*s));
		return NW_ETOOBIG;
	}
	s->z = calloc(p + 1, (n + 1) * sizeof(*s->z));
	s->varies = calloc(p + 1, sizeof(*s->varies));
	return s->z != NULL && s->varies != NULL ? NW_OK : NW_ENOMEM;
}

static void
columns_clear(struct columns *s)
{
	free(s->z);
	free(s->varies);
}

/* Clips to [-1, 1] and copies the upper half to the lower, in tiles, so that both sides stay in
 * cache. */
static void
mirror(double *r, size_t p)
{
	enum { TILE = 32 };

	for (size_t i0 = 0; i0 < p; i0 += TILE)
		for (size_t j0 = i0; j0 < p; j0 += TILE)
			for (size_t i = i0; i < i0 + TILE && i < p; i++)
				for (size_t j = j0 > i ? j0 : i; j < j0 + TILE && j < p; j++) {
					double v = r[i * p + j];

					v = v > 1 ? 1 : v < -1 ? -1 : v;
					r[i * p + j] = v;
					r[j * p + i] = v;
				}
}

/* R = S'S; a constant column has no r, not even with itself. */
static void
cross(const struct columns *s, size_t p, size_t n, double *r)
{
	if (p == 0)
		return;
	blas_single_thread();
	cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)p, (int)n, 1, s->z,
	    n > 0 ? (int)n : 1, 0, r, (int)p);
	mirror(r, p);
	for (size_t i = 0; i < p; i++)
		for (size_t j = 0; j < p && !s->varies[i]; j++)
			r[i * p + j] = r[j * p + i] = NAN;
}

int
nw_correlate(const double *const *x, size_t p, size_t n, double *r)
{
	struct columns s;
	struct standard unused;
	int rc = columns_init(&s, p, n);

	for (size_t j = 0; rc == NW_OK && j < p; j++)
		s.varies[j] = column_standardise(x[j], n, true, s.z + j * n, &unused);
	if (rc == NW_OK)
		cross(&s, p, n, r);
	columns_clear(&s);
	return rc;
}

/* --- pairs with gaps --- */
struct pair_scratch {
	double *a, *b, *za, *zb; /* n each */
};

/* The rows where both are there. */
static size_t
complete_pair(const double *x, const double *y, size_t n, struct pair_scratch *t)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(x[i]) && isfinite(y[i])) {
			t->a[m] = x[i];
			t->b[m++] = y[i];
		}
	return m;
}

/* r of columns of no mean and length 1. */
static double
product(const double *za, const double *zb, size_t m)
{
	double r = cblas_ddot((int)m, za, 1, zb, 1);

	return r > 1 ? 1 : r < -1 ? -1 : r;
}

static double
pair_r(const double *a, const double *b, size_t m, struct pair_scratch *t)
{
	struct standard unused;

	if (m < 2 || !column_standardise(a, m, true, t->za, &unused) ||
	    !column_standardise(b, m, true, t->zb, &unused))
		return NAN;
	return product(t->za, t->zb, m);
}

/* Ranks of v, ties get their mean; `order` is scratch: (value, row) pairs. */
struct ranked {
	double value;
	size_t row;
};

static int
by_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

static void
rank(const double *v, size_t n, struct ranked *order, double *out)
{
	size_t i, j, k;

	for (i = 0; i < n; i++)
		order[i] = (struct ranked){ v[i], i };
	qsort(order, n, sizeof(*order), by_ranked);
	for (i = 0; i < n; i = j) {
		for (j = i + 1; j < n && order[j].value == order[i].value; j++)
			;
		for (k = i; k < j; k++)
			out[order[k].row] = (double)(i + j + 1) / 2;
	}
}

static bool
has_gaps(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return true;
	return false;
}

/* All pairs: complete columns by dsyrk, pairs with gaps singly. `ranks` asks for ranks among the
 * compared rows. */
static int
correlate_with_gaps(
    const double *const *x, size_t p, size_t n, bool ranks, double *r, size_t *n_pairs)
{
	struct columns s;
	struct standard unused;
	struct pair_scratch t = { 0 };
	struct ranked *order = calloc(n + 1, sizeof(*order));
	bool *gaps = calloc(p + 1, sizeof(*gaps));
	double *scratch = calloc(4, (n + 1) * sizeof(*scratch));
	int rc = columns_init(&s, p, n);

	if (rc == NW_OK && (order == NULL || gaps == NULL || scratch == NULL))
		rc = NW_ENOMEM;
	if (rc != NW_OK)
		goto out;
	t = (struct pair_scratch){ scratch, scratch + n, scratch + 2 * n, scratch + 3 * n };
	for (size_t j = 0; j < p; j++) {
		gaps[j] = has_gaps(x[j], n);
		if (gaps[j])
			continue;
		if (ranks)
			rank(x[j], n, order, t.a);
		s.varies[j] = column_standardise(ranks ? t.a : x[j], n, true, s.z + j * n, &unused);
	}
	cross(&s, p, n, r);
	for (size_t i = 0; i < p; i++)
		for (size_t j = i; j < p; j++) {
			size_t m = n;

			if (gaps[i] || gaps[j]) {
				m = complete_pair(x[i], x[j], n, &t);
				if (ranks) {
					rank(t.a, m, order, t.za);
					memcpy(t.a, t.za, m * sizeof(*t.a));
					rank(t.b, m, order, t.za);
					memcpy(t.b, t.za, m * sizeof(*t.b));
				}
				r[i * p + j] = r[j * p + i] = pair_r(t.a, t.b, m, &t);
			}
			if (n_pairs != NULL)
				n_pairs[i * p + j] = n_pairs[j * p + i] = m;
		}
out:
	columns_clear(&s);
	free(order);
	free(gaps);
	free(scratch);
	return rc;
}

int
nw_correlate_pairwise(const double *const *x, size_t p, size_t n, double *r, size_t *n_pairs)
{
	return correlate_with_gaps(x, p, n, false, r, n_pairs);
}

int
nw_correlate_ranks(const double *const *x, size_t p, size_t n, double *rho)
{
	return correlate_with_gaps(x, p, n, true, rho, NULL);
}

int
nw_correlate_with(const double *const *x, size_t p, const double *y, size_t n, double *r)
{
	double *scratch = calloc(5, (n + 1) * sizeof(*scratch)), *zy = scratch + 4 * n;
	struct pair_scratch t;
	struct standard unused;
	bool whole, varies;

	if (scratch == NULL)
		return NW_ENOMEM;
	t = (struct pair_scratch){ scratch, scratch + n, scratch + 2 * n, scratch + 3 * n };
	whole = n >= 2 && !has_gaps(y, n);
	varies = whole && column_standardise(y, n, true, zy, &unused);
	for (size_t j = 0; j < p; j++) {
		if (whole && !has_gaps(x[j], n)) {
			r[j] = varies && column_standardise(x[j], n, true, t.za, &unused)
			    ? product(t.za, zy, n)
			    : NAN;
		} else {
			size_t m = complete_pair(x[j], y, n, &t);

			r[j] = pair_r(t.a, t.b, m, &t);
		}
	}
	free(scratch);
	return NW_OK;
}

/* --- the Z test --- */
double
nw_correlation_critical(double n, double rho0, double alpha)
{
	if (!(n > 3) || !(rho0 < 1))
		return NAN;
	return tanh(atanh(rho0) + nw_norm_quantile(1 - alpha) / sqrt(n - 3));
}

double
nw_correlation_z(double r, double n, double z_rho0)
{
	return fabs(r) >= 1 ? INFINITY : (atanh(fabs(r)) - z_rho0) * sqrt(n - 3);
}

struct nw_correlation_test
nw_correlation_test(double r, double n, double rho0, double alpha)
{
	struct nw_correlation_test t = { NAN, NAN, nw_correlation_critical(n, rho0, alpha), false };

	if (isnan(r) || isnan(t.r_critical))
		return t;
	t.z = nw_correlation_z(r, n, atanh(rho0));
	t.p = nw_norm_upper(t.z);
	t.significant = t.z > nw_norm_quantile(1 - alpha);
	return t;
}
