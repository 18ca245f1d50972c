/* SPDX-License-Identifier: BSD-3-Clause */
/* Every form with every guess on every kind of column, whether it suits or not: what comes back is
 * what went in. */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_column.h"

enum { ROWS_MAX = 1500, N_COLUMNS = 6 };

static const uint32_t sizes[] = { 1, 2, 3, 31, 32, 33, 600, ROWS_MAX };
static double columns[N_COLUMNS][ROWS_MAX], back[ROWS_MAX];
static const double *value[N_COLUMNS];
static struct column_work work;

static bool
round_trip(const struct column_plan *plan, uint32_t n, struct chunk_buf *buf)
{
	struct column_plan read;
	struct byte_reader in;
	uint8_t *exact;
	bool ok;

	column_work_forget(&work);
	buf->len = 0;
	if (column_write(&work, value, n, 0, plan, buf) != NW_OK)
		return false;
	exact = malloc(buf->len);
	memcpy(exact, buf->bytes, buf->len);
	in = (struct byte_reader){ exact, exact + buf->len, false };
	column_read_plan(&in, N_COLUMNS, &read);
	ok = !in.bad && column_read(&work, &in, &read, value, n, back) == NW_OK &&
	    reader_left(&in) == 0 && same_bits(columns[0], back, n);
	if (!ok)
		fprintf(stderr, "form %d guess %d op %d digits %d, %u rows\n", plan->form,
		    plan->guess, plan->relation.op, plan->scale.digits, n);
	/* cut anywhere, it is an error and nothing worse */
	in = (struct byte_reader){ exact, exact + random_below(buf->len), false };
	column_read_plan(&in, N_COLUMNS, &read);
	ok = ok && (in.bad || column_read(&work, &in, &read, value, n, back) == NW_ECORRUPT);
	free(exact);
	return ok;
}

static void
force_guesses(struct column_plan plan, uint32_t n, struct chunk_buf *buf)
{
	int guess, op, i;

	for (guess = GUESS_BASE; guess < GUESS_RELATION; guess++) {
		plan.guess = (enum column_guess)guess;
		plan.relation.arg[0] = 1;
		CHECK(round_trip(&plan, n, buf));
	}
	plan.guess = GUESS_RELATION;
	for (op = 0; op < N_RELATIONS; op++) {
		plan.relation.op = (enum relation_op)op;
		for (i = 0; i < RELATION_ARGS_MAX; i++)
			plan.relation.arg[i] = 1 + (uint32_t)random_below(N_COLUMNS - 1);
		CHECK(round_trip(&plan, n, buf));
	}
}

static void
test_forced(void)
{
	struct chunk_buf buf = { 0 };
	struct column_plan plan;
	unsigned kind, s, c;
	int form, digits, skip;

	for (kind = 0; kind < N_KINDS; kind++) {
		for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s += 1 + kind % 2) {
			for (c = 0; c < N_COLUMNS; c++)
				random_column(c == 0 ? kind : (unsigned)random_below(N_KINDS),
				    sizes[s], columns[c]);
			for (form = FORM_ORDER; form < N_FORMS; form++) {
				for (digits = 0; digits <= (form > FORM_ORDER ? 9 : 0);
				     digits += 9) {
					plan = (struct column_plan){ .form = (enum column_form)form,
						.numerator = 2 };
					plan.scale =
					    (struct number_scale){ (uint8_t)digits, digits > 0 };
					force_guesses(plan, sizes[s], &buf);
				}
			}
			for (skip = SKIP_NONE; skip < N_SKIPS; skip++) {
				plan = (struct column_plan){ .form = FORM_ORDER,
					.skip = (enum column_skip)skip };
				CHECK(round_trip(&plan, sizes[s], &buf));
			}
		}
	}
	chunk_buf_clear(&buf);
}

