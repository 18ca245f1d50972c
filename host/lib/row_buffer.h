/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows that wait for the next report, by series: held rows can as well leave packed. Series come in
 * the same order round after round, so the search for a series begins where the last search ended.
 */
#ifndef HOST_ROW_BUFFER_H
#define HOST_ROW_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROW_SERIES_MAX = 64 };

struct row_series {
	char *mid;
	const char **fields; /* the names are behind mid */
	size_t n_fields, n_rows;
	int64_t t_wall_ns[ROW_SERIES_MAX];
	double *values; /* row by row */
};

struct row_buffer {
	struct row_series **list;
	size_t n, cap, next;
}; /* zero to start */

void row_buffer_clear(struct row_buffer *g);
/* The series of mid. NULL: there is none. */
struct row_series *row_buffer_find(struct row_buffer *g, const char *mid);
/* Adds a series, which must not be there. NULL: no memory. */
struct row_series *
row_buffer_add(struct row_buffer *g, const char *mid, const char *const *fields, size_t n_fields);
void row_buffer_forget(struct row_buffer *g, struct row_series *s);

/* Whether another row of these fields fits. */
bool row_series_takes(const struct row_series *s, const char *const *fields, size_t n_fields);
void row_series_add(struct row_series *s, int64_t t_wall_ns, const double *values);

#endif
