/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of series, of labels and of the values of a label, for Prometheus' read API. */
#ifndef NARROWS_WEB_PROM_LIST_H
#define NARROWS_WEB_PROM_LIST_H

#include "narrows/store.h"
#include "web/query/promql.h"
#include "web/query/out_stream.h"

enum { PROM_SELECTORS = 4 };
enum prom_list { PROM_LIST_SERIES, PROM_LIST_LABELS, PROM_LIST_VALUES };

/*
 * A list of series that one of n selectors chooses, or of all series for n = 0. `label` is the
 * label of PROM_LIST_VALUES. NW_ENOMEM.
 */
int prom_list_stream(struct store_reader *r, enum prom_list what, const char *label,
    const struct promql_selector selectors[], size_t n, struct stream *out);

#endif
