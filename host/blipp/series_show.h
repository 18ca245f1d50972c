/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples as text, for `blipp --list` and `blipp --once --format`: without any box. */
#ifndef HOST_SHOW_H
#define HOST_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "host/blipp/probe/series.h"

enum show_format {
	SHOW_NONE,
	SHOW_LIST /* by show_list() */,
	SHOW_CSV,
	SHOW_JSON,
	SHOW_OPENMETRICS
};

/* SHOW_NONE: no format has this name. */
enum show_format show_format_parse(const char *name);

struct show_row;
/* The samples of one round; zero to start. */
struct show {
	struct show_row *rows;
	size_t n, cap;
	/* the probe that is sampling now, and where its numbers come from; kept by pointer */
	const char *probe, *source;
	bool failed; /* out of memory */
};

/* For struct report: out, with the show as out_arg. */
int show_take(
    struct report *r, const struct series *s, const struct series_kind *kind, const double *values);
/* A probe whose metrics are listed. */
struct show_probe {
	const char *name, *source;
	const struct series_kind *const *kinds; /* n_kinds, or fewer and a NULL */
	size_t n_kinds;
	bool on; /* by the configuration */
};
/* Lists the rows of the probe, and after them the fields of its kinds that have no row: this host
 * has no such device, or nothing to say of the field yet. */
void show_list(const struct show *w, const struct show_probe *probe, FILE *to);
/* Writes all rows. */
void show_write(const struct show *w, enum show_format format, FILE *to);
/* The text as the value of a label. */
void show_put_label(FILE *to, const char *text);
/* Metrics for Prometheus, in OpenMetrics or in the older text format. */
void show_write_metrics(const struct show *w, bool classic, FILE *to);
/* Of the first n rows forgets those of probes that have sampled again since. */
void show_keep_latest(struct show *w, size_t n);
/* Of several rows of one field keeps the last: commands may answer more than once. */
void show_keep_last_of_field(struct show *w);
/* Forgets all rows. */
void show_clear(struct show *w);

#endif
