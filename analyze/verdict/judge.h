/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From evidence to a verdict: the bottleneck test over the stages of the path, the witnesses that
 * agree or do not, and what to say. The same evidence and parameters give the same verdict.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/verdict/evidence.h"
#include "analyze/verdict/limit.h"
#include "narrows/stage.h"

enum { JUDGE_REASONS_MAX = 8, JUDGE_WITNESSES_MAX = 6 };

struct judge_params {
	double alpha;
	double margin; /* stages closer than this count as equal */
};

struct witness {
	const char *name; /* "calipers", "tcp", ... */
	const char *says; /* a stage, or NULL when it cannot tell */
	int agrees;       /* 1, 0; -1: has no opinion */
	char *detail;
};

struct judgement {
	struct nw_path path;
	struct limit limit; /* of the whole session */
	/* of the slowest stage's time: what waiting for processors explains */
	double crowded_share;
	const char *confidence; /* "high", "medium", "low", "none" */
	char *words;            /* "the network path" */
	char *sentence;
	char *reasons[JUDGE_REASONS_MAX];
	size_t n_reasons;
	struct witness witnesses[JUDGE_WITNESSES_MAX];
	size_t n_witnesses;
	double bytes, bytes_per_s, duration_s;
	int64_t first_wall_ns, last_wall_ns; /* of the transfer; both 0: nothing moved */
	char *route;
	const char *program; /* on loan from the evidence; NULL: not told */
};

/* NW_ENOMEM. */
int judge(const struct evidence *e, const struct judge_params *params, struct judgement *out);
void judgement_clear(struct judgement *j);
/* What changed within the session, in words: "until 14:06:30 disk read on a, then ..". NULL:
 * nothing did. */
void judge_add_story(struct judgement *j, const char *story);

/* "disk read", "network path", ...: what a person calls the stage; static text. */
const char *judge_stage_words(enum nw_stage_kind kind);
/* Of processes joined by pipes, the one that was busiest; NULL: there is nothing to choose from. On
 * loan. */
const char *judge_stage_program(const struct evidence *e, const struct nw_path_stage *s);
/* "disk write on dtn-b"; free() it. */
char *judge_stage_text(const struct evidence *e, const struct nw_path_stage *s);
/* "41.3 MB/s (330 Mbit/s)"; free() it. */
char *judge_rate_text(double bytes_per_s);

#endif
