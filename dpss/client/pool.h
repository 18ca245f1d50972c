/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of blocks goes round: the pool gives freed memory again, warm, without a word to the
 * operating system. Memory may be freed after the pool. Thread: any.
 */
#ifndef NARROWS_DPSS_POOL_H
#define NARROWS_DPSS_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool;

int pool_new(size_t block_bytes, struct pool **out); /* NW_ENOMEM */
void pool_free(struct pool *p);                      /* NULL is fine */
uint8_t *pool_get(struct pool *p);                   /* block_bytes; NULL: no memory */
void pool_put(uint8_t *block);                       /* NULL is fine */

#endif
