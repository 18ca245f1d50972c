/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/provoked.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "narrows/clock.h"
#include "narrows/log.h"

enum { LINE_BYTES = 1024, PEERS_MAX = 1000 };

/* Lays out a line with its count of lines left out; false if the line has to be left out. */
static bool
line_make(
    char out[LINE_BYTES], struct fairrate **rate, const char *peer, const char *fmt, va_list args)
{
	uint64_t refused;
	int len;

	if (*rate == NULL && (*rate = fairrate_new(PROVOKED_LINES_PER_S, PEERS_MAX)) == NULL)
		return false;
	if (!fairrate_allows(*rate, peer, nw_mono_ns(), &refused))
		return false;
	len = vsnprintf(out, LINE_BYTES, fmt, args);
	if (refused > 0 && len >= 0 && len < LINE_BYTES)
		snprintf(out + len, LINE_BYTES - (size_t)len, " suppressed=%" PRIu64, refused);
	return len >= 0;
}

void
provoked_warnx(struct fairrate **rate, const char *peer, const char *fmt, ...)
{
	char line[LINE_BYTES];
	va_list args;

	va_start(args, fmt);
	if (line_make(line, rate, peer, fmt, args))
		log_warnx("%s", line);
	va_end(args);
}

void
provoked_info(struct fairrate **rate, const char *peer, const char *fmt, ...)
{
	char line[LINE_BYTES];
	va_list args;

	va_start(args, fmt);
	if (line_make(line, rate, peer, fmt, args))
		log_info("%s", line);
	va_end(args);
}
