/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the tables label and metric (schema.c) up to date. All calls are within a transaction.
 * Codes of the store. */
#ifndef STORE_LABELS_H
#define STORE_LABELS_H

#include <stdint.h>

#include "store/write/connection.h"

/* After a layout is stored. A layout of a forgotten metadata is not there, and changes nothing. */
int labels_add_layout(struct connection *c, int64_t layout_id, int64_t meta_id);
/* After the metadata of session `from` became those of session `into`. */
int labels_merge_sessions(struct connection *c, int64_t from, int64_t into);
/* Before the layouts of a metadata, or of all metadata of a session, are deleted. */
int labels_drop_meta(struct connection *c, int64_t meta_id);
int labels_drop_session(struct connection *c, int64_t session_id);

#endif
