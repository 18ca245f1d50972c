/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loggers of the oldest paper: what a few counters counted between two looks, as lines of the
 * common logging format, to a file or to a box's port for lines (14380). A line is an interval:
 *
 *	KEYWORD; HOST; end: seconds; nanoseconds; COUNT; begin: seconds; nanoseconds; DEVICE;
 *
 * Counters that stood still write no line; shares of processor time always do. A peer that does not
 * read, and a disk that is full, cost lines, which are counted.
 */
#ifndef HOST_LINELOG_H
#define HOST_LINELOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/blipp/probe/series.h"

enum { LINELOG_BYTES_MAX = 256 << 10, LINELOG_LAST_MAX = 256 };

struct linelog_last {
	size_t keyword; /* index in the table of keywords */
	char device[SERIES_DEVICE_BYTES];
	double value;
	int64_t t_wall_ns;
};

struct linelog {
	int fd; /* -1: none now */
	bool to_peer;
	const char *target;
	char *text; /* lines that are not written yet */
	size_t len, cap;
	int64_t again_mono_ns; /* of the next attempt to connect */
	uint64_t lines, lost;
	struct linelog_last last[LINELOG_LAST_MAX];
	size_t n_last;
};

/* target: an absolute path, to which lines are appended, or "192.0.2.1/14380". NW_EINVAL, NW_EIO
 * with errno. target is kept. */
int linelog_open(struct linelog *l, const char *target);
void linelog_close(struct linelog *l);
/* Whether a probe has counters with a keyword. */
bool linelog_wants(const char *probe);
/* For struct report: out, with the log as out_arg. */
int linelog_take(
    struct report *r, const struct series *s, const struct series_kind *kind, const double *values);
/* Writes queued lines until none is left or a write would have to wait. */
void linelog_flush(struct linelog *l, int64_t now_mono_ns);

#endif
