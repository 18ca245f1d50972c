/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "narrows/err.h"

/*
 * Files made of records come in portions; a portion ends where the next record would not have
 * fitted into a page. A portion with room for any record is the last portion, and asking for more
 * would only cost another system call.
 */
enum { START_BYTES = 16 << 10, MAX_BYTES = 4 << 20, PORTION_IS_LAST_BYTES = 2048 };

static int
buf_room(struct procfs_buf *b)
{
	size_t cap = b->cap > 0 ? 2 * b->cap : START_BYTES;
	char *text;

	if (cap > MAX_BYTES)
		return NW_ETOOBIG;
	if ((text = realloc(b->text, cap)) == NULL)
		return NW_ENOMEM;
	b->text = text;
	b->cap = cap;
	return NW_OK;
}

int
procfs_read(struct procfs_file *f, const char *path, struct procfs_buf *b, struct scan *out)
{
	size_t len = 0;
	ssize_t n;
	int rc;

	if (!f->open) {
		if ((f->fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
			return NW_EIO;
		f->open = true;
	}
	for (;;) {
		if (len == b->cap && (rc = buf_room(b)) < 0)
			return rc;
		n = pread(f->fd, b->text + len, b->cap - len, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			procfs_close(f);
			return NW_EIO;
		}
		len += (size_t)n;
		if (n < PORTION_IS_LAST_BYTES)
			break;
	}
	*out = scan_text(b->text, len);
	return NW_OK;
}

void
procfs_close(struct procfs_file *f)
{
	if (f->open)
		close(f->fd);
	f->open = false;
}

void
procfs_buf_clear(struct procfs_buf *b)
{
	free(b->text);
	b->text = NULL;
	b->cap = 0;
}
