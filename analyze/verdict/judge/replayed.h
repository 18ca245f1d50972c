/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stages that the hosts repeated alone behind the session, in the pattern of its programs.
 *
 * The rate of a stage alone bounds from above what the transfer could have reached without its
 * limit. From below: the stages of one host take turns at worst, so a byte takes the sum of their
 * times there; a stage that was not repeated takes the time that it took in the session. Where the
 * network is the limit, disks alone far above the rate give no lower bound.
 */
#ifndef REPLAYED_H
#define REPLAYED_H

#include "analyze/verdict/evidence/evidence.h"
#include "narrows/limit.h"
#include "narrows/stage.h"

struct gain;
struct resources;

/* Of a stage, index as in the path. */
struct replayed_stage {
	const struct evidence_replay *by; /* on loan from the evidence; NULL: not repeated */
	double bytes_per_s;               /* alone, with the program's pauses */
	double calls_s_per_byte;          /* without the pauses */
	bool brief; /* may be all burst: tells only that the stage was no faster */
};

struct replayed {
	struct replayed_stage stage[NW_STAGE_COUNT];
	size_t n;                  /* stages that were repeated */
	double cost_bytes, cost_s; /* of all replays together */
};

/* The way to repeat a stage; NW_REPLAY_NONE of programs. */
enum nw_replay_way replayed_way(enum nw_stage_kind kind);
/* A disk with a throttle is as fast as the throttle, whatever passed in a short burst, or did not,
 * unless the disk is far slower. */
void replayed_find(const struct evidence *e, const struct nw_path *p, const struct resources *r,
    double bytes_per_s, struct replayed *out);
/* Whether a stage of the path was repeated briefly. */
bool replayed_is_brief(const struct replayed *y, size_t n_stages);

/* What replays say of two stages between which the test did not decide. */
enum replayed_says {
	REPLAYED_NOTHING,
	REPLAYED_FIRST, /* the first limited: the second was far from its rate alone */
	REPLAYED_SECOND,
	REPLAYED_BOTH /* both were at, or equally near, their rates alone */
};
enum replayed_says
replayed_compare(const struct replayed *y, const struct nw_path *p, const struct limit *l,
    const struct resources *r, double bytes_per_s, size_t first, size_t second);
/* Whether a stage alone, not repeated briefly, surely carries so much. */
bool replayed_carries(const struct replayed *y, size_t stage, double bytes_per_s);
/* Bounds the gain of lifting `limit`, if the bounds are nearer than those of *g. */
void replayed_gain(const struct replayed *y, const struct nw_path *p, const struct limit *l,
    const struct resources *r, double bytes_per_s, size_t limit, struct gain *g);

#endif
