/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names follow section 9 of Giulietti's text: v = c 2^q, the interval of decimals that round to
 * v has the bounds (4c - 2) 2^(q-2) and (4c + 2) 2^(q-2), and k is the power of ten that leaves
 * between two and twenty candidates in it.
 */
#include "narrows/shortest.h"

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define FRACTION_BITS 52
#define HIDDEN_BIT    (UINT64_C(1) << FRACTION_BITS)
#define EXPONENT_MASK 0x7ff
#define EXPONENT_BIAS (1023 + FRACTION_BITS)
#define POWER_MIN     (-292)
#define POWER_MAX     324

__extension__ typedef unsigned __int128 u128;

struct power {
	uint64_t high, low; /* ceil(10^k 2^(127 - floor(log2(10^k)))) */
};

static struct power powers[POWER_MAX - POWER_MIN + 1];

/* --- the table: exact integers of 2,176 bits, least significant word first --- */

#define BIG_WORDS 68

struct big {
	uint32_t word[BIG_WORDS];
};

static void
big_times_ten(struct big *b)
{
	uint64_t carry = 0;
	size_t i;

	for (i = 0; i < BIG_WORDS; i++) {
		carry += (uint64_t)b->word[i] * 10;
		b->word[i] = (uint32_t)carry;
		carry >>= 32;
	}
}

static bool
big_divide_by_ten(struct big *b)
{
	uint64_t rest = 0;
	size_t i;

	for (i = BIG_WORDS; i-- > 0;) {
		rest = rest << 32 | b->word[i];
		b->word[i] = (uint32_t)(rest / 10);
		rest %= 10;
	}
	return rest != 0;
}

static uint32_t
big_word(const struct big *b, int i)
{
	return i >= 0 ? b->word[i] : 0;
}

/* The 128 leading bits of b, rounded up where bits of b or of the divisions before follow. */
static struct power
big_lead(const struct big *b, bool inexact)
{
	int top = BIG_WORDS - 1, shift, i;
	uint32_t next;
	u128 lead = 0;

	while (b->word[top] == 0)
		top--;
	for (i = 0; i < 4; i++)
		lead = lead << 32 | big_word(b, top - i);
	next = big_word(b, top - 4);
	shift = __builtin_clz(b->word[top]);
	lead = lead << shift | (uint64_t)next << shift >> 32;
	inexact = inexact || (uint32_t)(next << shift) != 0;
	for (i = top - 5; i >= 0 && !inexact; i--)
		inexact = b->word[i] != 0;
	lead += inexact;
	return (struct power){ (uint64_t)(lead >> 64), (uint64_t)lead };
}

/* Floors of floors are floors of the whole quotient, so repeated division stays exact. 2^2175 /
 * 10^292 keeps 1,200 bits. */
static void
fill_powers(void)
{
	struct big up = { { 1 } }, down = { { 0 } };
	bool inexact = false;
	int k;

	for (k = 0; k <= POWER_MAX; k++, big_times_ten(&up))
		powers[k - POWER_MIN] = big_lead(&up, false);
	down.word[BIG_WORDS - 1] = UINT32_C(1) << 31;
	for (k = -1; k >= POWER_MIN; k--) {
		inexact = big_divide_by_ten(&down) || inexact;
		powers[k - POWER_MIN] = big_lead(&down, inexact);
	}
}

static struct power
power_of_ten(int k)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill_powers);
	return powers[k - POWER_MIN];
}

/* --- the digits --- */

/* floor(log10(2^q)), or floor(log10(3/4 2^q)); floor(log2(10^k)). Exact for all doubles. */
static int
floor_log10_pow2(int q, bool three_quarters)
{
	return (q * 1262611 - (three_quarters ? 524031 : 0)) >> 22;
}

static int
floor_log2_pow10(int k)
{
	return (k * 1741647) >> 19;
}

