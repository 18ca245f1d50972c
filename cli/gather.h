/* SPDX-License-Identifier: BSD-3-Clause */
/* An answer gathered in memory. */
#ifndef GATHER_H
#define GATHER_H

#include <stddef.h>

struct gathered {
	char *s; /* ends with a NUL; NULL before the first byte. free() */
	size_t len;
};

/* What sources write to; arg is the struct. NW_ETOOBIG above 1 GiB. */
int gather(void *arg, const char *bytes, size_t len);

#endif
