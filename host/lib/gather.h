/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows that wait for the next report, by series: what is held back anyway can as well leave packed.
 * Series come in the same order round after round, so each is looked for where the last one was
 * found.
 */
#ifndef HOST_GATHER_H
#define HOST_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GATHER_ROWS_MAX = 64 };

struct gather_series {
	char *mid;
	const char **fields; /* the names are behind mid */
	size_t n_fields, n_rows;
	int64_t t_wall_ns[GATHER_ROWS_MAX];
	double *values; /* row by row */
};

struct gather {
	struct gather_series **list;
	size_t n, cap, next;
}; /* zero to start */

void gather_clear(struct gather *g);
/* The series of mid. NULL: there is none. */
struct gather_series *gather_find(struct gather *g, const char *mid);
/* A new one, which must not be there. NULL: no memory. */
struct gather_series *
gather_new(struct gather *g, const char *mid, const char *const *fields, size_t n_fields);
void gather_forget(struct gather *g, struct gather_series *s);

/* Takes another row of these fields? */
bool gather_takes(const struct gather_series *s, const char *const *fields, size_t n_fields);
void gather_add(struct gather_series *s, int64_t t_wall_ns, const double *values);

#endif
