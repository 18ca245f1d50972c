/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/lastrow.h"

#include "narrows/err.h"
#include "tests/check.h"
#include "tests/chunkdata.h"

enum { N = 20 };

static double row[N], back[N], *columns[N];

static int
unpack(const uint8_t *bytes, size_t len, size_t n)
{
	return lastrow_unpack(bytes, len, columns, n);
}

/* Any number of any doubles: NaN, infinities, zeros of both signs. */
static void
test_round_trips(void)
{
	uint8_t bytes[N * 10 + 1];
	uint64_t bits;
	size_t n, i, len, k;

	for (k = 0; k < 2000; k++) {
		n = random_below(N);
		for (i = 0; i < n; i++) {
			bits = random_bits() << random_below(64);
			memcpy(&row[i], &bits, sizeof(bits));
		}
		len = lastrow_pack(row, n, bytes);
		CHECK(len <= lastrow_bound(n) && len % 8 != 0);
		CHECK_INT(unpack(bytes, len, n), NW_OK);
		CHECK(memcmp(row, back, n * sizeof(*row)) == 0);
		CHECK(len < 2 || (len - 2) % 8 == 0 || unpack(bytes, len - 2, n) == NW_ECORRUPT);
		CHECK(len % 8 == 1 || unpack(bytes, len, n + 1) == NW_ECORRUPT);
	}
}

/* Rows of older files. */
static void
test_plain(void)
{
	static const double old[3] = { 1.5, -0.0, 1e300 };

	CHECK_INT(unpack((const uint8_t *)old, sizeof(old), 3), NW_OK);
	CHECK(memcmp(old, back, sizeof(old)) == 0);
	CHECK_INT(unpack((const uint8_t *)old, sizeof(old), 2), NW_ECORRUPT);
	CHECK_INT(unpack((const uint8_t *)old, sizeof(old), 4), NW_ECORRUPT);
}

int
main(int argc, char **argv)
{
	size_t i;

	random_start(argc, argv);
	for (i = 0; i < N; i++)
		columns[i] = &back[i];
	test_round_trips();
	test_plain();
	return check_done("lastrow");
}
