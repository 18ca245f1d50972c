/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_skip.h"

enum { N = 200 };

static bool
lists(const uint32_t *row, uint32_t n, const char *want)
{
	char have[256] = "";
	size_t len = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		len += (size_t)snprintf(
		    have + len, sizeof(have) - len, "%s%u", i > 0 ? " " : "", row[i]);
	if (strcmp(have, want) != 0)
		fprintf(stderr, "\"%s\", want \"%s\"\n", have, want);
	return strcmp(have, want) == 0;
}

static void
test_lists(void)
{
	double a[8] = { 1, 0, -0.0, NAN, INFINITY, 2, 2, 2 }, b[8],
	       c[8] = { 0, 0, 0, -0.0, 5, 0, -INFINITY, 1e-310 };
	uint32_t row[8];

	memcpy(b, a, sizeof(b));
	CHECK(lists(row, skip_different(a, b, 8, row), ""));
	b[2] = 0.0;
	b[7] = nextafter(2, 3);
	CHECK(lists(row, skip_different(a, b, 8, row), "2 7"));
	CHECK(lists(row, skip_repeated(a, 8, row), "6 7"));
	CHECK(lists(row, skip_repeated(a, 1, row), ""));
	CHECK(lists(row, skip_odd(a, 8, false, row), "3 4")); /* few zeros stay */
	CHECK(lists(row, skip_odd(c, 8, false, row), "0 1 2 3 5 6"));
	CHECK(lists(row, skip_odd(c, 8, true, row), "6"));
}

/* Any choice of rows, none and all included: what is left out comes back as zero, all else as it
 * was. */
static void
test_close_and_open(void)
{
	int64_t x[N], packed[N];
	uint32_t row[N], n_skipped, i, share;
	int round;

	for (round = 0; round < 200; round++) {
		share = (uint32_t)round % 5;
		n_skipped = 0;
		for (i = 0; i < N; i++) {
			x[i] = (int64_t)i + 1;
			if (random_below(4) < share) {
				row[n_skipped++] = i;
				x[i] = 0;
			}
		}
		skip_squeeze(row, n_skipped, x, N, packed);
		for (i = 0; i + n_skipped < N; i++)
			CHECK(packed[i] != 0 && (i == 0 || packed[i] > packed[i - 1]));
		skip_stretch(row, n_skipped, N, packed);
		CHECK(memcmp(packed, x, sizeof(x)) == 0);
		skip_squeeze(row, n_skipped, x, N, x); /* in place */
		skip_stretch(row, n_skipped, N, x);
		CHECK(memcmp(packed, x, sizeof(x)) == 0);
	}
}

int
main(int argc, char **argv)
{
	random_start(argc, argv);
	test_lists();
	test_close_and_open();
	return check_done("codec_skip");
}
