/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/glob.h"

#include <string.h>

/* The pattern behind the set that begins at p, if the set has c; else NULL. */
static const char *
set_match(const char *p, char c)
{
	bool invert = p[1] == '^', has = false;
	const char *begin = p += invert ? 2 : 1;

	for (; *p != '\0' && (*p != ']' || p == begin); p++)
		if (p[1] == '-' && p[2] != ']' && p[2] != '\0') {
			has |= (unsigned char)*p <= (unsigned char)c &&
			    (unsigned char)c <= (unsigned char)p[2];
			p += 2;
		} else
			has |= *p == c;
	return *p == ']' && has != invert ? p + 1 : NULL;
}

/* The pattern behind its first element, if that element stands for c; else NULL. */
static const char *
element_match(const char *p, char c)
{
	if (*p == '[')
		return set_match(p, c);
	return *p == '?' || *p == c ? p + 1 : NULL;
}

/* After a mismatch only the last '*' need take one byte more: an earlier '*' cannot do better. */
bool
glob_match(const char *pattern, const char *text)
{
	const char *star = NULL, *mark = NULL, *rest;

	while (*text != '\0') {
		if (*pattern == '*') {
			star = pattern++;
			mark = text;
		} else if (*pattern != '\0' && (rest = element_match(pattern, *text)) != NULL) {
			pattern = rest;
			text++;
		} else if (star != NULL) {
			pattern = star + 1;
			text = ++mark;
		} else
			return false;
	}
	return pattern[strspn(pattern, "*")] == '\0';
}

size_t
glob_prefix(const char *pattern)
{
	return strcspn(pattern, "*?[");
}
