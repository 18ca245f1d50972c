/* SPDX-License-Identifier: BSD-3-Clause */
/* Dates of the Gregorian calendar in UTC, without the C library's struct tm and its locale. */
#ifndef NARROWS_CALENDAR_H
#define NARROWS_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

struct calendar {
	int year, month, day; /* 2026, 1 to 12, 1 to 31 */
	int hour, minute, second;
	int64_t ns; /* 0 to 999,999,999 */
};

struct calendar calendar_of_ns(int64_t t_wall_ns);
/* Seconds since 1970, without c->ns. Returns false if the time does not exist, or for a year
 * outside of 1 to 9999. Second 60 is valid. */
bool calendar_seconds(const struct calendar *c, int64_t *seconds);
/* The same in nanoseconds, with c->ns. False also for years outside of 1678 to 2261, which an
 * int64_t cannot hold whole. */
bool calendar_ns(const struct calendar *c, int64_t *t_wall_ns);

#endif
