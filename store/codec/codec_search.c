/* SPDX-License-Identifier: BSD-3-Clause */
/* Relations between columns, found by trial. A few rows choose the relations worth a closer look, a
 * stretch of rows measures the savings, and the largest saving goes first: a mean may follow from
 * sum and count, and then the sum cannot follow from the mean. The trials must not cost more than
 * the relations save: only columns with many bits of their own are explained, by at most
 * ARGUMENTS_MAX other columns, and sums of two are looked up in a sorted list instead of compared
 * one by one. */
#include "store/codec/codec_search.h"

#include <stdlib.h>

#include "store/codec/codec_bits.h"

enum {
	SAMPLE_ROWS = 16,
	SAMPLE_AGREE = 12,  /* sample rows needed for a relation */
	PROBES = 2,         /* rows for looking up pairs */
	GLIMPSE_ROWS = 128, /* consecutive rows for estimating savings */
	ROWS_MIN = 32,
	ARGUMENTS_MAX = 128,
	DEAR_BITS = 3, /* per row: below, there is nothing to gain */
	CANDIDATES_PER_COLUMN = 6,
	EXTREMES_MAX = 8,
	BUDGET_PER_VALUE = 2, /* rows computed in search of relations, per value of the chunk */
	BUDGET_MIN = 1 << 16,
	MEASURING = 4, /* cost of measuring a row, in computed rows */
	DEPTH_UNKNOWN = 255,
	DEPTH_CIRCLE = 254
};

struct candidate {
	uint32_t column, order; /* order of discovery, kept by sorting among equals */
	struct column_plan plan;
	int64_t saving_bits;
};

struct pair {
	uint32_t low, high;
};

struct column_search {
	double (*some)[SAMPLE_ROWS];     /* [n_columns] values of the sample rows */
	uint32_t *argument, n_arguments; /* columns allowed as arguments */
	/* columns with many bits, sorted by their value in the probed row */
	uint32_t *target, n_targets;
	uint64_t *own_bits;     /* [n_columns] bits of each column by itself, on the glimpse */
	const double **glimpse; /* [n_columns] */
	uint32_t n_glimpse;
	struct candidate *found;
	uint32_t n_found, cap_found;
	uint8_t *n_tried; /* [n_columns] candidates so far */
	uint8_t *depth;   /* [n_columns] columns needed by each column */
	bool *explained;  /* [n_columns] by another */
	int64_t budget;   /* budget of rows left to compute */
	/* of the run */
	struct column_work *work;
	const struct column_plan *plan;
	uint32_t n_columns, n;
};

struct column_search *
column_search_new(uint32_t n_columns)
{
	struct column_search *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->cap_found = n_columns * CANDIDATES_PER_COLUMN;
	s->some = malloc(n_columns * sizeof(*s->some));
	s->argument = malloc(n_columns * sizeof(*s->argument));
	s->target = malloc(n_columns * sizeof(*s->target));
	s->own_bits = malloc(n_columns * sizeof(*s->own_bits));
	s->glimpse = malloc(n_columns * sizeof(*s->glimpse));
	s->found = malloc(s->cap_found * sizeof(*s->found));
	s->n_tried = malloc(n_columns);
	s->depth = malloc(n_columns);
	s->explained = malloc(n_columns * sizeof(*s->explained));
	if (s->some == NULL || s->argument == NULL || s->target == NULL || s->own_bits == NULL ||
	    s->glimpse == NULL || s->found == NULL || s->n_tried == NULL || s->depth == NULL ||
	    s->explained == NULL) {
		column_search_free(s);
		return NULL;
	}
	return s;
}

void
column_search_free(struct column_search *s)
{
	if (s == NULL)
		return;
	free(s->some);
	free(s->argument);
	free(s->target);
	free(s->own_bits);
	free(s->glimpse);
	free(s->found);
	free(s->n_tried);
	free(s->depth);
	free(s->explained);
	free(s);
}

/* --- preparing --- */

