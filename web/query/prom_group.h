/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of an aggregation: series go in one after the other, and groups come out. Out of a ranking
 * (topk, bottomk) come the first series of each group and step.
 *
 * A group has one value per step. A ranking has a slot for each place, best first, and each slot
 * has a value and a member per step; so the memory does not depend on the number of series, but for
 * the labels of members.
 */
#ifndef NARROWS_WEB_PROM_GROUP_H
#define NARROWS_WEB_PROM_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "web/query/promql.h"

struct prom_slot {
	double *value;
	uint32_t *member;
};

struct prom_group {
	json_t *labels;
	double *value, *n; /* per step; n: values, or slots in use */
	struct prom_slot *slots;
	json_t **members; /* labels */
	size_t n_slots, n_members;
};

struct prom_groups {
	const struct promql_stage *stage; /* on loan */
	size_t n_steps;
	size_t *bytes_left; /* of the limit of a query; on loan */
	json_t *index;      /* number of each group, by the text of its labels */
	struct prom_group *list;
	size_t n, at, at_member; /* at: the next result */
	size_t n_bytes;          /* taken from *bytes_left */
};

/* Puts values of a series, one per step, into the series' group. NW_ENOMEM, NW_ETOOBIG. */
int prom_groups_add(struct prom_groups *g, json_t *labels, const double *v, const bool *has);
/* Writes the values of the next result; *labels is on loan until the clear, and the caller may
 * change the labels. Returns false behind the last result. */
bool prom_groups_next(struct prom_groups *g, json_t **labels, double *v, bool *has);
/* Frees all, and gives the bytes back. */
void prom_groups_clear(struct prom_groups *g);

#endif
