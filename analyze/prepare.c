/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rows and metrics take part. The order of the steps is part of the definition: see
 * narrows/correlate.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/standardise.h"
#include "narrows/correlate.h"

/* Whether fewer than 5 values, or fewer than 2 %, differ from the most frequent value. That value
 * has a majority then, once there are 10, and one pass finds it (Boyer & Moore 1991); of fewer
 * values each is tried. */
static bool
is_rare(const double *v, size_t n)
{
	double mode = n > 0 ? v[0] : 0;
	size_t ahead = 0, same = 0, longest = 0, i, k;

	for (i = 0; i < n; i++) {
		if (ahead == 0)
			mode = v[i];
		ahead += v[i] == mode ? 1 : (size_t)-1;
	}
	for (i = 0; i < n; i++)
		same += v[i] == mode;
	for (i = 0; n < 10 && i < n; i++) {
		for (longest = k = 0; k < n; k++)
			longest += v[k] == v[i];
		same = longest > same ? longest : same;
	}
	return n - same < 5 || (double)(n - same) < 0.02 * (double)n;
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
classify(const double *there, size_t n, const struct nw_prepare_options *opts, bool drop_constant)
{
	if (drop_constant && column_is_constant(there, n))
		return NW_METRIC_CONSTANT;
	return opts->near_zero_filter && !column_is_constant(there, n) && is_rare(there, n)
	    ? NW_METRIC_RARE
	    : NW_METRIC_USED;
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
