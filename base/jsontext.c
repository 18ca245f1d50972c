/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/jsontext.h"

#include <string.h>

#include "narrows/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Writes the first character of the `left` bytes at s, left > 0. Returns the bytes written; *used
 * gets the bytes read. */
static size_t
character_write(const char *s, size_t left, char out[JSONTEXT_CHAR_BYTES], size_t *used)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char c = (unsigned char)s[0];

	*used = 1;
	if (c == '"' || c == '\\') {
		out[0] = '\\';
		out[1] = s[0];
		return 2;
	}
	if ((c < 0x20 && c != 0) || c == 0x7f) {
		memcpy(out, "\\u00", 4);
		out[4] = hex[c >> 4];
		out[5] = hex[c & 15];
		return 6;
	}
	if (c == 0 || (*used = utf8_length(s, left)) == 0) {
		*used = 1;
		memcpy(out, replacement, 3);
		return 3;
	}
	memcpy(out, s, *used);
	return *used;
}

size_t
jsontext_write(char *out, const char *s, size_t len)
{
	size_t n = 0, i, used;

	out[n++] = '"';
	for (i = 0; i < len; i += used)
		n += character_write(s + i, len - i, out + n, &used);
	out[n++] = '"';
	return n;
}

void
jsontext_pieces(const char *s, size_t len, jsontext_fn *put, void *arg)
{
	char out[JSONTEXT_CHAR_BYTES];
	size_t i, n, used;

	put(arg, "\"", 1);
	for (i = 0; i < len; i += used) {
		n = character_write(s + i, len - i, out, &used);
		put(arg, out, n);
	}
	put(arg, "\"", 1);
}

static void
on_piece(void *arg, const char *bytes, size_t len)
{
	fwrite(bytes, 1, len, arg);
}

void
jsontext_put(FILE *f, const char *s, size_t len)
{
	jsontext_pieces(s, len, on_piece, f);
}
