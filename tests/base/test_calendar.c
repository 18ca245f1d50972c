/* SPDX-License-Identifier: BSD-3-Clause */
/* Against the C library's gmtime_r() and timegm(), at the ends and at random. */
#include "narrows/calendar.h"

#include <time.h>

#include "narrows/splitmix.h"
#include "tests/check.h"

static void
agree(int64_t t_wall_ns)
{
	struct calendar c = calendar_of_ns(t_wall_ns);
	int64_t s = t_wall_ns / 1000000000 - (t_wall_ns % 1000000000 < 0), back = 0;
	time_t t = (time_t)s;
	struct tm tm;

	gmtime_r(&t, &tm);
	CHECK(c.year == tm.tm_year + 1900 && c.month == tm.tm_mon + 1 && c.day == tm.tm_mday &&
	    c.hour == tm.tm_hour && c.minute == tm.tm_min && c.second == tm.tm_sec);
	CHECK_INT(c.ns, (t_wall_ns % 1000000000 + 1000000000) % 1000000000);
	CHECK(calendar_seconds(&c, &back));
	CHECK_INT(back, s);
	CHECK(calendar_ns(&c, &back) == (c.year >= 1678 && c.year <= 2261));
	CHECK(c.year < 1678 || c.year > 2261 || back == t_wall_ns);
}

static void
test_bad(void)
{
	static const struct calendar bad[] = {
		{ 0, 12, 31, 23, 59, 59, 0 },
		{ 10000, 1, 1, 0, 0, 0, 0 },
		{ 2026, 0, 1, 0, 0, 0, 0 },
		{ 2026, 13, 1, 0, 0, 0, 0 },
		{ 2026, 2, 29, 0, 0, 0, 0 },
		{ 1900, 2, 29, 0, 0, 0, 0 },
		{ 2026, 4, 31, 0, 0, 0, 0 },
		{ 2026, 4, 0, 0, 0, 0, 0 },
		{ 2026, 4, 1, 24, 0, 0, 0 },
		{ 2026, 4, 1, 0, 60, 0, 0 },
		{ 2026, 4, 1, 0, 0, 61, 0 },
		{ 2026, 4, 1, -1, 0, 0, 0 },
	};
	int64_t s;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!calendar_seconds(&bad[i], &s));
	CHECK(calendar_seconds(&(struct calendar){ 2000, 2, 29, 23, 59, 60, 0 }, &s));
	CHECK_INT(s, 951868800);
	CHECK(calendar_seconds(&(struct calendar){ 9999, 12, 31, 23, 59, 59, 0 }, &s));
	CHECK_INT(s, 253402300799);
	CHECK(calendar_seconds(&(struct calendar){ 1, 1, 1, 0, 0, 0, 0 }, &s));
	CHECK_INT(s, -62135596800);
}

int
main(void)
{
	uint64_t rng = 1;
	int i;

	agree(0);
	agree(-1);
	agree(INT64_MAX);
	agree(INT64_MIN);
	for (i = 0; i < 20000; i++)
		agree((int64_t)nw_splitmix(&rng));
	test_bad();
	return check_done("calendar");
}
