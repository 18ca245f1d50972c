/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The incidents of a route as objects: the story of its sessions, with the stages before and since,
 * the candidates for the cause, the cards and the acceptance. List, page, commands, hooks, API and
 * metrics read these objects from the store.
 */
#ifndef ROUTEINCIDENTS_H
#define ROUTEINCIDENTS_H

#include <jansson.h>

#include "analyze/verdict/usual/past.h"
#include "analyze/verdict/usual/story.h"

struct routeincidents_ask {
	struct store_reader *r;
	const char *route, *program; /* "" where unknown */
	const struct past *past;
	const struct nw_story *story;     /* of the past's sessions */
	const struct incident_told *told; /* of the story's incidents */
	const json_t *advice;             /* cards of the route, list of route_advice */
};

/* The list of incidents, oldest first; a new reference. The store's code, or NW_ENOMEM. */
int routeincidents_doc(const struct routeincidents_ask *ask, json_t **out);

/* The records of such a list for the store, *n of them; route and program are on loan.
 * routeincidents_free() frees them. */
struct nw_incident_rec *
routeincidents_records(const struct routeincidents_ask *ask, const json_t *list, size_t *n);
void routeincidents_free(struct nw_incident_rec *rec, size_t n);

#endif
