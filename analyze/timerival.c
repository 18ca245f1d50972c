/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The courses in time of a response, and the rest of response and metrics. See
 * narrows/timerival.h.
 *
 * A basis grows by blocks of columns, orthonormal on the rows with a response. Each step adds the
 * block that lowers the BIC most, until none does; the BIC counts independent rows of what is
 * left. The row of a moment is searched, and costs as the search does: 2 ln n.
 */
#include "narrows/timerival.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reduce_in.h"
#include "narrows/autocorr.h"
#include "narrows/err.h"

enum {
	LOW_DEGREE = 3,
	HIGH_DEGREE = 5,
	HARMONICS = 2,
	BLOCK_MAX = 4,
	COLUMNS_MAX = 20,
	ROWS_PER_COLUMN = 6, /* fewest rows per column of the basis */
	SIDE_MIN = 4,        /* fewest rows on each side of a moment */
	ROWS_MIN = 20,
	DOUBT_PART = 12, /* a moment is known to this part of the rows */
	SHORT_PART = 30, /* transients last a thirtieth and an eighth of the rows behind */
	LONG_PART = 8,
	BACK_PARTS = 8, /* moments tried before the best step, in parts of the rows before it */
	BACK_ALL = 60
};

#define DOUBT_MAX  8.0  /* twice the log of the likelihood ratio of moments as good */
#define NEW_MIN    1e-6 /* least share of a column's length that is new */
#define ROWS_MANY  60.0 /* fewer hide their memory: each part costs twice and more */
#define DAY_MIN    0.5  /* days of rows, for the hour to be a rival */
#define LEFT_MIN   1e-9 /* share of a length below which the rest is rounding */
#define TAKEN_LEFT 0.1  /* a taken metric keeps at most so large a part of the r^2 */

static const double TWO_PI = 6.283185307179586;

/* First row of a new level; rows [from, to) on an unknown side. */
struct moment {
	size_t row, from, to;
};

struct basis {
	size_t n;      /* rows of the table */
	size_t *row;   /* the rows with a response */
	size_t m;      /* their number */
	size_t k;      /* columns */
	double *q;     /* COLUMNS_MAX columns of n; orthonormal on `row` */
	double *left;  /* response less the basis; n, 0 where there is none */
	double *after; /* scratch: response less the basis and a block */
	double sse;
	const double *day;
	/* independent rows, by the block that leaves the fewest ups and downs in a row: blocks are
	 * compared at the same number */
	double rows;
	struct moment moment[NW_TIME_MOMENTS_MAX]; /* found */
	double *saved;                             /* scratch: 2 n */
	double *explains; /* scratch: explained by a moment at each row; n */
};

/* Columns tried together, and their effect. */
struct block {
	enum nw_time_part part;
	size_t n;
	size_t n_moments;
	struct moment moment[NW_TIME_MOMENTS_MAX];
	double searched; /* cost of the search, in units of the BIC */
	double *x;       /* BLOCK_MAX columns of n */
	double sse;      /* left with the block */
	double gain;     /* of BIC; <= 0: none */
};

static double
dot_rows(const struct basis *b, const double *x, const double *y)
{
	double sum = 0;

	for (size_t i = 0; i < b->m; i++)
		sum += x[b->row[i]] * y[b->row[i]];
	return sum;
}

static void
subtract(double *x, double by, const double *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] -= by * y[i];
}

/* Makes column k of `x` orthonormal to the basis and to the block's earlier columns, twice for the
 * digits; false if nothing new is left. */
static bool
column_add(const struct basis *b, double *x, size_t k)
{
	double *c = x + k * b->n, before = sqrt(dot_rows(b, c, c)), length;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t j = 0; j < b->k; j++)
			subtract(c, dot_rows(b, b->q + j * b->n, c), b->q + j * b->n, b->n);
		for (size_t j = 0; j < k; j++)
			subtract(c, dot_rows(b, x + j * b->n, c), x + j * b->n, b->n);
	}
	length = sqrt(dot_rows(b, c, c));
	if (!(length > NEW_MIN * before))
		return false;
	for (size_t i = 0; i < b->n; i++)
		c[i] /= length;
	return true;
}

