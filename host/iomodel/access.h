/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways to move bytes between a file and memory, one access at a time. */
#ifndef IOMODEL_ACCESS_H
#define IOMODEL_ACCESS_H

#include <stdint.h>

#include "host/iomodel/cell.h"

struct uring;

struct access {
	enum cell_call call;
	int fd;
	bool write;
	char *map; /* the file in memory, for CALL_MMAP */
	uint64_t map_bytes;
	struct uring *uring;
};

/* Takes fd for the life of the access, and does not close it. */
int access_open(struct access *a, enum cell_call call, int fd, bool write, uint64_t file_bytes);
void access_close(struct access *a);
/* Moves len bytes; returns 0 or an errno. A short access is EIO. */
int access_once(struct access *a, char *buf, uint64_t len, uint64_t offset);

#endif
