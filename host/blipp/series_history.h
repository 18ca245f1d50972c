/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples that are kept instead of being sent (orders with keep_s): the newest of the last minute,
 * say, in less memory than they would take as rows. Time goes in stretches of a twelfth of what is
 * to be kept; a stretch has for each series one whole row, then the values that changed from row to
 * row. The oldest stretch goes when time or memory are over. A history belongs to one thread.
 */
#ifndef HOST_HISTORY_H
#define HOST_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/blipp/probe/series.h"

enum { HISTORY_BYTES_MAX = 8 << 20, HISTORY_SERIES_MAX = 1024, HISTORY_STRETCHES = 14 };

struct history_series {
	struct series series;
	const struct series_kind *kind; /* as long as the probe's memory */
	size_t n_fields;
	double *last; /* values of the last row in the present stretch */
	bool begun;   /* whether the present stretch has a row */
};

struct history_stretch {
	uint8_t *bytes;
	size_t len, cap;
	int64_t begun_wall_ns;
};

struct history {
	struct history_series *series;
	size_t n_series;
	struct history_stretch stretches[HISTORY_STRETCHES]; /* oldest first */
	size_t n_stretches, bytes;
	int64_t keep_ns;
	uint64_t lost_rows; /* for want of memory */
};                          /* zero to start */

/* Keeps a row. Rows without room are counted in lost_rows. */
void history_put(struct history *h, const struct series *s, const struct series_kind *kind,
    int64_t t_wall_ns, const double *values);
/* Sends every row with its time, series by series, and forgets all. Returns the number of rows. */
size_t history_send(struct history *h, struct report *r);
/* Forgets all rows and series. */
void history_clear(struct history *h);

#endif
