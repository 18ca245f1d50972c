/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_time.h"

enum { ROWS_MAX = 4096 };

static const int64_t second = 1000000000, start = INT64_C(1700000000000000000);
static int64_t t[ROWS_MAX], back[ROWS_MAX];

enum shape {
	REGULAR,
	MILLISECONDS,
	JITTERED,
	GAPS,
	BURSTS,
	DRIFTING,
	EQUAL,
	BACKWARDS,
	ANY,
	EXTREME,
	N_SHAPES
};

static void
fill(int shape, uint32_t n)
{
	int64_t at = start;
	uint32_t i;

	for (i = 0; i < n; i++) {
		switch (shape) {
		case REGULAR: t[i] = start + i * second; break;
		case MILLISECONDS:
			t[i] = (start + i * second) / 1000000 * 1000000 +
			    (int64_t)random_below(5) * 1000000;
			break;
		case JITTERED: t[i] = start + i * second + (int64_t)random_below(1 << 12); break;
		case GAPS:
			at += second * (random_below(50) == 0 ? 30 : 1);
			t[i] = at + (int64_t)random_below(1 << 12);
			break;
		case BURSTS:
			at += random_below(20) == 0 ? second : (int64_t)random_below(200);
			t[i] = at;
			break;
		case DRIFTING: t[i] = start + i * (second + 777) + (int64_t)random_below(16); break;
		case EQUAL: t[i] = start; break;
		case BACKWARDS: t[i] = start - i * second; break;
		case ANY: t[i] = (int64_t)random_bits(); break;
		default: t[i] = i % 3 == 0 ? INT64_MIN : i % 3 == 1 ? INT64_MAX : 0; break;
		}
	}
}

static void
test_round_trips(struct column_work *work)
{
	static const uint32_t sizes[] = { 0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 1000, 1024, ROWS_MAX };
	struct chunk_buf buf = { 0 };
	struct byte_reader in;
	uint8_t *exact;
	unsigned s, cut;
	uint32_t n;
	int shape;

	for (shape = 0; shape < N_SHAPES; shape++) {
		for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			n = sizes[s];
			fill(shape, n);
			buf.len = 0;
			CHECK_INT(time_write(work, t, n, &buf), NW_OK);
			exact = malloc(buf.len > 0 ? buf.len : 1);
			memcpy(exact, buf.bytes, buf.len);
			in = (struct byte_reader){ exact, exact + buf.len, false };
			CHECK_INT(time_read(work, &in, back, n), NW_OK);
			CHECK(reader_left(&in) == 0 && memcmp(t, back, n * sizeof(*t)) == 0);
			for (cut = 0; cut < 10 && n > 0; cut++) {
				in = (struct byte_reader){ exact, exact + random_below(buf.len),
					false };
				CHECK_INT(time_read(work, &in, back, n), NW_ECORRUPT);
			}
			free(exact);
		}
	}
	chunk_buf_clear(&buf);
}

/* Bits per time of 1000: what jitter there is, and little more. */
static const struct {
	int shape;
	double hot_bits_max, compact_bits_max;
} prices[] = {
	{ REGULAR, 0.2, 0.2 },
	{ MILLISECONDS, 4.2, 3 },
	{ JITTERED, 12.8, 12.8 },
	{ GAPS, 17, 13.7 },
	{ BURSTS, 30, 11 },
	{ DRIFTING, 6, 5 },
	{ EQUAL, 0.2, 0.2 },
};

static void
test_prices(struct column_work *work)
{
	struct chunk_buf buf = { 0 };
	double bits, bits_max;
	size_t i;

	for (i = 0; i < sizeof(prices) / sizeof(prices[0]); i++) {
		fill(prices[i].shape, 1000);
		buf.len = 0;
		CHECK_INT(time_write(work, t, 1000, &buf), NW_OK);
		bits = (double)buf.len * 8 / 1000;
		bits_max = work->coder.effort == CHUNK_HOT ? prices[i].hot_bits_max
							   : prices[i].compact_bits_max;
		if (bits > bits_max)
			fprintf(stderr, "shape %d: %.2f bits\n", prices[i].shape, bits);
		CHECK(bits <= bits_max);
	}
	chunk_buf_clear(&buf);
}

int
main(int argc, char **argv)
{
	struct column_work work = { 0 };
	struct byte_reader in = { (const uint8_t *)"\x03\x00\x00\x00", NULL, false };
	int effort;

	random_start(argc, argv);
	CHECK_INT(column_work_reserve(&work, ROWS_MAX), NW_OK);
	for (effort = CHUNK_HOT; effort <= CHUNK_COMPACT; effort++) {
		work.coder.effort = (enum chunk_effort)effort;
		test_round_trips(&work);
		test_prices(&work);
	}
	in.end = in.at + 4;
	CHECK_INT(time_read(&work, &in, back, 1), NW_ECORRUPT); /* no such mode */
	column_work_clear(&work);
	return check_done("codec_time");
}
