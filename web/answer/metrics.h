/* SPDX-License-Identifier: BSD-3-Clause */
/* /metrics: the box's counters and the state of its store, for Prometheus. */
#ifndef NARROWS_WEB_METRICS_H
#define NARROWS_WEB_METRICS_H

#include <stdbool.h>

struct evbuffer;
struct nw_health;

/* OpenMetrics 1.0, or the older text format of Prometheus. NW_ENOMEM. */
int metrics_write(struct evbuffer *out, const struct nw_health *health, bool open);
/* Whether a header Accept (NULL: no header) asks for OpenMetrics. */
bool metrics_is_open(const char *accept);
const char *metrics_content_type(bool open);

#endif
