/* SPDX-License-Identifier: BSD-3-Clause */
/* Common divisors, without dividing more than a few times. */
#include "store/codec/codec_unit.h"

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
	uint64_t rest;

	while (b != 0) {
		rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* x % d == 0 without dividing: multiplied by d's inverse modulo 2^64, the multiples of an odd d,
 * and only they, fall to the bottom (Granlund and Montgomery 1994, section 9). Quotients of exact
 * divisions come the same way. */
struct divisor {
	uint64_t odd_inverse, quotient_max;
	unsigned twos;
};

static struct divisor
divisor_of(uint64_t d)
{
	struct divisor by = { 0, UINT64_MAX / d, (unsigned)__builtin_ctzll(d) };
	uint64_t odd = d >> by.twos;
	int i;

	by.odd_inverse = odd; /* right in 3 bits; each step doubles the number of right bits */
	for (i = 0; i < 5; i++)
		by.odd_inverse *= 2 - odd * by.odd_inverse;
	return by;
}

static inline bool
divides(const struct divisor *by, uint64_t x)
{
	uint64_t q = x * by->odd_inverse;

	return (by->twos != 0 ? q >> by->twos | q << (64 - by->twos) : q) <= by->quotient_max;
}

static inline uint64_t
magnitude(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* Numbers without a common divisor give 1 within a few steps. */
uint64_t
unit_find(const int64_t *x, uint32_t n)
{
	struct divisor by = { 0 };
	int64_t least = x[0], most = x[0];
	uint64_t unit = 0, d;
	uint32_t i;

	for (i = 1; i < n && unit != 1; i++) {
		d = magnitude(wrap_sub(x[i], x[0]));
		if (unit != 0 && divides(&by, d))
			continue;
		unit = common_divisor(d, unit);
		if (unit != 0)
			by = divisor_of(unit);
	}
	if (unit <= 1)
		return unit;
	/* Exact division keeps its sign only where differences do not wrap. */
	for (i = 1; i < n; i++) {
		least = x[i] < least ? x[i] : least;
		most = x[i] > most ? x[i] : most;
	}
	return (uint64_t)wrap_sub(most, least) <= INT64_MAX ? unit : 1;
}

void
unit_divide(uint64_t unit, int64_t base, const int64_t *x, uint32_t n, uint64_t *quotient)
{
	struct divisor by = divisor_of(unit);
	uint32_t i;

	for (i = 0; i < n; i++)
		quotient[i] = (uint64_t)(wrap_sub(x[i], base) >> by.twos) * by.odd_inverse;
}
