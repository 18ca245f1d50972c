/* SPDX-License-Identifier: BSD-3-Clause */
/* Long work on a store file: progress on the terminal, faults on stdout, an end by SIGINT or
 * SIGTERM. */
#ifndef WATCH_H
#define WATCH_H

#include "narrows/maintenance.h"

struct watch {
	struct store_watch store; /* for the store's calls; good until watch_end */
	const char *doing;        /* step on the terminal; NULL while nothing is drawn */
	int percent;              /* progress of the step */
};

/* Catches SIGINT and SIGTERM until the program ends; a signal ends the store's call early, and
 * the store removes its half-made file. w keeps its address until watch_end. */
void watch_begin(struct watch *w);
/* Wipes the progress off the terminal. */
void watch_end(struct watch *w);

#endif
