/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From evidence to a verdict: the bottleneck test over the stages of the path, the witnesses that agree or do not,
 * and what to say. The same evidence and parameters give the same verdict.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/evidence.h"
#include "narrows/bottleneck.h"
#include "narrows/stage.h"

enum { JUDGE_WINDOWS_MIN = 5, JUDGE_REASONS_MAX = 8, JUDGE_WITNESSES_MAX = 6 };

struct judge_params {
	double alpha;
	double margin;                       /* stages closer than this count as equal */
};

struct witness {
	const char *name;                    /* "calipers", "tcp", ... */
	const char *says;                    /* a stage, or NULL when it cannot tell */
	int agrees;                          /* 1, 0; -1: has no opinion */
	char *detail;
};

struct judgement {
	struct nw_path path;
	struct nw_component_result *tests;   /* path.n of them */
	struct nw_bottleneck bottleneck;     /* of the free shares: lowest is what held the bytes most of the time */
	double effect, effect_low, effect_high;   /* service rate of the next slowest stage over the slowest's; NaN: none */
	bool known;
	size_t stage;                        /* index into path.stage, when known */
	const char *confidence;              /* "high", "medium", "low", "none" */
	char *words;                         /* "the network path" */
	char *sentence;
	char *reasons[JUDGE_REASONS_MAX];
	size_t n_reasons;
	struct witness witnesses[JUDGE_WITNESSES_MAX];
	size_t n_witnesses;
	double bytes, bytes_per_s, duration_s;
	char *route;
};

/* NW_ENOMEM. */
int judge(const struct evidence *e, const struct judge_params *params, struct judgement *out);
void judgement_clear(struct judgement *j);

/* "disk read", "network path", ...: what a person calls the stage; static text. */
const char *judge_place_words(enum nw_place place);
/* "41.3 MB/s (330 Mbit/s)"; free() it. */
char *judge_rate_text(double bytes_per_s);

#endif
