/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the columns of a chunk that follow from other columns, whatever their names and order. */
#ifndef STORE_CODEC_SEARCH_H
#define STORE_CODEC_SEARCH_H

#include "store/codec/codec_column.h"

enum { SEARCH_DEPTH_MAX = 8 }; /* longest chain of dependent columns */

struct column_search; /* working memory */

/* NULL: out of memory. */
struct column_search *column_search_new(uint32_t n_columns);
void column_search_free(struct column_search *search);

/* `plan` holds the results of column_choose() for each column; the search replaces the entries that
 * gain from other columns. No column comes to need itself. n_columns as given to
 * column_search_new(), or fewer. O(n_columns^2 + n n_columns). */
void column_search_run(struct column_search *search, struct column_work *work,
    const double *const *value, uint32_t n, uint32_t n_columns, struct column_plan *plan);

#endif
