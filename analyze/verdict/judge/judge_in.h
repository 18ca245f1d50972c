/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge's own parts: judge.c decides, judge_witness.c asks the witnesses, judge_words.c
 * speaks. */
#ifndef JUDGE_IN_H
#define JUDGE_IN_H

#include "analyze/verdict/judge/judge.h"

/* Two nearly equal stages, each with so large a share of the time, limit together. */
#define TIE_HELD 0.6
/* Beside a stage at work for so large a share of the time, lifting another gains little. */
#define TIE_LITTLE 0.85

/* judge.c */
bool stage_kind_is_host(enum nw_stage_kind kind);
/* Seconds without a processor that a processor would have saved a process, at most; NaN if
 * unknown. */
double
starved_s(const struct judgement *j, const struct evidence *e, const struct evidence_process *p);
/* The process with the longest wait for a processor that cost time; NULL if no wait was long. */
const struct evidence_process *cpu_waiter(const struct judgement *j, const struct evidence *e);

/* Whether a disk at its throttle and a full network limit together from begin to end: what shows of
 * them in turns is no change on the way. */
bool judge_tie_is_steady(const struct judgement *j);

/* judge_witness.c */
void witnesses_hear(struct judgement *j, const struct evidence *e);

/* judge_words.c */
/* Adds a reason of one claim. */
void reason_claim(struct judgement *j, enum claim_kind kind, size_t stage,
    const struct claim_value *value, size_t n);
#define REASON_SAY(j, kind, stage, ...) \
	reason_claim((j), CLAIM_##kind, (stage), CLAIM_VALUES(__VA_ARGS__))
/* Adds a reason without a record. */
void __attribute__((format(printf, 2, 3))) reason_add(struct judgement *j, const char *fmt, ...);
void
judgement_words(struct judgement *j, const struct evidence *e, const struct judge_params *params);
char *route_text(const struct evidence *e, const struct nw_path *p);
const char *program_of(const struct evidence *e, const struct nw_path *p);

/* storage.c */
/* The stage in words, with mount, source and type. */
char *storage_text(const struct evidence *e, const struct nw_path_stage *s);
/* The server behind the limit, and the shares of the time for which its busiest device and its
 * processors were busy, NaN if unknown. */
struct storage_server {
	size_t host;
	double disk_busy, cpu_busy;
};
/* Returns false if the limit is no storage, or its server is not measured. */
bool
storage_server(const struct judgement *j, const struct evidence *e, struct storage_server *out);

/* judge_unseen.c */
#define UNSEEN_WORTH 1048576 /* bytes; fewer are a program's own start */
/* The process with the most bytes past the measured calls, and their number by the kernel's
 * counts; NULL if none has any worth a word. */
const struct evidence_process *evidence_most_unseen(const struct evidence *e, double *bytes);
/* A reason with the way, the bytes, and the means to measure them; NULL without unseen bytes.
 * The caller frees the text. */
char *unseen_text(const struct evidence *e, const char **advice);
/* Bytes of pipes and sockets between programs of a host: bytes in, or bytes out. */
double evidence_local_bytes(const struct evidence *e);

#endif
