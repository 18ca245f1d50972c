/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of /proc for repeated reading: opened once, read whole from its start each time. */
#ifndef HOST_PROCFS_H
#define HOST_PROCFS_H

#include <stdbool.h>

#include "host/blipp/probe/scan.h"

struct procfs_file {
	bool open;
	int fd;
}; /* zero to start */
/* zero to start; all files share a buffer, one at a time */
struct procfs_buf {
	char *text;
	size_t cap;
};

/* The file's text, good until the next read into b. NW_EIO (errno tells), NW_ENOMEM, NW_ETOOBIG. */
int procfs_read(struct procfs_file *f, const char *path, struct procfs_buf *b, struct scan *out);
void procfs_close(struct procfs_file *f);
void procfs_buf_clear(struct procfs_buf *b);

#endif
