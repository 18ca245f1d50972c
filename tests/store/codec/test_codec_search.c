/* SPDX-License-Identifier: BSD-3-Clause */
/* Relations are found whatever the order of the columns, never in a circle, and not where there are
 * none. */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_search.h"

enum { N = 1024, N_MAX = 300 };

enum field {
	SUM,
	COUNT,
	MEAN,
	LEAST,
	MOST,
	DEVIATION,
	RATE,
	BYTES,
	TOTAL,
	PART_A,
	PART_B,
	COPY,
	N_FIELDS
};

static double columns[N_MAX][N];
static const double *value[N_MAX];
static struct column_plan plan[N_MAX];
static uint32_t place[N_MAX]; /* where each field stands */
static struct column_work work;

/* Summaries of 1 to 12 gaps in ns * 1e-9, a rate, and host counters that add up. */
static void
fill_fields(void)
{
	double gap, sum, mean, m2, low, high, d, a = 1000, b = 5000;
	uint32_t i, k, n;

	for (i = 0; i < N; i++) {
		n = 1 + (uint32_t)random_below(12);
		sum = mean = m2 = high = 0;
		low = INFINITY;
		for (k = 0; k < n; k++) {
			gap = (double)(1000000 + random_below(500000)) * 1e-9;
			sum += gap;
			d = gap - mean;
			mean += d / (k + 1);
			m2 += d * (gap - mean);
			low = fmin(low, gap);
			high = fmax(high, gap);
		}
		columns[place[SUM]][i] = sum;
		columns[place[COUNT]][i] = n;
		columns[place[MEAN]][i] = sum / n;
		columns[place[LEAST]][i] = low;
		columns[place[MOST]][i] = high;
		columns[place[DEVIATION]][i] = n > 1 ? sqrt(m2 / (n - 1)) : 0;
		columns[place[BYTES]][i] = 65536;
		columns[place[RATE]][i] = 65536 / ((double)(10000 + random_below(5000)) * 1e-9);
		a += (double)random_below(1000);
		b += (double)random_below(1000);
		columns[place[PART_A]][i] = a;
		columns[place[PART_B]][i] = b;
		columns[place[TOTAL]][i] = a + b;
		columns[place[COPY]][i] = a;
	}
}

static void
shuffle(void)
{
	uint32_t i, j, p;

	for (i = 0; i < N_MAX; i++)
		place[i] = i;
	for (i = N_FIELDS; i-- > 1;) {
		j = (uint32_t)random_below(i + 1);
		p = place[i];
		place[i] = place[j];
		place[j] = p;
	}
}

static void
run(uint32_t n_rows, uint32_t n_columns)
{
	struct column_search *search = column_search_new(n_columns);
	uint32_t c;

	CHECK(search != NULL);
	if (search == NULL)
		return;
	column_work_forget(&work);
	for (c = 0; c < n_columns; c++)
		column_choose(&work, value, n_rows, c, &plan[c]);
	column_search_run(search, &work, value, n_rows, n_columns, plan);
	column_search_free(search);
}

/* The longest chain below c; longer than there are columns if it is a circle. */
static unsigned
depth(uint32_t c, unsigned so_far)
{
	uint32_t need[1 + RELATION_ARGS_MAX];
	unsigned n = column_needs(&plan[c], need), i, d, most = so_far;

	if (so_far > N_MAX)
		return so_far;
	for (i = 0; i < n; i++) {
		d = depth(need[i], so_far + 1);
		most = d > most ? d : most;
	}
	return most;
}

static void
check_chains(uint32_t n_columns)
{
	uint32_t c;

	for (c = 0; c < n_columns; c++)
		CHECK(depth(c, 0) <= SEARCH_DEPTH_MAX);
}

static bool
follows(enum field f, enum relation_op op)
{
	const struct column_plan *p = &plan[place[f]];

	return p->guess == GUESS_RELATION && p->relation.op == op;
}

static void
test_found(void)
{
	unsigned explained;
	int round;

	for (round = 0; round < 20; round++) {
		shuffle();
		fill_fields();
		run(N, N_FIELDS);
		check_chains(N_FIELDS);
		CHECK(follows(MEAN, RELATION_QUOTIENT));
		CHECK(follows(DEVIATION, RELATION_SPREAD));
		CHECK(plan[place[RATE]].form == FORM_RATIO &&
		    plan[place[RATE]].numerator == place[BYTES]);
		/* a, its copy, b and their total: two of them say all, whichever */
		explained = (plan[place[TOTAL]].guess == GUESS_RELATION) +
		    (plan[place[PART_A]].guess == GUESS_RELATION) +
		    (plan[place[PART_B]].guess == GUESS_RELATION) +
		    (plan[place[COPY]].guess == GUESS_RELATION);
		CHECK_INT(explained, 2);
	}
}

static void
test_none(void)
{
	uint32_t c, i;

	for (c = 0; c < 20; c++)
		for (i = 0; i < N; i++)
			columns[c][i] = random_unit();
	run(N, 20);
	for (c = 0; c < 20; c++)
		CHECK(plan[c].guess < GUESS_STEADY && plan[c].form != FORM_RATIO);
}

/* Anything at all, and more columns than are looked at. */
static void
test_any(void)
{
	static const uint32_t rows[] = { 0, 1, 31, 32, 33, 200, N };
	uint32_t c, s, n_columns;

	for (s = 0; s < sizeof(rows) / sizeof(rows[0]); s++) {
		n_columns = s % 2 ? N_MAX : 40;
		for (c = 0; c < n_columns; c++)
			random_column((unsigned)random_below(N_KINDS), rows[s], columns[c]);
		run(rows[s], n_columns);
		check_chains(n_columns);
	}
}

int
main(int argc, char **argv)
{
	uint32_t c;

	random_start(argc, argv);
	CHECK_INT(column_work_reserve(&work, N), NW_OK);
	work.coder.effort = CHUNK_COMPACT;
	for (c = 0; c < N_MAX; c++)
		value[c] = columns[c];
	test_found();
	test_none();
	test_any();
	column_work_clear(&work);
	return check_done("codec_search");
}
