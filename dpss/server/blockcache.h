/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks in memory: a block stays after its read until other blocks need the room more, also after
 * a flush of the request behind the read. The next request for the block is served at once.
 * Thread: any.
 */
#ifndef NARROWS_DPSS_BLOCKCACHE_H
#define NARROWS_DPSS_BLOCKCACHE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A block's data with a count of holders. */
struct buffer {
	atomic_uint holders;
	uint32_t len, sum;
	uint64_t stamp_wall_ns;
	uint8_t data[];
};

struct buffer *buffer_new(size_t cap); /* one holder; NULL: no memory */
struct buffer *buffer_hold(struct buffer *b);
void buffer_drop(struct buffer *b); /* NULL is fine */

struct blockcache;

struct blockcache_key {
	uint32_t grant, disk, set, unused; /* unused: 0 */
	uint64_t slot, logical;
};

struct blockcache *blockcache_new(size_t max_bytes); /* NULL: no memory */
void blockcache_free(struct blockcache *c);
struct buffer *
blockcache_get(struct blockcache *c, const struct blockcache_key *key); /* held, or NULL */
void blockcache_forget(struct blockcache *c, const struct blockcache_key *key);
void blockcache_put(struct blockcache *c, const struct blockcache_key *key, struct buffer *b);

#endif
