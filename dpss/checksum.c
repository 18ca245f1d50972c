/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instruction takes a new operand every cycle and gives its result after three: three lanes of
 * a block are summed side by side. A lane's sum moves over the bytes behind the lane by a linear
 * map of 32 bits, kept as four tables of 256.
 */
#include "dpss/checksum.h"

#include <pthread.h>
#include <string.h>

enum { LANE_BYTES = 2048, BITS = 32 };
static const uint32_t polynomial = 0x82f63b78; /* reflected */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t by_byte[256];
static uint32_t over_lane[4][256]; /* a sum after LANE_BYTES of zeros */

static uint32_t
table_add(uint32_t sum, const uint8_t *at, size_t len)
{
	for (; len > 0; len--)
		sum = by_byte[(sum ^ *at++) & 0xff] ^ sum >> 8;
	return sum;
}

static void
tables_make(void)
{
	static const uint8_t zeros[LANE_BYTES];
	uint32_t basis[BITS], i, k, bit;

	for (i = 0; i < 256; i++) {
		by_byte[i] = i;
		for (k = 0; k < 8; k++)
			by_byte[i] = by_byte[i] >> 1 ^ (by_byte[i] & 1 ? polynomial : 0);
	}
	for (i = 0; i < BITS; i++)
		basis[i] = table_add(UINT32_C(1) << i, zeros, sizeof(zeros));
	for (k = 0; k < 4; k++)
		for (i = 0; i < 256; i++)
			for (bit = 0; bit < 8; bit++)
				if (i >> bit & 1)
					over_lane[k][i] ^= basis[8 * k + bit];
}

uint32_t
checksum_by_table(const void *bytes, size_t len)
{
	pthread_once(&once, tables_make);
	return ~table_add(~UINT32_C(0), bytes, len);
}

#if defined(__x86_64__)
#include <nmmintrin.h>

static uint32_t
moved(uint32_t sum)
{
	return over_lane[0][sum & 0xff] ^ over_lane[1][sum >> 8 & 0xff] ^
	    over_lane[2][sum >> 16 & 0xff] ^ over_lane[3][sum >> 24];
}

static uint64_t
word(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

__attribute__((target("sse4.2"))) static uint32_t
by_instruction(const uint8_t *at, size_t len)
{
	uint64_t a = ~UINT32_C(0), b, c;
	size_t i;

	for (; len >= 3 * LANE_BYTES; len -= 3 * LANE_BYTES, at += 3 * LANE_BYTES) {
		for (i = 0, b = c = 0; i < LANE_BYTES; i += 8) {
			a = _mm_crc32_u64(a, word(at + i));
			b = _mm_crc32_u64(b, word(at + LANE_BYTES + i));
			c = _mm_crc32_u64(c, word(at + 2 * LANE_BYTES + i));
		}
		a = moved(moved((uint32_t)a) ^ (uint32_t)b) ^ c;
	}
	for (; len >= 8; len -= 8, at += 8)
		a = _mm_crc32_u64(a, word(at));
	for (; len > 0; len--)
		a = _mm_crc32_u8((uint32_t)a, *at++);
	return ~(uint32_t)a;
}

uint32_t
checksum(const void *bytes, size_t len)
{
	pthread_once(&once, tables_make);
	return __builtin_cpu_supports("sse4.2") ? by_instruction(bytes, len)
						: checksum_by_table(bytes, len);
}
#else
uint32_t
checksum(const void *bytes, size_t len)
{
	return checksum_by_table(bytes, len);
}
#endif