/* The codec chosen by itself, and the bytes that 1000 rows may take. */
static const struct {
	unsigned kind;
	int form;
	size_t hot_bytes_max, compact_bytes_max;
} chosen[] = {
	{ 0, FORM_EQUAL, 8, 8 }, { 3, FORM_SCALED, 1000, 900 }, { 4, FORM_SCALED, 20, 20 },
	{ 5, FORM_SCALED, 820, 820 }, { 6, FORM_SCALED, 1820, 1760 },
	{ 7, FORM_SCALED, 3840, 3840 }, { 8, FORM_NEAR, 4400, 4200 }, { 9, FORM_ORDER, 6700, 6650 },
	{ 10, FORM_ORDER, 6500, 1000 },  /* repeats */
	{ 11, FORM_ORDER, 2900, 2800 },  /* two rows in three absent */
	{ 12, FORM_SCALED, 7200, 1300 }, /* a few that do not fit */
	{ 13, FORM_ORDER, 3600, 3300 },  /* single precision in double */
};

static void
test_chosen(void)
{
	struct chunk_buf buf = { 0 };
	struct column_plan plan;
	size_t i, bytes_max;

	for (i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++) {
		random_column(chosen[i].kind, 1000, columns[0]);
		column_work_forget(&work);
		column_choose(&work, value, 1000, 0, &plan);
		CHECK_INT(plan.form, chosen[i].form);
		CHECK(round_trip(&plan, 1000, &buf));
		bytes_max = work.coder.effort == CHUNK_HOT ? chosen[i].hot_bytes_max
							   : chosen[i].compact_bytes_max;
		if (buf.len > bytes_max)
			fprintf(stderr, "kind %u, effort %d: %zu bytes\n", chosen[i].kind,
			    work.coder.effort, buf.len);
		CHECK(buf.len <= bytes_max);
	}
	chunk_buf_clear(&buf);
}

/* A rate is bytes by whole nanoseconds: 30 bits instead of 52, and the block size is another
 * column's. */
static void
test_ratio(void)
{
	struct column_plan plan = { .form = FORM_RATIO, .scale = { 9, true }, .numerator = 1 };
	struct chunk_buf buf = { 0 };
	int i;

	for (i = 0; i < 1000; i++) {
		columns[1][i] = 65536;
		columns[0][i] = 65536 / ((double)(10000 + random_below(1 << 16)) * 1e-9);
	}
	CHECK(round_trip(&plan, 1000, &buf));
	CHECK(buf.len < 1000 * 17 / 8);
	chunk_buf_clear(&buf);
}

static void
test_lies(void)
{
	static const struct {
		uint8_t bytes[12];
	} lies[] = {
		{ { 5 } },                                          /* no such form */
		{ { 0x18 | FORM_ORDER } },                          /* no such skip */
		{ { 0xa0 | FORM_ORDER } },                          /* no such guess */
		{ { 0x08 | FORM_EQUAL } }, { { FORM_SCALED, 13 } }, /* digits */
		{ { FORM_RATIO, 9, N_COLUMNS } },                   /* column */
		{ { FORM_ORDER | GUESS_STEADY << 5, 200, 1 } },
		{ { FORM_ORDER | GUESS_RELATION << 5, N_RELATIONS } },
		{ { FORM_ORDER | SKIP_LISTED << 3, 101 } },          /* more rows than there are */
		{ { FORM_ORDER | SKIP_LISTED << 3, 2, 0, 200, 1 } }, /* beyond the last row */
		{ { FORM_ORDER | SKIP_LISTED << 3, 1, 0, 1 } },      /* before the first */
	};
	struct column_plan plan;
	struct byte_reader in;
	size_t i;

	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		in = (struct byte_reader){ lies[i].bytes, lies[i].bytes + sizeof(lies[i].bytes),
			false };
		column_read_plan(&in, N_COLUMNS, &plan);
		CHECK(in.bad || column_read(&work, &in, &plan, value, 100, back) == NW_ECORRUPT);
	}
}

int
main(int argc, char **argv)
{
	int effort, c;

	random_start(argc, argv);
	CHECK_INT(column_work_reserve(&work, ROWS_MAX), NW_OK);
	for (c = 0; c < N_COLUMNS; c++)
		value[c] = columns[c];
	for (effort = CHUNK_HOT; effort <= CHUNK_COMPACT; effort++) {
		work.coder.effort = (enum chunk_effort)effort;
		test_forced();
		test_chosen();
		test_ratio();
		test_lies();
	}
	column_work_clear(&work);
	return check_done("codec_column");
}
