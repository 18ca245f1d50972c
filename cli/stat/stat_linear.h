/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds about many metrics, one file per kind, and the options shared by these kinds. */
#ifndef CLI_STAT_LINEAR_H
#define CLI_STAT_LINEAR_H
#include "cli/stat/stat_metrics.h"
#include "narrows/reduce.h"

/* stat_cluster.c */
extern const struct stat_option stat_correlation_options[], stat_cluster_options[];
int stat_correlation_run(const struct stat_args *a, json_t **out, struct stat_error *err);
int stat_correlation_case(const struct stat_case *c, json_t **out, struct stat_error *err);
int stat_cluster_run(const struct stat_args *a, json_t **out, struct stat_error *err);
int stat_cluster_case(const struct stat_case *c, json_t **out, struct stat_error *err);
/* NULL keeps *out. */
int stat_missing_parse(const char *word, enum nw_missing *out, struct stat_error *err);
/* --rho0, --alpha, --missing, --max-missing, --n-eff */
int stat_cluster_args(const struct stat_args *a, struct nw_prepare_options *prepare,
    struct nw_cluster_options *cluster, struct stat_error *err);

/* stat_select.c */
extern const struct stat_option stat_select_options[];
int stat_select_run(const struct stat_args *a, json_t **out, struct stat_error *err);
int stat_select_case(const struct stat_case *c, json_t **out, struct stat_error *err);
/* NULL keeps *out. */
int stat_quadratic_parse(const char *word, enum nw_quadratic *out, struct stat_error *err);
/* --f-remove, --quadratic, --hierarchical, --alias-tolerance */
int stat_eliminate_args(
    const struct stat_args *a, struct nw_eliminate_options *opts, struct stat_error *err);

/* stat_time.c */
#define STAT_TIME_OPTIONS                                                                \
	{ "day", "ROWS", "rows of a day: the hour is a rival of the metrics; unknown" }, \
	{                                                                                \
		"no-time", NULL, "rows are in no order of time: time is no rival"        \
	}
/* Unless --faithful or --no-time, takes the courses in time from response and metrics; --day
 * is the number of rows of a day. */
int metrics_less_time(struct metrics *m, const struct stat_args *a, struct stat_error *err);
/* Key "time" if time was tried; 0 or -1 as jansson returns. */
int put_time(json_t *doc, const struct metrics *m);

/* stat_reduce.c */
extern const struct stat_option stat_reduce_options[];
int stat_reduce_run(const struct stat_args *a, json_t **out, struct stat_error *err);
int stat_reduce_case(const struct stat_case *c, json_t **out, struct stat_error *err);

/* stat_linear.c */
extern const struct stat_option stat_lm_options[], stat_lasso_options[], stat_validate_options[];
int stat_lm_run(const struct stat_args *a, json_t **out, struct stat_error *err);
int stat_lm_case(const struct stat_case *c, json_t **out, struct stat_error *err);
int stat_lasso_run(const struct stat_args *a, json_t **out, struct stat_error *err);
int stat_lasso_case(const struct stat_case *c, json_t **out, struct stat_error *err);
int stat_validate_run(const struct stat_args *a, json_t **out, struct stat_error *err);
int stat_validate_case(const struct stat_case *c, json_t **out, struct stat_error *err);
/* R^2 with its guards, degrees of freedom and rank of a fit; 0 or -1 as jansson returns. */
int put_quality(json_t *doc, const struct nw_lm *lm);
/* {"term": name, "coefficient", "std_error", "t", "p", "F"}, p of two sides; takes the name. */
json_t *coefficient_row(json_t *name, const struct nw_coefficient *c, size_t df);
/* [] or a sentence about too many terms. */
json_t *stat_warnings(size_t n_terms, size_t n_rows);

#endif
