/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/clock_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/result.h"

/* Appends the bound's course during a session, where the bound moved by a fifth and more. */
static void
bound_course(const json_t *clock, char *text, size_t size)
{
	double low_s = result_number(clock, KEY_clock_bound_lowest_s),
	       high_s = result_number(clock, KEY_clock_bound_highest_s);
	size_t n = strlen(text);

	if (high_s >= 1.2 * low_s)
		snprintf(text + n, size - n, " at the end, %s to %s during the session",
		    fmt_duration(low_s).s, fmt_duration(high_s).s);
}

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
	bound_course(clock, w.bound, sizeof(w.bound));
	if (isfinite(offset_s))
		snprintf(w.offset, sizeof(w.offset), "(offset %s)", fmt_duration(offset_s).s);
	return w;
}
