/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: what happened at a moment, with a name, ids and values. Events that share an id make a
 * lifeline.
 *
 * A block holds events of any names in columns: option OPS (0x88) carries blocks, and the store
 * keeps them. base/eventpack.c has the bytes. Text is UTF-8 without NUL inside; a time is whatever
 * an int64_t of nanoseconds holds.
 */
#ifndef NARROWS_EVENT_H
#define NARROWS_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/public.h"

enum {
	NW_EVENT_ATTRS_MAX = 64,
	NW_EVENT_TEXT_MAX_BYTES = 49152, /* bytes of a text, the NUL included */
	NW_EVENT_BLOCK_ROWS_MAX = 65536, /* events of one block */
	NW_EVENT_SENT_BYTES = 60000,     /* most bytes of a block that an XSP message carries */
	NW_EVENT_DOC_VERSION = 1,     /* first byte of a document of option OPS, before the block */
	NW_EVENT_KEPT_BYTES = 1 << 20 /* of a block in the store */
};

enum nw_attr_type { NW_ATTR_INT, NW_ATTR_REAL, NW_ATTR_TEXT };
struct nw_attr {
	const char *key;
	enum nw_attr_type type;
	bool is_id; /* the key joins events into lifelines */
	union {
		int64_t i;
		double d;
		const char *text;
	} v;
};

struct nw_event {
	int64_t t_wall_ns;
	const char *host, *program; /* NULL: not told */
	const char *name;           /* never NULL or empty */
	const char *level;          /* "Info", ...; NULL: not told */
	size_t n_attrs;
	const struct nw_attr *attrs;
};

/* Whether a key names an id: id, guid, TASKID, task_id, and keys that end in .id, _id or .guid. */
NW_PUBLIC bool nw_event_key_is_id(const char *key);

/* --- from events to a block --- */

struct nw_events;
/* max_bytes: most bytes of a block; NW_EVENT_SENT_BYTES for a provider. NULL: no memory */
NW_PUBLIC struct nw_events *nw_events_new(size_t max_bytes);
NW_PUBLIC void nw_events_free(struct nw_events *b);
/* Copies an event in. NW_ETOOBIG: the block is full; finish, clear, and add again. NW_EINVAL: the
 * event has no name, too many attributes, or is too long for any block. NW_ENOMEM. */
NW_PUBLIC int nw_events_add(struct nw_events *b, const struct nw_event *e);
NW_PUBLIC size_t nw_events_count(const struct nw_events *b);
/* Bytes that the block will have at most. */
NW_PUBLIC size_t nw_events_bytes(const struct nw_events *b);
/* Times of the earliest and of the latest event; of a builder that is not empty. */
NW_PUBLIC void nw_events_span(const struct nw_events *b, int64_t *first, int64_t *last);
/* Sorts the events by time, equal times in order of arrival, and packs them; the bytes are on loan
 * until the next call. NW_EINVAL: there are none. */
NW_PUBLIC int nw_events_finish(struct nw_events *b, const uint8_t **bytes, size_t *len);
NW_PUBLIC void nw_events_clear(struct nw_events *b);

/* --- from a block to events --- */

struct nw_event_block;
NW_PUBLIC struct nw_event_block *nw_event_block_new(void); /* NULL: no memory */
NW_PUBLIC void nw_event_block_free(struct nw_event_block *b);
/* Reads a block, whose bytes stay the caller's and must live as long as the events are read. Any
 * bytes give NW_OK, NW_EPROTO with static *why, or NW_ENOMEM. */
NW_PUBLIC int
nw_event_block_read(struct nw_event_block *b, const uint8_t *bytes, size_t len, const char **why);
NW_PUBLIC size_t nw_event_block_count(const struct nw_event_block *b);
NW_PUBLIC int64_t nw_event_block_time(const struct nw_event_block *b, size_t i);
/* The i-th event, rising in time; attributes are on loan until the next call. */
NW_PUBLIC void nw_event_block_get(struct nw_event_block *b, size_t i, struct nw_event *out);

#endif
