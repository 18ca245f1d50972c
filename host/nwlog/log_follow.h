/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows a log file line by line across rotations. When another file has the path (rename), the
 * rest of the old one is read first. When the file was emptied or written anew (copytruncate), the
 * rest stands in a copy beside it: a file whose name begins with the log's name and which begins
 * with the same bytes.
 */
#ifndef NWLOG_FOLLOW_H
#define NWLOG_FOLLOW_H

#include <stdbool.h>

#include "host/nwlog/journal.h"

struct follow;

/* The path need not exist yet. NULL: no memory */
struct follow *follow_new(const char *path);
void follow_free(struct follow *f);
/* Continues at a place: in the file of the path, or in a rotated file. Returns false if the file
 * is missing; following then begins with the first younger file, at its beginning. */
bool follow_seek(struct follow *f, const struct place *at);
/* Begins behind the last line of the file. */
void follow_seek_end(struct follow *f);
/*
 * The next line, without its end; on loan until the next call. 1: a line; 0: no line now; NW_EIO
 * with errno, NW_ENOMEM. A line of more than max bytes comes as its beginning, with *whole false.
 */
int follow_line(struct follow *f, size_t max, const char **line, size_t *len, bool *whole);
/* The place behind the last line. */
struct place follow_place(const struct follow *f);

#endif
