/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shortest decimal digits from which strtod() reads a double back: 60 ns a number, where trying
 * precisions with printf() takes a microsecond. Exports and queries print millions of them.
 *
 * The method is Schubfach (R. Giulietti, "The Schubfach way to render doubles", 2020). Thread: any;
 * the first call makes the table of powers, once.
 */
#ifndef NARROWS_SHORTEST_H
#define NARROWS_SHORTEST_H

#include <stddef.h>
#include <stdint.h>

struct shortest {
	uint64_t digits; /* without trailing zeros; at most 17 of them */
	int exponent;    /* |v| reads as digits x 10^exponent */
};

/* v is finite and not 0; its sign is ignored. Of several shortest texts the nearest to v wins. */
struct shortest shortest_of(double v);

#define SHORTEST_INT_ROOM 20 /* digits of UINT64_MAX */
/* Writes v without a final NUL and returns the number of characters. */
size_t shortest_put_int(char out[static SHORTEST_INT_ROOM], uint64_t v);

#endif
