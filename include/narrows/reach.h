/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far an incident reaches: routes that share a host with the route of the incident vouch for
 * the host. If all these routes fell at the same time, the host is at fault; if none fell, the path
 * between the two hosts. A route vouches if the route had sessions since the begin of the incident.
 * Routes between the same two hosts tell nothing about the place, and are left out.
 */
#ifndef NARROWS_REACH_H
#define NARROWS_REACH_H

#include <stdbool.h>
#include <stddef.h>

/* A route, "a -> b". */
struct nw_reach_route {
	const char *route;
	bool fell;  /* an incident of the route may have begun at the same time */
	bool spoke; /* the route had a session since; implied by fell */
};

enum nw_reach_place {
	NW_REACH_UNKNOWN, /* no other route vouches, or the routes do not agree */
	NW_REACH_FROM,    /* the source host */
	NW_REACH_TO,      /* the destination host */
	NW_REACH_EITHER,  /* all routes over either host fell */
	NW_REACH_PATH
};

struct nw_reach {
	enum nw_reach_place place;
	/* other routes over source and destination host: routes that vouch, routes that fell */
	size_t n_from, n_from_fell, n_to, n_to_fell;
};

/* `route` is the incident's own; the list may hold it. A route without two ends is unknown. */
struct nw_reach
nw_reach_find(const char *route, const struct nw_reach_route *others, size_t n_others);

#endif
