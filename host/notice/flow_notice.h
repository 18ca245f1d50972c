/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A datagram from a program to the agent of the same host (nwflow): a connection of the program
 * carries data of a transfer, or is about to be closed. The datagram is a line of printable ASCII,
 * words with single blanks between them:
 *
 *	narrows-flow 1 EVENT TRANSPORT MISSED LOCAL PEER TASK
 *
 * EVENT is "open" or "close", TRANSPORT "tcp" or another word, MISSED the number of notices that
 * found no agent since the one before. LOCAL and PEER are HOST:PORT or [HOST]:PORT. The host of
 * LOCAL may be a name such as "localhost": then the port alone counts. TASK is "none" for a
 * transfer without a task.
 *
 * Neither function allocates, nor keeps a pointer; any thread may call them.
 */
#ifndef HOST_NOTICE_FLOW_NOTICE_H
#define HOST_NOTICE_FLOW_NOTICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/lib/net_addr.h"

#define FLOW_NOTICE_SOCKET "/run/narrows/flows"
enum { FLOW_NOTICE_BYTES = 512, FLOW_NOTICE_TASK_BYTES = 128, FLOW_NOTICE_WORD_BYTES = 16 };

struct flow_notice {
	bool closing; /* the connection is about to be closed */
	char transport[FLOW_NOTICE_WORD_BYTES];
	uint32_t missed;
	struct net_addr local; /* family 0: only the port is known */
	struct net_addr peer;
	char task[FLOW_NOTICE_TASK_BYTES]; /* empty: none */
};

/* The sender's knowledge: foreign texts. NULL: not known. */
struct flow_notice_text {
	bool closing;
	uint32_t missed;
	const char *transport, *local, *peer, *task;
};

/* Writes a datagram without a byte after the line. A text that no datagram can have leaves nothing
 * to send: the result is 0, else the length. */
size_t flow_notice_put(const struct flow_notice_text *t, char bytes[FLOW_NOTICE_BYTES]);
/* Returns false if the bytes are no notice; then *out is undefined. */
bool flow_notice_parse(const void *bytes, size_t len, struct flow_notice *out);

#endif
