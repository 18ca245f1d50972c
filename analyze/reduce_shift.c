/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether metrics follow the response more than chance has them follow: the test of shifts. See
 * narrows/reduce.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "analyze/reduce_in.h"
#include "analyze/standardise.h"
#include "narrows/err.h"

enum {
	POWERS = 5, /* of time, beside the constant */
	SHIFTS_MAX = 100,
	SHIFTS_MIN = 20,
	PURSUITS = 3
};

/* A metric's column, and its r with the rest of a response; r 0 if no metric varies. */
struct strongest {
	size_t column;
	double r;
};

struct shifts {
	size_t n; /* rows */
	size_t all_terms;
	size_t terms;    /* trends to remove: constant and courses, or all */
	size_t n_shifts; /* shift 0 among them */
	double *trend;   /* orthonormal columns of n: constant, courses, powers; owns all columns */
	double *y;       /* n_shifts columns of n: the response, shifted around */
	double *x;       /* n of each metric, without trends */
	bool *varies;    /* of each metric */
};

static double
dot(const double *a, const double *b, size_t n)
{
	return cblas_ddot((int)n, a, 1, b, 1);
}

/* Subtracts the projection on each of the first `terms` trends. */
static void
detrend(const struct shifts *s, double *x, size_t terms)
{
	for (size_t k = 0; k < terms; k++)
		cblas_daxpy(
		    (int)s->n, -dot(s->trend + k * s->n, x, s->n), s->trend + k * s->n, 1, x, 1);
}

/* Scales to length 1; false if nothing is left. */
static bool
normalise(double *x, size_t n, double before)
{
	double length = sqrt(dot(x, x, n));

	if (!(length > 1e-9 * before))
		return false;
	cblas_dscal((int)n, 1 / length, x, 1);
	return true;
}

/* Makes the next trend orthonormal to the earlier trends by Gram & Schmidt, twice for the digits; a
 * trend without anything new is 0. */
static void
trend_add(struct shifts *s)
{
	double *t = s->trend + s->all_terms * s->n, before = sqrt(dot(t, t, s->n));

	detrend(s, t, s->all_terms);
	detrend(s, t, s->all_terms);
	if (!normalise(t, s->n, before))
		memset(t, 0, s->n * sizeof(*t));
	s->all_terms++;
}

static void
trend_fill(struct shifts *s, const struct nw_reduce_options *opts)
{
	for (size_t k = 0; k <= opts->n_courses + POWERS; k++) {
		double *t = s->trend + k * s->n;

		for (size_t i = 0; i < s->n; i++)
			t[i] = k == 0 ? 1
			    : k <= opts->n_courses
			    ? opts->course[(k - 1) * s->n + i]
			    : pow(2 * (double)i / (double)s->n - 1, (double)(k - opts->n_courses));
		trend_add(s);
	}
}

/* The column without mean, missing values at the mean, without slow trend, of length 1; false
 * without variation. */
static bool
column_fill(const struct shifts *s, const double *from, double *to)
{
	double sum = 0, before;
	size_t have = 0;

	for (size_t i = 0; i < s->n; i++)
		if (isfinite(from[i])) {
			sum += from[i];
			have++;
		}
	for (size_t i = 0; i < s->n; i++)
		to[i] = isfinite(from[i]) ? from[i] - sum / (double)have : 0;
	before = sqrt(dot(to, to, s->n));
	detrend(s, to, s->terms);
	return isfinite(before) && normalise(to, s->n, before);
}

static int
shifts_init(struct shifts *s, const struct nw_reduce_options *opts, const struct nw_table *t,
    size_t n_shifts)
{
	size_t terms = 1 + opts->n_courses + POWERS, n = t->n_rows;

	*s = (struct shifts){ .n = n, .n_shifts = n_shifts };
	s->varies = calloc(t->n_columns + 1, sizeof(*s->varies));
	s->trend = calloc(terms + n_shifts + t->n_columns + 1, (n + 1) * sizeof(*s->trend));
	if (s->varies == NULL || s->trend == NULL)
		return NW_ENOMEM;
	s->y = s->trend + terms * n;
	s->x = s->y + n_shifts * n;
	trend_fill(s, opts);
	return NW_OK;
}

