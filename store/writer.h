/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one write connection: commits batches, moves rows from the tail into chunks, gives free pages back. No thread in
 * here: store.c calls it from the writer thread, tests from anywhere.
 *
 * What is in memory (the tail) is a copy of what is committed, and changes only after COMMIT said yes. So a failed
 * transaction needs no undo, and when memory runs out the copy is thrown away and read again.
 */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include "narrows/store.h"
#include "store/batch.h"
#include "store/columns.h"
#include "store/db.h"
#include "store/tail.h"

/* When rows move. Tests take smaller numbers, so that little data meets every case. */
struct writer_limits {
	size_t chunk_rows;                     /* wanted in a chunk: more compress little better and take longer to read */
	size_t tail_bytes;                     /* more than that in the tail: what has been there longest moves */
	size_t step_values;                    /* moved per transaction: how long a commit may have to wait */
};
extern const struct writer_limits writer_limits_default;

/* Statements after those that apply records (batch.h). */
enum writer_stmt {
	W_BEGIN = BATCH_KINDS, W_COMMIT, W_ROLLBACK, W_SAVE, W_KEEP, W_UNDO,
	W_LAYOUT_FIELDS, W_LAYOUT_TAIL_AFTER, W_LAYOUT_MOVED, W_LAYOUTS_OF_SESSION,
	W_TAIL_ADD, W_TAIL_ALL, W_TAIL_TRIM, W_TAIL_EMPTY,
	W_CHUNK_BEFORE, W_CHUNK_AFTER, W_CHUNK_NEWEST, W_CHUNK_DATA, W_CHUNK_ADD, W_CHUNK_DROP,
	W_STMTS
};

struct id_list { int64_t *id; size_t n, cap; };

struct writer {
	sqlite3 *db;
	struct db_stmts stmts;
	int lock_fd;
	struct writer_limits limits;
	struct tail *tail;
	bool tail_stale;                       /* out of memory: read it again */
	int64_t next_tail_id;
	struct id_list seals;                  /* sessions whose layouts are still to be listed */
	struct id_list finals;                 /* layouts that get no more rows, still to be moved */
	int wal_pages, wal_pages_max;          /* in the WAL; over the second: make it start over */
	bool pages_freed;                      /* since the last look at the free list */

	struct chunk_codec *codec;             /* working memory of compact.c */
	struct chunk_buf chunk;
	struct chunk_rows decoded;
	struct columns fresh, merged;
	struct columns_piece piece;
	struct id_list victims;
	double *last;
	size_t cap_last;
	size_t values_encoded;

	uint64_t commits, batches, rows, samples, failed_batches;
	char trouble[STORE_WHY_BYTES];         /* why the last transaction failed; empty: it did not */
};

/* limits NULL: the default */
int writer_open(const char *path, const struct store_opts *opts, const struct writer_limits *limits,
    struct writer **out, char why[STORE_WHY_BYTES]);
void writer_close(struct writer *w);       /* NULL: nothing */
int writer_next_ids(struct writer *w, struct store_ids *out);

/*
 * One transaction for a list of batches (by next), which stay the caller's. NW_OK: committed, and each one's rc says
 * whether it was part of it: a batch that contradicts the store fails alone. Otherwise nothing was, and it may be tried
 * again.
 */
int writer_commit(struct writer *w, struct nw_batch *list);

enum writer_work { WRITER_DONE, WRITER_MORE };   /* both >= 0 */
/*
 * One bounded step of what can wait: moves rows into chunks, checkpoints, and when idle shrinks the file or finds out
 * whether trouble is over. Negative: trouble, try again later.
 */
int writer_care(struct writer *w, bool idle);

/* --- between writer.c and compact.c --- */
int writer_begin(struct writer *w);
int writer_end(struct writer *w, int rc);   /* COMMIT if rc is NW_OK, else rolls back. Notes trouble. Returns the outcome */
int id_list_add(struct id_list *l, int64_t id);
/* Moves all rows of a layout from the tail into chunks, inside a transaction; memory stays as it is. final: no more come. */
int compact_layout(struct writer *w, int64_t layout_id, bool final);

#endif
