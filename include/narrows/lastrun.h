/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The newest runs of nwrun by this user on this host, one to each box. nwrun writes a record when a
 * run begins and again if the run is not stored; `narrows report last` reads the record of its box,
 * so that an older session is never taken for the newest run.
 *
 * The records are a file "last-run" of lines "name value", the newest run first, in the first of
 * $XDG_RUNTIME_DIR/narrows, /run/narrows (root only) and $HOME/.cache/narrows. No allocation.
 */
#ifndef NARROWS_LASTRUN_H
#define NARROWS_LASTRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LASTRUN_TEXT_BYTES = 256, LASTRUN_BOXES = 8 };

struct lastrun {
	int64_t start_wall_ns;
	int64_t pid; /* of the program; 0 in records of older versions */
	char task[LASTRUN_TEXT_BYTES];
	char box[LASTRUN_TEXT_BYTES]; /* address as the user gave it, "" for the default box */
	char why[LASTRUN_TEXT_BYTES]; /* reason why the run is not stored, "" without a failure */
};

/* Cut to fit, control bytes replaced: for the texts of a record. */
void lastrun_text(char out[LASTRUN_TEXT_BYTES], const char *text);
/* Writes the record, in the place of the record of an earlier run to the same box, as a whole or
 * not at all. NW_EIO; NW_ENOTFOUND: this user has no directory. */
int lastrun_write(const struct lastrun *r);
/* Adds the reason to the record of the task, if no newer run has replaced the record. */
int lastrun_fail(const char *task, const char *why);
/* The newest run. NW_ENOTFOUND: no record. */
int lastrun_read(struct lastrun *r);
/* Fills out with the newest run to each box, the newest first, and returns their number. */
size_t lastrun_read_all(struct lastrun out[LASTRUN_BOXES]);

#endif
