/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as traces of Rucio: a transfer that is passed has ends, a file, times in order, and
 * texts that end. */
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/rucio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
on_transfer(void *arg, const struct nw_announcement *a)
{
	int i;

	++*(unsigned *)arg;
	if (memchr(a->src, 0, sizeof(a->src)) == NULL ||
	    memchr(a->dst, 0, sizeof(a->dst)) == NULL ||
	    memchr(a->file, 0, sizeof(a->file)) == NULL ||
	    memchr(a->user, 0, sizeof(a->user)) == NULL ||
	    memchr(a->group, 0, sizeof(a->group)) == NULL)
		abort();
	if (a->src[0] == '\0' || a->dst[0] == '\0' || a->file[0] == '\0' || a->group[0] == '\0' ||
	    a->start_wall_ns <= 0 || a->t_wall_ns < a->start_wall_ns)
		abort();
	for (i = 0; i < NW_ANNOUNCED_COUNT; i++)
		if (a->value[i] < 0)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nw_rucio_got got;
	const char *why = NULL;
	unsigned n = 0;
	int rc = nw_rucio_read((const char *)data, len, "192.0.2.1", on_transfer, &n, &got, &why);

	if (n != got.transfers || got.transfers > got.traces || got.traces > NW_RUCIO_TRACES_MAX)
		abort();
	if (rc < 0 && why == NULL)
		abort();
	return 0;
}
