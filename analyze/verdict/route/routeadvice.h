/* SPDX-License-Identifier: BSD-3-Clause */
/* Cards of a route, and what later sessions showed. */
#ifndef ROUTEADVICE_H
#define ROUTEADVICE_H

#include <stdint.h>

#include <jansson.h>

/*
 * The list after a session with this result document and rate: cards that hold for the first time
 * are added; open cards that do not hold any more are closed with the gain that was obtained. A new
 * reference. `before` may be NULL.
 */
json_t *
routeadvice_after(const json_t *before, const json_t *doc, int64_t session_id, double bytes_per_s);

#endif
