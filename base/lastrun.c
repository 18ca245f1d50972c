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

enum { RECORD_BYTES = 4 * LASTRUN_TEXT_BYTES };

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

/* The value of "NAME value\n" in a record, into out; "" without such a line. */
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

static bool
record_parse(const char *text, struct lastrun *r)
{
	char start[LASTRUN_TEXT_BYTES], pid[LASTRUN_TEXT_BYTES];

	value_take(text, "start", start);
	value_take(text, "pid", pid);
	value_take(text, "task", r->task);
	value_take(text, "box", r->box);
	value_take(text, "why", r->why);
	r->start_wall_ns = strtoll(start, NULL, 10);
	r->pid = strtoll(pid, NULL, 10);
	return r->start_wall_ns > 0 && r->task[0] != '\0';
}

size_t
lastrun_read_all(struct lastrun out[LASTRUN_BOXES])
{
	char dir[PATH_MAX], parent[PATH_MAX], path[PATH_MAX + 32];
	char text[LASTRUN_BOXES * RECORD_BYTES], *at, *next;
	size_t n_runs = 0;
	ssize_t n;
	int fd;

	if (!directory_find(dir, parent))
		return 0;
	snprintf(path, sizeof(path), "%s/last-run", dir);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (at = text; *at != '\0' && n_runs < LASTRUN_BOXES; at = next) {
		if ((next = strstr(at, "\nstart ")) != NULL)
			*next++ = '\0';
		else
			next = at + strlen(at);
		n_runs += record_parse(at, &out[n_runs]);
	}
	return n_runs;
}

int
lastrun_read(struct lastrun *r)
{
	struct lastrun all[LASTRUN_BOXES];

	if (lastrun_read_all(all) == 0)
		return NW_ENOTFOUND;
	*r = all[0];
	return NW_OK;
}

/* Puts the file in the place of the other. To exchange the names and remove the older file costs
 * half of a rename() where a file system writes a file out before the file replaces another. */
static bool
file_replace(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
		return unlink(from) == 0;
	return rename(from, to) == 0; /* there is no other, or the file system cannot */
}

static int
file_write(const struct lastrun *all, size_t n)
{
	char dir[PATH_MAX], parent[PATH_MAX], temp[PATH_MAX + 32], path[PATH_MAX + 32];
	char text[LASTRUN_BOXES * RECORD_BYTES];
	size_t len = 0, i;
	bool good;
	int fd;

	if (!directory_find(dir, parent) || !directory_make(dir, parent))
		return NW_ENOTFOUND;
	snprintf(temp, sizeof(temp), "%s/.last-run.%ld", dir, (long)getpid());
	snprintf(path, sizeof(path), "%s/last-run", dir);
	if ((fd = ownfile_make(temp, 0600)) < 0)
		return NW_EIO;
	for (i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "start %" PRId64 "\npid %" PRId64 "\ntask %s\nbox %s\nwhy %s\n",
		    all[i].start_wall_ns, all[i].pid, all[i].task, all[i].box, all[i].why);
	good = write(fd, text, len) == (ssize_t)len;
	good = close(fd) == 0 && good && file_replace(temp, path);
	if (!good)
		unlink(temp);
	return good ? NW_OK : NW_EIO;
}

int
lastrun_write(const struct lastrun *r)
{
	struct lastrun old[LASTRUN_BOXES], all[LASTRUN_BOXES];
	size_t n_old = lastrun_read_all(old), n = 1, i;

	all[0] = *r;
	for (i = 0; i < n_old && n < LASTRUN_BOXES; i++)
		if (strcmp(old[i].box, r->box) != 0)
			all[n++] = old[i];
	return file_write(all, n);
}

int
lastrun_fail(const char *task, const char *why)
{
	struct lastrun all[LASTRUN_BOXES];
	char want[LASTRUN_TEXT_BYTES];
	size_t n = lastrun_read_all(all), i;

	if (n == 0)
		return NW_ENOTFOUND;
	lastrun_text(want, task);
	for (i = 0; i < n; i++)
		if (strcmp(all[i].task, want) == 0) {
			lastrun_text(all[i].why, why);
			return file_write(all, n);
		}
	return NW_OK;
}
