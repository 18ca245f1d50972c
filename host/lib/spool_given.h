/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers that a provider has given to documents which are in no file of its spool directory yet. A
 * mapped file has the range, so the range survives the death of the process: the next life of the
 * provider tells the box which documents died with the process.
 */
#ifndef HOST_SPOOL_GIVEN_H
#define HOST_SPOOL_GIVEN_H

#include <fcntl.h>
#include <stdint.h>

enum {
	SPOOL_TASK_BYTES = 256,
	/* of every file of a spool directory: others may write there, and their links lead to files
	 * that only we may write, their pipes to a wait */
	SPOOL_OPEN = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
};

/* Numbers first to next - 1; equal numbers are an empty range. */
struct spool_given {
	uint64_t magic, first, next;
	char task_id[SPOOL_TASK_BYTES]; /* task of the documents, empty without */
};

/* Maps the file of a directory, made if need be. NULL: no disk or no memory; nothing is noted. */
struct spool_given *spool_given_open(int dir_fd);
/* NULL is fine. */
void spool_given_close(struct spool_given *g);
/* Whether the unmapped file of a directory names documents. */
int spool_given_waits(const char *dir);

#endif
