/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of series, of labels and of the values of a label, for Prometheus' read API. */
#ifndef NARROWS_WEB_PROM_LIST_H
#define NARROWS_WEB_PROM_LIST_H

#include "narrows/store.h"
#include "web/query/promql.h"
#include "web/query/out_stream.h"

enum { PROM_SELECTORS = 4 };
enum prom_list { PROM_LIST_SERIES, PROM_LIST_LABELS, PROM_LIST_VALUES };

/* What a list is of: series that one of the selectors chooses, or all series without selectors. */
struct prom_list_ask {
	enum prom_list what;
	char label[PROMQL_NAME_BYTES]; /* of PROM_LIST_VALUES */
	struct promql_selector selectors[PROM_SELECTORS];
	size_t n_selectors;
	size_t limit; /* most series, labels or values; 0: no limit of the client */
};

/* The stream keeps a copy of *ask. Codes of the store, NW_ENOMEM. */
int prom_list_stream(struct store_reader *r, const struct prom_list_ask *ask, struct stream *out);

#endif
