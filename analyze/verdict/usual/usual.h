/* SPDX-License-Identifier: BSD-3-Clause */
/* A session against earlier sessions of its route. */
#ifndef USUAL_H
#define USUAL_H

#include "analyze/verdict/claim/claim.h"
#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/judge/judge.h"
#include "analyze/verdict/usual/past.h"
#include "analyze/verdict/usual/story.h"
#include "analyze/verdict/usual/usualops.h"
#include "narrows/reached.h"

struct usual {
	bool known; /* whether the session compares: closed, with data moved */
	struct nw_usual usual;
	char *sentence;            /* NULL: too few earlier sessions */
	struct claims told;        /* the sentence's */
	struct nw_reached reached; /* of all earlier sessions of about the size */
	double best_bytes_per_s;   /* of their best session; NaN without any */
	int64_t best_wall_ns;      /* begin of that session */
	struct usual_ops ops;      /* durations of operations in the sessions of `usual` */
	bool has_incident;
	struct incident_told incident; /* the session's, as known after the session */
	/* Sessions for the search of causes, ours last: those of the incident from `split` on, or
	 * ours alone if it is slow without an incident; before them the usual ones. n 0: nothing
	 * needs an explanation. */
	struct past_session *session; /* texts are not set */
	size_t n, split, low, high;   /* the begin lies before a session of low .. high */
};

/* The store's code, or NW_ENOMEM. */
int usual_find(struct store_reader *r, struct analysis_memo *memo, const struct evidence *e,
    const struct judgement *j, struct usual *out);
void usual_clear(struct usual *u);
/* Whether the session ran at the usual rate, as far as chance and a useful difference (NW_USEFUL)
 * let it be told. Within an incident no rate is usual. */
static inline bool
usual_is_rate(const struct usual *u)
{
	return u->known && u->usual.said == NW_AGAINST_USUAL && u->usual.ratio < NW_USEFUL &&
	    u->usual.ratio > 1 / NW_USEFUL &&
	    !(u->has_incident && u->incident.kind == NW_INCIDENT_STEP);
}

#endif
