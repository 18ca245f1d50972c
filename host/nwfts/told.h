/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of nwfts beyond its end, in a file: the id of the provider, the number of the document
 * of each message, the submissions of files, and the time when a broker was last heard. The
 * messages of a document are on disk before the document is sent. So after any end the box's own
 * number says which messages the box has; repetitions of those are acknowledged and dropped.
 *
 * Messages and files are known by hashes with a secret key, so that nobody who writes to the broker
 * can make two of them look alike: the second would be acknowledged and lost.
 *
 * Lines: "id TEXT", "key HEX", "message HASH NUMBER", "submitted HASH NS STAGING", "heard NS". The
 * newest TOLD_MAX messages and files are remembered. One thread.
 */
#ifndef TOLD_H
#define TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOLD_MAX = 65536, TOLD_ID_BYTES = 37 };

struct told;

/* Reads the file, or begins one with a new id and key. NW_EIO with errno (EPERM, ELOOP: the file
 * may be another user's), NW_ECONFLICT: another nwfts has the file, NW_ECORRUPT. */
int told_open(const char *path, struct told **out);
void told_close(struct told *t); /* accepts NULL */
const char *told_id(const struct told *t);
/* The hash of a message or a file, by the key of this state. */
uint64_t told_hash(const struct told *t, const void *bytes, size_t len);
/* When a broker was last heard; 0: never. */
int64_t told_heard_wall_ns(const struct told *t);
/* Forgets messages of documents above `stored`, which the box does not have: their numbers come
 * again. NW_EIO with errno. */
int told_cut(struct told *t, uint64_t stored);
/* The highest number of a document; 0: none. */
uint64_t told_last(const struct told *t);
/* The number of the document that has the message; 0: none. */
uint64_t told_find(const struct told *t, uint64_t message);
void told_message(struct told *t, uint64_t message, uint64_t seq);
void told_submitted(struct told *t, uint64_t file, int64_t submit_wall_ns, double staging_s);
/* Returns false if the file's submission was not seen. */
bool
told_submission(const struct told *t, uint64_t file, int64_t *submit_wall_ns, double *staging_s);
/* Brings messages, files and the time to the disk. NW_EIO with errno. */
int told_write(struct told *t, int64_t heard_wall_ns);

#endif
