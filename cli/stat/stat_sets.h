/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named groups of values out of a CSV file. A file is one of
 *
 *   tuples   one row per group: [name], n, mean, sd; without n it is recovered from sum / mean
 *   long     a column of names and one of values
 *   wide     one column of values per group; columns named like a clock are none
 */
#ifndef CLI_STAT_SETS_H
#define CLI_STAT_SETS_H
#include "cli/stat/stat.h"
#include "narrows/bottleneck.h"

struct sets {
	size_t n;
	const char **name;
	struct nw_group *group; /* known from the start for tuples, else after sets_summarise */
	struct nw_component *series; /* .x NULL: only the summary is known */
	double *values;              /* storage behind the series of a long file */
	struct stat_table *t;        /* table behind names and the other series; owned */
};

/* Takes the table, also on failure; sets_free in any case. `group` and `value` name the columns of
 * a long file; NULL means the usual names, or the only possible column. */
int sets_make(struct sets *s, struct stat_table *t, const char *group, const char *value,
    struct stat_error *err);
/* The same for a file known to be wide. */
int sets_make_wide(struct sets *s, struct stat_table *t, struct stat_error *err);
/* Summaries of the series, with effective sizes if asked for. */
void sets_summarise(struct sets *s, bool n_eff);
void sets_free(struct sets *s);

/* {status, diff, se, t, df, p, log10_p}, without undefined keys. */
json_t *test_json(const struct nw_ttest *t);
/* Sets the key unless v is NaN. */
void set_defined(json_t *o, const char *key, double v);

#endif
