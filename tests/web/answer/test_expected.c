/* SPDX-License-Identifier: BSD-3-Clause */
/* What is expected is learnt from regular begins alone: known histories, and simulated ones without
 * any rule, of which hardly a pause may raise an alarm. */
#include "web/answer/expected.h"

#include <math.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/splitmix.h"
#include "tests/check.h"

#define MINUTE INT64_C(60000000000)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define T0     INT64_C(1780000000000000000)
enum { BEGINS = 400, HISTORIES = 4000 };

static uint64_t rng = 7;

static double
uniform(void)
{
	return (double)(nw_splitmix(&rng) >> 11) * 0x1p-53;
}

static void
test_lines(void)
{
	static const struct {
		const char *line;
		int rc;
		int64_t every_ns;
	} cases[] = {
		{ "1d rsync dtn1 -> dtn2", NW_OK, DAY },
		{ "90m  cp   vm (local)", NW_OK, 90 * MINUTE },
		{ "1d rsync", NW_EINVAL, 0 },
		{ "1d", NW_EINVAL, 0 },
		{ "", NW_EINVAL, 0 },
		{ "soon rsync a -> b", NW_EINVAL, 0 },
		{ "1s rsync a -> b", NW_EINVAL, 0 },
		{ "400d rsync a -> b", NW_EINVAL, 0 },
	};
	struct expected_line l;
	const char *next, *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(expected_line_parse(cases[i].line, &l, &next, &why), cases[i].rc);
		if (cases[i].rc == NW_OK)
			CHECK_INT(l.every_ns, cases[i].every_ns);
	}
	CHECK_INT(expected_line_parse("1h cp a -> b\n2h mv c", &l, &next, &why), NW_OK);
	CHECK(strcmp(l.route, "a -> b") == 0 && strcmp(next, "2h mv c") == 0);
}

/* A begin each day with some jitter, `each` sessions in a row; on weekdays alone if asked for. */
static size_t
nightly(int64_t *begin, int days, int each, bool weekdays)
{
	size_t n = 0;
	int day, i;

	for (day = 0; day < days; day++)
		for (i = 0; i < each && (!weekdays || day % 7 < 5) && n < BEGINS; i++)
			begin[n++] = T0 + day * DAY + i * 5 * MINUTE +
			    (int64_t)(uniform() * (double)(4 * MINUTE));
	return n;
}

static void
test_regular(void)
{
	int64_t begin[BEGINS];
	struct expected e;
	size_t n;

	n = nightly(begin, 14, 1, false);
	CHECK(expected_learn(begin, n, &e));
	CHECK(llabs(e.every_ns - DAY) < HOUR && e.due_wall_ns > begin[n - 1] + 35 * HOUR &&
	    e.due_wall_ns < begin[n - 1] + 38 * HOUR);
	n = nightly(begin, 14, 6, false); /* a job of six transfers */
	CHECK(expected_learn(begin, n, &e) && llabs(e.every_ns - DAY) < HOUR && e.n_runs == 14);
	n = nightly(begin, 50, 1, true); /* 36 weekdays: Monday is no alarm */
	CHECK(expected_learn(begin, n, &e) && e.due_wall_ns > begin[n - 1] + 4 * DAY);
	n = nightly(begin, 21, 1, true); /* weekdays, but too few to know */
	CHECK(!expected_learn(begin, n, &e));
	n = nightly(begin, 10, 1, false); /* nine pauses */
	CHECK(!expected_learn(begin, n, &e));
	for (n = 0; n < 40; n++) /* somebody tries something all afternoon */
		begin[n] = T0 + (int64_t)n * 5 * MINUTE;
	CHECK(!expected_learn(begin, n, &e));
	CHECK(!expected_learn(begin, 0, &e) && !expected_learn(begin, 1, &e));
}

/* Sessions at random: whatever was learnt, the next pause rarely outlasts what is due. */
static void
test_random(void)
{
	int64_t begin[BEGINS];
	unsigned alarms = 0, h;
	struct expected e;
	size_t n, i;

	for (h = 0; h < HISTORIES; h++) {
		n = 5 + nw_splitmix(&rng) % 60;
		begin[0] = T0;
		for (i = 1; i < n; i++)
			begin[i] = begin[i - 1] + (int64_t)(-log(1 - uniform()) * (double)DAY);
		if (expected_learn(begin, n - 1, &e))
			alarms += begin[n - 1] >= e.due_wall_ns;
	}
	printf("%u of %u pauses at random are called missing\n", alarms, h);
	CHECK(alarms * 200 < h); /* below half a percent */
}

int
main(void)
{
	test_lines();
	test_regular();
	test_random();
	return check_done("test_expected");
}
