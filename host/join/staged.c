/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/join/staged.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/xmalloc.h"

static int
refuse(const char *path, char why[CONF_WHY_BYTES])
{
	snprintf(why, CONF_WHY_BYTES, "%.180s: %s", path, strerror(errno));
	return NW_EIO;
}

int
staged_dir(struct staged *s, const char *dir, char why[CONF_WHY_BYTES])
{
	char *path = xstrdup(dir), *at = path;
	int rc = NW_OK;

	do {
		if ((at = strchr(at + 1, '/')) != NULL)
			*at = '\0';
		if (mkdir(path, 0755) == 0 && s->n_dirs < STAGED_DIRS)
			s->dirs[s->n_dirs++] = xstrdup(path);
		else if (errno != EEXIST)
			rc = refuse(path, why);
		if (at != NULL)
			*at = '/';
	} while (at != NULL && rc == NW_OK);
	free(path);
	return rc;
}

static bool
file_fill(int fd, const char *text, mode_t mode, gid_t gid)
{
	size_t len = strlen(text);

	return write(fd, text, len) == (ssize_t)len &&
	    (gid == (gid_t)-1 || fchown(fd, (uid_t)-1, gid) == 0) && fchmod(fd, mode) == 0 &&
	    fsync(fd) == 0;
}

int
staged_put(struct staged *s, const char *path, const char *text, mode_t mode, gid_t gid,
    const char **temp, char why[CONF_WHY_BYTES])
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash != NULL ? (int)(slash - path) + 1 : 0, fd, rc = NW_OK;
	struct staged_file *f = &s->files[s->n_files];

	if (s->n_files == STAGED_FILES)
		return NW_EFULL;
	f->temp = xasprintf("%.*s.%s.XXXXXX", dir_len, path, path + dir_len);
	if ((fd = mkostemp(f->temp, O_CLOEXEC)) < 0) { /* 0600 from the first moment */
		rc = refuse(path, why);
		free(f->temp);
		return rc;
	}
	f->path = xstrdup(path);
	s->n_files++;
	if (!file_fill(fd, text, mode, gid))
		rc = refuse(path, why);
	close(fd);
	if (temp != NULL)
		*temp = f->temp;
	return rc;
}

/* Gives the file the name; a file of that name gets the temporary name. */
static int
file_rename(struct staged_file *f)
{
	f->was_there = renameat2(AT_FDCWD, f->temp, AT_FDCWD, f->path, RENAME_EXCHANGE) == 0;
	return f->was_there ? 0 : rename(f->temp, f->path);
}

static void
file_take_back(const struct staged_file *f)
{
	if (f->was_there)
		(void)renameat2(AT_FDCWD, f->temp, AT_FDCWD, f->path, RENAME_EXCHANGE);
	else
		unlink(f->path);
}

int
staged_commit(struct staged *s, char why[CONF_WHY_BYTES])
{
	size_t n;

	for (n = 0; n < s->n_files && file_rename(&s->files[n]) == 0; n++)
		continue;
	if (n < s->n_files) {
		refuse(s->files[n].path, why);
		while (n > 0)
			file_take_back(&s->files[--n]);
		return NW_EIO;
	}
	while (s->n_dirs > 0)
		free(s->dirs[--s->n_dirs]);
	return NW_OK;
}

void
staged_drop(struct staged *s)
{
	size_t i;

	for (i = 0; i < s->n_files; i++) {
		unlink(s->files[i].temp); /* after a commit the file that was there before */
		free(s->files[i].temp);
		free(s->files[i].path);
	}
	while (s->n_dirs > 0) {
		rmdir(s->dirs[--s->n_dirs]);
		free(s->dirs[s->n_dirs]);
	}
	memset(s, 0, sizeof(*s));
}
