/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The metadata a provider has to say again whenever it reconnects. An entry whose series has ended
 * is forgotten when the box has stored a document that was sent after it and all documents queued
 * before its end.
 */
#ifndef HOST_CATALOG_H
#define HOST_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct catalog_meta {
	TAILQ_ENTRY(catalog_meta) link;
	char *id, *event_type;
	uint8_t *bytes;
	size_t len, cost_bytes;
	bool ended;
	uint64_t keep_seq; /* ended: until this document is stored */
	uint64_t sent_seq; /* the document sent next after it; 0: not sent yet */
	uint64_t serial;   /* rises with every one put in, from 1 */
};

struct catalog {
	/* oldest first: parents before their children */
	TAILQ_HEAD(catalog_list, catalog_meta) metas;
	struct catalog_meta *unsent; /* NULL: the present connection has all */
	uint64_t bytes, bytes_max;
	uint64_t ended_count;
	uint64_t serial; /* of the newest */
};

void catalog_init(struct catalog *c, uint64_t bytes_max);
void catalog_clear(struct catalog *c);
/* Copies. The same id and event type again replaces and is sent again. NW_ENOMEM, NW_EFULL. */
int catalog_put(
    struct catalog *c, const char *id, const char *event_type, const uint8_t *bytes, size_t len);
/* The series of this id have ended; their last document is at most last_seq. */
void catalog_end(struct catalog *c, const char *id, uint64_t last_seq);
void catalog_end_all(struct catalog *c, uint64_t last_seq);
/* c->unsent was sent; next_seq is the document that follows it. */
void catalog_mark_sent(struct catalog *c, uint64_t next_seq);
void catalog_release(struct catalog *c, uint64_t stored_seq);
void catalog_rewind(struct catalog *c);

#endif
