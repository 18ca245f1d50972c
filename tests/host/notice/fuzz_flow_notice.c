/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a notice: a notice that is taken has ends with ports, a peer, and texts that end;
 * the sender's words for the same texts are the same notice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/notice/flow_notice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char bytes[FLOW_NOTICE_BYTES], local[16];
	struct flow_notice n, again;
	size_t put;

	if (!flow_notice_parse(data, len, &n))
		return 0;
	if (n.local.port == 0 || n.peer.port == 0 || n.peer.family == 0 || n.transport[0] == '\0' ||
	    memchr(n.task, 0, sizeof(n.task)) == NULL ||
	    memchr(n.transport, 0, sizeof(n.transport)) == NULL)
		abort();
	snprintf(local, sizeof(local), "host:%u", n.local.port);
	put = flow_notice_put(&(struct flow_notice_text){ .closing = n.closing,
				  .missed = n.missed,
				  .transport = n.transport,
				  .local = local,
				  .peer = "10.0.0.1:1",
				  .task = n.task[0] != '\0' ? n.task : NULL },
	    bytes);
	if (put == 0 || !flow_notice_parse(bytes, put, &again) || again.closing != n.closing ||
	    again.missed != n.missed || strcmp(again.task, n.task) != 0 ||
	    again.local.port != n.local.port || again.local.family != 0)
		abort();
	return 0;
}
