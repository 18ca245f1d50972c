/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"

#include <stdio.h>
#include <time.h>

#include "narrows/result.h"

const char *
show_string(const char *s)
{
	static char buf[8][1024];
	static unsigned turn;
	char *out = buf[turn++ % 8];
	size_t n = 0;

	for (; *s != '\0' && n + 1 < sizeof(buf[0]); s++) {
		unsigned char c = (unsigned char)*s;

		/* C0, DEL, and C1 in UTF-8 */
		if (c == 0xc2 && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xa0) {
			out[n++] = '?';
			s++;
		} else
			out[n++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	out[n] = '\0';
	return out;
}

const char *
show_text(const json_t *o, enum result_key key, const char *none)
{
	const char *s = result_text(o, key);

	return s != NULL ? show_string(s) : none;
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
