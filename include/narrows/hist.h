/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log-linear histogram of durations in nanoseconds: 2^NW_HIST_BITS linear buckets per octave, so a
 * bucket is at most 0.8 % wide; values below 2^NW_HIST_BITS have a bucket each. Counts merge
 * by addition, so windows, threads and hosts can be joined in any order.
 *
 * Stored form (little endian, the `h_dur` binary field of a data document):
 *   byte 0: version 1; byte 1: NW_HIST_BITS; then pairs of unsigned LEB128: bucket index minus the
 *   previous index (for the first pair the index itself), count (> 0). Indexes rise strictly.
 */
#ifndef NARROWS_HIST_H
#define NARROWS_HIST_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/err.h"

enum {
	NW_HIST_BITS = 7,
	NW_HIST_SUB = 1 << NW_HIST_BITS,
	/* 2^(34+7) ns = 37 minutes; the last bucket counts longer durations */
	NW_HIST_OCTAVES = 34,
	NW_HIST_BUCKETS = NW_HIST_SUB * NW_HIST_OCTAVES,
	NW_HIST_ENCODED_MAX_BYTES = 2 + NW_HIST_BUCKETS * (2 + 10)
};

static inline uint32_t
nw_hist_index(uint64_t ns)
{
	unsigned top, shift;
	uint32_t i;

	if (ns < NW_HIST_SUB)
		return (uint32_t)ns;
	top = 63u - (unsigned)__builtin_clzll(ns);
	shift = top - NW_HIST_BITS;
	i = (shift + 1) * NW_HIST_SUB + (uint32_t)((ns >> shift) & (NW_HIST_SUB - 1));
	return i < NW_HIST_BUCKETS ? i : NW_HIST_BUCKETS - 1;
}

/* The bucket holds lo <= ns < hi. */
static inline void
nw_hist_bounds(uint32_t index, double *lo_ns, double *hi_ns)
{
	uint32_t octave = index / NW_HIST_SUB, sub = index % NW_HIST_SUB;
	double width = octave == 0 ? 1.0 : (double)(1ull << (octave - 1));

	*lo_ns = octave == 0 ? (double)sub : ((double)NW_HIST_SUB + sub) * width;
	*hi_ns = *lo_ns + width;
}

/*
 * Coarser, for pictures: quarters of octaves. Quarter 4 i + k holds (4 + k) 2^i / 4 <= ns < (5 + k)
 * 2^i / 4; the first one also what is shorter than 1 ns.
 */
enum { NW_HIST_QUARTERS = 4 * (NW_HIST_OCTAVES + NW_HIST_BITS) };

static inline double
nw_hist_quarter_from(uint32_t quarter)
{
	return (double)(4 + quarter % 4) * (double)(UINT64_C(1) << (quarter / 4)) / 4;
}

static inline uint32_t
nw_hist_quarter(uint64_t ns)
{
	unsigned top = ns > 0 ? 63u - (unsigned)__builtin_clzll(ns) : 0;
	uint64_t k = ns > 1 ? (ns >> (top > 2 ? top - 2 : 0) << (top < 2 ? 2 - top : 0)) & 3 : 0;
	uint32_t q = 4 * top + (uint32_t)k;

	return q < NW_HIST_QUARTERS ? q : NW_HIST_QUARTERS - 1;
}

static inline size_t
nw_hist_put_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	while (v >= 0x80) {
		p[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	p[n++] = (uint8_t)v;
	return n;
}

/* Returns bytes taken, 0 when the bytes end or the number does not fit. */
static inline size_t
nw_hist_get_varint(const uint8_t *p, size_t len, uint64_t *v)
{
	unsigned shift = 0;
	size_t n = 0;

	*v = 0;
	while (n < len && n < 10) {
		if (n == 9 && p[n] > 1)
			return 0;
		*v |= (uint64_t)(p[n] & 0x7f) << shift;
		shift += 7;
		if (!(p[n++] & 0x80))
			return n;
	}
	return 0;
}

/* out has room for NW_HIST_ENCODED_MAX_BYTES. Returns the length; 0 when all counts are zero.
 * O(buckets). */
static inline size_t
nw_hist_encode(uint8_t *out, const uint64_t counts[NW_HIST_BUCKETS])
{
	uint32_t i, last = 0;
	size_t n = 2;

	out[0] = 1;
	out[1] = NW_HIST_BITS;
	for (i = 0; i < NW_HIST_BUCKETS; i++) {
		if (counts[i] == 0)
			continue;
		n += nw_hist_put_varint(out + n, i - last);
		n += nw_hist_put_varint(out + n, counts[i]);
		last = i;
	}
	return n > 2 ? n : 0;
}

/* Adds the stored form to counts. NW_ECORRUPT leaves counts partly added; NW_EVERSION for another
 * layout. */
static inline int
nw_hist_decode_add(const uint8_t *p, size_t len, uint64_t counts[NW_HIST_BUCKETS])
{
	uint64_t step, count, index = 0;
	size_t at = 2, n;
	int first = 1;

	if (len < 2)
		return NW_ECORRUPT;
	if (p[0] != 1 || p[1] != NW_HIST_BITS)
		return NW_EVERSION;
	while (at < len) {
		if ((n = nw_hist_get_varint(p + at, len - at, &step)) == 0)
			return NW_ECORRUPT;
		at += n;
		if ((n = nw_hist_get_varint(p + at, len - at, &count)) == 0)
			return NW_ECORRUPT;
		at += n;
		if (step >= NW_HIST_BUCKETS || (!first && step == 0))
			return NW_ECORRUPT;
		index += step;
		first = 0;
		if (index >= NW_HIST_BUCKETS || count == 0 || counts[index] + count < count)
			return NW_ECORRUPT;
		counts[index] += count;
	}
	return NW_OK;
}

#endif
