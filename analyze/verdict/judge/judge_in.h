/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge's own parts: judge.c decides, judge_witness.c asks the witnesses, judge_words.c
 * speaks. */
#ifndef JUDGE_IN_H
#define JUDGE_IN_H

#include "analyze/verdict/judge/judge.h"

/* From this share of the bytes on, unseen bytes leave no verdict. */
#define UNSEEN_MOST 0.2
/* Two stages with this share of the time each limit together where they are nearly equal. */
#define TIE_HELD 0.6
/* Beside a stage that works for this share of the time or more, lifting another gains little. */
#define TIE_LITTLE 0.85

/* judge.c */
bool stage_kind_is_host(enum nw_stage_kind kind);
/* The process with the longest wait for a processor; NULL if no wait was long. */
const struct evidence_process *cpu_waiter(const struct judgement *j, const struct evidence *e);

/* judge_witness.c */
/* Mean of the known values; NaN if there are none. */
double mean_known(const double *x, size_t n);
void witnesses_hear(struct judgement *j, const struct evidence *e);

/* judge_words.c */
void __attribute__((format(printf, 2, 3))) reason_add(struct judgement *j, const char *fmt, ...);
void
judgement_words(struct judgement *j, const struct evidence *e, const struct judge_params *params);
char *route_text(const struct evidence *e, const struct nw_path *p);
const char *program_of(const struct evidence *e, const struct nw_path *p);

/* judge_unseen.c */
#define UNSEEN_WORTH 1048576 /* bytes; fewer are a program's own start */
/* The process with the most bytes past the measured calls, and their number by the kernel's
 * counts; NULL if none has any worth a word. */
const struct evidence_process *evidence_most_unseen(const struct evidence *e, double *bytes);
/* A reason that tells the way and the bytes, and what would measure them; NULL where there are
 * none. The caller frees the text. */
char *unseen_text(const struct evidence *e, const char **advice);
/* Bytes of pipes and sockets between programs of one host: those that went in, or came out. */
double evidence_local_bytes(const struct evidence *e);

#endif
