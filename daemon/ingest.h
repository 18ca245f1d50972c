/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents of one XSP session, to rows of the current batch. */
#ifndef INGEST_H
#define INGEST_H

#include <stddef.h>
#include <stdint.h>

struct xsess;

/* Each life of a provider counts on from its own multiple of 2^40 (host/lib/spool_file.h). */
enum { INGEST_LIFE_SHIFT = 40 };
/* No document has a number from here on. */
#define INGEST_SEQ_MAX (INT64_C(1) << 62)

/*
 * Takes one document. A bad document is counted and dropped, and the session goes on: NW_OK.
 * NW_ENOMEM with static *why: the caller ends the connection, and the provider sends the document
 * again.
 */
int
ingest_document(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len, const char **why);
/*
 * The provider tells of documents that died with an earlier life of its process: {first, task_id},
 * under the last of their numbers. Those that the box does not have are lost, and count for the
 * session of the task. NW_EPROTO with static *why: no such numbers.
 */
int ingest_lost(struct xsess *x, const uint8_t *data, size_t len, const char **why);
/* HELLO began the numbering: the next data document is first_seq, and the provider lost `lost`
 * documents before. */
void ingest_number(struct xsess *x, uint64_t first_seq, uint64_t lost);
void ingest_clear(struct xsess *x);

#endif
