/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches on their way to the store. Every part of the net thread appends to the current batch. A
 * timer, or the size of the batch, submits it; its completion acknowledges the providers and puts
 * sessions on the analysis schedule. While the store's queue is full, nothing is read from peers.
 *
 * Each owner of peers (narrows/store.h) has a part of the way to the store: while documents of the
 * owner that would keep the writer busy for some hundred ms are not stored yet, the owner's peers
 * wait. So the documents of another owner wait for as long at most.
 */
#ifndef COMMIT_H
#define COMMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/store.h"

struct box;
struct commit;
struct origin;

/* Calls of the commit's owner. */
struct commit_ops {
	void (*last)(void *arg); /* the batch is about to go to the store: add its dependent rows */
	void (*full)(void *arg); /* the store takes no more: stop reading */
	void (*room)(void *arg); /* the store takes batches, or documents of an owner, again: read
				  * on */
	/* rows of a session are on disk; is_over: the session is complete; the owner's name is on
	 * loan */
	void (*judge)(void *arg, int64_t session_id, const char *owner, bool is_over);
	void *arg;
};

struct commit *commit_new(struct box *box, const struct commit_ops *ops);
void commit_free(struct commit *c);

/* The batch being filled, never NULL; a timer submits it soon. */
struct nw_batch *commit_batch(struct commit *c);
/* Cost of a record beside the bytes: a row of a table, with its indices. */
enum { COMMIT_RECORD_COST = 1024, COMMIT_ROWS_CHEAPER = 16 };
/* Adds to what the owner has on the way with the current batch. The cost of a description is
 * COMMIT_RECORD_COST and its bytes; rows and events cost a sixteenth of their bytes. */
void commit_charge(struct commit *c, const char *owner, size_t cost);
/* Returns true if the owner has its part on the way: the owner's peers wait for ops.room. */
bool commit_is_owner_full(const struct commit *c, const char *owner);
/* Acknowledges the origin's accepted documents once the current batch is stored. */
void commit_note_origin(struct commit *c, struct origin *o);
/* Has the session analysed, in the owner's share of the time, once the current batch is stored.
 * is_over: the session is complete. */
void commit_note_session(struct commit *c, int64_t session_id, const char *owner, bool is_over);
/* Submits a large batch: the caller has appended rows. */
void commit_check(struct commit *c);
void commit_flush(struct commit *c);
/* Shutdown: submits the last batch, waits for the store, runs every completion. */
void commit_drain(struct commit *c);

#endif
