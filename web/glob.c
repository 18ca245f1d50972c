/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/glob.h"

#include <string.h>

/* After a mismatch only the last '*' need take one byte more: an earlier '*' cannot do better. */
bool
glob_match(const char *pattern, const char *text)
{
	const char *star = NULL, *mark = NULL;

	while (*text != '\0') {
		if (*pattern == '*') {
			star = pattern++;
			mark = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
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
	return strcspn(pattern, "*?");
}
