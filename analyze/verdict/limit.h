/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What limited a path over a stretch of windows: the bottleneck test on the shares that its stages
 * left free, and how much faster the next slowest stage could have gone. The whole session is one
 * stretch, each segment of it another.
 */
#ifndef LIMIT_H
#define LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "narrows/bottleneck.h"
#include "narrows/stage.h"

enum { LIMIT_WINDOWS_MIN = 5 };

struct limit {
	struct nw_component_result tests[NW_STAGE_COUNT]; /* of the path's stages */
	/* of the free shares: lowest is what held the bytes most of the time */
	struct nw_bottleneck bottleneck;
	/* service rate of the next slowest stage over the slowest's; NaN: none */
	double effect, effect_low, effect_high;
	size_t n_windows; /* in which the slowest stage was measured */
	double p;   /* of the verdict: the largest of its tests, twice that of a single one; NaN */
	bool known; /* unique, enough windows, and far enough from the next */
	size_t stage; /* the slowest; index into the path's */
};

/* Windows first..end. NW_ENOMEM. */
int limit_find(const struct nw_path *p, size_t first, size_t end, double alpha, double margin,
    struct limit *out);
/* The share of the time in which the slowest stage held the bytes; NaN: nothing was measured. */
double limit_held(const struct limit *l);
/* Whether that is a third: a process has at most three stages, and with less in its slowest it was
 * somewhere not measured. */
bool limit_is_held(const struct limit *l);

#endif
