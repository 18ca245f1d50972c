/* SPDX-License-Identifier: BSD-3-Clause */
/* Every width, at every number of rows around a block, and widths that change from block to
 * block. */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_bits.h"

enum { ROWS_MAX = 100 };

static uint64_t
of_width(unsigned width)
{
	return width == 0 ? 0 : random_bits() >> (64 - width);
}

static bool
round_trip(const uint64_t *v, uint32_t n)
{
	uint8_t width[ROWS_MAX / BITS_BLOCK + 1], *bytes = malloc((size_t)n * 8 + BITS_SLACK_BYTES),
						  *exact, *end;
	struct byte_reader in;
	uint64_t back[ROWS_MAX + 1];
	size_t len;
	bool ok;

	blocks_measure(v, n, width);
	end = blocks_pack(v, n, width, bytes);
	len = (size_t)(end - bytes);
	exact = malloc(len > 0 ? len : 1); /* so that a sanitizer sees a byte beyond the end */
	memcpy(exact, bytes, len);
	in = (struct byte_reader){ exact, exact + len, false };
	blocks_unpack(&in, width, n, back);
	ok = !in.bad && reader_left(&in) == 0 && memcmp(v, back, n * sizeof(*v)) == 0;
	if (len > 0) {
		in = (struct byte_reader){ exact, exact + len - 1, false };
		blocks_unpack(&in, width, n, back);
		ok = ok && in.bad;
	}
	free(exact);
	free(bytes);
	return ok;
}

static void
test_widths(void)
{
	uint64_t v[ROWS_MAX];
	unsigned width;
	uint32_t n, i;

	for (width = 0; width <= 64; width++) {
		for (n = 1; n <= ROWS_MAX; n += n < 30 || n > 66 ? 7 : 1) {
			for (i = 0; i < n; i++)
				v[i] = of_width(width);
			CHECK(round_trip(v, n));
		}
	}
	for (n = 0; n < 200; n++) {
		for (i = 0; i < ROWS_MAX; i++)
			v[i] = of_width((unsigned)random_below(65));
		CHECK(round_trip(v, ROWS_MAX));
	}
}

static void
test_layout(void)
{
	static const uint64_t v[3] = { 5, 2, 7 }; /* 101, 010, 111 from the lowest bit up */
	uint8_t width[1], bytes[3 * 8 + BITS_SLACK_BYTES];

	CHECK_INT(blocks_measure(v, 3, width), 9);
	CHECK_INT(width[0], 3);
	CHECK_INT(blocks_pack(v, 3, width, bytes) - bytes, 2);
	CHECK_INT(bytes[0], 0xd5);
	CHECK_INT(bytes[1], 0x01);
	CHECK_INT(bits_width(0), 0);
	CHECK_INT(bits_width(UINT64_MAX), 64);
}

static void
test_bad_width(void)
{
	static const uint8_t bytes[1000] = { 0 };
	struct byte_reader in = { bytes, bytes + sizeof(bytes), false };
	uint64_t v[BITS_BLOCK];
	uint8_t width[1] = { 65 };

	blocks_unpack(&in, width, BITS_BLOCK, v);
	CHECK(in.bad);
}

int
main(int argc, char **argv)
{
	random_start(argc, argv);
	test_widths();
	test_layout();
	test_bad_width();
	return check_done("codec_bits");
}
