/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of any bytes: an event that is read goes into a block, comes back, and prints as a line
 * that reads again. */
#include <stdlib.h>

#include "narrows/err.h"
#include "narrows/event_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nw_event_line *l = nw_event_line_new();
	struct nw_events *b = nw_events_new(NW_EVENT_SENT_BYTES);
	struct nw_event_block *r = nw_event_block_new();
	const uint8_t *block;
	struct nw_event e;
	const char *why;
	char text[8192];
	size_t n, f;

	if (nw_event_line_read(l, (const char *)data, len, &e, &why) == NW_OK &&
	    nw_events_add(b, &e) == NW_OK) {
		if (nw_events_finish(b, &block, &n) != NW_OK ||
		    nw_event_block_read(r, block, n, &why) != NW_OK)
			abort();
		nw_event_block_get(r, 0, &e);
		for (f = 0; f < NW_EVENT_FORMATS; f++) {
			n = nw_event_line_print((enum nw_event_format)f, &e, text, sizeof(text));
			if (n <= sizeof(text) && f == NW_EVENT_BP &&
			    nw_event_line_read(l, text, n - 1, &e, &why) != NW_OK)
				abort();
			nw_event_block_get(r, 0, &e);
		}
	}
	nw_event_line_free(l);
	nw_events_free(b);
	nw_event_block_free(r);
	return 0;
}
