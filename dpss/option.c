/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/option.h"

#include <math.h>

#include "narrows/err.h"
#include "narrows/quantity.h"

static bool
option_take(
    const char *text, const struct quantity_unit *units, double min, double max, double *out)
{
	const char *why;
	double v;

	if (quantity_parse(text, units, &v, &why) != NW_OK || v < min || v > max)
		return false;
	*out = v;
	return true;
}

bool
option_real(const char *text, double min, double max, double *out)
{
	return option_take(text, quantity_count, min, max, out);
}

static bool
whole_take(
    const char *text, const struct quantity_unit *units, uint64_t min, uint64_t max, uint64_t *out)
{
	double v;

	if (!option_take(text, units, (double)min, (double)max, &v) || v != floor(v))
		return false;
	*out = (uint64_t)v;
	return true;
}

bool
option_whole(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	return whole_take(text, quantity_count, min, max, out);
}

bool
option_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	return whole_take(text, quantity_size, min, max, out);
}
