/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions and active tests in the shapes of esmond, the archive of perfSONAR. The tests of a kind
 * with a tool between two ends are one metadata, and each test a point at its end. A route with a
 * program is one metadata, and each session a point at the end
 * of the session. Routes within one host have no second end and are left out.
 */
#ifndef NARROWS_WEB_ESMOND_H
#define NARROWS_WEB_ESMOND_H

#include <stddef.h>

#include <jansson.h>

#include "narrows/store.h"

#define ESMOND_BASE "/esmond/perfsonar/archive/" /* of every address */

/* Points of a page, and metadata of a list, unless `limit` asks for fewer. */
enum { ESMOND_PAGE = 1000 };

/*
 * The answer to `path` behind ESMOND_BASE, a new document. query: encoded, or NULL. After NW_EINVAL
 * `why` names the wrong parameter. NW_ENOTFOUND: no such metadata, event type or summary.
 * O(routes) for lists; O(sessions of the route within the time asked for) for points.
 */
int esmond_document(struct store_reader *r, const char *path, const char *query, char *why,
    size_t why_size, json_t **out);

#endif
