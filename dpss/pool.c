/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "narrows/err.h"

enum { KEPT_BYTES = 32 << 20 };

/* Stands before the bytes of each block; next: of the free ones. */
struct cell {
	struct pool *pool;
	struct cell *next;
	_Alignas(64) uint8_t bytes[];
};

struct pool {
	pthread_mutex_t lock;
	size_t block_bytes, n_out, n_kept;
	struct cell *kept;
	int over; /* the owner has freed the pool: the last block frees the memory */
};

int
pool_new(size_t block_bytes, struct pool **out)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NW_ENOMEM;
	p->block_bytes = block_bytes;
	pthread_mutex_init(&p->lock, NULL);
	*out = p;
	return NW_OK;
}

static void
pool_end(struct pool *p)
{
	struct cell *c;

	while ((c = p->kept) != NULL) {
		p->kept = c->next;
		free(c);
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void
pool_free(struct pool *p)
{
	size_t n_out;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->over = 1;
	n_out = p->n_out;
	pthread_mutex_unlock(&p->lock);
	if (n_out == 0)
		pool_end(p);
}

uint8_t *
pool_get(struct pool *p)
{
	struct cell *c;

	pthread_mutex_lock(&p->lock);
	if ((c = p->kept) != NULL) {
		p->kept = c->next;
		p->n_kept--;
	}
	p->n_out++;
	pthread_mutex_unlock(&p->lock);
	if (c == NULL &&
	    (c = aligned_alloc(64, sizeof(*c) + (p->block_bytes + 63) / 64 * 64)) == NULL) {
		pthread_mutex_lock(&p->lock);
		p->n_out--;
		pthread_mutex_unlock(&p->lock);
		return NULL;
	}
	c->pool = p;
	return c->bytes;
}

void
pool_put(uint8_t *block)
{
	struct cell *c =
	    block != NULL ? (struct cell *)(void *)(block - offsetof(struct cell, bytes)) : NULL;
	struct pool *p;
	int end, keep;

	if (c == NULL)
		return;
	p = c->pool;
	pthread_mutex_lock(&p->lock);
	keep = !p->over && p->n_kept * p->block_bytes < KEPT_BYTES;
	if (keep) {
		c->next = p->kept;
		p->kept = c;
		p->n_kept++;
	}
	end = --p->n_out == 0 && p->over;
	pthread_mutex_unlock(&p->lock);
	if (!keep)
		free(c);
	if (end)
		pool_end(p);
}
