/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer: commits batches, and maintains the file in bounded steps in between. No thread is
 * made here: store.c calls from the writer thread, tests from anywhere.
 */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include "store/ground/batch.h"
#include "store/ground/document.h"
#include "store/write/expire.h"

struct writer {
	struct connection c;
	struct compactor k;
	struct mover mover;
	struct forgetter forgetter;
	struct ceiling ceiling;
	struct expiry expiry;
	struct document_codec *documents;
	struct original_codec *originals;
	struct event_writer events;
	bool pages_spare; /* the file has more free pages than an idle store keeps */
	/* Only session, meta, layout: lower ids were given, though their rows may be forgotten. */
	struct store_ids next;
	uint64_t commits, batches, rows, samples, event_count, failed_batches, late_rows;
	int64_t lost_commits; /* acknowledged commits missing at the opening of the store */
};

/* limits NULL: the default */
int writer_open(const char *path, const struct store_opts *opts, const struct writer_limits *limits,
    struct writer **out, char why[STORE_WHY_BYTES]);
void writer_close(struct writer *w); /* accepts NULL */
int writer_next_ids(struct writer *w, struct store_ids *out);

/*
 * One transaction for a list of batches (by next), owned by the caller. NW_OK: committed, and the
 * rc of each batch says whether the batch was part of the transaction: a batch in contradiction to
 * the store fails alone. Any other code: nothing was committed, and the caller may try again.
 */
int writer_commit(struct writer *w, struct nw_batch *list);

/*
 * One bounded step of maintenance: makes room, moves rows into chunks, expires old data,
 * checkpoints; an idle store also gives free pages back and finds out whether trouble is over.
 * WRITER_DONE, WRITER_MORE, or an error: try again later.
 */
int writer_maintain(struct writer *w, bool idle);

#endif
