/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of an analysis, for the files of the room. */
#ifndef ANALYSIS_IN_H
#define ANALYSIS_IN_H

#include "analyze/verdict/advice/advice.h"
#include "analyze/verdict/usual/changed.h"
#include "analyze/verdict/chain/chain_find.h"
#include "analyze/verdict/chain/steps.h"
#include "analyze/verdict/judge/classes.h"
#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/judge/iotime.h"
#include "analyze/verdict/judge/judge.h"
#include "analyze/verdict/judge/others.h"
#include "analyze/verdict/keep/reduction.h"
#include "analyze/verdict/judge/segments.h"
#include "analyze/verdict/usual/usual.h"
#include "narrows/analysis.h"

struct analysis {
	struct evidence evidence;
	struct judgement judgement;
	struct others others;
	struct chain chain;
	struct steps steps;
	struct segments segments;
	struct op_classes_list classes;
	struct iotime iotime;
	struct reductions reductions;
	struct usual usual;
	struct changed changed;
	struct advice advice;
	struct nw_question question;
	struct claims headline, remedy; /* two lines about the session */
	struct {
		const char *stage; /* static text; NULL: cannot tell */
		char *sentence;    /* NULL where no sender was set aside */
	} with_all;                /* the verdict on the data of all senders */
};

/* analysis_new() and analysis_free() with the caller's storage; analysis_clear() only after
 * NW_OK. */
int analysis_run(struct store_reader *r, int64_t session_id, const struct analysis_params *p,
    struct analysis *out);
void analysis_clear(struct analysis *a);
/* The two lines (headline.c), of a finished analysis. */
void headline_say(const struct analysis *a, struct claims *c);
void remedy_say(const struct analysis *a, struct claims *c);

#endif