/* Effective number of the rows without a block. */
static double
independent_rows(const struct basis *b)
{
	for (size_t i = 0, k = 0; i < b->n; i++) {
		bool has = k < b->m && b->row[k] == i;

		k += has;
		if (!has)
			b->after[i] = NAN;
	}
	return fmax(2, nw_autocorr(b->after, b->n).n_eff);
}

/* Counts the block's columns as orthonormal, and the gain. */
static void
block_weigh(struct basis *b, struct block *at, size_t columns)
{
	double m;

	at->n = 0;
	for (size_t k = 0; k < columns; k++) {
		if (at->n != k)
			memcpy(at->x + at->n * b->n, at->x + k * b->n, b->n * sizeof(*at->x));
		at->n += column_add(b, at->x, at->n);
	}
	memcpy(b->after, b->left, b->n * sizeof(*b->after));
	for (size_t k = 0; k < at->n; k++)
		subtract(b->after, dot_rows(b, at->x + k * b->n, b->left), at->x + k * b->n, b->n);
	at->sse = fmax(dot_rows(b, b->after, b->after), LEFT_MIN * LEFT_MIN * b->sse);
	m = at->sse > LEFT_MIN * LEFT_MIN * b->sse ? independent_rows(b) : (double)b->m;
	b->rows = m = fmax(m, b->rows);
	at->gain = at->n == 0 || b->k + at->n > b->m / ROWS_PER_COLUMN ? -INFINITY
								       : m * log(b->sse / at->sse) -
		((double)at->n * log(m) + at->searched) * (1 + ROWS_MANY / (double)b->m);
}

/* --- blocks --- */
static void
try_trend(struct basis *b, struct block *at, size_t from, size_t to)
{
	*at = (struct block){ .part = NW_TIME_TREND, .x = at->x };
	for (size_t d = from; d <= to; d++)
		for (size_t i = 0; i < b->n; i++)
			at->x[(d - from) * b->n + i] =
			    pow(2 * (double)i / (double)b->n - 1, (double)d);
	block_weigh(b, at, to - from + 1);
}

/* A shorter stretch of a day is a trend. */
static double
days_passed(const struct basis *b)
{
	double days = 0;

	for (size_t i = 1; i < b->n; i++)
		days += fmod(b->day[i] - b->day[i - 1] + 1, 1);
	return days;
}

static void
try_hour(struct basis *b, struct block *at)
{
	*at = (struct block){ .part = NW_TIME_HOUR, .x = at->x, .gain = -INFINITY };
	if (b->day == NULL || days_passed(b) < DAY_MIN)
		return;
	for (size_t d = 0; d < HARMONICS; d++)
		for (size_t i = 0; i < b->n; i++) {
			double angle = TWO_PI * (double)(d + 1) * b->day[i];

			at->x[2 * d * b->n + i] = sin(angle);
			at->x[(2 * d + 1) * b->n + i] = cos(angle);
		}
	block_weigh(b, at, 2 * HARMONICS);
}

/* The part of the rest explained by a new level from each row on, 0 where no moment can be; returns
 * the row of the largest part, b->n without any. Suffix sums give the projections of all steps in
 * a single pass. */
static size_t
best_moment(const struct basis *b, double *explains)
{
	double sum[COLUMNS_MAX] = { 0 }, with = 0;
	size_t at = b->n;

	memset(explains, 0, b->n * sizeof(*explains));
	for (size_t i = b->m; i-- > SIDE_MIN;) {
		size_t row = b->row[i];
		double length = (double)(b->m - i);

		with += b->left[row];
		for (size_t j = 0; j < b->k; j++) {
			sum[j] += b->q[j * b->n + row];
			length -= sum[j] * sum[j];
		}
		if (b->m - i < SIDE_MIN || length < 0.5)
			continue;
		explains[row] = with * with / length;
		if (at == b->n || explains[row] > explains[at])
			at = row;
	}
	return at;
}

/* The other rows as good as the moment, by the likelihood, are between `from` and `to`. `rows`:
 * independent rows. */
