/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From evidence to a verdict: the bottleneck test over the stages of the path, the witnesses for
 * and against, and the words. Equal evidence and parameters give equal verdicts.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/verdict/claim/claim.h"
#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/judge/crowd.h"
#include "analyze/verdict/judge/gain.h"
#include "analyze/verdict/judge/judge_announced.h"
#include "analyze/verdict/judge/kernelwaits.h"
#include "analyze/verdict/judge/pace.h"
#include "narrows/limit.h"
#include "analyze/verdict/judge/replayed.h"
#include "analyze/verdict/judge/resources.h"
#include "narrows/analysis.h"
#include "narrows/stage.h"

enum { JUDGE_REASONS_MAX = 8, JUDGE_WITNESSES_MAX = 8 };

enum agreement { AGREES_NOT, AGREES, NO_OPINION };

struct witness {
	enum nw_witness name;
	enum nw_says says; /* NW_SAYS_NOTHING without opinion */
	enum agreement agrees;
	char *detail;
	struct claims told; /* the detail's */
};

/* What the waits of programs for each other say of the verdict (chained.h): nothing, the same as
 * the path's stages, or a verdict instead of theirs. */
enum chained_how { CHAINED_NOT, CHAINED_BESIDE, CHAINED_INSTEAD };

struct chained {
	enum chained_how how;
	bool known; /* of a verdict instead: a stage is named */
	enum nw_stage_kind stage;
};

/* Least share of unseen bytes that prevents a verdict of the path. */
#define UNSEEN_MOST 0.2

struct judgement {
	struct nw_path path;
	struct limit limit; /* of the whole session */
	struct resources resources;
	struct kernelwaits kernel;
	struct replayed replayed;
	struct pace pace;   /* of a program with limiting pauses */
	struct crowd crowd; /* a tie of limit.stage with the program that waits for a processor */
	struct gain gain;
	/* per process: seconds without a processor that a processor would have saved, at most */
	double *starved_s;
	double net_full; /* share of the time with a full network for the sender; NaN if unknown */
	size_t second;   /* index of a stage as slow as limit.stage; path.n without a tie */
	bool idle_network; /* whether the kernel denies that the network limited */
	bool idle_disk;    /* whether writers were slowed down while no byte waited for the disk */
	bool blind_reads;  /* whether the disk was read without calls, unknown for how long */
	double unseen;     /* share of the kernel's count of bytes not seen in calls */
	bool by_kernel;    /* whether the kernels' waiting times decided where the test could not */
	bool by_gain;      /* whether a second limit was named since lifting one gains little */
	bool by_replay;    /* whether stages repeated alone decided where the test could not */
	bool by_throttle;  /* whether a disk's throttle decided where the test could not */
	bool combined;     /* whether single calls read the disk and sent, and the kernel decided */
	struct announced announced; /* what programs announce, where nothing is measured */
	struct chained chained;
	const char *cause;  /* "window", "buffer", "quota", ...; static text, NULL if unknown */
	const char *manner; /* ", which paused by itself,"; static text, NULL or empty if unknown */
	const char *confidence; /* "high", "medium", "low", "none" */
	char *words;            /* "the network path" */
	char *sentence;
	struct claims said; /* the sentence's */
	char *reasons[JUDGE_REASONS_MAX];
	struct claims because[JUDGE_REASONS_MAX]; /* the reasons' */
	size_t n_reasons;
	struct witness witnesses[JUDGE_WITNESSES_MAX];
	size_t n_witnesses;
	bool is_usual_rate; /* set by the caller, between judge_decide() and judge_say() */
	double bytes, bytes_per_s, duration_s;
	int64_t first_wall_ns, last_wall_ns; /* of the transfer; both 0 if no byte moved */
	char *route;
	const char *program; /* on loan from the evidence; NULL if unknown */
};

/* Decides without words, so that other sources may still bound the gain. NW_ENOMEM. */
int
judge_decide(const struct evidence *e, const struct judge_params *params, struct judgement *out);
/* Bounds a decided gain by earlier sessions of the route. */
void judge_add_history(struct judgement *j, const struct gain_history *h);
/* Asks the witnesses, and puts a decided judgement into words. */
void judge_say(const struct evidence *e, const struct judge_params *params, struct judgement *out);
/* Both. NW_ENOMEM. */
int judge(const struct evidence *e, const struct judge_params *params, struct judgement *out);
void judgement_clear(struct judgement *j);
/* Returns true, and the limiting stage, if the judgement names a stage. */
bool judge_stage(const struct judgement *j, enum nw_stage_kind *out);
/* Forgets a decided limit or tie, and what was said of the gain. */
void judge_withdraw(struct judgement *j);
/* Takes another sentence and name of the limit, and forgets the reasons. */
void judge_replace(struct judgement *j, struct claims *said, char *words);
/* Adds claims to the end of the sentence. */
void judge_add_said(struct judgement *j, const struct claims *more);
/* Of two stages that limit alike, whether both are known to work most of the time. */
bool judge_tie_is_sure(const struct judgement *j);
/* Takes the changes within the session ("Until 14:06:30 it was disk read on a, then .."), and adds
 * them before the reasons; no claims add nothing. */
void judge_add_story(struct judgement *j, struct claims *story);

/* Says before the sentence that the transfer runs. */
void judge_add_interim(struct judgement *j);
/* Adds a sentence behind the reasons, if there is room. */
void judge_add_reason(struct judgement *j, const struct claims *told);
/* Adds the reason why a disk limits whose device is idle, if a witness says so. Stage: of the
 * path, or CLAIM_NO_STAGE. */
void judge_add_idle_device(struct judgement *j, size_t stage);

/* The program of a host stage with several processes joined by pipes: the busiest; NULL for other
 * stages. On loan. */
const char *judge_stage_program(const struct evidence *e, const struct nw_path_stage *s);
/* Processor time of the session's own programs on a host, in seconds. */
double judge_own_cpu_s(const struct evidence *e, size_t host);
/* Whether a host was busy, and the session's own programs had most of its processor time. */
bool judge_own_users(const struct evidence *e, size_t host);
/* Why a program waited for a processor for wait_s seconds: "quota", its quota was used up; "hog",
 * its host was busy with other programs than the session's; or "processors". */
const char *
judge_starved_cause(const struct evidence *e, const struct evidence_process *p, double wait_s);
/* The mount behind a stage of storage; NULL for other stages. On loan. */
const struct evidence_mount *
judge_stage_mount(const struct evidence *e, const struct nw_path_stage *s);
/* "disk write on dtn-b"; free() the text. */
char *judge_stage_text(const struct evidence *e, const struct nw_path_stage *s);
/* "41.3 MB/s (330 Mbit/s)"; free() the text. */
char *judge_rate_text(double bytes_per_s);

#endif
