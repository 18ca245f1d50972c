/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/clock_words.h"

#include <math.h>
#include <stdio.h>

#include "narrows/format.h"
#include "narrows/result.h"

struct clock_words
clock_words(const json_t *clock)
{
	struct clock_words w = { "clock not reported, no bound known", "" };
	double bound_s = result_number(clock, KEY_clock_bound_s),
	       offset_s = result_number(clock, KEY_clock_offset_s);

	if (result_bool(clock, KEY_clock_known) != 1)
		return w;
	snprintf(w.bound, sizeof(w.bound), "clock %s%s%s",
	    result_bool(clock, KEY_clock_synchronised) != 1 ? "not synchronised, "
		: isfinite(bound_s)                         ? ""
							    : "synchronised, ",
	    isfinite(bound_s) ? "right within " : "no bound known",
	    isfinite(bound_s) ? fmt_duration(bound_s).s : "");
	if (isfinite(offset_s))
		snprintf(w.offset, sizeof(w.offset), "(offset %s)", fmt_duration(offset_s).s);
	return w;
}
