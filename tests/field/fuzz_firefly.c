/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a firefly: a firefly that is taken has ports, times in order, and texts that end. */
#include <stdlib.h>
#include <string.h>

#include "narrows/announce.h"
#include "narrows/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nw_announcement a;
	const char *why;
	int rc = nw_firefly_read(data, len, &a, &why), i;

	if (memchr(a.src, 0, sizeof(a.src)) == NULL || memchr(a.dst, 0, sizeof(a.dst)) == NULL ||
	    memchr(a.application, 0, sizeof(a.application)) == NULL)
		abort();
	if (rc < 0 && why == NULL)
		abort();
	if (rc < 0)
		return 0;
	if (a.sport == 0 || a.dport == 0 || a.src[0] == '\0' || a.dst[0] == '\0' ||
	    a.t_wall_ns < a.start_wall_ns || a.experiment > 65535 || a.activity > 65535)
		abort();
	for (i = 0; i < NW_ANNOUNCED_COUNT; i++)
		if (a.value[i] < 0)
			abort();
	return 0;
}
