/* SPDX-License-Identifier: BSD-3-Clause */
/* Days and dates: Hinnant 2013, in years that start in March, so that the leap day is the last. */
#include "narrows/calendar.h"

enum {
	DAYS_TO_1970 = 719468, /* since 0000-03-01 */
	ERA_DAYS = 146097,     /* 400 years */
	NS_YEAR_MIN = 1678,    /* whole years that fit in an int64_t of nanoseconds */
	NS_YEAR_MAX = 2261
};
#define NS_PER_S INT64_C(1000000000)

/* Rounds down, unlike C's division; *rest gets what is left. */
static int64_t
floor_divide(int64_t a, int64_t b, int64_t *rest)
{
	*rest = a % b;
	if (*rest >= 0)
		return a / b;
	*rest += b;
	return a / b - 1;
}

struct calendar
calendar_of_ns(int64_t t_wall_ns)
{
	struct calendar c;
	int64_t s, days, era, doe, yoe, doy, mp;

	s = floor_divide(t_wall_ns, NS_PER_S, &c.ns);
	days = floor_divide(s, 86400, &s) + DAYS_TO_1970; /* positive for every int64_t of ns */
	era = days / ERA_DAYS;
	doe = days % ERA_DAYS;
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	mp = (5 * doy + 2) / 153;
	c.day = (int)(doy - (153 * mp + 2) / 5 + 1);
	c.month = (int)(mp < 10 ? mp + 3 : mp - 9);
	c.year = (int)(yoe + era * 400 + (c.month <= 2));
	c.hour = (int)(s / 3600);
	c.minute = (int)(s / 60 % 60);
	c.second = (int)(s % 60);
	return c;
}

static int
days_of_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (leap && month == 2);
}

bool
calendar_seconds(const struct calendar *c, int64_t *seconds)
{
	int64_t y = c->month <= 2 ? c->year - 1 : c->year, yoe = y % 400, doy;

	if (c->year < 1 || c->year > 9999 || c->month < 1 || c->month > 12 || c->hour < 0 ||
	    c->hour > 23 || c->minute < 0 || c->minute > 59 || c->second < 0 || c->second > 60 ||
	    c->day < 1 || c->day > days_of_month(c->year, c->month))
		return false;
	doy = (153 * (c->month > 2 ? c->month - 3 : c->month + 9) + 2) / 5 + c->day - 1;
	*seconds =
	    (y / 400 * ERA_DAYS + yoe * 365 + yoe / 4 - yoe / 100 + doy - DAYS_TO_1970) * 86400 +
	    c->hour * 3600 + c->minute * 60 + c->second;
	return true;
}

bool
calendar_ns(const struct calendar *c, int64_t *t_wall_ns)
{
	int64_t s;

	if (c->year < NS_YEAR_MIN || c->year > NS_YEAR_MAX || !calendar_seconds(c, &s))
		return false;
	*t_wall_ns = s * NS_PER_S + c->ns;
	return true;
}
