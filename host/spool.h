/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents a provider keeps until the box has them: in order, numbered from 1 without gaps, bounded in bytes.
 * When a new one does not fit, the oldest go. `unsent` marks where the present connection has got to.
 */
#ifndef HOST_SPOOL_H
#define HOST_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct spool_doc {
	STAILQ_ENTRY(spool_doc) link;
	uint64_t seq;
	uint64_t written_at;                  /* sent when the connection has written this many bytes */
	uint32_t len;
	uint8_t bytes[];
};

struct spool {
	STAILQ_HEAD(, spool_doc) docs;        /* oldest first */
	struct spool_doc *unsent;             /* NULL: all are sent */
	uint64_t next_seq;                    /* of the next document put in */
	uint64_t bytes, bytes_max;
};

void spool_init(struct spool *s, uint64_t bytes_max);
void spool_clear(struct spool *s);
/* Copies a document in; *dropped is how many old ones made room. NW_ETOOBIG, NW_ENOMEM: nothing changed. */
int spool_put(struct spool *s, const uint8_t *bytes, size_t len, uint64_t *dropped);
/* Takes the oldest out as long as its number is at most seq. Returns how many. */
uint64_t spool_release(struct spool *s, uint64_t seq);
void spool_rewind(struct spool *s);       /* all are unsent again */
static inline bool
spool_empty(const struct spool *s)
{
	return STAILQ_EMPTY(&s->docs);
}
/* The oldest kept, or the number the next one gets. */
static inline uint64_t
spool_first_seq(const struct spool *s)
{
	return spool_empty(s) ? s->next_seq : STAILQ_FIRST(&s->docs)->seq;
}

#endif