static void
take_sample(struct column_search *s, const double *const *value, uint32_t n)
{
	uint32_t c, i, first;

	s->n_glimpse = n < GLIMPSE_ROWS ? n : GLIMPSE_ROWS;
	first = (n - s->n_glimpse) / 2;
	for (c = 0; c < s->n_columns; c++) {
		for (i = 0; i < SAMPLE_ROWS; i++)
			s->some[c][i] = value[c][((uint64_t)i * 2 + 1) * n / (2 * SAMPLE_ROWS)];
		s->glimpse[c] = value[c] + first;
	}
}

/* Columns that move come first. A column of zeros explains nothing; another constant may be the
 * block size behind a rate and a duration. */
static void
pick_arguments(struct column_search *s)
{
	uint32_t c;
	double v;

	s->n_arguments = 0;
	for (c = 0; c < s->n_columns && s->n_arguments < ARGUMENTS_MAX; c++)
		if (s->plan[c].form != FORM_EQUAL)
			s->argument[s->n_arguments++] = c;
	for (c = 0; c < s->n_columns && s->n_arguments < ARGUMENTS_MAX; c++) {
		v = s->some[c][0];
		if (s->plan[c].form == FORM_EQUAL && v != 0 && v - v == 0)
			s->argument[s->n_arguments++] = c;
	}
}

static void
pick_targets(struct column_search *s)
{
	struct column_plan own;
	uint32_t c;

	s->n_targets = 0;
	for (c = 0; c < s->n_columns; c++) {
		s->n_tried[c] = 0;
		s->explained[c] = false;
		if (s->plan[c].form == FORM_EQUAL ||
		    s->plan[c].cost_bits < (uint64_t)s->n * DEAR_BITS)
			continue;
		s->target[s->n_targets++] = c;
		own = s->plan[c];
		s->own_bits[c] = column_cost(s->work, s->glimpse, s->n_glimpse, c, &own);
	}
}

/* Whether there is enough left for so many rows. Bytes of a stranger must not make us search for
 * ever. */
static bool
spend(struct column_search *s, uint32_t rows)
{
	s->budget -= rows;
	return s->budget >= 0;
}

/* --- candidates --- */

static void
consider(struct column_search *s, uint32_t c, struct column_plan plan)
{
	struct candidate *cand = &s->found[s->n_found];
	uint64_t bits;

	if (s->n_tried[c] == CANDIDATES_PER_COLUMN || !spend(s, MEASURING * s->n_glimpse))
		return;
	plan.skip = SKIP_NONE;
	bits = column_cost(s->work, s->glimpse, s->n_glimpse, c, &plan);
	if (bits >= s->own_bits[c])
		return;
	s->n_tried[c]++;
	s->n_found++;
	cand->column = c;
	cand->order = s->n_found;
	cand->plan = plan;
	cand->saving_bits = (int64_t)(s->own_bits[c] - bits);
}

/* Returns true if an earlier probe has found the relation. */
static bool
is_known(const struct column_search *s, uint32_t c, const struct relation *rel)
{
	uint32_t i;

	for (i = 0; i < s->n_found; i++)
		if (s->found[i].column == c && s->found[i].plan.guess == GUESS_RELATION &&
		    memcmp(&s->found[i].plan.relation, rel, sizeof(*rel)) == 0)
			return true;
	return false;
}

static bool
is_target(const struct column_search *s, uint32_t c)
{
	uint32_t i;

	for (i = 0; i < s->n_targets; i++)
		if (s->target[i] == c)
			return true;
	return false;
}

/* In how many sample rows y is a op b to within rounding. */
static unsigned
count_agreeing(const struct column_search *s, const struct relation *rel, uint32_t y)
{
	const double *args[2] = { s->some[rel->arg[0]], s->some[rel->arg[1]] };
	struct relation local = { rel->op, { 0, 1 } };
	double p[SAMPLE_ROWS];
	unsigned i, agree = 0;

	relation_compute(&local, args, SAMPLE_ROWS, p);
	for (i = 0; i < SAMPLE_ROWS; i++)
		agree += fabs(p[i] - s->some[y][i]) <= 1e-14 * fabs(p[i]);
	return agree;
}

