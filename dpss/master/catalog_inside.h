/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the catalogue. */
#ifndef NARROWS_DPSS_CATALOG_INSIDE_H
#define NARROWS_DPSS_CATALOG_INSIDE_H

#include <pthread.h>
#include <sqlite3.h>

#include "dpss/master/dpss_catalog.h"

struct disk_use {
	uint64_t slots, used, next; /* next: where the search for a free slot goes on */
	uint8_t *bits;
};

struct server_use {
	uint32_t block_bytes; /* 0: the server has not told its space yet */
	size_t n_disks;
	struct disk_use disk[CATALOG_DISKS_MAX];
};

/* A word lost with the master costs nothing: the place is in the file, and the server knows the
 * block there. So many words share one transaction. */
enum { STORED_MAX = 4096, MOVING = 16 /* added to the number of a moving copy */ };

struct catalog {
	sqlite3 *db;
	pthread_mutex_t lock;
	struct server_use use[DPSS_SERVERS_MAX];
	sqlite3_stmt *find;
	struct stored {
		uint64_t logical, slot;
		uint32_t set, server, disk;
		int state;
	} stored[STORED_MAX]; /* not in the file yet: what servers said of blocks */
	size_t n_stored;
};

enum { STATE_PLACED, STATE_STORED, STATE_DAMAGED };

/* A statement with int64_t ("i") and text ("t") parameters, ready to step; NULL on failure. */
sqlite3_stmt *catalog_statement(struct catalog *c, const char *sql, const char *types, ...);
int catalog_rc(int sqlite); /* NW_E* for a result code */
/* Steps once and ends the statement, which may be NULL. */
int catalog_run(sqlite3_stmt *st);
int catalog_execute(struct catalog *c, const char *sql);
void catalog_slot_mark(struct server_use *u, uint32_t disk, uint64_t slot, bool used);
/* Called with the lock. */
void catalog_stored_flush(struct catalog *c);

#endif
