/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one write connection: commits batches, moves rows from the tail into chunks, gives free pages
 * back. No thread in here: store.c calls it from the writer thread, tests from anywhere.
 *
 * What is in memory (the tail) is a copy of what is committed, and changes only after COMMIT said
 * yes. So a failed transaction needs no undo, and when memory runs out the copy is thrown away and
 * read again.
 */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include "narrows/store.h"
#include "store/batch.h"
#include "store/columns.h"
#include "store/db.h"
#include "store/fold.h"
#include "store/tail.h"

/* When rows move. Tests take smaller numbers, so that little data meets every case. */
struct writer_limits {
	/* wanted in a chunk: more compress little better and take longer to read */
	size_t chunk_rows;
	size_t tail_bytes;  /* more than that in the tail: what has been there longest moves */
	size_t step_values; /* moved per transaction: how long a commit may have to wait */
	size_t chunk_bytes; /* decoded, wanted at most; 0: the default */
};
extern const struct writer_limits writer_limits_default;

/* Statements after those that apply records (batch.h). */
enum writer_stmt {
	W_BEGIN = BATCH_KINDS,
	W_COMMIT,
	W_ROLLBACK,
	W_SAVE,
	W_KEEP,
	W_UNDO,
	W_LAYOUT_FIELDS,
	W_LAYOUT_NAMES,
	W_LAYOUT_TAIL_AFTER,
	W_LAYOUT_MOVED,
	W_LAYOUTS_OF_SESSION,
	W_TAIL_ADD,
	W_TAIL_ALL,
	W_TAIL_TRIM,
	W_TAIL_EMPTY,
	W_CHUNK_BEFORE,
	W_CHUNK_AFTER,
	W_CHUNK_NEWEST,
	W_CHUNK_DATA,
	W_CHUNK_ADD,
	W_CHUNK_DROP,
	W_ROLLUP_BEFORE,
	W_ROLLUP_AFTER,
	W_ROLLUP_NEWEST,
	W_ROLLUP_DATA,
	W_ROLLUP_ADD,
	W_ROLLUP_DROP,
	W_CHUNK_OLDEST,
	W_ROLLUP_OLDEST,
	W_ROLLUP_ROWS,
	W_SHELF_BYTES,
	W_SHELF_CHANGE,
	W_XSP_ABANDONED,
	W_SESSION_OLDEST,
	W_SESSION_PINNED,
	W_FORGET_CHUNKS,
	W_FORGET_ROLLUPS,
	W_FORGET_LAYOUTS,
	W_FORGET_METAS,
	W_FORGET_RESULT,
	W_FORGET_RUNS,
	W_FORGET_PROVIDERS,
	W_FORGET_XSP,
	W_FORGET_XSP_REST,
	W_FORGET_SESSION, /* in this order, those from W_FORGET_LAYOUTS on */
	W_CHUNK_NEXT_ID,
	W_CHUNK_SET_NEXT_ID,
	W_STMTS
};

/* Where chunks of one kind stand: the rows of a layout, or one tier of its roll-ups. */
enum shelf_stmt { SHELF_BEFORE, SHELF_AFTER, SHELF_NEWEST, SHELF_DATA, SHELF_ADD, SHELF_DROP };
struct shelf {
	int stmts;   /* W_CHUNK_BEFORE or W_ROLLUP_BEFORE: the first of its statements */
	int64_t key; /* layout id; of a roll-up: layout id * STORE_TIERS + tier */
	int tier;
};

struct id_list {
	int64_t *id;
	size_t n, cap;
};

/* What a transaction changes of the store's numbers, which follow after COMMIT. By tier. */
struct moved {
	int64_t bytes[STORE_TIERS];
	uint64_t rolled_rows[STORE_TIERS], expired_rows[STORE_TIERS], lost_hists, lost_chunks,
	    forgotten_sessions;
	bool chunk_ids; /* some were used */
};

/* How far an expiry has looked, from the oldest on. */
struct age_cursor {
	int64_t t1, id;
};
extern const struct age_cursor age_cursor_first;

struct writer {
	sqlite3 *db;
	struct db_stmts stmts;
	int lock_fd;
	struct writer_limits limits;
	struct tail *tail;
	bool tail_stale; /* out of memory: read it again */
	int64_t next_tail_id;
	/* only session, meta, layout: lower ones were given, though they may be forgotten */
	struct store_ids next;
	/* never less than what the file says; those of a transaction that failed go unused */
	int64_t next_chunk_id;
	/* the newest blob when it was last looked at, and when that was */
	int64_t tail_mark_id, tail_mark_wall_ns;
	int64_t tail_due_id;   /* rows in blobs up to this one have been there for long enough */
	struct id_list seals;  /* sessions whose layouts are still to be listed */
	struct id_list finals; /* layouts that get no more rows, still to be moved */
	int wal_pages, wal_pages_max; /* in the WAL; over the second: make it start over */
	int wal_frames;               /* in the WAL since it started over, checkpointed or not */
	bool pages_freed;             /* since the last look at the free list, or it has too many */
	bool pages_spare;             /* more than an idle store keeps */

	struct chunk_codec *codec; /* working memory of compact.c */
	struct chunk_buf chunk;
	struct chunk_rows decoded;
	struct columns fresh, merged;
	struct columns_piece piece;
	struct id_list victims;
	double *last;
	size_t cap_last;
	size_t values_encoded;
	uint64_t family;  /* of the layout in hand, for the codec */
	struct fold fold; /* of rollup.c, and of compact.c where buckets meet */
	struct columns folded;

