/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge's own parts: judge.c decides, judge_witness.c asks the witnesses, judge_words.c
 * speaks. */
#ifndef JUDGE_IN_H
#define JUDGE_IN_H

#include "analyze/verdict/judge.h"

/* Waits for a processor explain a part of the slowest stage's time: from one half on they make a
 * verdict doubtful, from the whole on they replace it. */
#define CROWDED_DOUBT 0.5
#define CROWDED       1.0

/* judge.c */
bool stage_kind_is_host(enum nw_stage_kind kind);
/* Processes whose calls show the slowest stage; none for a program's own time. */
size_t limit_processes(const struct judgement *j, size_t process[2]);
/* Seconds a process waited for a processor; 0 if unknown. */
double cpu_wait_s(const struct evidence *e, size_t process);
/* The process with the longest wait for a processor; NULL if no wait was long. */
const struct evidence_process *cpu_waiter(const struct judgement *j, const struct evidence *e);

/* judge_witness.c */
/* "network", "the receiving end", "the sending end" or NULL, from the kernel's account of the
 * largest connection. */
const char *tcp_opinion(const struct judgement *j, const struct evidence *e);
void witnesses_hear(struct judgement *j, const struct evidence *e);

/* judge_words.c */
void __attribute__((format(printf, 2, 3))) reason_add(struct judgement *j, const char *fmt, ...);
void
judgement_words(struct judgement *j, const struct evidence *e, const struct judge_params *params);
char *route_text(const struct evidence *e, const struct nw_path *p);
const char *program_of(const struct evidence *e, const struct nw_path *p);

#endif
