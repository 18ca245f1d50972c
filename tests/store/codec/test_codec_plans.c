/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/check.h"
#include "store/codec/codec_plans.h"

enum { N_COLUMNS = 20 };

static struct column_plan plan[N_COLUMNS];
static uint32_t piece_len[N_COLUMNS];

static void
test_recall(struct plan_memory *memory)
{
	struct known_column *known;
	int i;

	CHECK(plans_recall(memory, 0, N_COLUMNS, CHUNK_HOT) == NULL);
	CHECK(plans_recall(memory, 7, N_COLUMNS, CHUNK_HOT) == NULL);
	plan[3] =
	    (struct column_plan){ .form = FORM_NEAR, .guess = GUESS_STEADY, .skip = SKIP_LISTED };
	piece_len[3] = 300;
	plans_learn(memory, 7, plan, piece_len, N_COLUMNS, 100);
	plans_learn(memory, 0, plan, piece_len, N_COLUMNS, 100); /* no kind: nothing to learn */
	CHECK(plans_recall(memory, 0, N_COLUMNS, CHUNK_HOT) == NULL);
	CHECK(plans_recall(memory, 7, N_COLUMNS - 1, CHUNK_HOT) == NULL);
	CHECK(plans_recall(memory, 8, N_COLUMNS, CHUNK_HOT) == NULL);
	known = plans_recall(memory, 7, N_COLUMNS, CHUNK_HOT);
	CHECK(known != NULL && known[3].plan.form == FORM_NEAR &&
	    known[3].plan.guess == GUESS_STEADY);
	/* rows that do not fit are each chunk's own */
	CHECK(known != NULL && known[3].plan.skip == SKIP_NONE);

	/* hot ones may recall it for ever, compact ones look again now and then */
	for (i = 0; i < 1000 && plans_recall(memory, 7, N_COLUMNS, CHUNK_HOT) != NULL; i++)
		;
	CHECK_INT(i, 1000);
	for (i = 0; i < 1000 && plans_recall(memory, 7, N_COLUMNS, CHUNK_COMPACT) != NULL; i++)
		;
	CHECK(i > 3 && i < 100);
	plans_learn(memory, 7, plan, piece_len, N_COLUMNS, 100);
	CHECK(plans_recall(memory, 7, N_COLUMNS, CHUNK_COMPACT) != NULL);
}

static void
test_stale(struct plan_memory *memory)
{
	struct known_column *known = plans_recall(memory, 7, N_COLUMNS, CHUNK_COMPACT);

	CHECK(known != NULL);
	if (known == NULL)
		return;
	/* three bytes per row, as before */
	CHECK(!plan_is_stale(&known[3], 3000, 1000, CHUNK_COMPACT));
	CHECK(plan_is_stale(&known[3], 4000, 1000, CHUNK_COMPACT));
	CHECK(!plan_is_stale(&known[3], 30, 5, CHUNK_COMPACT));  /* small change */
	CHECK(!plan_is_stale(&known[3], 5000, 1000, CHUNK_HOT)); /* no telling, the first time */
	CHECK(plan_is_stale(&known[3], 7000, 1000, CHUNK_HOT));
}

/* However many kinds there are, memory stays bounded, and the latest is known. */
static void
test_many(struct plan_memory *memory)
{
	uint64_t kind;

	for (kind = 1; kind < 20000; kind++) {
		plans_learn(memory, kind * 977, plan, piece_len, N_COLUMNS, 100);
		CHECK(plans_recall(memory, kind * 977, N_COLUMNS, CHUNK_HOT) != NULL);
	}
}

int
main(void)
{
	struct plan_memory *memory = plans_new();

	CHECK(memory != NULL);
	test_recall(memory);
	test_stale(memory);
	test_many(memory);
	plans_free(memory);
	plans_free(NULL);
	return check_done("codec_plans");
}
