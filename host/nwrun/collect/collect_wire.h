/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between the two processes of a collector: the reader, which maps the memory that
 * programs may write, and the sender, which holds the key and asks the system. Both run on one
 * host, so numbers have the machine's own form. The sender trusts no message of the reader:
 * lengths, texts and counts are checked before use.
 *
 *	sender                        reader
 *	LOOK (time, interval) ------>
 *	                      <------ ASK (pid), ASK_SOCKET (inode), ASK_GONE (pids), META, DATA,
 *	                              END, in any number
 *	ANSWER                ------>                      to each question
 *	                      <------ DONE (outcome)
 *
 * A message is its length (4 bytes), its type (1 byte) and its body.
 */
#ifndef HOST_WIRE_H
#define HOST_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/nwrun/collect/collect.h"

enum wire_type {
	WIRE_LOOK = 1,
	WIRE_ANSWER,
	WIRE_ASK,
	WIRE_META,
	WIRE_DATA,
	WIRE_END,
	WIRE_DONE,
	WIRE_ASK_SOCKET,
	WIRE_ASK_GONE
};

enum { WIRE_MESSAGE_MAX_BYTES = 256 << 10, WIRE_FIELDS_MAX = 64, WIRE_KV_MAX = 32 };

struct wire_look {
	int64_t now_mono_ns, now_wall_ns, interval_ns;
	bool final;
};

struct wire_done {
	int32_t alive;
	bool hidden; /* the first program is alive and does not show: the count needs more looks */
	uint64_t kernel_bytes, unseen_bytes; /* totals of all processes so far */
	char unseen_by[16];                  /* reason of the largest share; may be empty */
};

struct wire_message {
	enum wire_type type;
	const uint8_t *body; /* good until the next wire_read() */
	size_t len;
};

struct wire {
	int fd;
	uint8_t *out, *in;
	size_t out_len, out_cap, in_len, in_at, in_cap;
}; /* zero to start, but for fd */

void wire_clear(struct wire *w); /* closes */
/* Waits until deadline_mono_ns. NW_EAGAIN: time is over. NW_ECLOSED, NW_EPROTO, NW_ENOMEM. */
int wire_read(struct wire *w, int64_t deadline_mono_ns, struct wire_message *out);
/* Sends the output of wire_put_*() and of the sink. */
int wire_flush(struct wire *w, int64_t deadline_mono_ns);
/* A message with a plain struct as its body. */
int wire_put(struct wire *w, enum wire_type type, const void *body, size_t len);

/* The reader's sink: turns documents into messages. arg is the wire. */
void wire_sink_init(struct collect_sink *sink, struct wire *w);
/* The sender's end: META, DATA and END of the reader go to the sink. NW_EPROTO: malformed. */
int wire_dispatch(const struct wire_message *m, const struct collect_sink *sink);

#endif
