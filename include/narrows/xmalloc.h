/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for the daemon and its command: never NULL, running out is fatal. Sizes are checked for
 * overflow.
 *
 * A program that serves peers keeps a reserve: an allocation that fails spends the reserve and
 * tries again. The program then ends the peer on whose behalf memory ran out, and makes the reserve
 * anew. Only a failure without reserve is fatal. Any thread.
 */
#ifndef NARROWS_XMALLOC_H
#define NARROWS_XMALLOC_H

#include <stdbool.h>
#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s); /* NULL stays NULL */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Makes the reserve, or false. */
bool xmalloc_reserve(size_t bytes);
/* Whether the reserve is spent. */
bool xmalloc_is_short(void);
/* For a failed allocation of a library: spends the reserve before another try. */
void xmalloc_spend(void);

#endif
