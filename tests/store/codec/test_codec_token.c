/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_token.h"

enum { N = 3000 };

static struct token_coder coder;
static uint64_t v[N], back[N];

static bool
round_trip(uint32_t n)
{
	struct chunk_buf buf = { 0 };
	struct byte_reader in;
	uint8_t *exact;
	size_t cut;
	bool ok;

	ok = buf_reserve(&buf, token_bound(n)) == NW_OK && token_write(&coder, v, n, &buf) == NW_OK;
	exact = malloc(buf.len);
	memcpy(exact, buf.bytes, buf.len);
	in = (struct byte_reader){ exact, exact + buf.len, false };
	ok = ok && token_read(&coder, &in, back, n, n <= TOKEN_FEW) == NW_OK &&
	    reader_left(&in) == 0 && memcmp(v, back, n * sizeof(*v)) == 0;
	for (cut = 0; ok && cut < 10; cut++) {
		in = (struct byte_reader){ exact, exact + random_below(buf.len), false };
		ok = token_read(&coder, &in, back, n, n <= TOKEN_FEW) == NW_ECORRUPT;
	}
	in = (struct byte_reader){ exact, exact + buf.len, false };
	/* other than it was written for, which a checksum tells where there is no table of
	 * tokens */
	ok = ok && (n <= TOKEN_FEW || token_read(&coder, &in, back, n - 1, false) == NW_ECORRUPT);
	free(exact);
	chunk_buf_clear(&buf);
	return ok;
}

/* Around every power of two, and every length at random. */
static void
test_lengths(void)
{
	unsigned length;
	uint32_t i, n = 0;

	for (length = 0; length < 64; length++) {
		v[n++] = (UINT64_C(1) << length) - 1;
		v[n++] = UINT64_C(1) << length;
		v[n++] = UINT64_C(3) << length >> 1;
	}
	v[n++] = UINT64_MAX;
	CHECK(round_trip(n));
	for (length = 1; length <= 64; length++) {
		for (i = 0; i < N; i++)
			v[i] = random_bits() >> (64 - length);
		CHECK(round_trip(N));
		CHECK(round_trip(2 + (uint32_t)random_below(60)));
	}
	for (i = 0; i < N; i++)
		v[i] = random_bits() >> random_below(64);
	CHECK(round_trip(N));
}

/* Skewed numbers of two bits' entropy: that is foretold, also from a third of them, and zstd comes
 * within a third. */
static void
test_price(void)
{
	struct chunk_buf buf = { 0 };
	double bits;
	uint32_t i;

	for (i = 0; i < N; i++)
		for (v[i] = 0; random_below(2) == 0 && v[i] < 15;)
			v[i]++;
	CHECK_INT(buf_reserve(&buf, token_bound(N)), NW_OK);
	CHECK_INT(token_write(&coder, v, N, &buf), NW_OK);
	bits = (double)buf.len * 8 / N;
	CHECK(bits >= 2 && bits < 2.67);
	CHECK_NEAR((double)token_cost(&coder, v, N, N) / N, 2, 0.08, 0);
	CHECK_NEAR((double)token_cost(&coder, v, N / 3, N) / N, 2, 0.12, 0);
	chunk_buf_clear(&buf);
}

/* 255 as a token says nothing. */
static void
test_no_token(void)
{
	/* zstd: one segment, 3 raw bytes */
	static const uint8_t frame[] = { 0x20, 3, 0x19, 0, 0, 1, 255, 2 };
	uint8_t bytes[200] = { sizeof(frame) };
	struct byte_reader in = { bytes, bytes + sizeof(bytes), false };

	memcpy(bytes + 1, frame, sizeof(frame));
	CHECK_INT(token_read(&coder, &in, back, 3, false), NW_ECORRUPT);
	bytes[7] = 3;
	in = (struct byte_reader){ bytes, bytes + sizeof(bytes), false };
	CHECK_INT(token_read(&coder, &in, back, 3, false), NW_OK);
	CHECK(back[0] == 1 && back[1] == 3 && back[2] == 2);
}

int
main(int argc, char **argv)
{
	random_start(argc, argv);
	CHECK_INT(token_reserve(&coder, N), NW_OK);
	test_lengths();
	test_price();
	test_no_token();
	token_clear(&coder);
	return check_done("codec_token");
}