static struct moment
with_doubt(const struct basis *b, size_t at, double rows)
{
	double rest = b->sse - b->explains[at];
	size_t reach = b->m / DOUBT_PART;
	struct moment one = { at, at, at };

	for (size_t i = at > reach ? at - reach : 0; i < b->n && i <= at + reach; i++)
		if (b->explains[i] > 0 &&
		    rows * log((b->sse - b->explains[i]) / rest) < DOUBT_MAX) {
			one.from = i < one.from ? i : one.from;
			one.to = i > one.to ? i : one.to;
		}
	return one;
}

/* Adds a step to the basis for a while; `saved` keeps the response less the basis. */
static bool
step_push(struct basis *b, size_t row, double *saved, double *sse)
{
	double *q = b->q + b->k * b->n;

	for (size_t i = 0; i < b->n; i++)
		q[i] = i >= row;
	memcpy(saved, b->left, b->n * sizeof(*saved));
	*sse = b->sse;
	if (!column_add(b, q, 0))
		return false;
	subtract(b->left, dot_rows(b, q, b->left), q, b->n);
	b->sse = dot_rows(b, b->left, b->left);
	b->k++;
	return true;
}

static void
step_pop(struct basis *b, const double *saved, double sse)
{
	memcpy(b->left, saved, b->n * sizeof(*saved));
	b->sse = sse;
	b->k--;
}

/* The best moment; row b->n without any. `saved`: scratch of n. */
static struct moment
moment_find(struct basis *b, double *saved)
{
	size_t at = best_moment(b, b->explains);
	double rows = 2, sse;

	if (at == b->n)
		return (struct moment){ at, at, at };
	if (step_push(b, at, saved, &sse)) {
		memcpy(b->after, b->left, b->n * sizeof(*b->after));
		rows = independent_rows(b);
		step_pop(b, saved, sse);
	}
	return with_doubt(b, at, rows);
}

/* A begin and an end, each the best moment beside the other; false without both. `saved`: scratch
 * of 2 n. */
static bool
pair_find(struct basis *b, double *saved, struct moment pair[2])
{
	double sse;

	pair[0] = moment_find(b, saved);
	for (int k = 1; k <= 2; k++) {
		const struct moment *beside = &pair[(k + 1) % 2];

		if (beside->row == b->n || !step_push(b, beside->row, saved + b->n, &sse))
			return false;
		pair[k % 2] = moment_find(b, saved);
		step_pop(b, saved + b->n, sse);
	}
	return pair[0].row < b->n;
}

/* A way in which a level is reached: exp(-t / length) since the moment. */
static void
fill_transient(const struct basis *b, double *x, size_t moment, double length)
{
	for (size_t i = 0; i < b->n; i++)
		x[i] = i < moment ? 0 : exp(-(double)(i - moment) / fmax(length, 1));
}

/* A new level from `moment` on, reached at once or also by and by. */
static void
try_start(struct basis *b, struct block *at, struct moment moment, bool gradual)
{
	double behind = (double)(b->n - moment.row);

	*at = (struct block){ .part = NW_TIME_START,
		.x = at->x,
		.n_moments = 1,
		.moment = { moment },
		.searched = 2 * log((double)b->m),
		.gain = -INFINITY };
	if (moment.row >= b->n)
		return;
	for (size_t i = 0; i < b->n; i++)
		at->x[i] = i >= moment.row;
	if (gradual) {
		fill_transient(b, at->x + b->n, moment.row, behind / SHORT_PART);
		fill_transient(b, at->x + 2 * b->n, moment.row, behind / LONG_PART);
	}
	block_weigh(b, at, gradual ? 3 : 1);
}

/* A begin and an end: alone, neither explains much. */
static void
try_pair(struct basis *b, struct block *at, double *saved)
{
	*at = (struct block){ .part = NW_TIME_START,
		.x = at->x,
		.n_moments = 2,
		.searched = 4 * log((double)b->m),
		.gain = -INFINITY };
	if (b->k + 2 > COLUMNS_MAX || !pair_find(b, saved, at->moment))
		return;
	for (size_t i = 0; i < b->n; i++) {
		at->x[i] = i >= at->moment[0].row;
		at->x[b->n + i] = i >= at->moment[1].row;
	}
	block_weigh(b, at, 2);
}

