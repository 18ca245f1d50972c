/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Space that the owner of the disks has granted to masters: for each master a name, a secret, the
 * size of blocks and how many of them on each disk. The file "grants" of the state directory has a
 * line for each: NAME SECRET BLOCK_BYTES SLOTS.
 */
#ifndef NARROWS_DPSS_GRANT_H
#define NARROWS_DPSS_GRANT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "dpss/outbox.h"
#include "dpss/proto.h"
#include "dpss/ticket.h"

enum { GRANT_WHY_BYTES = 256, GRANTS_MAX = 64, DISKS_MAX = 64 };

struct grant {
	uint32_t index;
	char name[DPSS_NAME_BYTES];
	uint8_t secret[TICKET_SECRET_BYTES];
	uint32_t block_bytes;
	uint64_t slots;
	int fd[DISKS_MAX];    /* the file of slots on each disk */
	void *map[DISKS_MAX]; /* the same, to ask what is in memory, never to read; or NULL */
	size_t n_open;        /* of them */
	pthread_mutex_t lock;
	struct outbox *master; /* to the master, or NULL while it is away; under lock */
};

struct grants {
	const char *state_dir;
	char *const *disks;
	size_t n_disks;       /* with 0, no file of slots is opened */
	pthread_mutex_t lock; /* of the fields below */
	struct grant *all[GRANTS_MAX];
	size_t n;
	off_t read_bytes; /* of the file "grants", so far */
};

/* Adds a line, with a new secret, and reserves the space on every disk. NW_ECONFLICT: the master
 * has a grant. NW_EIO, NW_EINVAL. */
int grant_make(const char *state_dir, char *const *disks, size_t n_disks, const char *name,
    uint64_t slots, uint32_t block_bytes, char why[GRANT_WHY_BYTES]);
/* The directories stay the caller's, as long as the grants. */
int grants_load(const char *state_dir, char *const *disks, size_t n_disks, struct grants *out,
    char why[GRANT_WHY_BYTES]);
void grants_clear(struct grants *g); /* after a failure of grants_load(), too */
/* Reads lines that the file has got since the last reading, before the answer is NULL: none. Any
 * thread; a grant stays where it is until grants_clear(). */
struct grant *grants_find(struct grants *g, const char *name);

/* Whether a slot is in the system's memory, as far as its pages at short distances tell: a read
 * needs no disk. */
bool grant_is_resident(const struct grant *g, uint32_t disk, uint64_t slot);
/* Tells the master, if connected. */
void grant_tell(struct grant *g, uint16_t type, struct packer *p);

#endif
