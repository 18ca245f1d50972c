/* SPDX-License-Identifier: BSD-3-Clause */
/* Series over HTTP: descriptions, values in a range, last values, statistics per step. */
#ifndef NARROWS_WEB_SERIES_H
#define NARROWS_WEB_SERIES_H

#include "narrows/store.h"
#include "web/query/series_query.h"
#include "web/query/out_stream.h"

/*
 * The answer to a query as a stream. Its first slices add up what the query costs: metadata looked
 * at, and rows read. Above cost_max (0: no limit) they fail with NW_ETOOBIG and a reason that names
 * the parameter to change. The reader must outlive the stream. A stream holds at most
 * 4 MiB, whatever the query. NW_ENOMEM and codes of the store.
 */
int
series_stream(struct store_reader *r, const struct query *q, double cost_max, struct stream *out);
const char *series_content_type(const struct query *q);

#endif