/* The product's upper 64 of 192 bits; their last bit is set where anything follows them. */
static uint64_t
times_to_odd(struct power g, uint64_t c)
{
	u128 low = (u128)g.low * c, high = (u128)g.high * c + (uint64_t)(low >> 64);

	return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

static inline void
zeros_drop(struct shortest *s, uint64_t power, int zeros)
{
	if (s->digits % power != 0)
		return;
	s->digits /= power;
	s->exponent += zeros;
}

/* Decimals such as 12.34 come with a dozen zeros, which go eight, four, two and one at a time. */
static struct shortest
without_zeros(uint64_t digits, int exponent)
{
	struct shortest s = { digits, exponent };

	if (digits % 10 != 0)
		return s;
	zeros_drop(&s, 100000000, 8);
	zeros_drop(&s, 100000000, 8);
	zeros_drop(&s, 10000, 4);
	zeros_drop(&s, 100, 2);
	zeros_drop(&s, 10, 1);
	return s;
}

struct scaled {
	uint64_t lower, value, upper; /* four times the candidate integers' scale, rounded to odd */
};

/* The bounds themselves round to v only if c is even. */
static struct scaled
scale(uint64_t c, int q, bool is_power_of_two, int k)
{
	struct power g = power_of_ten(-k);
	int h = q + floor_log2_pow10(-k) + 1;
	uint64_t odd = c & 1;

	return (struct scaled){ .lower = times_to_odd(g, (4 * c - 2 + is_power_of_two) << h) + odd,
		.value = times_to_odd(g, 4 * c << h),
		.upper = times_to_odd(g, (4 * c + 2) << h) - odd };
}

static struct shortest
shortest_in(const struct scaled *v, int k)
{
	uint64_t s = v->value / 4, tens = s / 10 * 40, middle = 4 * s + 2;
	bool below, above;

	if (s >= 10) {
		below = v->lower <= tens;
		above = tens + 40 <= v->upper;
		if (below != above)
			return without_zeros(tens / 40 + above, k + 1);
	}
	below = v->lower <= 4 * s;
	above = 4 * s + 4 <= v->upper;
	if (below == above)
		above = v->value > middle || (v->value == middle && (s & 1) != 0);
	return without_zeros(s + above, k);
}

struct shortest
shortest_of(double v)
{
	uint64_t bits, fraction, c;
	int exponent, q, k;
	struct scaled scaled;
	bool is_power_of_two;

	memcpy(&bits, &v, sizeof(bits));
	fraction = bits & (HIDDEN_BIT - 1);
	exponent = bits >> FRACTION_BITS & EXPONENT_MASK;
	c = exponent > 0 ? fraction | HIDDEN_BIT : fraction;
	q = (exponent > 0 ? exponent : 1) - EXPONENT_BIAS;
	if (q <= 0 && q > -FRACTION_BITS - 1 && (c & ((UINT64_C(1) << -q) - 1)) == 0)
		return without_zeros(c >> -q, 0);
	is_power_of_two = fraction == 0 && exponent > 1;
	k = floor_log10_pow2(q, is_power_of_two);
	scaled = scale(c, q, is_power_of_two, k);
	return shortest_in(&scaled, k);
}

/* --- integers --- */

/* The digits of v < 10^8 as numbers 0 to 9, the first in the lowest byte. Halves, then pairs, then
 * digits are parted side by side, where a loop of divisions waits for each. */
static inline uint64_t
eight_digits(uint64_t v)
{
	uint64_t x = v / 10000 | v % 10000 << 32, above;

	above = (x * 10486 >> 20) & UINT64_C(0x0000007f0000007f); /* x / 100 below 10000 */
	x = above | (x - 100 * above) << 16;
	above = (x * 103 >> 10) & UINT64_C(0x000f000f000f000f); /* x / 10 below 100 */
	return above | (x - 10 * above) << 8;
}

static inline void
put_eight(char *out, uint64_t digits)
{
	digits = htole64(digits | UINT64_C(0x3030303030303030));
	memcpy(out, &digits, sizeof(digits));
}

/* Without the zeros in front, but for one of 0. Returns the number of characters that count of the
 * eight written. */
static inline size_t
put_first(char *out, uint64_t v)
{
	uint64_t digits = eight_digits(v);
	size_t zeros = digits != 0 ? (size_t)__builtin_ctzll(digits) / 8 : 7;

	put_eight(out, digits >> 8 * zeros);
	return 8 - zeros;
}

size_t
shortest_put_int(char out[static SHORTEST_INT_ROOM], uint64_t v)
{
	const uint64_t block = 100000000;
	size_t n;

	if (v < block)
		return put_first(out, v);
	if (v < block * block) {
		n = put_first(out, v / block);
	} else {
		n = put_first(out, v / (block * block));
		put_eight(out + n, eight_digits(v / block % block));
		n += 8;
	}
	put_eight(out + n, eight_digits(v % block));
	return n + 8;
}