/* Rows since the begin of the run of responses; the longest run, too. */
static size_t
fill_since_begin(const struct basis *b, double *x)
{
	size_t begin = b->row[0], longest = 0, last = b->row[0];

	memset(x, 0, b->n * sizeof(*x));
	for (size_t k = 0; k < b->m; k++) {
		size_t i = b->row[k];

		if (i - last > NW_TIME_PAUSE)
			begin = i;
		x[i] = (double)(i - begin);
		longest = i - begin + 1 > longest ? i - begin + 1 : longest;
		last = i;
	}
	return longest;
}

/* The way in which each run of responses begins. */
static void
try_begin(struct basis *b, struct block *at)
{
	double longest;

	*at = (struct block){
		.part = NW_TIME_START, .x = at->x, .n_moments = 1, .moment = { { b->row[0], 0, 0 } }
	};
	longest = (double)fill_since_begin(b, at->x);
	for (size_t i = 0; i < b->n; i++) {
		at->x[b->n + i] = exp(-at->x[i] / fmax(longest / LONG_PART, 1));
		at->x[i] = exp(-at->x[i] / fmax(longest / SHORT_PART, 1));
	}
	block_weigh(b, at, 2);
}

/* --- the search --- */
static void
keep_better(struct block *best, struct block *other)
{
	struct block swap = *best;

	if (other->gain > best->gain) {
		*best = *other;
		*other = swap;
	}
}

static void
block_take(struct basis *b, const struct block *at, struct nw_time_rival *out)
{
	memcpy(b->q + b->k * b->n, at->x, at->n * b->n * sizeof(*b->q));
	for (size_t k = 0; k < at->n; k++) {
		const double *x = at->x + k * b->n;

		subtract(b->left, dot_rows(b, x, b->left), x, b->n);
	}
	b->k += at->n;
	b->sse = at->sse;
	out->parts |= at->part;
	for (size_t k = 0; k < at->n_moments; k++) {
		b->moment[out->n_moments] = at->moment[k];
		out->moment[out->n_moments++] = at->moment[k].row;
	}
}

/* Tries all blocks; `best` has the largest gain. */
static void
try_all(struct basis *b, const struct nw_time_rival *out, size_t degree, struct block *best,
    struct block *other)
{
	struct moment at;

	try_trend(b, best, degree + 1, degree == 0 ? LOW_DEGREE : HIGH_DEGREE);
	if (degree == HIGH_DEGREE)
		best->gain = -INFINITY;
	try_hour(b, other);
	if ((out->parts & NW_TIME_HOUR) == 0)
		keep_better(best, other);
	if (out->n_moments == NW_TIME_MOMENTS_MAX)
		return;
	at = moment_find(b, b->saved);
	try_start(b, other, at, false);
	keep_better(best, other);
	/* A level reached by and by begins before the best step. */
	for (size_t back = 0; back <= BACK_PARTS && at.row < b->n; back++) {
		struct moment earlier = at;

		earlier.row -= at.row * back / BACK_ALL;
		earlier.from = at.from < earlier.row ? at.from : earlier.row;
		try_start(b, other, earlier, true);
		keep_better(best, other);
	}
	try_begin(b, other);
	keep_better(best, other);
	if (out->n_moments > 0)
		return;
	try_pair(b, other, b->saved);
	keep_better(best, other);
}

static void
search(struct basis *b, struct block *best, struct block *other, struct nw_time_rival *out)
{
	size_t degree = 0;

	for (;;) {
		/* The first time counts independent rows, the second compares. */
		try_all(b, out, degree, best, other);
		try_all(b, out, degree, best, other);
		if (!(best->gain > 0) || b->k + best->n > COLUMNS_MAX)
			return;
		if (best->part == NW_TIME_TREND)
			degree = degree == 0 ? LOW_DEGREE : HIGH_DEGREE;
		block_take(b, best, out);
	}
}

