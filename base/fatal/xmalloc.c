/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/log.h"

void *
xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (p == NULL)
		fatalx("out of memory: %zu bytes", size);
	return p;
}

void *
xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (p == NULL)
		fatalx("out of memory: %zu x %zu bytes", n, size);
	return p;
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
	if (size != 0 && n > SIZE_MAX / size)
		fatalx("out of memory: %zu x %zu bytes", n, size);
	p = realloc(p, n > 0 && size > 0 ? n * size : 1);
	if (p == NULL)
		fatalx("out of memory: %zu x %zu bytes", n, size);
	return p;
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

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		fatalx("out of memory");
	return s;
}
