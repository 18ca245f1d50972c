/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches on their way to the store. Everybody on the net thread appends to the current batch; a
 * timer, or its size, submits it; its completion acknowledges the providers and puts sessions on
 * the analysis schedule. When the store's queue is full, reading from all peers stops until the
 * store has drained.
 */
#ifndef COMMIT_H
#define COMMIT_H

#include <stdint.h>

#include "narrows/store.h"

struct box;
struct commit;
struct origin;

struct commit *commit_new(struct box *box);
void commit_free(struct commit *c);

/* The batch being filled, never NULL. It is submitted soon after. */
struct nw_batch *commit_batch(struct commit *c);
/* This origin has accepted documents that are in the current batch. */
void commit_note_origin(struct commit *c, struct origin *o);
/* Analyse this session once the current batch is stored: it is over, and then complete, or open. */
void commit_note_session(struct commit *c, int64_t session_id, bool is_over);
/* Call after appending rows: submits a batch that has grown large. */
void commit_check(struct commit *c);
void commit_flush(struct commit *c);
/* Shutdown: submits what is left, waits for the store, runs every completion. */
void commit_drain(struct commit *c);

#endif
