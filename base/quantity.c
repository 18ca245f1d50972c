/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

#define DURATION_MAX_NS (36500 * 86400e9)

const struct quantity_unit quantity_time[] = { { "s", 1e9 }, { "", 1e9 }, { "ms", 1e6 },
	{ "us", 1e3 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 },
	{ NULL, 0 } };
const struct quantity_unit quantity_size[] = { { "", 1 }, { "B", 1 }, { "KiB", 1024 },
	{ "MiB", 1048576 }, { "GiB", 1073741824 }, { "TiB", 1099511627776 }, { NULL, 0 } };
const struct quantity_unit quantity_count[] = { { "", 1 }, { NULL, 0 } };
const struct quantity_unit quantity_fraction[] = { { "", 1 }, { "%", 0.01 }, { NULL, 0 } };

int
quantity_parse(const char *text, const struct quantity_unit *units, double *out, const char **why)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	if (end == text || errno != 0 || !isfinite(*out) || *out < 0) {
		*why = "not a number";
		return NW_EINVAL;
	}
	end += strspn(end, " \t");
	for (; units->name != NULL; units++)
		if (strcmp(end, units->name) == 0) {
			*out *= units->factor;
			return NW_OK;
		}
	*why = "unknown unit";
	return NW_EINVAL;
}

int
quantity_duration(const char *text, int64_t *out_ns, const char **why)
{
	double ns;
	int rc;

	if ((rc = quantity_parse(text, quantity_time, &ns, why)) < 0)
		return rc;
	if (ns > DURATION_MAX_NS) {
		*why = "out of range";
		return NW_EINVAL;
	}
	*out_ns = (int64_t)ns;
	return NW_OK;
}
