/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/format.h"
#include "narrows/jsontext.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"

enum { FILE_MAX_BYTES = 16 << 20, TEXT_MAX_BYTES = 256 };

/* Root writes for a box of another user: the file belongs to the directory's owner. */
static void
owner_follow(int fd, const char *dir)
{
	struct stat sb;

	if (geteuid() == 0 && stat(dir, &sb) == 0 && fchown(fd, sb.st_uid, sb.st_gid) != 0)
		log_warn("audit.owner");
}

static int
file_open(const char *dir, const char *path)
{
	const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	char *before;
	struct stat sb;
	int fd;

	if (lstat(path, &sb) == 0 && sb.st_size >= FILE_MAX_BYTES) {
		before = xasprintf("%s.1", path);
		(void)rename(path, before);
		free(before);
	}
	if ((fd = open(path, flags)) < 0 && errno == ENOENT &&
	    (fd = open(path, flags | O_CREAT | O_EXCL, 0600)) >= 0)
		owner_follow(fd, dir);
	if (fd >= 0 && (fstat(fd, &sb) != 0 || !S_ISREG(sb.st_mode) || sb.st_nlink != 1)) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

static char *
line_make(const char *event, const char *who, const char *from, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (f == NULL)
		return NULL;
	fprintf(f, "{\"time\":\"%s\",\"event\":\"%s\",\"who\":", fmt_iso_ns(nw_wall_ns()).s, event);
	jsontext_put(f, who, strnlen(who, TEXT_MAX_BYTES));
	fputs(",\"from\":", f);
	jsontext_put(f, from, strnlen(from, TEXT_MAX_BYTES));
	fputs("}\n", f);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

void
audit_note(const char *state_dir, const char *event, const char *who, const char *from)
{
	char *path = xasprintf("%s/audit.log", state_dir);
	size_t len = 0;
	char *text = line_make(event, who, from, &len);
	int fd = file_open(state_dir, path);

	if (text == NULL || fd < 0 || write(fd, text, len) != (ssize_t)len)
		log_warn("audit.write path=%s", path);
	if (fd >= 0)
		close(fd);
	free(text);
	free(path);
}