static void
consider_function(struct column_search *s, enum relation_op op, uint32_t a, uint32_t b, uint32_t y)
{
	struct column_plan plan = s->plan[y];

	plan.guess = GUESS_RELATION;
	plan.relation = (struct relation){ op, { a, b } };
	if (y == a || y == b || !spend(s, SAMPLE_ROWS) ||
	    count_agreeing(s, &plan.relation, y) < SAMPLE_AGREE || is_known(s, y, &plan.relation))
		return;
	if (plan.form != FORM_SCALED || op == RELATION_QUOTIENT)
		plan.form = FORM_ORDER;
	consider(s, y, plan);
}

/* Sorts targets by their value in one row, for the search of a given value. */
static void
sort_targets(struct column_search *s, unsigned probe)
{
	uint32_t i, j, c;

	for (i = 1; i < s->n_targets; i++) {
		c = s->target[i];
		for (j = i; j > 0 && s->some[s->target[j - 1]][probe] > s->some[c][probe]; j--)
			s->target[j] = s->target[j - 1];
		s->target[j] = c;
	}
}

static void
look_up(
    struct column_search *s, unsigned probe, double p, enum relation_op op, uint32_t a, uint32_t b)
{
	double slack = 1e-14 * fabs(p);
	uint32_t low = 0, high = s->n_targets, mid;

	if (!(fabs(p) > 0) || p - p != 0)
		return;
	while (low < high) {
		mid = (low + high) / 2;
		if (s->some[s->target[mid]][probe] < p - slack)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < s->n_targets && s->some[s->target[low]][probe] <= p + slack; low++)
		consider_function(s, op, a, b, s->target[low]);
}

static void
look_up_pairs(struct column_search *s, unsigned probe)
{
	uint32_t i, j, a, b;
	double u, v;

	sort_targets(s, probe);
	for (i = 0; i < s->n_arguments; i++) {
		a = s->argument[i];
		u = s->some[a][probe];
		look_up(s, probe, u, RELATION_SAME, a, a);
		for (j = 0; j < i; j++) {
			b = s->argument[j];
			v = s->some[b][probe];
			look_up(s, probe, u + v, RELATION_SUM, a, b);
			look_up(s, probe, u - v, RELATION_DIFFERENCE, a, b);
			look_up(s, probe, v - u, RELATION_DIFFERENCE, b, a);
			look_up(s, probe, u * v, RELATION_PRODUCT, a, b);
			look_up(s, probe, u / v, RELATION_QUOTIENT, a, b);
			look_up(s, probe, v / u, RELATION_QUOTIENT, b, a);
		}
	}
}

/* Whether y is a divided by whole units: what a / y misses of an integer is rounding, then, and no
 * more. */
static bool
is_ratio(const double *a, const double *y, double power)
{
	unsigned i, agree = 0;
	double v, off;

	for (i = 0; i < SAMPLE_ROWS && agree + SAMPLE_ROWS - i >= SAMPLE_AGREE; i++) {
		v = a[i] / y[i] * power;
		off = fabs(v - (double)number_round(v));
		agree += fabs(v) >= 2 && off <= 0.01 && off <= 2e-15 * fabs(v);
	}
	return agree >= SAMPLE_AGREE;
}

static void
look_for_ratio(struct column_search *s, uint32_t y)
{
	struct column_plan plan = { .form = FORM_RATIO };
	uint32_t i, a;
	int digits, guess;

	for (i = 0; i < s->n_arguments && spend(s, SAMPLE_ROWS); i++) {
		a = s->argument[i];
		for (digits = 0; digits <= 9; digits += 3) {
			if (a == y ||
			    !is_ratio(s->some[a], s->some[y], scale_power((unsigned)digits)))
				continue;
			plan.numerator = a;
			plan.scale = (struct number_scale){ (uint8_t)digits, true };
			for (guess = GUESS_BASE; guess <= GUESS_PREVIOUS; guess++) {
				plan.guess = (enum column_guess)guess;
				consider(s, y, plan);
			}
			break;
		}
	}
}

/* --- count, mean, extremes, deviation --- */

static bool
all_between(const double *low, const double *y, const double *high)
{
	unsigned i;

	for (i = 0; i < SAMPLE_ROWS; i++)
		if (!(low[i] <= y[i] && y[i] <= high[i]))
			return false;
	return true;
}

