/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The metadata that a provider has to send again after every reconnect. An entry whose series has
 * ended is forgotten when the box has stored all documents queued before the end, and a document
 * sent after the entry.
 */
#ifndef HOST_META_TABLE_H
#define HOST_META_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct meta_entry {
	TAILQ_ENTRY(meta_entry) link;
	char *id, *event_type;
	uint8_t *bytes;
	size_t len, cost_bytes;
	bool ended;
	uint64_t keep_seq; /* document that must be stored before an ended entry is forgotten */
	uint64_t sent_seq; /* document sent next after the entry; 0 before the entry was sent */
	uint64_t serial;   /* number of the entry, from 1, in the order of meta_table_put() */
};

struct meta_table {
	/* oldest first: parents before their children */
	TAILQ_HEAD(meta_list, meta_entry) entries;
	struct meta_entry *unsent; /* NULL: the present connection has all */
	uint64_t bytes, bytes_max;
	uint64_t ended_count;
	uint64_t serial; /* of the newest */
};

void meta_table_init(struct meta_table *c, uint64_t bytes_max);
void meta_table_clear(struct meta_table *c);
/* Copies. The same id and event type again replaces and is sent again. NW_ENOMEM, NW_EFULL. */
int meta_table_put(
    struct meta_table *c, const char *id, const char *event_type, const uint8_t *bytes, size_t len);
/* Ends the series of an id; the last document of the series is at most last_seq. */
void meta_table_end(struct meta_table *c, const char *id, uint64_t last_seq);
void meta_table_end_all(struct meta_table *c, uint64_t last_seq);
/* Notes that the client has sent c->unsent; next_seq is the number of the next document. */
void meta_table_mark_sent(struct meta_table *c, uint64_t next_seq);
void meta_table_release(struct meta_table *c, uint64_t stored_seq);
void meta_table_rewind(struct meta_table *c);

#endif
