/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/iomodel/mount.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

/* The kernel writes blanks, tabs, newlines and backslashes as three octal digits. */
static void
unescape(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++)
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to++ =
			    (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	*to = '\0';
}

static bool
is_below(const char *path, const char *point)
{
	size_t n = strlen(point);

	return strcmp(point, "/") == 0 ||
	    (strncmp(path, point, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

/* A line "36 35 98:0 /root /point options fields - type device more". */
static bool
line_parse(const char *line, struct mount *m)
{
	const char *dash = strstr(line, " - ");

	if (dash == NULL || sscanf(line, "%*s %*s %*s %*s %255s", m->point) != 1 ||
	    sscanf(dash, " - %255s %255s", m->type, m->device) != 2)
		return false;
	unescape(m->point);
	unescape(m->device);
	return true;
}

int
mount_find_in(const char *mountinfo, const char *path, struct mount *out)
{
	struct mount m;
	const char *line;
	size_t longest = 0;

	for (line = mountinfo; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n')
		/* of two mounts at a place the later mount is seen */
		if (line_parse(line, &m) && is_below(path, m.point) && strlen(m.point) >= longest) {
			longest = strlen(m.point);
			*out = m;
		}
	return longest > 0 ? NW_OK : NW_ENOTFOUND;
}

int
mount_find(const char *file, struct mount *out)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *text = NULL, *path = realpath(file, NULL);
	size_t cap = 0;
	int rc = NW_ENOTFOUND;

	/* no byte of the text is NUL, so the whole text is a line */
	if (f != NULL && path != NULL && getdelim(&text, &cap, '\0', f) > 0)
		rc = mount_find_in(text, path, out);
	if (f != NULL)
		fclose(f);
	free(path);
	free(text);
	return rc;
}
