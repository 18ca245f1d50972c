/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The baseline of a host: the durations of every class of operations on a file system, which a box
 * trains its models on. The classes, of which each has cells of all sizes:
 *
 *	page cache          the pages are in memory, as mincore(2) confirms
 *	sequential device   ordinary reads one behind the other that had to wait for the device
 *	device cache        O_DIRECT, the same place again
 *	short seek          O_DIRECT, at most 8 MiB from the last place
 *	long seek           O_DIRECT, anywhere in the file
 *	device              O_DIRECT writes, one behind the other
 *	random device       O_DIRECT writes, anywhere in the file
 *	synced              each write followed by fdatasync(2)
 */
#ifndef IOMODEL_BASELINE_H
#define IOMODEL_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "host/iomodel/cell.h"

enum { BASELINE_NAMES_MAX = 16 };

struct baseline_opts {
	bool quick;
	const char *box; /* address; NULL: where the environment says; "-": nothing is sent */
	/* CLASS=NAME by the administrator, for the host and mount */
	const char *name[BASELINE_NAMES_MAX];
	size_t n_names;
};

/* Whether the text gives a name to a class. */
bool baseline_name_is_valid(const char *class_and_name);
/* Runs cells that are not done yet, with progress on standard error, and sends all; exit status. */
int baseline_run(const struct cell *like, const struct baseline_opts *o);

#endif
