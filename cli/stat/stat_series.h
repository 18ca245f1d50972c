/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of the kinds about one series. Each kind is a file stat_<kind>.c with a _run for the
 * command line and a _case for recorded cases. */
#ifndef CLI_STAT_SERIES_H
#define CLI_STAT_SERIES_H
#include "cli/stat/io_file.h"
#include "cli/stat/stat.h"
#include "narrows/density.h"
#include "narrows/summary.h"

typedef int stat_run_fn(const struct stat_args *a, json_t **out, struct stat_error *err);
typedef int stat_case_fn(const struct stat_case *c, json_t **out, struct stat_error *err);

stat_run_fn summary_run, ttest_run, bottleneck_run, density_run, models_run, classify_run,
    changes_run, tables_run, figures_run;
stat_case_fn summary_case, ttest_case, bottleneck_case, autocorr_case, density_case, models_case,
    iotrace_case, classify_case, formats_case, changes_case;
extern const struct stat_option summary_options[], ttest_options[], bottleneck_options[],
    density_options[], models_options[], classify_options[], changes_options[], tables_options[],
    figures_options[];

/* The table of the only file on the command line; more files are an error. */
int series_table(const struct stat_args *a, struct stat_table **out, struct stat_error *err);
/* The column `wanted`; without `wanted` the only column of numbers except clocks, or a column named
 * duration[_s|_ns], value or y. SIZE_MAX and an error if no such column exists. */
size_t series_column(const struct stat_table *t, const char *wanted, struct stat_error *err);
/* True if the column holds a number, or nothing at all. */
bool column_is_numeric(const struct stat_table *t, size_t col);
/* True if the column's name speaks of time or row numbers. */
bool column_is_clock(const struct stat_table *t, size_t col);
/* A column of names: `wanted`, or the first all-text column, or one named group, component,
 * condition, name or id. SIZE_MAX: none. */
size_t name_column(const struct stat_table *t, const char *wanted);

/* Rows with the same text, in order of first appearance. */
struct series_groups {
	size_t n;
	const char **name; /* on loan from the texts */
	uint32_t *of;      /* group of each row */
};
int series_groups_make(const char *const *text, size_t n_rows, struct series_groups *out);
void series_groups_free(struct series_groups *g);

/* {n, mean, sd, min, max, sum}; null where n is 0. */
json_t *summary_json(const struct nw_summary *s);

/* How a density is to be drawn and cut. */
struct density_settings {
	struct nw_density_options curve;
	double h_min, cutoff_fraction;
	bool midpoint;
	bool tested; /* classes between tested valleys */
};
extern const struct density_settings density_settings_default;
int density_settings_args(
    const struct stat_args *a, struct density_settings *s, struct stat_error *err);
void density_settings_case(const struct stat_case *c, struct density_settings *s);

/* Reads any io-model file. NW_ENOTFOUND without message for another kind of file; then *bytes are
 * the caller's. */
int io_file_read(const char *path, bool keep_last, struct io_file *out, char **bytes,
    size_t *n_bytes, struct stat_error *err);

#endif
