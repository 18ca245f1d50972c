/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doubles as integers, without losing a bit. Two ways:
 *
 *   order   every bit pattern as a 64-bit integer, neighbours as neighbours: the difference of two
 *           integers is the doubles' distance in units in the last place (ulps)
 *   scale   the integer n behind the double, as n / 10^digits or as n * 10^-digits; the two round
 *           differently, and only a trial shows which of the two a program used
 *
 * Decoding repeats the same IEEE operations, so all machines must round alike: no contraction, no
 * excess precision, and no NaN payload made by arithmetic.
 */
#ifndef STORE_CODEC_NUMBER_H
#define STORE_CODEC_NUMBER_H

#include <float.h>
#include <math.h>

#include "store/codec/codec_bytes.h"

#if FLT_EVAL_METHOD != 0
#error "chunks need arithmetic in plain double precision"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__STRICT_ANSI__)
#error "gcc contracts a * b + c unless it is told -std=c11, and it does not know the pragma"
#endif

enum { SCALE_DIGITS_MAX = 12 };

struct number_scale {
	uint8_t digits;
	bool multiplied;
};

static inline uint64_t
number_bits(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static inline double
number_from_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static inline int64_t
number_order(double v)
{
	uint64_t bits = number_bits(v);

	return (int64_t)(bits ^ (0 - (bits >> 63)) >> 1);
}

static inline double
number_from_order(int64_t order)
{
	uint64_t bits = (uint64_t)order;

	return number_from_bits(bits ^ (0 - (bits >> 63)) >> 1);
}

/* The same for n numbers; and y - by, in ulps. */
void number_orders(const double *y, uint32_t n, int64_t *x);
void number_from_orders(const int64_t *x, uint32_t n, double *y);
void number_ulps(const double *y, const double *by, uint32_t n, int64_t *ulps);
void number_add_ulps(double *y, const int64_t *ulps, uint32_t n);

/* The nearest integer, ties to even, of numbers within 2^51; 0 for all other doubles, NaN included.
 * The addition leaves the integer in the low bits of the sum; compilers make vectors of an
 * addition, but not of llrint(). */
static inline int64_t
number_round(double v)
{
	const double shift = 0x1.8p52;

	return fabs(v) < 0x1p51 ? (int64_t)(number_bits(v + shift) - number_bits(shift)) : 0;
}

/* 10^digits. */
double scale_power(unsigned digits);

/* The integer nearest to v at this scale, or 0 if no integer is near. */
void scale_nearest(struct number_scale scale, const double *v, uint32_t n, int64_t *x);

void scale_values(struct number_scale scale, const int64_t *x, uint32_t n, double *v);

/* The scale with the fewest digits at which nearly all numbers of v come back exactly, judged by a
 * sample. */
bool scale_find(const double *v, uint32_t n, struct number_scale *scale);

/* The scale at which numbers of v come back within few ulps, cheaper than the doubles' bits: sums
 * of rounded terms. */
bool scale_find_near(const double *v, uint32_t n, struct number_scale *scale);

#endif
