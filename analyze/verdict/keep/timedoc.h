/* SPDX-License-Identifier: BSD-3-Clause */
/* Time as a rival of metrics, in a document. */
#ifndef TIMEDOC_H
#define TIMEDOC_H

#include <jansson.h>

#include "narrows/timerival.h"

/* The courses in time of the response: "trend", "hour", "start". */
json_t *timedoc_parts(const struct nw_time_rival *t);
/* Names of the metrics taken by time, the closest to the response first, at most 20. n: columns of
 * the table; name() returns the name of a column. */
json_t *timedoc_taken(const struct nw_time_rival *t, size_t n,
    const char *(*name)(const void *arg, size_t column), const void *arg);

#endif
