/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of a session: a tree of hops below this program. SESS_OPEN does not list the first hop,
 * which gets the message, but the hops behind the first, depth first, in records of 84 bytes.
 */
#ifndef HOST_HOP_H
#define HOST_HOP_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/frame.h"

enum { HOP_RECORD_BYTES = 84, HOP_COUNT_MAX = 64 };

struct hop {
	char id[NW_HOP_ID_BYTES + 1];
	uint16_t flags;
	struct hop *children, *next;
};

/* Below `parent`. NULL: out of memory (ENOMEM) or the id is empty or too long (EINVAL). */
struct hop *hop_add(struct hop *parent, const char *id, uint16_t flags);
struct hop *hop_find(struct hop *root, const char *id);
struct hop *hop_last(struct hop *root); /* the end of the path: always the last child */
size_t hop_count_below(const struct hop *h);
/* Records of everything below h: hop_count_below(h) * HOP_RECORD_BYTES. Returns the end. */
uint8_t *hop_write_below(const struct hop *h, uint8_t *out);
void hop_clear(struct hop *root); /* frees everything below */

#endif
