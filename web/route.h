/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the resource of an address. Paths are hostile: a path that is not exactly right leads to
 * route_nothing(). */
#ifndef NARROWS_WEB_ROUTE_H
#define NARROWS_WEB_ROUTE_H

#include <stdint.h>

struct resource;

enum {
	ROUTE_LAST = 0, /* as an id: the newest session */
	ROUTE_FIGURE_BYTES = 48,
	ROUTE_HOST_BYTES = 256
};

struct route {
	const struct resource *resource; /* never NULL */
	int64_t id;                      /* a session or ROUTE_LAST */
	char figure[ROUTE_FIGURE_BYTES]; /* its id */
	char host[ROUTE_HOST_BYTES];     /* a name, decoded */
	const char *rest;                /* of the path, on loan; or NULL */
};

struct route route_parse(const char *path);
/* Returns the resource that answers for every address without a resource (404). */
const struct resource *route_nothing(void);

#endif
