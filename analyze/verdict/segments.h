/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a session changed, and what limited it between the changes.
 *
 * Change points are looked for in the delivered rate and, per host and operation, in the throughput
 * of single operations. Marks of several series that lie within a few windows are one moment. Each
 * segment gets its own verdict by the session's test; the verdicts are corrected for their number
 * (Holm). Neighbours with the same verdict whose rates differ by less than the margin are one
 * segment.
 *
 * Where the verdict leaves a stage, the stage may just have become invisible: an operation that
 * waits outside itself looks fast. So the stage of the segment before is compared with itself
 * (nw_hidden_wait()), and unless the new one accounts for most of the time, the segment says
 * "hidden wait" instead of "moved". A program's own time is what is left over, and accounts for
 * itself only as far as it used a CPU.
 */
#ifndef SEGMENTS_H
#define SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict/evidence.h"
#include "analyze/verdict/limit.h"
#include "narrows/analysis.h"
#include "narrows/changepoint.h"

struct change_series {
	bool delivered; /* else throughput of single operations: */
	size_t host;
	enum nw_op op;
	struct nw_changes changes;
};

struct segment {
	size_t first, end;  /* windows */
	struct limit limit; /* of this segment alone */
	double p_holm;      /* NaN: not tested */
	bool known;         /* by p_holm; then `stage` limited it, visibly or not */
	size_t stage;       /* index into the path's */
	unsigned hidden;    /* NW_HIDDEN_*: why `stage` is said to wait unseen; 0: it is seen */
	double bytes, bytes_per_s;
};

struct segments {
	struct change_series *series;
	size_t n_series;
	struct segment *segment;
	size_t n;
	size_t join_windows; /* marks closer than this are one */
	struct nw_change_options options;
};

/* O(windows^2) at worst, see narrows/changepoint.h. NW_ENOMEM. */
int segments_find(const struct evidence *e, const struct nw_path *p,
    const struct segments_params *params, struct segments *out);
void segments_clear(struct segments *s);

/* "disk write on dtn-b", "hidden wait in ..", "cannot tell"; free() it. */
char *segment_words(const struct evidence *e, const struct nw_path *p, const struct segment *s);
/* "until 14:06:30 UTC it was disk read on dtn-a, then .."; NULL when the segments do not disagree.
 * free() it. */
char *segments_story(const struct evidence *e, const struct nw_path *p, const struct segments *s);

#endif
