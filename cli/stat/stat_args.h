/* SPDX-License-Identifier: BSD-3-Clause */
/* How the command line becomes struct stat_args; the kinds read the arguments through stat.h. */
#ifndef CLI_STAT_ARGS_H
#define CLI_STAT_ARGS_H
#include <stddef.h>

#include "cli/stat/stat.h"

struct stat_given {
	const char *name;  /* name of the option in the kind's table */
	const char *value; /* word given with the option; NULL for a switch */
};

struct stat_args {
	size_t n_given, n_files;
	struct stat_given *given;
	const char **files;
};

/* Options of every kind. */
extern const struct stat_option stat_common_options[];

/* Splits argv into the kind's options, the common options and files. The words stay the caller's.
 * stat_args_clear() on success and failure. NW_EINVAL, NW_ENOMEM. */
int stat_args_parse(
    const struct stat_kind *k, int argc, char **argv, struct stat_args *a, struct stat_error *err);
void stat_args_clear(struct stat_args *a);

#endif
