/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_bits.h"
#include "store/codec/codec_stream.h"

enum { ROWS_MAX = 4096 };

static const uint32_t sizes[] = { 0, 1, 2, 3, 31, 32, 33, 255, 511, 512, 513, 1024, ROWS_MAX };
static int64_t x[ROWS_MAX], back[ROWS_MAX];

static void
fill(unsigned kind, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		switch (kind) {
		case 0: x[i] = -7; break;
		case 1: x[i] = (int64_t)random_bits(); break;
		case 2: x[i] = 1000 + (int64_t)random_below(9); break;
		case 3: x[i] = INT64_MIN + (int64_t)random_below(3); break;
		case 4: x[i] = random_below(2) ? INT64_MAX : INT64_MIN; break;
		case 5: x[i] = -4096 * (int64_t)random_below(1000); break;
		case 6: x[i] = 12345 + 1000003 * (int64_t)random_below(100000); break;
		case 7: x[i] = random_below(100) == 0 ? (int64_t)random_bits() : 5; break;
		case 8: x[i] = (int64_t)(random_bits() >> random_below(64)); break;
		case 9:
			x[i] =
			    INT64_MIN + (int64_t)random_below(2) * INT64_C(0x6000000000000000) * 2;
			break;
		default: x[i] = (int64_t)random_below(2) << 62; break;
		}
	}
}

static void
test_round_trips(struct stream_coder *coder)
{
	struct chunk_buf buf = { 0 };
	struct byte_reader in;
	unsigned kind, s, cut;
	uint32_t n;
	uint8_t *exact;

	for (kind = 0; kind <= 10; kind++) {
		for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			n = sizes[s];
			fill(kind, n);
			buf.len = 0;
			CHECK_INT(stream_write(coder, x, n, &buf), NW_OK);
			exact = malloc(buf.len > 0 ? buf.len : 1);
			if (buf.len > 0)
				memcpy(exact, buf.bytes, buf.len);
			in = (struct byte_reader){ exact, exact + buf.len, false };
			CHECK_INT(stream_read(coder, &in, back, n), NW_OK);
			CHECK(reader_left(&in) == 0 &&
			    (n == 0 || memcmp(x, back, n * sizeof(*x)) == 0));
			for (cut = 0; cut < 20 && n > 0; cut++) {
				in = (struct byte_reader){ exact, exact + random_below(buf.len),
					false };
				CHECK_INT(stream_read(coder, &in, back, n), NW_ECORRUPT);
			}
			free(exact);
		}
	}
	chunk_buf_clear(&buf);
}

/* What a kind of numbers may take, in bytes for 1024 of them: a common divisor, a distant base and
 * rare outliers must cost next to nothing. */
static const struct {
	unsigned kind;
	size_t hot_bytes_max, compact_bytes_max;
} prices[] = {
	{ 0, 3, 3 },
	{ 1, 1024 * 8 + 50, 1024 * 8 + 50 },
	{ 2, 1024 / 2 + 60, 1024 / 2 - 50 },
	{ 5, 1024 * 10 / 8 + 60, 1024 * 10 / 8 + 60 },
	{ 6, 1024 * 18 / 8 + 60, 1024 * 17 / 8 + 40 },
	{ 7, 5000, 300 },
};

static void
test_prices(struct stream_coder *coder)
{
	struct chunk_buf buf = { 0 };
	size_t i, bytes_max;

	for (i = 0; i < sizeof(prices) / sizeof(prices[0]); i++) {
		bytes_max = coder->effort == CHUNK_HOT ? prices[i].hot_bytes_max
						       : prices[i].compact_bytes_max;
		fill(prices[i].kind, 1024);
		buf.len = 0;
		CHECK_INT(stream_write(coder, x, 1024, &buf), NW_OK);
		if (buf.len > bytes_max)
			fprintf(stderr, "kind %u, effort %d: %zu bytes\n", prices[i].kind,
			    coder->effort, buf.len);
		CHECK(buf.len <= bytes_max);
	}
	chunk_buf_clear(&buf);
}

/* An estimate is used to choose: it has to be near what writing takes. */
static void
test_cost(struct stream_coder *coder)
{
	struct chunk_buf buf = { 0 };
	double cost_bytes;
	unsigned kind;

	for (kind = 0; kind <= 8; kind++) {
		fill(kind, 1024);
		buf.len = 0;
		cost_bytes = (double)stream_cost(coder, x, 1024) / 8;
		CHECK_INT(stream_write(coder, x, 1024, &buf), NW_OK);
		if (kind != 7) /* outliers that a sample need not see */
			CHECK_NEAR(cost_bytes, (double)buf.len, 0.25, 120);
	}
	chunk_buf_clear(&buf);
}

static void
test_lies(struct stream_coder *coder)
{
	static const struct {
		uint8_t bytes[24];
		size_t len;
	} lies[] = {
		{ { 3, 0 }, 24 },                   /* no such mode */
		{ { 0x10, 0 }, 24 },                /* unknown flag */
		{ { 1, 0, 65 }, 24 },               /* a width that no number has */
		{ { 2, 0, 200, 1 }, 24 },           /* a frame longer than the bytes */
		{ { 2, 0, 5, 0, 0, 0, 0, 0 }, 24 }, /* a frame that is none */
		{ { 2, 0, 0 }, 24 },
		{ { 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 24 },
	};
	struct byte_reader in;
	size_t i;

	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		in = (struct byte_reader){ lies[i].bytes, lies[i].bytes + lies[i].len, false };
		CHECK_INT(stream_read(coder, &in, back, 8), NW_ECORRUPT);
	}
}

int
main(int argc, char **argv)
{
	struct stream_coder coder = { 0 };
	int effort;

	random_start(argc, argv);
	CHECK_INT(stream_reserve(&coder, ROWS_MAX), NW_OK);
	for (effort = CHUNK_HOT; effort <= CHUNK_COMPACT; effort++) {
		coder.effort = (enum chunk_effort)effort;
		test_round_trips(&coder);
		test_prices(&coder);
		test_cost(&coder);
		test_lies(&coder);
	}
	stream_clear(&coder);
	return check_done("codec_stream");
}
