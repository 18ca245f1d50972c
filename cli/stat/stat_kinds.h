/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of all kinds of `narrows stat`. */
#ifndef CLI_STAT_KINDS_H
#define CLI_STAT_KINDS_H
#include "cli/stat/stat.h"

/* Kinds, ended by a row whose name and case_kind are NULL. */
extern const struct stat_kind stat_kinds[];

/* The kind by its word on the command line; NULL if no kind has such a word. */
const struct stat_kind *stat_kind_find(const char *name);

#endif
