/* SPDX-License-Identifier: BSD-3-Clause */
/* The integer behind a double. */
#include "store/codec/codec_number.h"

#include "store/codec/codec_bits.h"

enum {
	SAMPLE_ROWS = 16,
	SAMPLE_MISSES = 2, /* an odd value or two do not disqualify a column of integers */
	NEAR_BITS_MAX = 10 /* limit of ulps; above, the integer predicts nothing */
};

static const double power[SCALE_DIGITS_MAX + 1] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12 };
static const double fraction[SCALE_DIGITS_MAX + 1] = { 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7,
	1e-8, 1e-9, 1e-10, 1e-11, 1e-12 };

double
scale_power(unsigned digits)
{
	return power[digits];
}

static inline double
scaled(struct number_scale scale, int64_t x)
{
	return scale.multiplied ? (double)x * fraction[scale.digits]
				: (double)x / power[scale.digits];
}

void
number_orders(const double *restrict y, uint32_t n, int64_t *restrict x)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		x[i] = number_order(y[i]);
}

void
number_from_orders(const int64_t *restrict x, uint32_t n, double *restrict y)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		y[i] = number_from_order(x[i]);
}

void
number_ulps(const double *restrict y, const double *restrict by, uint32_t n, int64_t *restrict ulps)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		ulps[i] = wrap_sub(number_order(y[i]), number_order(by[i]));
}

void
number_add_ulps(double *restrict y, const int64_t *restrict ulps, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		y[i] = number_from_order(wrap_add(number_order(y[i]), ulps[i]));
}

/* Whole numbers reach further than numbers rounded after a multiplication. */
static inline int64_t
nearest_whole(double v)
{
	return fabs(v) < 0x1p63 ? (int64_t)v : 0;
}

void
scale_nearest(struct number_scale scale, const double *v, uint32_t n, int64_t *x)
{
	uint32_t i;

	if (scale.digits == 0)
		for (i = 0; i < n; i++)
			x[i] = nearest_whole(v[i]);
	else
		for (i = 0; i < n; i++)
			x[i] = number_round(v[i] * power[scale.digits]);
}

void
scale_values(struct number_scale scale, const int64_t *x, uint32_t n, double *v)
{
	uint32_t i;

	if (scale.digits == 0)
		for (i = 0; i < n; i++)
			v[i] = (double)x[i];
	else if (scale.multiplied)
		for (i = 0; i < n; i++)
			v[i] = (double)x[i] * fraction[scale.digits];
	else
		for (i = 0; i < n; i++)
			v[i] = (double)x[i] / power[scale.digits];
}

/* Takes rows from all over the column. Zeros are whole at any scale, and NaN and infinities at
 * none: a sample takes a neighbour instead of these. */
static uint32_t
sample(const double *v, uint32_t n, double *some)
{
	uint32_t count = n < SAMPLE_ROWS ? n : SAMPLE_ROWS, i, row, end;

	for (i = 0; i < count; i++) {
		row = (uint32_t)((uint64_t)i * n / count);
		end = (uint32_t)((uint64_t)(i + 1) * n / count);
		while (row + 1 < end && (v[row] == 0 || v[row] - v[row] != 0))
			row++;
		some[i] = v[row];
	}
	return count;
}

static uint32_t
count_misses(struct number_scale scale, const double *v, uint32_t n)
{
	uint32_t i, misses = 0;
	int64_t x;

	for (i = 0; i < n && misses * SAMPLE_ROWS <= SAMPLE_MISSES * n; i++) {
		scale_nearest(scale, &v[i], 1, &x);
		misses += number_bits(scaled(scale, x)) != number_bits(v[i]);
	}
	return misses;
}

bool
scale_find(const double *v, uint32_t n, struct number_scale *scale)
{
	double some[SAMPLE_ROWS];
	uint32_t count = sample(v, n, some), divided, multiplied;
	unsigned digits;

	for (digits = 0; digits <= SCALE_DIGITS_MAX; digits++) {
		*scale = (struct number_scale){ (uint8_t)digits, false };
		divided = count_misses(*scale, some, count);
		scale->multiplied = true;
		multiplied =
		    digits > 0 && divided > 0 ? count_misses(*scale, some, count) : UINT32_MAX;
		scale->multiplied = multiplied < divided;
		if ((scale->multiplied ? multiplied : divided) * SAMPLE_ROWS <=
		    SAMPLE_MISSES * count)
			return true;
	}
	return false;
}

bool
scale_find_near(const double *v, uint32_t n, struct number_scale *scale)
{
	double some[SAMPLE_ROWS];
	uint32_t count = sample(v, n, some), i, bits, best = UINT32_MAX;
	struct number_scale try = { 1, true };
	int64_t x;

	/* A digit more costs 10/3 bits of every integer. */
	for (; try.digits <= SCALE_DIGITS_MAX; try.digits++) {
		bits = 0;
		for (i = 0; i < count; i++) {
			scale_nearest(try, &some[i], 1, &x);
			bits += bits_width(fold_sign(
			    wrap_sub(number_order(some[i]), number_order(scaled(try, x)))));
		}
		if (bits <= NEAR_BITS_MAX * count && bits + try.digits * count * 10 / 3 < best) {
			best = bits + try.digits * count * 10 / 3;
			*scale = try;
		}
	}
	return best != UINT32_MAX;
}
