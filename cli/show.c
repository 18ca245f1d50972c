/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "narrows/result.h"
#include "narrows/terminal.h"

const char *
show_text(const json_t *o, enum result_key key, const char *none)
{
	const char *s = result_text(o, key);

	return s != NULL ? terminal_text(s) : none;
}

const char *
show_minute(int64_t wall_s)
{
	static char text[32];
	time_t t = (time_t)wall_s;
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%d %H:%M", gmtime_r(&t, &tm));
	return text;
}

void
show_json_line(const json_t *o)
{
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
}
