/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/claim/setting_text.h"

#include <stddef.h>
#include <string.h>

#include "narrows/xmalloc.h"

enum { SETTING_SHOWN = 80 };

const char *
setting_mark(const char *value)
{
	const char *at = strrchr(value, ' ');

	return at != NULL && at[1] == '#' && strlen(at + 2) == 8 &&
		strspn(at + 2, "0123456789abcdef") == 8
	    ? at
	    : NULL;
}

char *
setting_text(const char *value, const char *other)
{
	const char *hashed;
	size_t same = 0;

	if (value == NULL || value[strspn(value, " \t")] == '\0')
		return xstrdup(value == NULL ? "absent" : "empty");
	if ((hashed = setting_mark(value)) != NULL)
		return other != NULL && strncmp(value, other, (size_t)(hashed - value) + 2) == 0
		    ? xasprintf("%.*s (options %s)", (int)(hashed - value), value, hashed + 1)
		    : xasprintf("%.*s", (int)(hashed - value), value);
	while (other != NULL && value[same] != '\0' && value[same] == other[same])
		same++;
	while (same > 0 && value[same - 1] != ' ') /* whole words */
		same--;
	return same < SETTING_SHOWN ? xasprintf("%.*s", SETTING_SHOWN, value)
				    : xasprintf("... %.*s", SETTING_SHOWN, value + same);
}
