/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many bytes each host has in the store, by kind: the rows and the tiers of roll-ups, timelines
 * and documents of results, descriptions (metadata), and events. The table tier_size of the file
 * holds the same numbers. Changes of a transaction stand in a journal until COMMIT, or until they
 * are undone.
 */
#ifndef STORE_SIZES_H
#define STORE_SIZES_H

#include "narrows/store.h"
#include "store/ground/db.h"

/* The kinds 0 to STORE_TIERS - 1 are the tiers (enum store_tier). */
enum { SIZE_TIMELINES = STORE_TIERS, SIZE_DOCUMENTS, SIZE_DESCRIPTIONS, SIZE_EVENTS, SIZE_KINDS };
enum { HOST_UNKNOWN = 0 }; /* host id of data without a host */

struct host_size {
	int64_t host_id;
	int64_t bytes[SIZE_KINDS]; /* with the changes of the transaction in hand */
};

struct size_change {
	uint32_t host; /* index into hosts */
	uint32_t kind;
	int64_t bytes;
};

struct sizes {
	struct host_size *hosts; /* hosts are only added: an index stays valid */
	size_t n_hosts, cap_hosts;
	int64_t bytes[SIZE_KINDS]; /* of all hosts, with the changes of the transaction in hand */
	struct size_change *journal;
	size_t n_journal, cap_journal;
};

int sizes_load(struct sizes *s, struct db_stmts *stmts);
void sizes_clear(struct sizes *s);
/* Adds bytes (negative: subtracts) to the kind of a host. NW_ENOMEM. */
int sizes_change(struct sizes *s, int64_t host_id, int kind, int64_t bytes);
/* Undoes the changes behind the first n_kept of the journal. */
void sizes_undo(struct sizes *s, size_t n_kept);
/* Writes the changes of the journal, inside their transaction. */
int sizes_write(const struct sizes *s, struct db_stmts *stmts);
/* Makes the changes of the journal final. */
void sizes_commit(struct sizes *s);

#endif
