/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_adaptive.h"

enum { N = 512, TOKENS = 136 };

static uint8_t token[N], back[N], bytes[16 + N * (TOKENS + 2) * 10 / 8];

/* Tokens come back from exactly their bytes; other bytes give tokens below the limit or an
 * error. */
static size_t
round_trip(uint32_t n)
{
	size_t len = adaptive_write(token, n, bytes), i, cut;
	uint8_t *exact = malloc(len);
	uint32_t k;

	CHECK(len <= adaptive_bound(n, TOKENS));
	memcpy(exact, bytes, len);
	CHECK_INT(adaptive_read(exact, len, TOKENS, back, n), NW_OK);
	CHECK(memcmp(token, back, n) == 0);
	for (i = 0; i < 20; i++) {
		cut = random_below(len);
		exact[random_below(len)] = (uint8_t)random_bits();
		if (adaptive_read(exact, cut, TOKENS, back, n) == NW_OK)
			for (k = 0; k < n; k++)
				CHECK(back[k] < TOKENS);
	}
	CHECK_INT(adaptive_read(exact, 0, TOKENS, back, n), NW_ECORRUPT);
	free(exact);
	return len;
}

static void
test_round_trips(void)
{
	uint32_t n, i, spread;

	for (n = 1; n <= N; n += 1 + n / 4)
		for (spread = 1; spread <= TOKENS; spread += 1 + spread / 2) {
			for (i = 0; i < n; i++)
				token[i] = (uint8_t)(random_below(spread) +
				    (random_below(20) == 0 ? TOKENS - spread : 0));
			round_trip(n);
		}
	for (i = 0; i < N; i++)
		token[i] = i % 2 == 0 ? 0 : TOKENS - 1;
	round_trip(N);
}

/* 100 tokens that halve in number with their distance take two bits each, and little more: tables
 * of zstd alone would take ten bytes and more. */
static void
test_price(void)
{
	uint32_t i, k;
	size_t len = 0;

	for (k = 0; k < 100; k++) {
		for (i = 0; i < 100; i++)
			for (token[i] = 30; random_below(2) == 0 && token[i] < 60;)
				token[i]++;
		len += adaptive_write(token, 100, bytes);
	}
	CHECK(len / 100 < 25 + 6);
	memset(token, 7, 100);
	CHECK(adaptive_write(token, 100, bytes) <= 3);
}

int
main(int argc, char **argv)
{
	random_start(argc, argv);
	test_round_trips();
	test_price();
	return check_done("codec_adaptive");
}
