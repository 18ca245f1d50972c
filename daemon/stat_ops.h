/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations out of files: CSV with columns size and duration, or io-model files of one access size each. */
#ifndef DAEMON_STAT_OPS_H
#define DAEMON_STAT_OPS_H
#include "daemon/stat.h"

struct op {
	double size_bytes, duration_s;
};

struct ops {                    /* all zero = none; free(op) */
	struct op *op;
	size_t n, room;
};

/* Rows with both numbers; others are left out. */
int ops_add_table(struct ops *o, const struct stat_table *t, struct stat_error *err);
/* One file, CSV or io-model, by options --size and --keep-last. A CSV file without durations is left in *t, the
 * caller's, if t is not NULL. */
int ops_add_file(struct ops *o, const char *path, const struct stat_args *a, struct stat_table **t,
    struct stat_error *err);

#endif
