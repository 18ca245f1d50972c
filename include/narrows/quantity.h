/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers with a unit, as configuration files and command lines take them: "250 ms", "64 MiB",
 * "5 %". No allocation. */
#ifndef NARROWS_QUANTITY_H
#define NARROWS_QUANTITY_H

#include <stdint.h>

struct quantity_unit {
	const char *name; /* "" for a number alone; NULL ends a table */
	double factor;
};
extern const struct quantity_unit quantity_time[];  /* to nanoseconds; a number alone is seconds */
extern const struct quantity_unit quantity_size[];  /* to bytes */
extern const struct quantity_unit quantity_count[]; /* no unit */
extern const struct quantity_unit quantity_fraction[]; /* "%" is a hundredth */

/* Reads a number that is finite and not negative, blanks, and a unit of the table; the whole text
 * must be used. NW_EINVAL with static *why. */
int
quantity_parse(const char *text, const struct quantity_unit *units, double *out, const char **why);
/* A time of at most a hundred years. NW_EINVAL with static *why. */
int quantity_duration(const char *text, int64_t *out_ns, const char **why);

#endif
