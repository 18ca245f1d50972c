/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The single writing connection: opening, transactions, the sizes of the tiers, the WAL. Only the
 * writer thread uses a connection; no thread is made here.
 */
#ifndef STORE_CONNECTION_H
#define STORE_CONNECTION_H

#include <sys/types.h>

#include "narrows/store.h"
#include "store/write/sizes.h"

/* Counts of a transaction; the totals follow after COMMIT. */
struct write_counts {
	uint64_t rolled_rows[STORE_TIERS], expired_rows[STORE_TIERS], lost_hists, lost_chunks,
	    forgotten_sessions;
};

/* The opened file. Later the name may lead to another file, or to no file. */
struct opened_file {
	const char *path; /* on loan */
	dev_t dev;
	ino_t ino;
};
/* Why the name does not lead to the file any more, static text; NULL while it does. */
const char *opened_file_lost(const struct opened_file *f);

struct connection {
	sqlite3 *db;
	struct opened_file file;
	struct db_stmts stmts;
	int lock_fd;
	int wal_pages, wal_pages_max; /* in the WAL; at the maximum the WAL has to start over */
	int wal_frames;               /* in the WAL since its start, checkpointed or not */
	int64_t pages_most;           /* sum over commits of wal_frames: they added no more pages */
	bool pages_freed;             /* since the last look at the list of free pages */
	struct sizes sizes;
	struct write_counts counts; /* of the transaction in hand */
	struct write_counts total;  /* since the start */
	/* The id of the next chunk is never less than in the file; ids that a failed transaction
	 * took stay unused. */
	int64_t next_chunk_id;
	bool chunk_ids;        /* the transaction in hand used ids of chunks */
	struct labels *labels; /* NULL until labels are counted */
	/* A test's time of day, and its monotonic time; 0 in a real store. */
	int64_t test_wall_ns, test_mono_ns;
	char trouble[STORE_WHY_BYTES]; /* why the last transaction failed; empty after a success */
};

int connection_open(struct connection *c, const char *path, const struct store_opts *opts,
    char why[STORE_WHY_BYTES]);
void connection_close(struct connection *c);
int connection_load_sizes(struct connection *c);
/* Adds (sign 1) or subtracts (-1) the sizes of a session's result, if there is one. */
int connection_count_result(struct connection *c, int64_t session_id, int sign);

/* Says why something of the file failed with rc, until a commit succeeds. */
void connection_note_trouble(struct connection *c, int rc);
/* Fails, too, once the file is lost: rows in a file without a name would end with the box. */
int connection_begin(struct connection *c);
/* COMMIT if rc is NW_OK, else ROLLBACK. Notes trouble, returns the outcome. */
int connection_end(struct connection *c, int rc);

/* Makes the WAL start over; false while a reader still needs its pages. */
bool connection_restart_wal(struct connection *c, int timeout_ms);
/* Moves the pages of a WAL of `enough` pages or more into the file. */
void connection_checkpoint(struct connection *c, int enough);
int64_t connection_now(const struct connection *c);
/* Monotonic time; 0 in a test that sets only the time of day. */
int64_t connection_mono(const struct connection *c);

#endif
