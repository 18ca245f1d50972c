/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory comes from the system in slabs of huge pages and stays until the pool ends: giving blocks
 * back and taking them again costs a reader more page faults than the copying of the bytes.
 */
#include "dpss/client/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "narrows/err.h"

enum { SLAB_BYTES = 2 << 20, ALIGN_BYTES = 64 };
/* Cells above LARGE_BYTES share a slab of several, or much of the slab would lie fallow. */
enum { LARGE_BYTES = 256 << 10, LARGE_CELLS = 8 };

/* Stands before the bytes of each block; next: of the free ones. */
struct cell {
	struct pool *pool;
	struct cell *next;
	_Alignas(ALIGN_BYTES) uint8_t bytes[];
};

/* Stands before the cells of a slab. */
struct slab {
	_Alignas(ALIGN_BYTES) struct slab *next;
};

struct pool {
	pthread_mutex_t lock;
	size_t cell_bytes, slab_bytes, n_out;
	struct cell *kept;
	struct slab *slabs;
	int over; /* the owner has freed the pool: the last block frees the memory */
};

static size_t
round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

int
pool_new(size_t block_bytes, struct pool **out)
{
	struct pool *p = calloc(1, sizeof(*p));
	size_t cells;

	if (p == NULL)
		return NW_ENOMEM;
	p->cell_bytes = sizeof(struct cell) + round_up(block_bytes, ALIGN_BYTES);
	cells = p->cell_bytes > LARGE_BYTES ? LARGE_CELLS : 1;
	p->slab_bytes = round_up(sizeof(struct slab) + cells * p->cell_bytes, SLAB_BYTES);
	pthread_mutex_init(&p->lock, NULL);
	*out = p;
	return NW_OK;
}

static void
pool_end(struct pool *p)
{
	struct slab *s;

	while ((s = p->slabs) != NULL) {
		p->slabs = s->next;
		free(s);
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

/* Free cells of a new slab, the first on top. Locked. */
static void
slab_add(struct pool *p)
{
	struct slab *s = aligned_alloc(SLAB_BYTES, p->slab_bytes);
	size_t n = (p->slab_bytes - sizeof(*s)) / p->cell_bytes;
	struct cell *c;

	if (s == NULL)
		return;
	madvise(s, p->slab_bytes, MADV_HUGEPAGE); /* without huge pages: slower, nothing else */
	s->next = p->slabs;
	p->slabs = s;
	while (n-- > 0) {
		c = (struct cell *)(void *)((uint8_t *)(s + 1) + n * p->cell_bytes);
		c->pool = p;
		c->next = p->kept;
		p->kept = c;
	}
}

uint8_t *
pool_get(struct pool *p)
{
	struct cell *c;

	pthread_mutex_lock(&p->lock);
	if (p->kept == NULL)
		slab_add(p);
	if ((c = p->kept) != NULL) {
		p->kept = c->next;
		p->n_out++;
	}
	pthread_mutex_unlock(&p->lock);
	return c != NULL ? c->bytes : NULL;
}

void
pool_put(uint8_t *block)
{
	struct cell *c =
	    block != NULL ? (struct cell *)(void *)(block - offsetof(struct cell, bytes)) : NULL;
	struct pool *p;
	int end;

	if (c == NULL)
		return;
	p = c->pool;
	pthread_mutex_lock(&p->lock);
	c->next = p->kept;
	p->kept = c;
	end = --p->n_out == 0 && p->over;
	pthread_mutex_unlock(&p->lock);
	if (end)
		pool_end(p);
}
