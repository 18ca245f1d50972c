/* SPDX-License-Identifier: BSD-3-Clause */
/* The time of a host: which daemon keeps the clock, and chrony with the box as its source. */
#ifndef HOST_JOIN_TIMESOURCE_H
#define HOST_JOIN_TIMESOURCE_H

#include <stdbool.h>

#include "host/join/staged.h"

#define TIMESOURCE_DIR  "/etc/chrony/sources.d"
#define TIMESOURCE_FILE TIMESOURCE_DIR "/narrows.sources"

enum { TIMESOURCE_SAY_BYTES = 320 };

struct timesource {
	char daemon[32];         /* process that keeps the clock; empty: there is none */
	bool is_chrony, follows; /* chronyd runs; and is synchronised to a source */
	char source[80];         /* of chronyd, else the first that chronyd tries; empty: none */
	double offset_s;         /* of the clock from chronyd's estimate, if it follows */
	bool has_chrony;         /* chronyd is installed, with a directory for sources */
	bool has_file;           /* the box is among the sources already */
};

/* Asks the processes of this host and chronyd. */
void timesource_look(struct timesource *t);

enum timesource_choice { TIMESOURCE_ASK, TIMESOURCE_KEEP, TIMESOURCE_BOX };
/*
 * Decides whether chronyd is to follow the box, and stages the file of sources then. A daemon that
 * has a source is changed only by choice: TIMESOURCE_ASK asks a person at the terminal. NW_EIO.
 */
int timesource_stage(const struct timesource *t, enum timesource_choice choice, const char *box,
    struct staged *s, bool *staged, char why[CONF_WHY_BYTES]);
/* After the commit: has chronyd read its sources. say gets a sentence for the administrator. */
void timesource_apply(
    const struct timesource *t, bool staged, const char *box, char say[TIMESOURCE_SAY_BYTES]);

#endif
