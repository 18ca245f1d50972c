/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions that should have begun and did not. Two sources say what is expected:
 *
 * Told: a line of the directive `expect`, "EVERY PROGRAM ROUTE". A session is missing when the
 * newest one of that program and route began longer ago than EVERY and a quarter.
 *
 * Learnt: a route whose sessions begin regularly. Sessions that begin close together (closer than
 * an eighth of the longest pause) are one run. Pauses between the begins of runs are regular when
 * there are 10 and none is above 1.5 times their median or below half of it, or when there are 30
 * and none is above 3.2 times or below a third of it (weekdays alone); the pauses must cover three
 * days. A session is missing when the pause since the newest run is 1.5 times the longest pause so
 * far. Whatever is not regular in this sense is never called missing.
 */
#ifndef NARROWS_WEB_EXPECTED_H
#define NARROWS_WEB_EXPECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/store.h"

enum { EXPECTED_LINES_MAX = 64 };

struct expected_line {
	int64_t every_ns;
	char program[96], route[600];
};

struct expected {
	char *route, *program;
	bool told;
	int64_t every_ns;     /* told, or the median pause */
	int64_t last_wall_ns; /* begin of the newest session; 0: there was none */
	int64_t last_id;
	int64_t due_wall_ns; /* from this time on a session is missing */
	size_t n_runs;       /* sessions behind the median pause; 0 if `told` */
};

struct expected_list {
	struct expected *all; /* those longest overdue first */
	size_t n;
	int64_t made_mono_ns, took_ns;
};

/* One line of the directive; *next is the line behind, or the end. NW_EINVAL: why says which part
 * makes no sense. */
int expected_line_parse(
    const char *text, struct expected_line *out, const char **next, const char **why);
/* Begins rising in time, of n sessions. Returns false if the sessions are not regular. */
bool expected_learn(const int64_t *begin_wall_ns, size_t n, struct expected *out);

/*
 * Makes the list anew, unless the list is younger than a hundred times what making the list took.
 * lines: of the directive, or NULL. since_wall_ns: told sessions that never came are counted from
 * then. A route that a told line names is not learnt.
 */
int expected_read(struct expected_list *l, struct store_reader *r, const char *lines,
    int64_t since_wall_ns, int64_t now_wall_ns, int64_t now_mono_ns);
void expected_clear(struct expected_list *l);
bool expected_is_missing(const struct expected *e, int64_t now_wall_ns);
size_t expected_n_missing(const struct expected_list *l, int64_t now_wall_ns);
/* The list as a document; a new reference. */
json_t *expected_document(const struct expected_list *l, int64_t now_wall_ns);

#endif
