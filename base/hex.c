/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/hex.h"

static const char digits[] = "0123456789abcdef";

void
nw_hex_put(char *out, const void *bytes, size_t n)
{
	const unsigned char *from = bytes;
	size_t i;

	for (i = 0; i < n; i++) {
		*out++ = digits[from[i] >> 4];
		*out++ = digits[from[i] & 15];
	}
	*out = '\0';
}

/* The value of a digit, or -1. */
static int
value_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
nw_hex_take(const char *text, void *out, size_t n)
{
	unsigned char *to = out;
	int high, low;
	size_t i;

	for (i = 0; i < n; i++, text += 2) {
		if ((high = value_of(text[0])) < 0 || (low = value_of(text[1])) < 0)
			return false;
		to[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}
