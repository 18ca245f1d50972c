/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of commands that list something by route and program. */
#ifndef ROUTE_FILTER_H
#define ROUTE_FILTER_H

#include <stdbool.h>

struct route_filter {
	const char *host, *program; /* NULL: any */
	bool json, all;
};

/* --json, --host, --program and, where the command knows it, --all. False: misused. */
bool route_filter_parse(struct route_filter *f, bool knows_all, int argc, char **argv);
/* route, program: of the thing that is listed, or NULL. */
bool route_filter_passes(const struct route_filter *f, const char *route, const char *program);

#endif
