/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rows and metrics take part. The order of the steps is part of the definition: see
 * narrows/correlate.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/standardise.h"
#include "narrows/correlate.h"

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Counts the rows unlike the most frequent value; sorts v. */
static size_t
off_mode(double *v, size_t n)
{
	size_t run = 0, longest = 0;

	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++) {
		run = i > 0 && v[i] == v[i - 1] ? run + 1 : 1;
		longest = run > longest ? run : longest;
	}
	return n - longest;
}

/* Rows with a response go to out->row; `y` NULL: all. */
static void
take_rows(const double *y, size_t n, struct nw_prepared *out)
{
	for (size_t i = 0; i < n; i++)
		if (y == NULL || isfinite(y[i]))
			out->row[out->n_rows++] = i;
}

static size_t
count_missing(const double *x, const struct nw_prepared *out)
{
	size_t missing = 0;

	for (size_t i = 0; i < out->n_rows; i++)
		missing += !isfinite(x[out->row[i]]);
	return missing;
}

/* Drops the rows where any metric still in use has no value. */
static void
drop_incomplete_rows(const double *const *x, struct nw_prepared *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->n_rows; i++) {
		size_t j = 0;

		while (j < out->n_metrics &&
		    (out->class[j] != NW_METRIC_USED || isfinite(x[j][out->row[i]])))
			j++;
		if (j == out->n_metrics)
			out->row[kept++] = out->row[i];
	}
	out->n_rows = kept;
}

/* Copies the rows of the column to `z`, gaps as NaN, and the finite values to `there`; returns
 * their number. */
static size_t
gather(const double *x, const struct nw_prepared *out, double *z, double *there)
{
	size_t n = 0;

	for (size_t i = 0; i < out->n_rows; i++) {
		double v = x[out->row[i]];

		z[i] = isfinite(v) ? v : NAN;
		if (isfinite(v))
			there[n++] = v;
	}
	return n;
}

static enum nw_metric_class
classify(double *there, size_t n, const struct nw_prepare_options *opts, bool drop_constant)
{
	if (drop_constant && column_is_constant(there, n))
		return NW_METRIC_CONSTANT;
	if (opts->near_zero_filter && !column_is_constant(there, n)) {
		size_t differ = off_mode(there, n);

		if (differ < 5 || (double)differ < 0.02 * (double)n)
			return NW_METRIC_RARE;
	}
	return NW_METRIC_USED;
}

int
nw_prepare(const double *const *x, size_t p, const double *y, size_t n,
    const struct nw_prepare_options *opts, bool drop_constant, struct nw_prepared *out)
{
	double *there = NULL;
	int rc = NW_ENOMEM;

	memset(out, 0, sizeof(*out));
	out->n_metrics = p;
	out->row = calloc(n + 1, sizeof(*out->row));
	out->class = calloc(p + 1, sizeof(*out->class));
	out->used = calloc(p + 1, sizeof(*out->used));
	out->x = calloc(p + 1, sizeof(*out->x));
	out->y = calloc(n + 1, sizeof(*out->y));
	out->store = calloc(p + 1, (n + 1) * sizeof(*out->store));
	there = calloc(n + 1, sizeof(*there));
	if (out->row == NULL || out->class == NULL || out->used == NULL || out->x == NULL ||
	    out->y == NULL || out->store == NULL || there == NULL)
		goto out;
	take_rows(y, n, out);
	for (size_t j = 0; j < p; j++)
		if ((double)count_missing(x[j], out) > opts->max_missing * (double)out->n_rows)
			out->class[j] = NW_METRIC_MISSING;
	if (opts->missing == NW_MISSING_LISTWISE)
		drop_incomplete_rows(x, out);
	for (size_t j = 0; j < p; j++) {
		double *z = out->store + out->n_used * out->n_rows;

		if (out->class[j] != NW_METRIC_USED)
			continue;
		out->class[j] = classify(there, gather(x[j], out, z, there), opts, drop_constant);
		if (out->class[j] != NW_METRIC_USED)
			continue;
		out->x[out->n_used] = z;
		out->used[out->n_used++] = j;
	}
	for (size_t i = 0; y != NULL && i < out->n_rows; i++)
		out->y[i] = y[out->row[i]];
	rc = NW_OK;
out:
	free(there);
	return rc;
}

void
nw_prepared_clear(struct nw_prepared *prep)
{
	free(prep->row);
	free(prep->class);
	free(prep->used);
	free((void *)prep->x);
	free(prep->y);
	free(prep->store);
	memset(prep, 0, sizeof(*prep));
}
