/* SPDX-License-Identifier: BSD-3-Clause */
/* What was found for earlier chunks of the same kind. Chunks of one metadata are alike: looking for
 * codecs and relations anew each time would cost more than writing the chunk. */
#ifndef STORE_CODEC_PLANS_H
#define STORE_CODEC_PLANS_H

#include "store/codec/codec_column.h"

struct plan_memory;

struct known_column {
	struct column_plan plan;
	float bytes_per_row[2]; /* by effort; 0: not known yet */
};

/* NULL: out of memory. A few MB at most, whatever it is told. */
struct plan_memory *plans_new(void);
void plans_free(struct plan_memory *memory);

/* What is known of columns of this kind; NULL: nothing, or not for long enough, and it is time to
 * look again. On loan until the next plans_learn(). */
struct known_column *plans_recall(
    struct plan_memory *memory, uint64_t kind, uint32_t n_columns, enum chunk_effort effort);

/* Replaces what was known. Forgets others when it must; without memory, it learns nothing. */
void plans_learn(struct plan_memory *memory, uint64_t kind, const struct column_plan *plan,
    const uint32_t *piece_len, uint32_t n_columns, uint32_t n_rows);

/* Whether so many bytes for so many rows are far more than they were; if there is no telling,
 * remembers them. */
bool
plan_is_stale(struct known_column *known, size_t len, uint32_t n_rows, enum chunk_effort effort);

#endif
