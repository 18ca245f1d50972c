/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/filter.h"

#include <fnmatch.h>
#include <string.h>

enum { PATTERN_BYTES = 128 };

/* A pattern that is too long matches nothing. */
static bool
list_has(const char *list, const char *name)
{
	char pattern[PATTERN_BYTES];
	size_t len;

	for (; *list != '\0'; list += len) {
		list += strspn(list, " \t");
		len = strcspn(list, " \t");
		if (len == 0 || len >= sizeof(pattern))
			continue;
		memcpy(pattern, list, len);
		pattern[len] = '\0';
		if (fnmatch(pattern, name, 0) == 0)
			return true;
	}
	return false;
}

bool
filter_takes(const struct filter *f, const char *name)
{
	if (f->exclude != NULL && list_has(f->exclude, name))
		return false;
	return f->include == NULL || list_has(f->include, name);
}
