/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names follow section 9 of Giulietti's text: v = c 2^q, the interval of decimals that round to
 * v has the bounds (4c - 2) 2^(q-2) and (4c + 2) 2^(q-2), and k is the power of ten that leaves
 * between two and twenty candidates in it.
 */
#include "narrows/shortest.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define FRACTION_BITS 52
#define HIDDEN_BIT    (UINT64_C(1) << FRACTION_BITS)
#define EXPONENT_MASK 0x7ff
#define EXPONENT_BIAS (1023 + FRACTION_BITS)
#define POWER_MIN     (-292)
#define POWER_MAX     324

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

static bool
big_bit(const struct big *b, int i)
{
	return i >= 0 && (b->word[i / 32] >> (i % 32) & 1) != 0;
}

/* The 128 leading bits of b, rounded up where bits of b or of the divisions before follow. */
static struct power
big_lead(const struct big *b, bool inexact)
{
	struct power p = { 0, 0 };
	int top = BIG_WORDS * 32 - 1, i;

	while (!big_bit(b, top))
		top--;
	for (i = 0; i < 128; i++) {
		p.high = p.high << 1 | p.low >> 63;
		p.low = p.low << 1 | (uint64_t)big_bit(b, top - i);
	}
	for (i = top - 128; i >= 0 && !inexact; i--)
		inexact = big_bit(b, i);
	if (inexact && ++p.low == 0)
		p.high++;
	return p;
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
	__extension__ typedef unsigned __int128 u128;
	u128 low = (u128)g.low * c, high = (u128)g.high * c + (uint64_t)(low >> 64);

	return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

static struct shortest
without_zeros(uint64_t digits, int exponent)
{
	struct shortest s = { digits, exponent };

	while (s.digits % 10 == 0) {
		s.digits /= 10;
		s.exponent++;
	}
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

/* Two digits at a time, because each division waits for the one before. */
static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

size_t
shortest_put_int(char out[static SHORTEST_INT_ROOM], uint64_t v)
{
	char text[SHORTEST_INT_ROOM], *at = text + sizeof(text);
	size_t n;

	for (; v >= 100; v /= 100) {
		at -= 2;
		memcpy(at, pairs + 2 * (v % 100), 2);
	}
	if (v >= 10) {
		at -= 2;
		memcpy(at, pairs + 2 * v, 2);
	} else {
		*--at = (char)('0' + v);
	}
	n = (size_t)(text + sizeof(text) - at);
	memcpy(out, at, n);
	return n;
}
