/* SPDX-License-Identifier: BSD-3-Clause */
/* Series over HTTP: descriptions, values in a range, last values, statistics per step. */
#ifndef NARROWS_WEB_SERIES_H
#define NARROWS_WEB_SERIES_H

#include "narrows/store.h"
#include "web/query/series_query.h"
#include "web/query/out_stream.h"

/*
 * The answer to a query as a stream. The reader must outlive the stream. A stream holds at most
 * 4 MiB, whatever the query. NW_ENOMEM and codes of the store.
 */
int series_stream(struct store_reader *r, const struct query *q, struct stream *out);
const char *series_content_type(const struct query *q);

#endif