	int64_t keep_ns[STORE_TIERS]; /* 0: for ever */
	int64_t keep_sessions_ns;     /* after they closed; 0: for ever */
	int64_t now_wall_ns;          /* of tests; 0: the clock's */
	/* a session that could not be forgotten, and those before it: in this pass */
	int64_t forget_after;
	int64_t pass_wall_ns; /* when the pass of expiry in hand, or the last one, began */
	int pass_tier;        /* where it is; STORE_TIERS: at sessions; more: none is in hand */
	struct age_cursor pass_at;
	struct ceiling {                       /* ceiling.c */
		uint64_t max_bytes;            /* of file and WAL; 0: none */
		int64_t page_bytes, pages_max; /* of the file */
		size_t wal_max_bytes, group_max_bytes;
		struct age_cursor at[STORE_TIERS];
	} ceiling;
	struct moved moved; /* by the transaction in hand */
	struct moved total; /* since the start */
	int64_t tier_bytes[STORE_TIERS];

	uint64_t commits, batches, rows, samples, failed_batches, late_rows;
	char trouble[STORE_WHY_BYTES]; /* why the last transaction failed; empty: it did not */
};

/* limits NULL: the default */
int writer_open(const char *path, const struct store_opts *opts, const struct writer_limits *limits,
    struct writer **out, char why[STORE_WHY_BYTES]);
void writer_close(struct writer *w); /* NULL: nothing */
int writer_next_ids(struct writer *w, struct store_ids *out);

/*
 * One transaction for a list of batches (by next), which stay the caller's. NW_OK: committed, and
 * each one's rc says whether it was part of it: a batch that contradicts the store fails alone.
 * Otherwise nothing was, and it may be tried again.
 */
int writer_commit(struct writer *w, struct nw_batch *list);

enum writer_work { WRITER_DONE, WRITER_MORE }; /* both >= 0 */
/*
 * One bounded step of what can wait: moves rows into chunks, checkpoints, and when idle shrinks the
 * file or finds out whether trouble is over. Negative: trouble, try again later.
 */
int writer_care(struct writer *w, bool idle);

/* --- between writer.c and compact.c --- */
int writer_begin(struct writer *w);
/* COMMIT if rc is NW_OK, else rolls back. Notes trouble. Returns the outcome */
int writer_end(struct writer *w, int rc);
int id_list_add(struct id_list *l, int64_t id);
/* Moves all rows of a layout from the tail into chunks, inside a transaction; memory stays as it
 * is. final: no more come. */
int compact_layout(struct writer *w, int64_t layout_id, bool final);
/* Puts w->fresh, in time order, onto a shelf, together with chunks it has to be merged with. Inside
 * a transaction. */
int shelf_put(struct writer *w, const struct shelf *s, size_t n_columns, bool final);
int shelf_drop(struct writer *w, const struct shelf *s, int64_t id);

/* --- rollup.c, forget.c, expire.c, ceiling.c --- */

/* One chunk or roll-up, what it is and where. id 0: none; but with more set, only none among the
 * many looked at. */
struct aged {
	int64_t id, layout_id;
	int tier;
	bool more;
};
/* The oldest of a tier behind the cursor that ended before a time and may go; moves the cursor
 * there. */
int rollup_oldest(
    struct writer *w, int tier, int64_t before_wall_ns, struct age_cursor *at, struct aged *out);
/*
 * Inside a transaction: turns it into buckets of the next tier, or deletes it when there is none.
 * NW_ECORRUPT: it does not decode, and stays.
 */
int rollup_demote(struct writer *w, const struct aged *what);

/* Inside a transaction: deletes what cannot be read. */
int rollup_discard(struct writer *w, const struct aged *what);
/*
 * The oldest session that closed before a time and can be forgotten; *id 0: none. Then all of it,
 * in a transaction of its own, or, where there is much, a bounded part of its samples. One that
 * damage holds is passed over until the next pass.
 */
int forget_oldest(struct writer *w, int64_t closed_before_wall_ns, int64_t *id);
int forget_session(struct writer *w, int64_t id);
/* Is there one that only the tail holds? */
bool forget_waits(struct writer *w);

/* One bounded step of the expiry by age: WRITER_MORE, WRITER_DONE or an error. */
int expire_step(struct writer *w);

/* Takes the opts' ceiling into force. */
int ceiling_set(struct writer *w, uint64_t max_bytes);
/*
 * Outside a transaction: makes room for one that writes so many bytes, by freeing what is oldest.
 * NW_EIO: there is none to make, trouble says so. NW_ETOOBIG: there never will be. Without a
 * ceiling always NW_OK.
 */
int ceiling_make_room(struct writer *w, size_t bytes);
/* For a commit, which adds to the tail; for moving all of the tail into chunks. */
int ceiling_make_room_to_commit(struct writer *w, size_t bytes);
int ceiling_make_room_to_move(struct writer *w);
/* The same in advance and a step at a time, as far as a working store needs. */
int ceiling_step(struct writer *w);
/* Pages the file has over its ceiling, which have to be given back. */
bool ceiling_is_exceeded(struct writer *w);
/* For want of room: rows that have been in the tail longest, of one layout at least. WRITER_MORE,
 * WRITER_DONE or an error. */
int writer_move_oldest(struct writer *w);
/* Starts the WAL over if it can. */
bool writer_restart_wal(struct writer *w, int timeout_ms);
int64_t writer_now(const struct writer *w);

#endif
