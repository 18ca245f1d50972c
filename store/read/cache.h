/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoded columns of chunks, the most recently used, in bounded memory. Values go in and come out
 * bit for bit. The id of a chunk stands for the same rows for ever (schema.c). One thread at a
 * time. */
#ifndef STORE_CACHE_H
#define STORE_CACHE_H

#include <stddef.h>
#include <stdint.h>

enum { CACHE_TIMES = -1 }; /* stands for the column of times */

/* NULL: out of memory. */
struct cache *cache_new(size_t max_bytes);
void cache_free(struct cache *c);
void cache_clear(struct cache *c);

/*
 * A column's n_rows words of 8 bytes; NULL: not here. Good until the next cache_put() or
 * cache_clear(); what was asked for last stays longest.
 */
const void *cache_get(struct cache *c, int64_t chunk_id, int64_t column, uint32_t *n_rows);
/* Copies a column in, and drops the columns unused for longest. Without memory the column is just
 * not kept. */
void
cache_put(struct cache *c, int64_t chunk_id, int64_t column, const void *words, uint32_t n_rows);
size_t cache_bytes(const struct cache *c); /* bytes in use, at most the maximum */

#endif
