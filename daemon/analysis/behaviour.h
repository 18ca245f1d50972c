/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The behaviour of an open session by its successive analyses: whether its hosts should sample more
 * often. No clock: time is an argument.
 */
#ifndef BEHAVIOUR_H
#define BEHAVIOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/analysis.h"

enum { BEHAVIOUR_STAGE_BYTES = 48, BEHAVIOUR_SENTENCE_BYTES = 600 };

/* One analysis of a session. */
struct session_outcome {
	int64_t session_id;
	char stage[BEHAVIOUR_STAGE_BYTES]; /* empty: cannot tell */
	double bytes, duration_s;
	double usual_bytes_per_s;    /* of the route; NaN: too few sessions */
	bool is_final;               /* of the whole session, which is over */
	struct nw_question question; /* of a final outcome */
	char confidence[BEHAVIOUR_STAGE_BYTES], sentence[BEHAVIOUR_SENTENCE_BYTES];
};

/* Conditions of the directive `rule`. */
enum behaviour_is {
	BEHAVIOUR_OPEN = 1,    /* the session runs */
	BEHAVIOUR_SLOW = 2,    /* since the analysis before: below the usual rate of the route */
	BEHAVIOUR_CHANGED = 4, /* another stage, or another rate than on average before */
	BEHAVIOUR_UNTOLD = 8,  /* the verdict is "cannot tell", or there is none yet */
	BEHAVIOUR_STEADY = 16  /* none of slow, changed, untold for steady_ns */
};

struct behaviour {
	struct session_outcome last;
	bool judged;
	unsigned is;
	int64_t steady_ns;
	int64_t uneasy_mono_ns; /* when any of slow, changed, untold was last true */
	/* halvings of the interval of samples: uneasy looks in a row, after the first; a calm
	 * look takes a halving back */
	unsigned step;
};

/* The session begins. */
void behaviour_begin(struct behaviour *b, int64_t steady_ns, int64_t now_mono_ns);
void behaviour_take(struct behaviour *b, const struct session_outcome *o, int64_t now_mono_ns);
/* A bit for a word, 0 for another word. */
unsigned behaviour_parse(const char *word);

#endif
