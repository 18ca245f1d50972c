/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "cli/import/import.h"
#include "narrows/calendar.h"

#define NS_PER_S    INT64_C(1000000000)
#define SECONDS_MAX INT64_C(9223372035)

bool
import_number(struct slice text, double *v)
{
	static const struct {
		const char *word;
		double v;
	} words[] = {
		{ "nan", NAN },
		{ "inf", INFINITY },
		{ "+inf", INFINITY },
		{ "-inf", -INFINITY },
		{ "infinity", INFINITY },
		{ "-infinity", -INFINITY },
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text.len == strlen(words[i].word) &&
		    strncasecmp(text.s, words[i].word, text.len) == 0) {
			*v = words[i].v;
			return true;
		}
	return stat_number_parse(text.s, text.len, v);
}

bool
import_integer(struct slice text, int64_t *v)
{
	bool minus = text.len > 0 && text.s[0] == '-';
	size_t i = minus;

	*v = 0;
	if (i == text.len)
		return false;
	for (; i < text.len; i++)
		if (text.s[i] < '0' || text.s[i] > '9' || __builtin_mul_overflow(*v, 10, v) ||
		    __builtin_sub_overflow(
			*v, text.s[i] - '0', v)) /* downwards: INT64_MIN has no positive */
			return false;
	return minus || !__builtin_sub_overflow(0, *v, v);
}

/* Reads exactly n digits at *p. -1 without n digits. */
static int
digits(const char **p, const char *end, int n)
{
	int v = 0;

	for (; n > 0; n--, (*p)++) {
		if (*p == end || **p < '0' || **p > '9')
			return -1;
		v = 10 * v + (**p - '0');
	}
	return v;
}

/* ".25" to 250000000; digits beyond the ninth are cut. Nothing there is 0; a dot alone is wrong. */
static bool
fraction(const char **p, const char *end, int64_t *ns)
{
	int64_t unit = NS_PER_S;
	const char *first;

	*ns = 0;
	if (*p == end || (**p != '.' && **p != ','))
		return true;
	for (first = ++*p; *p < end && **p >= '0' && **p <= '9'; (*p)++)
		*ns += (**p - '0') * (unit /= 10);
	return *p > first;
}

static bool
time_iso(struct slice text, int64_t *t_wall_ns)
{
	const char *p = text.s, *end = text.s + text.len;
	struct calendar date;
	int *const field[] = { &date.year, &date.month, &date.day, &date.hour, &date.minute,
		&date.second };
	int i;

	for (i = 0; i < 6; i++) {
		if (i > 0 &&
		    (p == end || (i == 3 ? *p != 'T' && *p != ' ' : *p != (i < 3 ? '-' : ':'))))
			return false;
		p += i > 0;
		if ((*field[i] = digits(&p, end, i == 0 ? 4 : 2)) < 0)
			return false;
	}
	if (!fraction(&p, end, &date.ns))
		return false;
	if (p < end && *p == 'Z')
		p++;
	return p == end && calendar_ns(&date, t_wall_ns);
}

static bool
time_seconds(struct slice text, int64_t *t_wall_ns)
{
	const char *p = text.s, *end = text.s + text.len;
	bool minus = p < end && *p == '-';
	int64_t s = 0, ns;
	const char *first;

	for (first = p += minus; p < end && *p >= '0' && *p <= '9'; p++)
		if ((s = 10 * s + (*p - '0')) > SECONDS_MAX)
			return false;
	if (p == first || !fraction(&p, end, &ns) || p != end)
		return false;
	*t_wall_ns = minus ? -(s * NS_PER_S + ns) : s * NS_PER_S + ns;
	return true;
}

bool
import_time(struct slice text, int64_t *t_wall_ns)
{
	return time_seconds(text, t_wall_ns) || time_iso(text, t_wall_ns);
}

bool
import_time_ulm(struct slice text, int64_t *t_wall_ns)
{
	static const int width[] = { 4, 2, 2, 2, 2, 2 };
	const char *p = text.s, *end = text.s + text.len, *first;
	struct calendar date = { .ns = 0 };
	int64_t us = 0, ns;
	int *const field[] = { &date.year, &date.month, &date.day, &date.hour, &date.minute,
		&date.second };
	int i;

	for (i = 0; i < 6; i++)
		if ((*field[i] = digits(&p, end, width[i])) < 0)
			return false;
	if (!calendar_ns(&date, t_wall_ns))
		return false;
	if (p == end)
		return true;
	first = p + 1;
	if (end - first >= 6) { /* nothing to doubt */
		if (!fraction(&p, end, &ns) || p != end)
			return false;
		*t_wall_ns += ns;
		return true;
	}
	if (*p != '.' || first == end)
		return false;
	for (p = first; p < end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		us = 10 * us + (*p - '0');
	}
	*t_wall_ns += us * 1000;
	return true;
}
