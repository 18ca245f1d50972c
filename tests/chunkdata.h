/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for the tests of the chunk codecs: reproducible from a seed, and as nasty as doubles can
 * be. */
#ifndef CHUNKDATA_H
#define CHUNKDATA_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 1;

/* Takes -s SEED; prints the seed, so that a failure can be seen again. */
static inline void
random_start(int argc, char **argv)
{
	uint64_t seed = 20120903;

	if (argc == 3 && strcmp(argv[1], "-s") == 0)
		seed = strtoull(argv[2], NULL, 10);
	printf("seed %llu\n", (unsigned long long)seed);
	random_state = seed * 2 + 1;
}

/* xorshift64* */
static inline uint64_t
random_bits(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint64_t
random_below(uint64_t n)
{
	return (random_bits() >> 16) % n;
}

static inline double
random_unit(void)
{
	return (double)(random_bits() >> 11) * 0x1p-53;
}

static inline double
double_of(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* Signed zeros, denormals, infinities, NaNs with payloads, the edges of exact integers. */
static inline double
odd_double(void)
{
	static const uint64_t odd[] = { 0, 0x8000000000000000, 1, 0x8000000000000001,
		0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
		0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff8000000000001,
		0x7ff0000000000001, 0xfff4deadbeef0001, 0xffffffffffffffff, 0x4340000000000000,
		0x433fffffffffffff, 0x4340000000000001, 0xc340000000000000, 0x43e0000000000000,
		0xc3e0000000000000, 0x43dfffffffffffff, 0x3ff0000000000000, 0x3ff0000000000001,
		0x3fb999999999999a, 0x3e112e0be826d695 };

	return double_of(odd[random_below(sizeof(odd) / sizeof(odd[0]))]);
}

enum { N_KINDS = 14 };

/* A column of some kind that is met in practice, or on purpose. */
static inline void
random_column(unsigned kind, uint32_t n, double *y)
{
	double at = floor(1e6 * random_unit()), step = floor(1000 * random_unit());
	uint32_t i;

	for (i = 0; i < n; i++) {
		switch (kind) {
		case 0: y[i] = 42; break;
		case 1: y[i] = double_of(random_bits()); break;
		case 2: y[i] = odd_double(); break;
		case 3: y[i] = at += (double)random_below(100); break;
		case 4: y[i] = at += step; break;
		case 5: y[i] = (double)(4096 * random_below(64)); break;
		case 6: y[i] = (double)random_below(10000) / 100; break;
		case 7: y[i] = (double)random_below(1000000000) * 1e-9; break;
		case 8:
			y[i] = (double)random_below(1000000000) * 1e-9 +
			    (double)random_below(1000) * 1e-9;
			break;
		case 9: y[i] = 1e9 * (1 + random_unit()); break;
		case 10: y[i] = random_below(10) > 0 && i > 0 ? y[i - 1] : random_unit(); break;
		case 11:
			y[i] = random_below(3) > 0 ? double_of(0x7ff80000000007a2)
						   : 1e9 * random_unit();
			break;
		case 12:
			y[i] = random_below(20) > 0 ? (double)random_below(50) : odd_double();
			break;
		default: y[i] = (double)(float)random_unit(); break;
		}
	}
}

static inline int
same_bits(const double *a, const double *b, uint32_t n)
{
	return n == 0 || memcmp(a, b, n * sizeof(*a)) == 0;
}

#endif
