/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of a provider's queue in a directory, which outlives the process and may be larger than
 * memory should be. A directory belongs to one process at a time. spool_file.c describes the files
 * and their records.
 *
 * The directory survives the death of the process, not of the machine's power: nothing is synced
 * but the number of the life, without which a number could be given twice. A record that a power
 * cut leaves half written is recognised and left out.
 *
 * Numbers: each life of a provider counts on from its own multiple of 2^40. A process that is
 * killed does not know the last number it gave; with lives of their own that no caller needs.
 */
#ifndef HOST_SPOOL_FILE_H
#define HOST_SPOOL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "host/lib/uuid.h"

struct meta_table;
struct spool_file;

/* Facts that the directory keeps of a provider. */
struct spool_past {
	char uuid[UUID_BYTES]; /* of the provider; stays */
	/* first number of this life; lower numbers were given in earlier lives */
	uint64_t first_seq;
	uint64_t lost; /* documents that were dropped and not yet reported */
};

struct spool_view {
	uint64_t seq;
	uint16_t opt;
	const uint8_t *bytes;
	size_t len;
};

/*
 * Documents that an earlier life numbered and did not get into a file before it was killed are one
 * record of option NW_OPT_LOST, under the last of their numbers: {first, task_id}. It goes to the
 * box as documents do, and no count has it.
 *
 * Opens or makes dir (its parent must exist). Metadata found there go to the table, ended: entries
 * live as long as documents need them. The table stays the caller's; every file starts with the
 * table's metadata. new_uuid is for a new directory. NW_ECONFLICT: another process has the
 * directory. NW_EIO, NW_ENOMEM, NW_ECORRUPT (not a spool).
 */
int spool_file_open(const char *dir, const char *new_uuid, uint64_t bytes_max,
    struct meta_table *metas, struct spool_file **out, struct spool_past *past);
void spool_file_close(struct spool_file *f); /* NULL is fine */
/* The directory is removed with the process if it is empty by then. */
void spool_file_set_temporary(struct spool_file *f);
/* Names the task of the documents, if the next life should have to tell of their loss. */
void spool_file_note_task(struct spool_file *f, const char *task_id);
/* Notes that documents first to next - 1 are in no file. */
void spool_file_note_given(struct spool_file *f, uint64_t first, uint64_t next);
/* Keeps the count for the next life. */
void spool_file_note_lost(struct spool_file *f, uint64_t lost);

/* Appends a document; numbers rise. NW_EIO: nothing was written, try again later. */
int spool_file_put(struct spool_file *f, uint64_t seq, uint16_t opt, int64_t t_wall_ns,
    const uint8_t *bytes, size_t len);
/* The document with the lowest number from seq on; on loan until the next call. NW_ENOTFOUND. */
int spool_file_get(struct spool_file *f, uint64_t seq, struct spool_view *out);
/* How many documents have numbers in [from, to]. */
uint64_t spool_file_count(const struct spool_file *f, uint64_t from, uint64_t to);
uint64_t spool_file_first_seq(const struct spool_file *f); /* 0: there is none */
uint64_t spool_file_bytes(const struct spool_file *f);

/* Deletes files without a number above seq. */
void spool_file_release(struct spool_file *f, uint64_t seq);
/* The last number of the oldest file if the file must go, over the size limit or older than
 * t_wall_ns as a whole; else 0. */
uint64_t spool_file_overdue(const struct spool_file *f, int64_t t_wall_ns);

/* CRC-32 as in zlib; begins with 0 */
uint32_t spool_file_crc(const uint8_t *p, size_t len, uint32_t crc);

#endif
