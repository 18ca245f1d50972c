/* SPDX-License-Identifier: BSD-3-Clause */
/* Cards of a route, and what later sessions showed. */
#ifndef ROUTEADVICE_H
#define ROUTEADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* The value of a host's setting at the session's end, on loan until the next call; NULL: absent.
 * *known: whether the box knows the host. */
typedef const char *
routeadvice_value_fn(void *arg, const char *host, const char *name, bool *known);

struct routeadvice_session {
	const json_t *doc; /* result document */
	int64_t id;
	double bytes_per_s;
	routeadvice_value_fn *value;
	void *arg;
};

/*
 * The list after a session: cards that hold for the first time are added; an open card is closed,
 * with the gain that was obtained, once one of its settings has changed. Without such a change the
 * card stays open: not tried. A new reference. `before` may be NULL.
 */
json_t *routeadvice_after(const json_t *before, const struct routeadvice_session *s);

#endif
