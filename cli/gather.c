/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gather.h"

#include <string.h>

#include "narrows/err.h"
#include "narrows/xmalloc.h"

int
gather(void *arg, const char *bytes, size_t len)
{
	struct gathered *g = arg;

	if (len > ((size_t)1 << 30) - g->len)
		return NW_ETOOBIG;
	g->s = xreallocarray(g->s, g->len + len + 1, 1);
	memcpy(g->s + g->len, bytes, len);
	g->len += len;
	g->s[g->len] = '\0';
	return NW_OK;
}
