/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a request for series asks for. One table (series_query.c) says each parameter's name, form,
 * default and meaning; the parser and the OpenAPI document read the table.
 */
#ifndef NARROWS_WEB_QUERY_H
#define NARROWS_WEB_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/result_keys.h"
#include "web/query/param.h"

enum query_what { QUERY_SERIES, QUERY_VALUES, QUERY_LAST, QUERY_STATISTICS, QUERY_WHATS };
enum query_format { QUERY_JSON, QUERY_CSV, QUERY_ARROW };
enum { QUERY_TEXT_BYTES = 256, QUERY_WHY_BYTES = 160 };
enum query_statistic {
	QUERY_N,
	QUERY_SUM,
	QUERY_MEAN,
	QUERY_MIN,
	QUERY_MAX,
	QUERY_SD,
	QUERY_COLUMNS
};
extern const enum result_key query_statistics[QUERY_COLUMNS]; /* their keys */
enum { QUERY_ANY_SESSION = -1, QUERY_NO_SESSION = 0 };

struct query {
	enum query_what what;
	enum query_format format;
	/* patterns of glob.h; "" matches everything */
	char event_type[QUERY_TEXT_BYTES], field[QUERY_TEXT_BYTES], host[QUERY_TEXT_BYTES];
	char subject[QUERY_TEXT_BYTES]; /* KEY=PATTERN */
	int64_t session;                /* a number, QUERY_ANY_SESSION or QUERY_NO_SESSION */
	int64_t series_id;              /* one metadata; 0 for all */
	int64_t t0_wall_ns, t1_wall_ns; /* rows from t0 to before t1 */
	int64_t step_ns;                /* of statistics */
	unsigned columns;               /* of statistics: bit set of 1 << enum query_statistic */
	int64_t after, limit;           /* pagination: series_id above `after`, at most `limit` */
};

extern const struct param query_params[]; /* `of` has bits 1 << enum query_what */

/* Fills q from the text behind '?', or NULL. NW_EINVAL with why: an unknown parameter, one given
 * twice, or one with a wrong value. */
int query_parse(struct query *q, enum query_what what, const char *text, char why[QUERY_WHY_BYTES]);

/* "2026-11-20T08:12:11.25Z" or nanoseconds since 1970. */
bool query_time(const char *text, int64_t *t_wall_ns);
/* "250ms", "1min": at most 24 hours. */
bool query_step(const char *text, int64_t *ns);

#endif
