/* SPDX-License-Identifier: BSD-3-Clause */
/* A response that a program tells itself, such as seconds per iteration: one field of a series of
 * the session, as means over rows. */
#ifndef KEEPSERIES_H
#define KEEPSERIES_H

#include "analyze/verdict/evidence/evidence.h"
#include "narrows/store.h"

struct keepseries {
	int64_t step_ns;
	size_t cap_rows;
	double *y; /* cap_rows; caller's */
	int64_t t0_wall_ns;
	size_t n_rows;
};

/*
 * `name` is "EVENT_TYPE FIELD". A value holds for the time since the value before (a value is told
 * at the end of what it measures), or for a row; a row is the mean of what holds in it, or missing.
 * Series of several processes are averaged. No rows if the session has no such series. The store's
 * code.
 */
int keepseries_load(
    struct store_reader *r, const struct evidence *e, const char *name, struct keepseries *s);

#endif
