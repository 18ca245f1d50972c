/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of messages for a connection, with the sending thread. Any thread puts messages and
 * never waits for a slow peer; a silent outbox says DPSS_PING. After a failed send the outbox gives
 * all messages back unsent.
 */
#ifndef NARROWS_DPSS_OUTBOX_H
#define NARROWS_DPSS_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpss/channel.h"

struct outbox;

/* A message with what follows it. `begin` runs right before the message goes and may change the
 * message (time stamps), or say that the message is not wanted any more; `end` always runs, at
 * last, and frees `arg`. Both may be NULL, and run in the outbox's thread. */
struct outbox_item {
	uint16_t type;
	struct packer packed;
	const void *bytes; /* NULL: the bytes stand in a file; in clear only */
	size_t len;
	int fd;
	uint64_t offset;
	bool (*begin)(void *arg, struct packer *packed);
	void (*end)(void *arg, bool sent);
	void *arg;
};

/* on_idle runs every ping_ms in the outbox's thread; NULL for nothing. */
int outbox_new(
    struct channel *w, int ping_ms, void (*on_idle)(void *arg), void *arg, struct outbox **out);
/* Owns the item from now on, whatever happens; NW_ECLOSED, NW_ENOMEM. */
int outbox_put(struct outbox *o, const struct outbox_item *item);
int outbox_put_packed(struct outbox *o, uint16_t type, struct packer *p);
/* channel_sent() of the channel; for `begin` and `end` of an item. */
bool outbox_sent(struct outbox *o, uint64_t *cookie, uint64_t *n_bytes);
/* Shuts the channel, waits for the thread, gives everything back. The caller frees the channel. */
void outbox_free(struct outbox *o);

#endif
