/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nwlog remembers of a file: the id of its provider, and for each document that the box may
 * not have, where the document's lines end. A mark is on disk before its document is sent; so after
 * any end the box's own number says where reading goes on, and the documents behind get the numbers
 * of before.
 *
 * The file has a line with the provider's id, then marks, a line each:
 *
 *	number device inode offset head-length head-hash
 */
#ifndef NWLOG_JOURNAL_H
#define NWLOG_JOURNAL_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { JOURNAL_ID_BYTES = 37, PLACE_HEAD_BYTES = 256 };

/* A place in a log file. A file is known by its inode and by a hash of its first bytes, as a copy
 * has another inode, and an inode comes again. */
struct place {
	dev_t device;
	ino_t inode;
	off_t offset;
	size_t head_len;
	uint64_t head_hash;
};

struct mark {
	uint64_t seq; /* documents up to this number have the lines before the place */
	struct place place;
};

struct journal {
	char *path;
	char id[JOURNAL_ID_BYTES];
	int fd;
	struct mark *marks; /* rising in number */
	size_t n, cap;
	size_t n_written; /* in the file, also without a need for them */
};

/*
 * Reads the file, or begins one with a new id. A missing file takes the place of the file `old`,
 * where earlier versions had it, if no user but this process's can have written that file; NULL:
 * there is none. NW_EIO with errno (EPERM, ELOOP: the file may be another user's), NW_ECONFLICT:
 * another process has the file, NW_ECORRUPT, NW_ENOMEM.
 */
int journal_open(struct journal *j, const char *path, const char *old);
void journal_close(struct journal *j);
/* Writes a mark to disk. NW_EIO with errno: there is no mark. */
int journal_add(struct journal *j, const struct mark *m);
/* The mark of the highest number up to seq; NULL: there is none. On loan until the next call. */
const struct mark *journal_find(const struct journal *j, uint64_t seq);
/* Forgets marks above seq: their documents come again. */
int journal_cut(struct journal *j, uint64_t seq);
/* Forgets marks below the result of journal_find() for seq. */
void journal_trim(struct journal *j, uint64_t seq);

#endif
