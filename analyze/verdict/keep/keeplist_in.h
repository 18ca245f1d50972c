/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the making of a list and its document. */
#ifndef KEEPLIST_IN_H
#define KEEPLIST_IN_H

#include <string.h>

#include "analyze/verdict/keep/keeptable.h"
#include "narrows/keeplist.h"
#include "narrows/timerival.h"

enum { KEEP_TRIALS_MAX = 3, KEEP_PAIRS = 25 };

/* Another route of the program, tried with the list. */
struct keep_trial {
	const struct keeplist_group *group;
	struct nw_chunk rows;
	size_t n_lacking;                   /* kept metrics, unknown to its hosts */
	const struct nw_chunk_check *check; /* on loan from the result; NULL without a list */
};

struct keep_work {
	const struct keeplist_group *group;
	const struct reduction_params *params;
	struct keep_response what;
	struct keeptable table; /* rows of the group, then rows of the trials */
	struct keeptable own;   /* the table's counts before the trials came; owns nothing */
	struct nw_table x;      /* the group's rows */
	const double **columns;
	size_t n_sessions; /* with rows */
	/* first row of each session with rows, the oldest session first */
	size_t session_row[KEEPLIST_SESSIONS_MAX];
	size_t n_answers;   /* rows with a response */
	const char *status; /* "ok", or why there is no list */
	struct nw_reduce_options options;
	/* courses in time, taken from the response and the metrics of the group's rows; its rest is
	 * in the table */
	struct nw_time_rival time;
	double *whole; /* the group's response with the courses; NULL: none */
	struct nw_reduction result;
	struct nw_worth worth;
	double *share; /* of half-samples, per column */
	struct keep_trial trial[KEEP_TRIALS_MAX];
	size_t n_trials;
	int64_t begin_mono_ns;
};

/* "delivered rate", "operation time" or the name of the series. */
const char *keep_response_words(const struct keep_response *what);
/* Whether the metrics of the list predict rows that they have not seen. */
static inline bool
keep_has_headline(const struct keep_work *w)
{
	return strcmp(w->status, "ok") == 0 && w->worth.holds &&
	    w->result.elimination.n_metrics_kept > 0;
}

/* For diet.c: the names of the group's own metrics, before those of trials come; and the list, made
 * or not. NULL books take nothing. */
struct diet_book;
void diet_book_names(struct diet_book *b, const struct keep_work *w);
int diet_book_take(struct diet_book *b, const struct keep_work *w);
/* Fills sentence and json of the record. NW_ENOMEM. */
int keeplist_document(const struct keep_work *w, struct nw_keeplist_rec *out);

#endif
