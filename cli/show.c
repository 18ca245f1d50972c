/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "narrows/result.h"
#include "narrows/utf8.h"

enum { SHOWN_BYTES = 1024, ESCAPE_BYTES = sizeof("\\u202e") - 1 };

/* Writes the character of len bytes at s as \uXXXX; len is 2 or 3. */
static void
escape_put(char *out, const char *s, size_t len)
{
	unsigned c = len == 2 ? ((unsigned)s[0] & 0x1f) << 6 | ((unsigned)s[1] & 0x3f)
			      : ((unsigned)s[0] & 0x0f) << 12 | ((unsigned)s[1] & 0x3f) << 6 |
		((unsigned)s[2] & 0x3f);

	snprintf(out, ESCAPE_BYTES + 1, "\\u%04x", c);
}

const char *
show_string(const char *s)
{
	static char buf[8][SHOWN_BYTES];
	static unsigned turn;
	char *out = buf[turn++ % 8];
	size_t n = 0, len;

	for (; *s != '\0' && n + ESCAPE_BYTES<SHOWN_BYTES; s += len> 0 ? len : 1) {
		len = utf8_length(s, strnlen(s, 4));
		if (len == 0 || (len == 1 && ((unsigned char)*s < 0x20 || *s == 0x7f)))
			out[n++] = '?';
		else if (utf8_steers(s, len)) {
			escape_put(out + n, s, len);
			n += ESCAPE_BYTES;
		} else {
			memcpy(out + n, s, len);
			n += len;
		}
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

void
show_json_line(const json_t *o)
{
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
}
