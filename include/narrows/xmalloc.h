/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for the daemon and its command: never NULL, running out is fatal. Sizes are checked for
 * overflow. */
#ifndef NARROWS_XMALLOC_H
#define NARROWS_XMALLOC_H

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s); /* NULL stays NULL */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
