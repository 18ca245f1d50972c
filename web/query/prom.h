/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prometheus' read API below /prometheus/api/v1/, so that Grafana and promtool read a box: query,
 * query_range, series, labels, label/NAME/values, status/buildinfo. Times of samples are the box's,
 * rounded to milliseconds in answers.
 */
#ifndef NARROWS_WEB_PROM_H
#define NARROWS_WEB_PROM_H

#include <stdint.h>

#include "narrows/store.h"
#include "web/query/promql.h"
#include "web/query/out_stream.h"

struct evbuffer;

/*
 * The answer to path (behind /prometheus/api/v1/) with the parameters of a query string or a form.
 * The reader must outlive the stream. cost_max: see prom_eval.h. NW_ENOTFOUND: there is no such
 * path; NW_EINVAL with why: the request makes no sense, or is not supported; NW_ENOMEM.
 */
int prom_stream(struct store_reader *r, const char *path, const char *form, int64_t now_wall_ns,
    double cost_max, struct stream *out, char why[PROMQL_WHY_BYTES]);
/* Writes an error document in the form of Prometheus. */
int prom_error(struct evbuffer *out, int code, const char *why);

#endif
