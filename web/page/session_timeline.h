/* SPDX-License-Identifier: BSD-3-Clause */
/* The timeline of a result document, for the sections that draw over time. */
#ifndef NARROWS_WEB_SESSION_TIMELINE_H
#define NARROWS_WEB_SESSION_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "web/draw/plot.h"

enum { TIMELINE_LINES_MAX = 16, TIMELINE_MARKS_MAX = 100 };

struct timeline {
	const json_t *doc;
	const char *limit; /* the verdict's stage, or NULL */
	double step_s, small_change;
	size_t n, n_small;
	size_t skipped; /* steps of the document before the transfer began, which are not drawn */
	int64_t t0_wall_ns;               /* begin of the first step that is drawn; 0 if unknown */
	double marks[TIMELINE_MARKS_MAX]; /* seconds from the start */
	size_t n_marks;
};

/* Acknowledgements and other small change, less than this share of the largest, are not drawn. */
#define TIMELINE_SMALL 0.01

/* The host or stage of an entry of one of the timeline's lists: "disk read, a", a host, the two
 * ends of a connection. */
void timeline_name(enum result_key list, const json_t *entry, char *out, size_t size);
/* The values of a list of the timeline at the steps that are drawn: y[t->n]. */
void timeline_numbers(const struct timeline *t, const json_t *list, double *y);
/* Sum of rates over the timeline's steps. */
double timeline_volume(const struct timeline *t, const json_t *rates);
/* False where the document has no timeline. */
bool timeline_read(struct timeline *t, const json_t *doc);
/* A plot over the timeline, with its changes marked. The lines are the caller's. */
struct plot timeline_plot(
    const struct timeline *t, const char *id, const char *title, const struct plot_line *lines);

#endif