/* The deviation of n values is at most their range, and at least that over the root of 2 (n -
 * 1). */
static bool
may_spread(const double *sd, const double *low, const double *high)
{
	double range;
	unsigned i, some = 0;

	for (i = 0; i < SAMPLE_ROWS; i++) {
		range = high[i] - low[i];
		if (!(range >= 0 && sd[i] <= range && sd[i] * 64 >= range))
			return false;
		some += sd[i] > 0;
	}
	return some >= SAMPLE_ROWS / 2;
}

static unsigned
ulps_bits(const struct column_search *s, const struct relation *rel, uint32_t y)
{
	const double *args[RELATION_ARGS_MAX];
	struct relation local = { rel->op, { 0, 1, 2, 3, 4 } };
	double p[SAMPLE_ROWS];
	unsigned i, bits = 0;

	for (i = 0; i < relation_args(rel->op); i++)
		args[i] = s->some[rel->arg[i]];
	relation_compute(&local, args, SAMPLE_ROWS, p);
	for (i = 0; i < SAMPLE_ROWS; i++)
		bits += bits_width(
		    fold_sign(wrap_sub(number_order(s->some[y][i]), number_order(p[i]))));
	return bits;
}

static bool
is_count(const struct column_search *s, uint32_t c)
{
	unsigned i;

	for (i = 0; i < SAMPLE_ROWS; i++)
		if (!(s->some[c][i] >= 1 && s->some[c][i] == (double)number_round(s->some[c][i])))
			return false;
	return true;
}

static void
look_for_pooled(struct column_search *s, const struct relation *spread)
{
	struct relation try = { RELATION_POOLED,
		{ spread->arg[0], spread->arg[2], spread->arg[3] } };
	struct column_plan plan = { .form = FORM_ORDER, .guess = GUESS_RELATION };
	uint32_t mean = spread->arg[1], i, j;
	unsigned bits, best = UINT32_MAX, k;
	double ratio[SAMPLE_ROWS];

	if (!is_target(s, mean))
		return;
	for (i = 0; i < s->n_arguments; i++) {
		for (j = 0; j < s->n_arguments; j++) {
			try.arg[3] = s->argument[i];
			try.arg[4] = s->argument[j];
			if (i == j || try.arg[3] == mean || try.arg[4] == mean ||
			    !spend(s, SAMPLE_ROWS / 4))
				continue;
			for (k = 0; k < SAMPLE_ROWS; k++)
				ratio[k] = s->some[try.arg[3]][k] / s->some[try.arg[4]][k];
			if (!all_between(s->some[try.arg[1]], ratio, s->some[try.arg[2]]))
				continue;
			bits = ulps_bits(s, &try, mean);
			if (bits < best) {
				best = bits;
				plan.relation = try;
			}
		}
	}
	if (best != UINT32_MAX)
		consider(s, mean, plan);
}

/* The best count and mean for a deviation and a pair of extremes. Returns the error in bits on
 * the sample. */
static unsigned
fit_spread(struct column_search *s, uint32_t sd, struct pair extremes, struct relation *rel)
{
	struct relation try = { RELATION_SPREAD, { 0, 0, extremes.low, extremes.high } };
	unsigned bits, best = UINT32_MAX;
	uint32_t i, j;

	for (i = 0; i < s->n_arguments; i++) {
		try.arg[1] = s->argument[i];
		if (try.arg[1] == sd || try.arg[1] == extremes.low || try.arg[1] == extremes.high ||
		    !all_between(
			s->some[extremes.low], s->some[try.arg[1]], s->some[extremes.high]))
			continue;
		for (j = 0; j < s->n_arguments; j++) {
			try.arg[0] = s->argument[j];
			if (try.arg[0] == sd || !is_count(s, try.arg[0]) || !spend(s, SAMPLE_ROWS))
				continue;
			bits = ulps_bits(s, &try, sd);
			if (bits < best) {
				best = bits;
				*rel = try;
			}
		}
	}
	return best;
}

