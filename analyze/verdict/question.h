/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The question behind a verdict: which stages, repeated alone in the pattern of the transfer, would
 * tell the limit where two stages tie or nothing decides, or bound the gain from both sides. The
 * pattern is that of the programs' operations as the hosts counted them.
 */
#ifndef QUESTION_H
#define QUESTION_H

#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/judge/iotime.h"
#include "analyze/verdict/judge/judge.h"
#include "narrows/analysis.h"

/* All replays of a decisive question together cost at most so much of the session's bytes; those
 * for a gain, so much. Both at most so many seconds. */
#define QUESTION_SHARE      0.01
#define QUESTION_GAIN_SHARE 0.1
#define QUESTION_NS         INT64_C(10000000000)

void question_find(const struct evidence *e, const struct iotime *t, const struct judgement *j,
    struct nw_question *out);

#endif
