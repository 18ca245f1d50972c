/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Diets: series of a host that the scheduled reductions of a month had no use for, proposed for
 * slower sampling.
 *
 *   lists of metrics (narrows/keeplist.h), run after run --diet_book--> what is known of a series
 *       --diet_book_finish--> proposals: which series, what slower sampling saves and risks
 *
 * A run counts for a series if a list of the run predicts rows that the list has not seen, or if
 * the series stood still in all sessions. A series carries something if any of its metrics was
 * chosen in a fifth of the half-samples, alone or for its cluster. Series that verdicts read, and
 * series that people look at first (narrows/main_metrics.h), are proposed only if they never moved.
 *
 * The risk is what R^2 loses on sessions left out of the fit, when the same reduction is made with
 * the proposed series and without: by folds of sessions, with an interval.
 */
#ifndef NARROWS_DIET_H
#define NARROWS_DIET_H

#include "narrows/store.h"

struct diet_params {
	int64_t after_ns;    /* how long a series has carried nothing; 0: nothing is proposed */
	int64_t interval_ns; /* of the slower sampling */
	int64_t now_wall_ns; /* time of this run */
};

struct diet_book;

/* A book for one run of all lists. NULL: the store cannot be read. */
struct diet_book *diet_book_new(struct store_reader *r, const struct diet_params *p);
/* Puts what the run has found into a batch: the book, proposals in place of older ones, and diets
 * in force that carry something again. NW_ENOMEM or the store's code. */
int diet_book_finish(struct diet_book *b, struct store_reader *r, struct nw_batch *out);
void diet_book_free(struct diet_book *b);

#endif
