/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of points: where an event can be taken, and the ways to attach there. A point's
 * candidates are tried in order by really loading and attaching each; the first that works is the
 * point's back-end, and the errors of those before it are kept to be shown.
 */
#ifndef MAGNET_POINTS_H
#define MAGNET_POINTS_H

#include <stdint.h>

/* How well a candidate stands for the function that the point is named after. */
enum fidelity {
	FIDELITY_EXACT,      /* the same place in the same layer: one event per call or packet */
	FIDELITY_EQUIVALENT, /* another place, one event for each of the point's events */
	FIDELITY_APPROXIMATE /* another place or another count; the registry's note says how */
};

enum backend {
	BACKEND_TRACEPOINT,
	BACKEND_FENTRY,
	BACKEND_KPROBE,
	BACKEND_NETFILTER,
	BACKEND_KPROBE_MULTI,
	BACKEND_CLASSIC, /* a tracepoint by the file system of tracing */
	BACKENDS
};

struct candidate {
	const char *program; /* in the object; NULL ends the list */
	enum backend backend;
	enum fidelity fidelity;
	const char *where; /* tracepoint, function, or hook */
};

enum { CANDIDATES_MAX = 6 };

struct point {
	uint32_t id;
	const char *layer, *name;
	const char *original; /* function of the first MAGNET, or NULL */
	struct candidate candidates[CANDIDATES_MAX];
};

/* The registry, by ascending id; a point with layer NULL ends it. */
extern const struct point points[];

const struct point *point_find(const char *name); /* NULL: unknown */
const struct point *point_of(uint32_t id);        /* NULL: unknown */
const char *fidelity_name(enum fidelity f);
const char *backend_name(enum backend b);

/* Names of the waiting times between layers, from MAGNET_POINTS_MAX on; NULL ends them. */
extern const struct wait_name {
	uint32_t id;
	const char *name, *says;
} wait_names[];

#endif
