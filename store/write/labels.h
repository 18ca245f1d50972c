/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the tables label and metric (schema.c) up to date, within transactions. Sessions of a batch
 * share most labels, so changes of one count are added up in memory, and a count is written when
 * its place is needed or by labels_flush(). Codes of the store.
 */
#ifndef STORE_LABELS_H
#define STORE_LABELS_H

#include <stdint.h>

#include "store/write/connection.h"

/* After a layout is stored. A layout of a forgotten metadata is not there, and changes nothing. */
int labels_add_layout(struct connection *c, int64_t layout_id);
/* After the metadata of session `from` became those of session `into`. */
int labels_merge_sessions(struct connection *c, int64_t from, int64_t into);
/* Before the layouts of a metadata, or of all metadata of a session, are deleted. Writes all
 * counts. */
int labels_drop_meta(struct connection *c, int64_t meta_id);
int labels_drop_session(struct connection *c, int64_t session_id);
/* Writes all counts in memory. */
int labels_flush(struct connection *c);
/* Drops the counts in memory, of a batch that is undone. */
void labels_discard(struct connection *c);
void labels_free(struct labels *l);

#endif
