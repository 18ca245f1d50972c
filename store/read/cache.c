/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/read/cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { BUCKETS = 2048 }; /* a power of two; 8 MiB are about a thousand columns of 1024 rows */

struct entry {
	TAILQ_ENTRY(entry) by_use;
	LIST_ENTRY(entry) by_key;
	int64_t chunk_id, column;
	uint32_t n_rows;
	uint64_t word[];
};

struct cache {
	size_t max_bytes, bytes;
	TAILQ_HEAD(, entry) used; /* the column used last comes last */
	LIST_HEAD(bucket, entry) bucket[BUCKETS];
};

struct cache *
cache_new(size_t max_bytes)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->max_bytes = max_bytes;
	TAILQ_INIT(&c->used);
	return c;
}

static size_t
entry_bytes(uint32_t n_rows)
{
	return sizeof(struct entry) + (size_t)n_rows * sizeof(uint64_t);
}

static void
entry_drop(struct cache *c, struct entry *e)
{
	TAILQ_REMOVE(&c->used, e, by_use);
	LIST_REMOVE(e, by_key);
	c->bytes -= entry_bytes(e->n_rows);
	free(e);
}

void
cache_clear(struct cache *c)
{
	while (!TAILQ_EMPTY(&c->used))
		entry_drop(c, TAILQ_FIRST(&c->used));
}

void
cache_free(struct cache *c)
{
	if (c == NULL)
		return;
	cache_clear(c);
	free(c);
}

/* Ids and columns are small consecutive numbers; an odd factor spreads the numbers over the high
 * bits. */
static struct bucket *
bucket_of(struct cache *c, int64_t chunk_id, int64_t column)
{
	uint64_t h = ((uint64_t)chunk_id * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)column) *
	    UINT64_C(0xd6e8feb86659fd93);

	return &c->bucket[(h >> 32) % BUCKETS];
}

static struct entry *
entry_find(struct cache *c, int64_t chunk_id, int64_t column)
{
	struct entry *e;

	LIST_FOREACH(e, bucket_of(c, chunk_id, column), by_key)
	if (e->chunk_id == chunk_id && e->column == column)
		return e;
	return NULL;
}

const void *
cache_get(struct cache *c, int64_t chunk_id, int64_t column, uint32_t *n_rows)
{
	struct entry *e = entry_find(c, chunk_id, column);

	if (e == NULL)
		return NULL;
	TAILQ_REMOVE(&c->used, e, by_use);
	TAILQ_INSERT_TAIL(&c->used, e, by_use);
	*n_rows = e->n_rows;
	return e->word;
}

void
cache_put(struct cache *c, int64_t chunk_id, int64_t column, const void *words, uint32_t n_rows)
{
	size_t bytes = entry_bytes(n_rows);
	struct entry *e = entry_find(c, chunk_id, column);

	if (e != NULL)
		entry_drop(c, e);
	if (bytes > c->max_bytes)
		return;
	while (c->bytes + bytes > c->max_bytes)
		entry_drop(c, TAILQ_FIRST(&c->used));
	if ((e = malloc(bytes)) == NULL)
		return;
	e->chunk_id = chunk_id;
	e->column = column;
	e->n_rows = n_rows;
	if (n_rows > 0)
		memcpy(e->word, words, (size_t)n_rows * sizeof(uint64_t));
	TAILQ_INSERT_TAIL(&c->used, e, by_use);
	LIST_INSERT_HEAD(bucket_of(c, chunk_id, column), e, by_key);
	c->bytes += bytes;
}

size_t
cache_bytes(const struct cache *c)
{
	return c->bytes;
}
