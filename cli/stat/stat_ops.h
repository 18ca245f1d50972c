/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations out of files: CSV with columns size and duration, or io-model files of one access size
 * per file. */
#ifndef CLI_STAT_OPS_H
#define CLI_STAT_OPS_H
#include "cli/stat/stat.h"

struct op {
	double size_bytes, duration_s;
};

struct ops { /* all zero = none; free(op) */
	struct op *op;
	size_t n, room;
	double clock_s;    /* coarsest step of the clocks of traces; 0: not known */
	size_t n_below;    /* operations faster than the step: a step each */
	size_t n_left_out; /* lines of traces without a usable size or duration */
};

/* Takes the rows with both numbers and leaves out other rows. With `of`, only the rows of the
 * group. */
int ops_add_table(struct ops *o, const struct stat_table *t, const uint32_t *of, uint32_t group,
    struct stat_error *err);
/* One file, CSV or io-model, by options --size and --keep-last. If t is not NULL, a CSV file is
 * left there, the caller's, instead. */
int ops_add_file(struct ops *o, const char *path, const struct stat_args *a, struct stat_table **t,
    struct stat_error *err);

#endif
