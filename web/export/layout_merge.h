/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of one metadata in time order. A metadata has one layout per set of fields that arrived
 * together; rows of all layouts are merged by time, ties in the order of the layouts. Buffered rows
 * take a fixed amount of memory. No query is open between calls: a merge remembers its place in
 * each layout, and seeks.
 */
#ifndef NARROWS_WEB_MERGE_H
#define NARROWS_WEB_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/store.h"

struct merge;

struct merge_row {
	int64_t t_wall_ns;
	size_t n_fields;
	const char *const *labels; /* results of label() for the names of the fields */
	const double *values;      /* NaN: missing */
	/* histogram of durations (narrows/hist.h), if asked for and there; or NULL */
	const uint8_t *hist;
	size_t hist_len;
};

/*
 * step_ns: rows as if one row had come per step (store_rows_at); 0: all rows. The merge frees
 * results of `label` with free(); a NULL from `label` means: no memory. The reader must outlive the
 * merge.
 */
int merge_open(struct store_reader *r, int64_t meta_id, int64_t step_ns, int64_t t0_wall_ns,
    int64_t t1_wall_ns, char *(*label)(void *arg, const char *field), void *arg,
    struct merge **out);
void merge_free(struct merge *m);
void merge_want_hist(struct merge *m); /* before the first row */
/* 1: *row is filled, on loan until the next call. 0: there are no more. */
int merge_next(struct merge *m, struct merge_row *row);

#endif
