/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/log.h"

static _Atomic(void *) reserve; /* NULL: spent, or never asked for */
static _Atomic bool is_short;

bool
xmalloc_reserve(size_t bytes)
{
	void *fresh = malloc(bytes);

	if (fresh == NULL)
		return false;
	free(atomic_exchange(&reserve, fresh));
	is_short = false;
	return true;
}

bool
xmalloc_is_short(void)
{
	return is_short;
}

void
xmalloc_spend(void)
{
	void *spent = atomic_exchange(&reserve, NULL);

	if (spent == NULL)
		fatalx("out of memory");
	is_short = true;
	free(spent);
}

void *
xmalloc(size_t size)
{
	void *p;

	while ((p = malloc(size ? size : 1)) == NULL)
		xmalloc_spend();
	return p;
}

void *
xcalloc(size_t n, size_t size)
{
	void *p;

	while ((p = calloc(n ? n : 1, size ? size : 1)) == NULL)
		xmalloc_spend();
	return p;
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
	void *grown;

	if (size != 0 && n > SIZE_MAX / size)
		fatalx("out of memory: %zu x %zu bytes", n, size);
	while ((grown = realloc(p, n > 0 && size > 0 ? n * size : 1)) == NULL)
		xmalloc_spend();
	return grown;
}

char *
xstrdup(const char *s)
{
	size_t len;

	if (s == NULL)
		return NULL;
	len = strlen(s) + 1;
	return memcpy(xmalloc(len), s, len);
}

char *
xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	do {
		va_start(ap, fmt);
		n = vasprintf(&s, fmt, ap);
		va_end(ap);
		if (n < 0)
			xmalloc_spend();
	} while (n < 0);
	return s;
}
