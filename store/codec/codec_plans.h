/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of earlier chunks of the same kind. Chunks of one metadata are alike: to look for codecs
 * and relations anew each time would cost more than to write the chunk. */
#ifndef STORE_CODEC_PLANS_H
#define STORE_CODEC_PLANS_H

#include "store/codec/codec_column.h"

struct plan_memory;

struct known_column {
	struct column_plan plan;
	float bytes_per_row[2]; /* by effort; 0: not known yet */
};

/* NULL without memory. The table stays within a few MB. */
struct plan_memory *plans_new(void);
void plans_free(struct plan_memory *memory);

/* Plans for columns of a kind; NULL if the kind is unknown, or due for a new look. On loan until
 * the next plans_learn(). */
struct known_column *plans_recall(
    struct plan_memory *memory, uint64_t kind, uint32_t n_columns, enum chunk_effort effort);

/* Replaces the plans of the kind, and forgets other kinds when the table is full; without memory,
 * the table learns nothing. */
void plans_learn(struct plan_memory *memory, uint64_t kind, const struct column_plan *plan,
    const uint32_t *piece_len, uint32_t n_columns, uint32_t n_rows);

/* True if so many bytes for so many rows are far more than in earlier chunks; with no earlier
 * chunk, remembers the numbers. */
bool
plan_is_stale(struct known_column *known, size_t len, uint32_t n_rows, enum chunk_effort effort);

#endif