static void
look_for_spread(struct column_search *s, uint32_t sd)
{
	struct column_plan plan = { .form = FORM_ORDER, .guess = GUESS_RELATION };
	struct relation rel = { RELATION_SPREAD, { 0 } };
	unsigned bits, best = UINT32_MAX, n_extremes = 0;
	struct pair extremes;
	uint32_t i, j;

	for (i = 0; i < s->n_arguments; i++) {
		for (j = 0; j < s->n_arguments && n_extremes < EXTREMES_MAX; j++) {
			extremes = (struct pair){ s->argument[i], s->argument[j] };
			if (i == j || extremes.low == sd || extremes.high == sd || !spend(s, 1) ||
			    !may_spread(s->some[sd], s->some[extremes.low], s->some[extremes.high]))
				continue;
			n_extremes++;
			bits = fit_spread(s, sd, extremes, &rel);
			if (bits < best) {
				best = bits;
				plan.relation = rel;
			}
		}
	}
	if (best == UINT32_MAX)
		return;
	consider(s, sd, plan);
	look_for_pooled(s, &plan.relation);
}

/* --- deciding --- */

/* The longest chain of columns needed by c; more than the limit for a circle. Each column is
 * visited once. */
static unsigned
depth_of(struct column_search *s, const struct column_plan *plan, uint32_t c)
{
	uint32_t need[1 + RELATION_ARGS_MAX];
	unsigned n, i, below, depth = 0;

	if (s->depth[c] != DEPTH_UNKNOWN)
		return s->depth[c];
	s->depth[c] = DEPTH_CIRCLE; /* found by a second visit through a circle */
	n = column_needs(&plan[c], need);
	for (i = 0; i < n; i++) {
		below = depth_of(s, plan, need[i]);
		depth = below >= depth ? below + 1 : depth;
	}
	s->depth[c] = (uint8_t)(depth < DEPTH_CIRCLE ? depth : DEPTH_CIRCLE);
	return s->depth[c];
}

static bool
all_can_be_decoded(struct column_search *s, const struct column_plan *plan)
{
	uint32_t c;

	memset(s->depth, DEPTH_UNKNOWN, s->n_columns);
	for (c = 0; c < s->n_columns; c++)
		if (depth_of(s, plan, c) > SEARCH_DEPTH_MAX)
			return false;
	return true;
}

static int
by_saving(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->saving_bits != y->saving_bits)
		return x->saving_bits < y->saving_bits ? 1 : -1;
	return x->order < y->order ? -1 : 1;
}

static void
accept(struct column_search *s, struct column_plan *plan)
{
	const struct candidate *cand;
	struct column_plan own;
	uint32_t i;

	qsort(s->found, s->n_found, sizeof(*s->found), by_saving);
	for (i = 0; i < s->n_found; i++) {
		cand = &s->found[i];
		if (s->explained[cand->column])
			continue;
		own = plan[cand->column];
		plan[cand->column] = cand->plan;
		s->explained[cand->column] = all_can_be_decoded(s, plan);
		if (!s->explained[cand->column])
			plan[cand->column] = own;
	}
}

void
column_search_run(struct column_search *s, struct column_work *work, const double *const *value,
    uint32_t n, uint32_t n_columns, struct column_plan *plan)
{
	uint32_t i, y;
	unsigned probe;

	if (n < ROWS_MIN || n_columns < 2)
		return;
	s->work = work;
	s->plan = plan;
	s->n = n;
	s->n_columns = n_columns;
	s->n_found = 0;
	s->budget = BUDGET_MIN + (int64_t)BUDGET_PER_VALUE * n * n_columns;
	take_sample(s, value, n);
	pick_arguments(s);
	pick_targets(s);
	for (probe = 0; probe < PROBES; probe++)
		look_up_pairs(s, probe * SAMPLE_ROWS / PROBES);
	for (i = 0; i < s->n_targets; i++) {
		y = s->target[i];
		if (plan[y].form == FORM_ORDER || plan[y].form == FORM_NEAR)
			look_for_ratio(s, y);
		if (plan[y].form == FORM_ORDER)
			look_for_spread(s, y);
	}
	accept(s, plan);
}
