/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts: words, and positions that lie within the space and where the layout says. */
#include "host/iomodel/layout.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "narrows/err.h"
#include "tests/check.h"

enum { SPACE = 100000, ACCESS = 1000 };

static void
test_words(void)
{
	static const struct {
		const char *word, *numbers;
	} good[] = { { "off0", "0-0-0" }, { "seq", "1-0-0" }, { "rnd", "2-0-0" },
		{ "stride16", "3-16-0" }, { "rnd8MiB", "4-8388608-0" }, { "reverse0", "5-0-0" },
		{ "stride8388608,8388608", "6-8388608-8388608" } };
	static const char *const bad[] = { "", "off1", "sequential", "stride", "rndx", "stride1,",
		"rnd1,2", "reverse-1", "rnd99999999999999999999", "rnd1TiB" };
	struct layout l;
	char numbers[64];
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_INT(layout_parse(good[i].word, &l), NW_OK);
		layout_numbers(&l, numbers, sizeof(numbers));
		CHECK(strcmp(numbers, good[i].numbers) == 0);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(layout_parse(bad[i], &l), NW_EINVAL);
}

static struct layout_walk
walk_begin(const char *word, uint64_t align)
{
	struct layout l;
	struct layout_walk w;

	CHECK_INT(layout_parse(word, &l), NW_OK);
	layout_walk_init(&w, &l, SPACE, ACCESS, align, 7);
	return w;
}

static void
test_sequences(void)
{
	struct layout_walk seq = walk_begin("seq", 1), stride = walk_begin("stride500", 1), back;
	uint64_t i;

	for (i = 0; i < 250; i++) {
		CHECK_INT(layout_walk_next(&seq), i % 100 * ACCESS);
		CHECK_INT(layout_walk_next(&stride), i % 67 * 1500);
	}
	back = walk_begin("reverse0", 1);
	for (i = 0; i < 250; i++)
		CHECK_INT(layout_walk_next(&back), (99 - i % 100) * ACCESS);
}

/* All of the file is reached, each part as often, and no access passes the end. */
static void
test_random(void)
{
	struct layout_walk w = walk_begin("rnd", 1), near = walk_begin("rnd2000", 1),
			   aligned = walk_begin("rnd", 4096);
	uint64_t parts[10] = { 0 }, at, before = 0, i, last = 0;

	for (i = 0; i < 100000; i++) {
		at = layout_walk_next(&w);
		CHECK(at <= SPACE - ACCESS);
		parts[at * 10 / (SPACE - ACCESS + 1)]++;
		last = at > last ? at : last;
		at = layout_walk_next(&near);
		CHECK(at <= SPACE - ACCESS && at + 2000 >= before && at <= before + 2000);
		before = at;
		CHECK(layout_walk_next(&aligned) % 4096 == 0);
	}
	for (i = 0; i < 10; i++)
		CHECK(parts[i] > 9500 && parts[i] < 10500);
	CHECK(last > SPACE - ACCESS - 100);
}

/* Each layout has a single position in a space that an access fills. */
static void
test_full(void)
{
	static const char *const words[] = { "off0", "seq", "rnd", "rnd5", "stride5", "reverse5",
		"stride5,5" };
	struct layout l;
	struct layout_walk w;
	size_t i, k;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		CHECK_INT(layout_parse(words[i], &l), NW_OK);
		layout_walk_init(&w, &l, ACCESS, ACCESS, 1, 3);
		for (k = 0; k < 10; k++)
			CHECK_INT(layout_walk_next(&w), 0);
	}
}

int
main(void)
{
	test_words();
	test_sequences();
	test_random();
	test_full();
	return check_done("test_layout");
}
