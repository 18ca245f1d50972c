/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The join of two vectors by an operator, one to one, as Prometheus matches series: by all labels
 * but the name, or by those of on() or ignoring(). The right vector goes in first, series by
 * series, then the left one; at each step a value of the left one meets the value of its match.
 */
#ifndef NARROWS_WEB_PROM_JOIN_H
#define NARROWS_WEB_PROM_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "web/query/promql.h"

/* A set of series, by their labels. */
struct prom_row {
	json_t *labels;
	double *v;    /* per step */
	uint8_t *has; /* per step; bits of enum prom_side */
};
struct prom_rows {
	json_t *index; /* number of each row, by the text of its labels */
	struct prom_row *list;
	size_t n;
};

enum prom_side { PROM_RIGHT = 1, PROM_LEFT = 2 };

struct prom_join {
	const struct promql_stage *how; /* on loan */
	size_t n_steps;
	size_t *bytes_left;            /* as in struct prom_groups */
	struct prom_rows matches, out; /* matches: values of the right vector */
	size_t n_bytes;
};

/* Puts values of a series, one per step, into one side. NW_EINVAL with static *why if another
 * series of the side has the same match at a step; NW_ENOMEM, NW_ETOOBIG. */
int prom_join_add(struct prom_join *j, enum prom_side side, const json_t *labels, const double *v,
    const bool *has, const char **why);
void prom_join_clear(struct prom_join *j);

#endif
