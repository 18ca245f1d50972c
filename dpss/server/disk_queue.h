/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One disk directory: a queue of tasks and the thread that carries them out in order. Blocks to
 * write are answered after an fdatasync() for several blocks together.
 */
#ifndef NARROWS_DPSS_DISK_H
#define NARROWS_DPSS_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "dpss/proto.h"
#include "dpss/server/blockcache.h"
#include "dpss/server/grant.h"

struct disk;
struct session;

struct task {
	struct task *next;
	struct session *session;    /* held */
	struct grant *grant;        /* of the session */
	bool write, flush, careful; /* careful: the disk is read and the bytes are checked */
	bool from_memory;           /* the block came without a read of the disk */
	/* bytes of the block in the stream of a socket; both 0: not sent, by UDP, or in TLS */
	uint64_t cookie, first, behind;
	uint32_t set, disk, list;
	uint64_t logical, slot;
	uint64_t times[DPSS_TIMES]; /* 0: not reached */
	struct buffer *buffer;      /* what is written, or was read; NULL: sent from the file */
	struct {
		uint32_t len, sum;
		uint64_t stamp_wall_ns, offset;
	} file;
};

/* Functions of the tasks' owner; each owns its task from then on, in the disk's thread
 * or, of disk_begin(), the caller's. */
struct disk_calls {
	bool (*wanted)(struct task *t); /* if false, the task returns without work */
	void (*done)(struct task *t, int rc);
};

/* index: of the disk in struct grant. NW_ENOMEM. */
int disk_new(
    uint32_t index, struct blockcache *cache, const struct disk_calls *calls, struct disk **out);
void disk_free(struct disk *d); /* carries out the waiting tasks; NULL is fine */
void disk_put(struct disk *d, struct task *t);
/* A read: done at once, in the caller's thread, if the block is in memory. from_file: the file's
 * bytes may be sent, so the task may have a place in the file and no buffer. */
void disk_begin(struct disk *d, struct task *t, bool from_file);

#endif
