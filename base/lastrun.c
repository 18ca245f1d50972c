/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/lastrun.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/ownfile.h"

/* Fills dir with the directory of the record, and parent with the directory above if that may be
 * missing, too. */
static bool
directory_find(char dir[PATH_MAX], char parent[PATH_MAX])
{
	const char *base = secure_getenv("XDG_RUNTIME_DIR"), *name = "narrows";

	parent[0] = '\0';
	if (base == NULL || base[0] != '/') {
		base = geteuid() == 0 ? "/run" : secure_getenv("HOME");
		if (base == NULL || base[0] != '/')
			return false;
		if (geteuid() != 0) {
			name = ".cache/narrows";
			if (snprintf(parent, PATH_MAX, "%s/.cache", base) >= PATH_MAX)
				return false;
		}
	}
	return snprintf(dir, PATH_MAX, "%s/%s", base, name) < PATH_MAX - 32;
}

static bool
directory_make(const char *dir, const char *parent)
{
	if (parent[0] != '\0' && mkdir(parent, 0700) != 0 && errno != EEXIST)
		return false;
	return mkdir(dir, 0700) == 0 || errno == EEXIST;
}

void
lastrun_text(char out[LASTRUN_TEXT_BYTES], const char *text)
{
	size_t i;

	for (i = 0; text != NULL && text[i] != '\0' && i < LASTRUN_TEXT_BYTES - 1; i++)
		out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
	out[i] = '\0';
}

int
lastrun_write(const struct lastrun *r)
{
	char dir[PATH_MAX], parent[PATH_MAX], temp[PATH_MAX + 32], path[PATH_MAX + 32];
	char text[4 * LASTRUN_TEXT_BYTES];
	int fd, len;
	bool good;

	if (!directory_find(dir, parent) || !directory_make(dir, parent))
		return NW_ENOTFOUND;
	len = snprintf(text, sizeof(text),
	    "start %" PRId64 "\npid %" PRId64 "\ntask %s\nbox %s\nwhy %s\n", r->start_wall_ns,
	    r->pid, r->task, r->box, r->why);
	snprintf(temp, sizeof(temp), "%s/.last-run.%ld", dir, (long)getpid());
	snprintf(path, sizeof(path), "%s/last-run", dir);
	if ((fd = ownfile_make(temp, 0600)) < 0)
		return NW_EIO;
	good = write(fd, text, (size_t)len) == len;
	good = close(fd) == 0 && good && rename(temp, path) == 0;
	if (!good)
		unlink(temp);
	return good ? NW_OK : NW_EIO;
}

/* The value of "NAME value\n" in text, into out; "" without such a line. */
static void
value_take(const char *text, const char *name, char out[LASTRUN_TEXT_BYTES])
{
	size_t len = strlen(name);
	const char *p, *end;

	out[0] = '\0';
	for (p = text; *p != '\0'; p = *end != '\0' ? end + 1 : end) {
		end = p + strcspn(p, "\n");
		if ((size_t)(end - p) <= len || strncmp(p, name, len) != 0 || p[len] != ' ')
			continue;
		snprintf(
		    out, LASTRUN_TEXT_BYTES, "%.*s", (int)(end - p - (long)len - 1), p + len + 1);
		return;
	}
}

int
lastrun_read(struct lastrun *r)
{
	char dir[PATH_MAX], parent[PATH_MAX], path[PATH_MAX + 32], start[LASTRUN_TEXT_BYTES];
	char text[4 * LASTRUN_TEXT_BYTES], pid[LASTRUN_TEXT_BYTES];
	ssize_t n;
	int fd;

	if (!directory_find(dir, parent))
		return NW_ENOTFOUND;
	snprintf(path, sizeof(path), "%s/last-run", dir);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) < 0)
		return NW_ENOTFOUND;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return NW_ENOTFOUND;
	text[n] = '\0';
	value_take(text, "start", start);
	value_take(text, "pid", pid);
	value_take(text, "task", r->task);
	value_take(text, "box", r->box);
	value_take(text, "why", r->why);
	r->start_wall_ns = strtoll(start, NULL, 10);
	r->pid = strtoll(pid, NULL, 10);
	return r->start_wall_ns > 0 && r->task[0] != '\0' ? NW_OK : NW_ENOTFOUND;
}

int
lastrun_fail(const char *task, const char *why)
{
	char want[LASTRUN_TEXT_BYTES];
	struct lastrun r;
	int rc;

	lastrun_text(want, task);
	if ((rc = lastrun_read(&r)) < 0)
		return rc;
	if (strcmp(r.task, want) != 0)
		return NW_OK;
	lastrun_text(r.why, why);
	return lastrun_write(&r);
}