/* Copies the response of the first shift into all further shifts, each begun elsewhere. A
 * shifted response has trends again, unlike the metrics; the first one has, too, with its
 * courses. */
static void
shift_around(struct shifts *s)
{
	for (size_t k = 1; k < s->n_shifts; k++) {
		size_t by = k * s->n / s->n_shifts;
		double *y = s->y + k * s->n;

		memcpy(y, s->y + by, (s->n - by) * sizeof(*y));
		memcpy(y + s->n - by, s->y, by * sizeof(*y));
	}
	for (size_t k = 0; k < s->n_shifts; k++) {
		detrend(s, s->y + k * s->n, s->terms);
		(void)normalise(s->y + k * s->n, s->n, 1);
	}
}

/* Finds for each shift the closest metric to the rest of the response. */
static void
strongest_find(struct shifts *s, size_t n_metrics, struct strongest best[SHIFTS_MAX])
{
	double r[SHIFTS_MAX];

	for (size_t j = 0; j < n_metrics; j++) {
		if (!s->varies[j])
			continue;
		cblas_dgemv(CblasColMajor, CblasTrans, (int)s->n, (int)s->n_shifts, 1, s->y,
		    (int)s->n, s->x + j * s->n, 1, 0, r, 1);
		for (size_t k = 0; k < s->n_shifts; k++)
			if (fabs(r[k]) > fabs(best[k].r))
				best[k] = (struct strongest){ j, r[k] };
	}
}

/* The share of shifts explained as well as shift 0 is by PURSUITS metrics, each the closest to what
 * the earlier leave (matching pursuit, Mallat & Zhang 1993); 1 without a response. */
static double
share_as_strong(struct shifts *s, const struct nw_table *t, const double *y, size_t terms)
{
	double explained[SHIFTS_MAX] = { 0 };
	size_t as_strong = 0;

	s->terms = y == t->y ? terms : 0;
	if (!column_fill(s, y, s->y))
		return 1;
	s->terms = terms;
	shift_around(s);
	for (size_t j = 0; j < t->n_columns; j++)
		s->varies[j] = column_fill(s, t->x[j], s->x + j * s->n);
	for (int step = 0; step < PURSUITS; step++) {
		struct strongest best[SHIFTS_MAX] = { { 0, 0 } };

		strongest_find(s, t->n_columns, best);
		for (size_t k = 0; k < s->n_shifts; k++) {
			explained[k] += best[k].r * best[k].r;
			if (best[k].r != 0)
				cblas_daxpy((int)s->n, -best[k].r, s->x + best[k].column * s->n, 1,
				    s->y + k * s->n, 1);
		}
	}
	for (size_t k = 0; k < s->n_shifts; k++)
		as_strong += explained[k] >= explained[0];
	return (double)as_strong / (double)s->n_shifts;
}

int
reduce_shift_chance(const struct nw_table *t, const struct nw_reduce_options *opts,
    size_t memory_rows, double *chance)
{
	size_t n = t->n_rows, n_shifts = n / (memory_rows > 0 ? memory_rows : 1);
	struct shifts s;
	int rc;

	*chance = 1;
	blas_single_thread();
	n_shifts = n_shifts > SHIFTS_MAX ? SHIFTS_MAX : n_shifts;
	if (n_shifts < SHIFTS_MIN)
		return NW_OK;
	rc = shifts_init(&s, opts, t, n_shifts);
	*chance = rc == NW_OK ? 0 : 1;
	for (int whole = 0; rc == NW_OK && whole <= (opts->response != NULL); whole++) {
		const double *y = whole ? opts->response : t->y;

		*chance = fmax(*chance, share_as_strong(&s, t, y, 1 + opts->n_courses));
		*chance = fmax(*chance, share_as_strong(&s, t, y, s.all_terms));
	}
	free(s.trend);
	free(s.varies);
	return rc;
}