/* --- what is left --- */
/* Makes the columns orthonormal on fewer rows than before. */
static void
basis_again(struct basis *b)
{
	struct basis none = *b;
	size_t columns = b->k;

	none.k = b->k = 0;
	for (size_t k = 0; k < columns; k++) {
		if (b->k != k)
			memcpy(b->q + b->k * b->n, b->q + k * b->n, b->n * sizeof(*b->q));
		b->k += column_add(&none, b->q, b->k);
	}
}

/* Leaves the rows in doubt out: a step misplaced by a row is more than noise. */
static void
leave_doubt_out(struct basis *b, size_t n_moments)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->m; i++) {
		bool doubtful = false;

		for (size_t k = 0; k < n_moments; k++)
			doubtful |= b->row[i] >= b->moment[k].from && b->row[i] < b->moment[k].to;
		if (!doubtful)
			b->row[kept++] = b->row[i];
	}
	if (kept == b->m)
		return;
	b->m = kept;
	basis_again(b);
}

/* Copies the column less its course in time about its mean, found on the rows where both the column
 * and the response have values. `q`, `copy`: scratch of COLUMNS_MAX columns. */
static void
column_rest(const struct basis *all, const double *from, double *to, double *q, size_t *row)
{
	struct basis b = *all;
	double mean = 0, before = 0, after = 0;

	b.row = row;
	b.m = 0;
	for (size_t i = 0; i < all->m; i++)
		if (isfinite(from[all->row[i]])) {
			row[b.m++] = all->row[i];
			mean += from[all->row[i]];
		}
	mean = b.m > 0 ? mean / (double)b.m : 0;
	for (size_t i = 0; i < all->n; i++)
		to[i] = isfinite(from[i]) ? from[i] - mean : 0;
	before = dot_rows(&b, to, to);
	b.k = all->k;
	if (b.m < all->m) {
		memcpy(q, all->q, all->k * all->n * sizeof(*q));
		b.q = q;
		basis_again(&b);
	}
	for (size_t k = 0; k < b.k; k++)
		subtract(to, dot_rows(&b, b.q + k * b.n, to), b.q + k * b.n, b.n);
	after = dot_rows(&b, to, to);
	for (size_t i = 0; i < all->n; i++)
		to[i] = !isfinite(from[i])                 ? NAN
		    : after > LEFT_MIN * LEFT_MIN * before ? to[i] + mean
							   : mean;
}

/* r^2 of two columns over the rows where both have values, and the number of rows. */
static double
r_squared(const double *x, const double *y, size_t n, size_t *rows)
{
	double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;

	*rows = 0;
	for (size_t i = 0; i < n; i++)
		if (isfinite(x[i]) && isfinite(y[i])) {
			double dx = x[i] - mx, dy = y[i] - my;

			++*rows;
			mx += dx / (double)*rows;
			my += dy / (double)*rows;
			xx += dx * (x[i] - mx);
			yy += dy * (y[i] - my);
			xy += dx * (y[i] - my);
		}
	return xx > 0 && yy > 0 ? xy * xy / xx / yy : 0;
}

/* Partial F below which r means nothing, as in strict selections. */
static double
least_f(const double *y, size_t n, size_t p)
{
	struct nw_autocorr a = nw_autocorr(y, n);

	return reduce_strict_f(isfinite(a.r) ? a.r : 0, (double)a.sum.n, p);
}

static void
find_taken(const struct nw_table *t, struct nw_time_rival *out)
{
	double least = least_f(out->rest.y, t->n_rows, t->n_columns);

	for (size_t j = 0; j < t->n_columns; j++) {
		size_t rows, rest_rows;
		double r2 = r_squared(t->x[j], t->y, t->n_rows, &rows),
		       left = r_squared(out->rest.x[j], out->rest.y, t->n_rows, &rest_rows);

		if (rows < ROWS_MIN || r2 * (double)rows < least * (1 - r2))
			continue;
		if (left * (double)rest_rows >= least * (1 - left) && left >= TAKEN_LEFT * r2)
			continue;
		out->taken[j] = r2;
		out->n_taken++;
	}
}

