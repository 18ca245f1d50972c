/* SPDX-License-Identifier: BSD-3-Clause */
/* Reproducible noise for tests that need many data sets. The seed is printed and taken with -s. */
#ifndef NOISE_H
#define NOISE_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NOISE_SHARED /* a program of several files defines the state once */
extern uint64_t noise_state;
#else
static uint64_t noise_state;
#endif

/* First thing in main. */
static inline void
noise_seed(int argc, char **argv, uint64_t seed)
{
	if (argc > 2 && strcmp(argv[1], "-s") == 0)
		seed = strtoull(argv[2], NULL, 0);
	noise_state = seed;
	printf("seed %llu\n", (unsigned long long)seed);
}

/* splitmix64 */
static inline uint64_t
noise_bits(void)
{
	uint64_t z = noise_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* [0, 1) */
static inline double
noise_uniform(void)
{
	return (double)(noise_bits() >> 11) * 0x1p-53;
}

/* Normal with mean 0, sd 1: Box & Muller. */
static inline double
noise_normal(void)
{
	double u = 1 - noise_uniform();

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * noise_uniform());
}

static inline void
noise_fill(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = noise_normal();
}

/* Stationary AR(1). */
static inline void
noise_ar(double *x, size_t n, double ar)
{
	double v = noise_normal();

	for (size_t i = 0; i < n; i++) {
		x[i] = v;
		v = ar * v + sqrt(1 - ar * ar) * noise_normal();
	}
}

#endif
