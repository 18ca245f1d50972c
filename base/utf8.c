/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/utf8.h"

#include <string.h>

size_t
utf8_length(const char *s, size_t left)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned char low = 0x80, high = 0xbf;
	size_t len, i;

	if (left == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (len > left)
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0; /* shorter forms exist */
	else if (p[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (p[0] == 0xf0)
		low = 0x90; /* shorter forms exist */
	else if (p[0] == 0xf4)
		high = 0x8f; /* above U+10FFFF */
	for (i = 1; i < len; i++, low = 0x80, high = 0xbf)
		if (p[i] < low || p[i] > high)
			return 0;
	return len;
}

bool
utf8_whole(const char *text)
{
	size_t left = strlen(text), len;

	for (; left > 0; text += len, left -= len)
		if ((len = utf8_length(text, left)) == 0)
			return false;
	return true;
}

bool
utf8_steers(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;

	if (len == 2)
		return (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c);
	if (len != 3 || s[0] != 0xe2)
		return false;
	if (s[1] == 0x80)
		return s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae);
	return s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9;
}
