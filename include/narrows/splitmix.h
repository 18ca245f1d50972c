/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * splitmix64 (Steele, Lea and Flood 2014): every seed is good, and the same draws come on every
 * machine. For statistics and positions, not for secrets.
 */
#ifndef NARROWS_SPLITMIX_H
#define NARROWS_SPLITMIX_H

#include <stdint.h>

/* The next 64 bits; *state begins as the seed. */
static inline uint64_t
nw_splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

#endif
