/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/mount.h"

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

	return (strcmp(point, "/") == 0 && path[0] == '/') ||
	    (strncmp(path, point, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

/* The value of an option of the file system, from "rw,vers=4.2,addr=10.0.0.5". */
static void
option_find(const char *options, const char *name, char out[MOUNT_TEXT_BYTES])
{
	size_t len = strlen(name), n;

	out[0] = '\0';
	for (; *options != '\0' && *options != '\n'; options += n, options += *options == ',') {
		n = strcspn(options, ",\n");
		if (n <= len || n - len >= MOUNT_TEXT_BYTES || strncmp(options, name, len) != 0)
			continue;
		memcpy(out, options + len, n - len);
		out[n - len] = '\0';
	}
}

/* The next word of a line into `out`, cut; the text behind the word, NULL without a word. */
static const char *
word_take(const char *at, char out[MOUNT_TEXT_BYTES])
{
	size_t n, kept;

	if (at == NULL)
		return NULL;
	at += strspn(at, " ");
	n = strcspn(at, " \n");
	kept = n < MOUNT_TEXT_BYTES ? n : MOUNT_TEXT_BYTES - 1;
	memcpy(out, at, kept);
	out[kept] = '\0';
	return n > 0 ? at + n : NULL;
}

/* The dash behind the optional fields. NULL: the line has none. */
static const char *
dash_find(const char *line)
{
	const char *dash = strstr(line, " - ");

	return dash != NULL && dash < line + strcspn(line, "\n") ? dash + 3 : NULL;
}

/* A line "36 35 98:0 /root /point options fields - type device more". */
static bool
line_parse(const char *line, struct mount *m)
{
	char skipped[MOUNT_TEXT_BYTES], dev[MOUNT_TEXT_BYTES];
	const char *at = line, *behind = dash_find(line);
	unsigned major, minor;

	at = word_take(word_take(at, skipped), skipped);
	at = word_take(word_take(word_take(at, dev), skipped), m->point);
	behind = word_take(word_take(behind, m->type), m->device);
	if (at == NULL || behind == NULL)
		return false;
	m->dev =
	    sscanf(dev, "%u:%u", &major, &minor) == 2 ? (uint64_t)major << 32 | minor : UINT64_MAX;
	option_find(behind + strspn(behind, " "), "addr=", m->address);
	unescape(m->point);
	unescape(m->device);
	return true;
}

/* Of two mounts at a place the later mount is seen. A mount of the device comes first of all; `dev`
 * may be NULL. */
static int
find(const char *mountinfo, const uint64_t *dev, const char *path, struct mount *out)
{
	struct mount m;
	const char *line;
	size_t longest = 0, rank;

	for (line = mountinfo; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
		if (!line_parse(line, &m))
			continue;
		rank = is_below(path, m.point) ? 1 + strlen(m.point) : 0;
		if (dev != NULL && m.dev == *dev)
			rank += MOUNT_TEXT_BYTES + 1;
		if (rank > 0 && rank >= longest) {
			longest = rank;
			*out = m;
		}
	}
	return longest > 0 ? NW_OK : NW_ENOTFOUND;
}

int
mount_find_in(const char *mountinfo, const char *path, struct mount *out)
{
	return find(mountinfo, NULL, path, out);
}

int
mount_find_device(const char *mountinfo, uint64_t dev, const char *path, struct mount *out)
{
	return find(mountinfo, &dev, path, out);
}

char *
mount_table_read(int pid)
{
	char name[64] = "/proc/self/mountinfo", *text = NULL;
	size_t cap = 0;
	ssize_t n;
	FILE *f;

	if (pid > 0)
		snprintf(name, sizeof(name), "/proc/%d/mountinfo", pid);
	if ((f = fopen(name, "re")) == NULL)
		return NULL;
	/* no byte of the text is NUL, so the whole text is a line */
	n = getdelim(&text, &cap, '\0', f);
	fclose(f);
	if (n > 0)
		return text;
	free(text);
	return NULL;
}

int
mount_find(const char *file, struct mount *out)
{
	char *path = realpath(file, NULL), *text = mount_table_read(0);
	int rc = path != NULL && text != NULL ? mount_find_in(text, path, out) : NW_ENOTFOUND;

	free(path);
	free(text);
	return rc;
}
