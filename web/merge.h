/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of one metadata in time order. It has one layout per set of fields that arrived
 * together; they are merged by time here, ties in the layouts' order. Rows read but not handed out
 * take a fixed amount of memory; between calls no query is open, a merge remembers per layout how
 * far it is, and seeks.
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
	const char *const *labels; /* what label() made of each field's name */
	const double *values;      /* NaN: missing */
	/* histogram of durations (narrows/hist.h), if asked for and there; or NULL */
	const uint8_t *hist;
	size_t hist_len;
};

/*
 * step_ns: rows as if they had come once per so long (store_rows_at), 0: as they came. label's
 * result is free()d by the merge; NULL: no memory. The reader must outlive the merge.
 */
int merge_open(struct store_reader *r, int64_t meta_id, int64_t step_ns, int64_t t0_wall_ns,
    int64_t t1_wall_ns, char *(*label)(void *arg, const char *field), void *arg,
    struct merge **out);
void merge_free(struct merge *m);
void merge_want_hist(struct merge *m); /* before the first row */
/* 1: *row is filled, on loan until the next call. 0: there are no more. */
int merge_next(struct merge *m, struct merge_row *row);

#endif
