/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of any bytes: what reads goes into a builder and comes back. */
#include <stdlib.h>

#include "narrows/err.h"
#include "narrows/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nw_events *b = nw_events_new(NW_EVENT_KEPT_BYTES);
	struct nw_event_block *r = nw_event_block_new();
	size_t i, n = 0, block_len;
	const uint8_t *block;
	struct nw_event e;
	const char *why;

	if (nw_event_block_read(r, data, len, &why) == NW_OK) {
		for (i = 0; i < nw_event_block_count(r); i++) {
			nw_event_block_get(r, i, &e);
			n += nw_events_add(b, &e) == NW_OK;
		}
		if (n > 0 &&
		    (nw_events_finish(b, &block, &block_len) != NW_OK ||
			nw_event_block_read(r, block, block_len, &why) != NW_OK ||
			nw_event_block_count(r) != n))
			abort();
	}
	nw_events_free(b);
	nw_event_block_free(r);
	return 0;
}
