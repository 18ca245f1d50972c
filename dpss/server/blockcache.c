/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/blockcache.h"

#include <pthread.h>
#include <stdlib.h>

#include <utlist.h>
#include "dpss/hash.h"

struct entry {
	struct blockcache_key key;
	struct buffer *buffer;
	struct entry *prev, *next; /* by use, the latest first */
	UT_hash_handle hh;
};

struct blockcache {
	pthread_mutex_t lock;
	struct entry *by_key, *by_use;
	size_t bytes, max_bytes;
};

struct buffer *
buffer_new(size_t cap)
{
	struct buffer *b = malloc(sizeof(*b) + cap);

	if (b != NULL) {
		atomic_init(&b->holders, 1);
		b->len = b->sum = 0;
	}
	return b;
}

struct buffer *
buffer_hold(struct buffer *b)
{
	atomic_fetch_add(&b->holders, 1);
	return b;
}

void
buffer_drop(struct buffer *b)
{
	if (b != NULL && atomic_fetch_sub(&b->holders, 1) == 1)
		free(b);
}

struct blockcache *
blockcache_new(size_t max_bytes)
{
	struct blockcache *c = calloc(1, sizeof(*c));

	if (c != NULL) {
		pthread_mutex_init(&c->lock, NULL);
		c->max_bytes = max_bytes;
	}
	return c;
}

static void
entry_free(struct blockcache *c, struct entry *e)
{
	HASH_DEL(c->by_key, e);
	DL_DELETE(c->by_use, e);
	c->bytes -= e->buffer->len;
	buffer_drop(e->buffer);
	free(e);
}

void
blockcache_free(struct blockcache *c)
{
	while (c->by_use != NULL)
		entry_free(c, c->by_use);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct buffer *
blockcache_get(struct blockcache *c, const struct blockcache_key *key)
{
	struct buffer *b = NULL;
	struct entry *e;

	pthread_mutex_lock(&c->lock);
	HASH_FIND(hh, c->by_key, key, sizeof(*key), e);
	if (e != NULL) {
		DL_DELETE(c->by_use, e);
		DL_PREPEND(c->by_use, e);
		b = buffer_hold(e->buffer);
	}
	pthread_mutex_unlock(&c->lock);
	return b;
}

void
blockcache_put(struct blockcache *c, const struct blockcache_key *key, struct buffer *b)
{
	struct entry *e, *old;

	if (b->len > c->max_bytes || (e = calloc(1, sizeof(*e))) == NULL)
		return;
	e->key = *key;
	e->buffer = buffer_hold(b);
	pthread_mutex_lock(&c->lock);
	HASH_FIND(hh, c->by_key, key, sizeof(*key), old);
	if (old != NULL)
		entry_free(c, old);
	HASH_ADD(hh, c->by_key, key, sizeof(*key), e);
	if (e->hh.tbl == NULL) { /* no memory for the table */
		pthread_mutex_unlock(&c->lock);
		buffer_drop(b);
		free(e);
		return;
	}
	DL_PREPEND(c->by_use, e);
	c->bytes += b->len;
	while (c->bytes > c->max_bytes)
		entry_free(c, c->by_use->prev);
	pthread_mutex_unlock(&c->lock);
}

void
blockcache_forget(struct blockcache *c, const struct blockcache_key *key)
{
	struct entry *e;

	pthread_mutex_lock(&c->lock);
	HASH_FIND(hh, c->by_key, key, sizeof(*key), e);
	if (e != NULL)
		entry_free(c, e);
	pthread_mutex_unlock(&c->lock);
}
