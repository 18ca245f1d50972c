/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents a provider keeps until the box has them: in order, by rising numbers, bounded in bytes
 * and, if wanted, in age. The newest are in memory. With a directory (spool_file.h) documents are
 * also written there after a long wait or when memory gets short; then the oldest may be in the
 * directory only. When there is room nowhere, the oldest documents are dropped and counted.
 *
 * The cursor marks where the present connection has got to.
 */
#ifndef HOST_SPOOL_H
#define HOST_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "host/lib/spool_file.h"

struct spool_doc {
	STAILQ_ENTRY(spool_doc) link;
	uint64_t seq;
	int64_t t_wall_ns, t_mono_ns; /* time of spool_put() */
	uint32_t len;
	uint16_t opt;
	uint8_t bytes[];
};

struct spool {
	STAILQ_HEAD(, spool_doc) docs; /* oldest first */
	struct spool_doc *unsent;  /* first document in memory at or after the cursor, or NULL */
	uint64_t cursor;           /* documents below are sent */
	uint64_t next_seq;         /* of the next document put in */
	uint64_t stored_seq;       /* documents up to here were released */
	uint64_t bytes, bytes_max; /* in memory */
	/* documents dropped since the last stored document: the box must be told */
	uint64_t lost;
	uint64_t dropped;          /* dropped, ever */
	int64_t age_max_ns;        /* 0: any */
	struct spool_file *file;   /* NULL: memory only */
	struct spool_doc *unfiled; /* first document in memory that is not in the file, or NULL */
	int64_t retry_mono_ns;     /* the disk said no: not before then */
};

void spool_init(struct spool *s, uint64_t bytes_max);
void spool_clear(struct spool *s); /* closes the file; the documents inside stay */
/* Puts a directory behind an empty spool. Documents of an earlier life come first. */
void spool_attach(
    struct spool *s, struct spool_file *file, const struct spool_past *past, int64_t age_max_ns);
/* Copies a document in. NW_ETOOBIG, NW_ENOMEM: nothing changed. */
int spool_put(struct spool *s, uint16_t opt, const uint8_t *bytes, size_t len, int64_t now_wall_ns,
    int64_t now_mono_ns);
/* Writes documents that have waited for long, drops documents over the limits. Call now and
 * then. */
void spool_tick(struct spool *s, int64_t now_wall_ns, int64_t now_mono_ns);
/* Writes all documents in memory, for the next life. */
void spool_save(struct spool *s);

/* The next document to send; on loan until the next call. NW_ENOTFOUND: all are sent. */
int spool_peek(struct spool *s, struct spool_view *out);
void spool_advance(struct spool *s);  /* the document of the last spool_peek() is sent */
void spool_rewind(struct spool *s);   /* all are unsent again */
void spool_skip_all(struct spool *s); /* none is */
/* Forgets stored documents, up to seq. Returns their count. */
uint64_t spool_release(struct spool *s, uint64_t seq);

/* The oldest document kept, or the number of the next. */
uint64_t spool_first_seq(const struct spool *s);
static inline bool
spool_has_unsent(const struct spool *s)
{
	return s->cursor < s->next_seq;
}
static inline bool
spool_empty(const struct spool *s)
{
	return STAILQ_EMPTY(&s->docs) && (s->file == NULL || spool_file_first_seq(s->file) == 0);
}

#endif
