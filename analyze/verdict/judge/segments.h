/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments: when a session changed, and which stage limited each stretch between two changes.
 *
 * Change points come from the delivered rate, per host and operation from the throughput of single
 * operations, and per stage from the share of the time for which the stage held the bytes. Marks of
 * several series within a few windows are a single moment. Each segment gets a verdict by the
 * session's test. The test, corrected for the number of segments (Holm), decides whether the
 * verdict is an inference; else the verdict is an account of the segment. Neighbours with equal
 * verdict and rates within the margin are merged.
 *
 * Where the verdict leaves a stage, the stage may only have become invisible: an operation looks
 * fast when waiting outside itself. So the stage of the segment before is compared with itself
 * (nw_hidden_wait()), and unless the new stage accounts for most of the time, the segment says
 * "hidden wait" instead of "moved". A program's own time is a remainder, and accounts for a segment
 * only by the processor time used.
 */
#ifndef SEGMENTS_H
#define SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict/claim/claim.h"
#include "analyze/verdict/evidence/evidence.h"
#include "narrows/limit.h"
#include "narrows/analysis.h"
#include "narrows/changepoint.h"

enum change_what { CHANGE_DELIVERED, CHANGE_OPERATION, CHANGE_HELD };

struct change_series {
	enum change_what what;
	size_t host;              /* but of CHANGE_DELIVERED */
	enum nw_op op;            /* of CHANGE_OPERATION */
	enum nw_stage_kind stage; /* of CHANGE_HELD */
	struct nw_changes changes;
};

struct segment {
	size_t first, end;  /* windows */
	struct limit limit; /* of the segment alone */
	bool by_kernel;     /* whether the kernel's account named the stage, not the test */
	bool throttled;     /* whether the stage is a disk at its throttle, and no test told */
	double p_holm;      /* NaN without a test */
	enum limit_claim claim;
	bool known;      /* whether `stage` limited the segment, by `claim` or by a hidden wait */
	size_t stage;    /* index into the path's */
	unsigned hidden; /* NW_HIDDEN_*: reasons for an unseen wait in `stage`, or 0 */
	double bytes, bytes_per_s;
};

struct segments {
	struct change_series *series;
	size_t n_series;
	struct segment *segment;
	size_t n;
	size_t join_windows; /* largest distance of joined marks */
	struct nw_change_options options;
};

/* O(windows^2) at worst, see narrows/changepoint.h. NW_ENOMEM. */
int segments_find(const struct evidence *e, const struct nw_path *p,
    const struct segments_params *params, struct segments *out);
void segments_clear(struct segments *s);

/* "disk write on dtn-b", "disk write on dtn-b, by waits outside its calls", "cannot tell"; free()
 * the text. */
char *segment_words(const struct evidence *e, const struct nw_path *p, const struct segment *s);
/* Says "Until 14:06:30 UTC it was disk read on dtn-a, then .."; nothing where all known segments
 * name one stage at one place. */
void segments_story(const struct evidence *e, const struct nw_path *p, const struct segments *s,
    struct claims *out);
/* Says "The rate went in cycles of 31 s between 100 MB/s and 400 MB/s", or that the rate drifted
 * smoothly. */
void segments_shape(const struct evidence *e, const struct segments *s, struct claims *out);

#endif