/* The rest's pointers and columns, the flags of metrics. */
static int
rest_make(const struct basis *b, const struct nw_table *t, struct nw_time_rival *out)
{
	size_t p = t->n_columns, n = t->n_rows;
	size_t bytes = (p + 1) * sizeof(double *) + (p + 1) * n * sizeof(double);
	double *q = calloc(COLUMNS_MAX * n + 1, sizeof(*q)), *columns;
	size_t *row = calloc(n + 1, sizeof(*row));
	const double **x = NULL;
	int rc = NW_ENOMEM;

	if (q == NULL || row == NULL || p > SIZE_MAX / 16 / (n + 1))
		goto out;
	if ((out->store = x = malloc(bytes)) == NULL ||
	    (out->taken = calloc(p + 1, sizeof(*out->taken))) == NULL)
		goto out;
	columns = (double *)(void *)(x + p + 1);
	for (size_t j = 0; j <= p; j++) {
		column_rest(b, j < p ? t->x[j] : t->y, columns + j * n, q, row);
		x[j] = columns + j * n;
	}
	for (size_t i = 0, k = 0; i < n; i++) {
		k += k < b->m && b->row[k] < i;
		if (!isfinite(t->y[i]) || (k < b->m && b->row[k] == i))
			continue;
		for (size_t c = 0; c <= p; c++)
			columns[c * n + i] = NAN;
	}
	out->rest = (struct nw_table){ x, p, x[p], n };
	find_taken(t, out);
	rc = NW_OK;
out:
	free(q);
	free(row);
	return rc;
}

/* --- the whole --- */
static bool
basis_init(struct basis *b, const struct nw_table *t, const double *day)
{
	double mean = 0;

	*b = (struct basis){ .n = t->n_rows, .day = day };
	b->q = calloc(COLUMNS_MAX + 1, (b->n + 1) * sizeof(*b->q));
	b->left = calloc(b->n + 1, sizeof(*b->left));
	b->after = calloc(b->n + 1, sizeof(*b->after));
	b->explains = calloc(b->n + 1, sizeof(*b->explains));
	b->saved = calloc(2 * b->n + 1, sizeof(*b->saved));
	b->row = calloc(b->n + 1, sizeof(*b->row));
	if (b->q == NULL || b->left == NULL || b->after == NULL || b->explains == NULL ||
	    b->saved == NULL || b->row == NULL)
		return false;
	for (size_t i = 0; i < b->n; i++)
		if (isfinite(t->y[i])) {
			b->row[b->m++] = i;
			mean += (t->y[i] - mean) / (double)b->m;
		}
	for (size_t i = 0; i < b->m; i++)
		b->left[b->row[i]] = t->y[b->row[i]] - mean;
	b->k = b->m > 0;
	for (size_t i = 0; i < b->n && b->k > 0; i++)
		b->q[i] = 1 / sqrt((double)b->m);
	b->sse = dot_rows(b, b->left, b->left);
	return true;
}

int
nw_time_rival(const struct nw_table *t, const double *day, struct nw_time_rival *out)
{
	struct block best = { 0 }, other = { 0 };
	struct basis b;
	double all;
	int rc = NW_ENOMEM;

	*out = (struct nw_time_rival){ .r2 = NAN, .rest = *t };
	if (!basis_init(&b, t, day))
		goto out;
	best.x = calloc(BLOCK_MAX, (b.n + 1) * sizeof(*best.x));
	other.x = calloc(BLOCK_MAX, (b.n + 1) * sizeof(*other.x));
	if (best.x == NULL || other.x == NULL)
		goto out;
	rc = NW_OK;
	if (b.m < ROWS_MIN || !(b.sse > 0) || !isfinite(b.sse))
		goto out;
	all = b.sse;
	search(&b, &best, &other, out);
	out->r2 = 1 - b.sse / all;
	leave_doubt_out(&b, out->n_moments);
	if (out->parts != 0)
		rc = rest_make(&b, t, out);
	out->n_courses = b.k;
	out->course = b.q;
	b.q = NULL;
out:
	free(best.x);
	free(other.x);
	free(b.q);
	free(b.left);
	free(b.after);
	free(b.explains);
	free(b.saved);
	free(b.row);
	return rc;
}

void
nw_time_rival_clear(struct nw_time_rival *r)
{
	free(r->store);
	free(r->course);
	free(r->taken);
	memset(r, 0, sizeof(*r));
}
