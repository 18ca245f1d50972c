/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Series under the names of Prometheus. The metric is the event type, ':' and the field, with '_'
 * for every byte that a name cannot have. Labels are host, session, event_type, field, series_id
 * and the keys of the subject, whose names get '_' likewise; a key with the name of another label
 * has no label.
 */
#ifndef NARROWS_WEB_PROM_LABELS_H
#define NARROWS_WEB_PROM_LABELS_H

#include <stdbool.h>

#include <jansson.h>

#include "web/query/find.h"
#include "web/query/promql.h"

/* The labels of one series, __name__ among them. A new reference; NULL: no memory. */
json_t *prom_labels(const struct found *of, const char *field);
/* The metric of a field. malloc'ed; NULL: no memory. */
char *prom_metric_name(const char *event_type, const char *field);
bool prom_labels_match(const struct promql_selector *q, const json_t *labels);
/* The query that finds at least every series of a selector. */
void prom_find_query(const struct promql_selector *q, struct query *out);
/* Narrows *span to ids of metadata among which are all with a series of the selector. Codes of the
 * store. */
int prom_narrow(struct store_reader *r, const struct promql_selector *q, struct store_span *span);
/* Labels that stay in a group of an aggregation. A new reference; NULL: no memory. */
json_t *prom_group_labels(const struct promql_stage *s, const json_t *labels);

#endif
