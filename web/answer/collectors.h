/* SPDX-License-Identifier: BSD-3-Clause */
/* What the collectors of hosts cost and how they fare: the newest row of each series
 * "nw:collector". */
#ifndef NARROWS_WEB_COLLECTORS_H
#define NARROWS_WEB_COLLECTORS_H

#include <stdint.h>

#include <jansson.h>

#include "narrows/order.h"
#include "narrows/store.h"
#include "narrows/web.h"

/* What the state of a collector is judged by (narrows/web.h). */
struct session_index;
struct hosts_now {
	int64_t started_wall_ns, now_wall_ns;
	struct session_index *sessions; /* of the page's list of sessions; NULL: none is kept */
};

struct collector { /* on loan */
	int64_t host_id;
	const char *name; /* of the program */
	int64_t t_wall_ns;
	double v[NW_COLLECTOR_FIELDS]; /* NaN: unknown */
};
typedef int collector_fn(void *arg, const struct collector *c); /* 0 go on, 1 stop, <0 passed on */

/* host_id 0: of all hosts. */
int collectors_each(struct store_reader *r, int64_t host_id, collector_fn *fn, void *arg);
/* The same as a document; a new reference. */
int collectors_document(
    struct store_reader *r, const struct hosts_now *now, int64_t host_id, json_t **out);
/* "speaks", "silent", ... */
const char *collector_state_name(enum collector_state state);

#endif
