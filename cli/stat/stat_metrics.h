/* SPDX-License-Identifier: BSD-3-Clause */
/* A table as a response and metrics, and JSON of results about metrics. One thread. */
#ifndef CLI_STAT_METRICS_H
#define CLI_STAT_METRICS_H
#include "cli/stat/stat.h"
#include "narrows/correlate.h"
#include "narrows/linear.h"
#include "narrows/timerival.h"

struct metrics {
	struct stat_table *table; /* owned */
	size_t n, p;
	const double **x; /* p columns of the table, gaps as NaN */
	const char **name;
	const double *y; /* NULL without a response */
	const char *response;
	struct nw_time_rival time; /* owns x and y if it has parts */
	bool less_time;            /* whether time was tried as a rival */
};

/* Takes the table, also on error. `response` NULL: all columns are metrics. */
int metrics_init(
    struct metrics *m, struct stat_table *table, const char *response, struct stat_error *err);
/* The metrics of the one FILE, with the response of --response. */
int metrics_of_args(const struct stat_args *a, struct metrics *m, struct stat_error *err);
/* The response is the column that the case names, else the column "response" or "y", else the
 * first. */
int metrics_of_case(const struct stat_case *c, struct metrics *m, struct stat_error *err);
/* Keeps only the named metrics, in the order of the names. */
int metrics_choose(struct metrics *m, const char *const *names, size_t n, struct stat_error *err);
void metrics_clear(struct metrics *m);
/* Rows without gaps. Metrics without variation stay in the table, so that results can name them.
 * Free with nw_prepared_clear. */
int metrics_complete(const struct metrics *m, double max_missing, bool near_zero_filter,
    struct nw_prepared *prep, struct stat_error *err);
/* Index, or SIZE_MAX. */
size_t metrics_find(const struct metrics *m, const char *name);

/* "a,b ,c" as a NULL-terminated array in one allocation, blanks around names dropped; the caller
 * frees. NULL = no memory. */
char **stat_list(const char *text, size_t *n);
/* "0, 0.05 .. 1", "0.5" or "1,2,5": numbers, and even steps from the last two to an end. The caller
 * frees. NW_EINVAL: not such a list, more than 10000 numbers. */
int stat_numbers(const char *text, double **out, size_t *n);
/* A name for the number, the shortest of %.12g, from which the number can be read back. */
const char *stat_number_name(double v, char *buf, size_t size);

/* `o` if `bad`, the sum of jansson's 0 and -1, is 0; else NULL, and o is released. */
json_t *stat_whole(json_t *o, int bad);
/* The same for a finished document. */
int stat_finish(json_t *doc, int bad, json_t **out, struct stat_error *err);
/* An error of the library becomes the line for stderr. */
int stat_library(int rc, struct stat_error *err);

/* Names of the metrics index[0..n), in the order of `index`. */
json_t *metrics_names(const struct metrics *m, const size_t *index, size_t n);
/* Names of the metrics of the class. */
json_t *metrics_of_class(
    const struct metrics *m, const struct nw_prepared *prep, enum nw_metric_class class);
/* [[members] ..] in order of the first member; `used` maps the clusters' numbering to metrics. */
json_t *metrics_clusters(const struct metrics *m, const struct nw_clusters *cl, const size_t *used);
/* Names of the cluster representatives. */
json_t *
metrics_representatives(const struct metrics *m, const struct nw_clusters *cl, const size_t *used);

/* "name", or "name^2"; `metric` maps the terms' columns to metrics (NULL if columns are metrics).
 * NULL = no memory. */
json_t *term_name(const struct metrics *m, const struct nw_term *t, const size_t *metric);
/* Names of the terms index[0..n); names of the terms in the state. */
json_t *term_names(const struct metrics *m, const struct nw_elimination *e, const size_t *metric,
    const size_t *index, size_t n);
json_t *term_names_of_state(const struct metrics *m, const struct nw_elimination *e,
    const size_t *metric, enum nw_term_state state);
/* Names of the selection's metrics, in input order. */
json_t *kept_metrics(const struct metrics *m, const struct nw_elimination *e, const size_t *metric);
/* {"(Intercept)": .., term: ..} of the kept terms: their coefficients, or (no intercept) their
 * F. */
json_t *
kept_values(const struct metrics *m, const struct nw_elimination *e, const size_t *metric, bool f);

#endif
