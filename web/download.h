/* SPDX-License-Identifier: BSD-3-Clause */
/* A session's export on its way to one client: a slice is made when the slice before has left. */
#ifndef NARROWS_WEB_DOWNLOAD_H
#define NARROWS_WEB_DOWNLOAD_H

#include <stdint.h>

struct event_base;
struct evhttp_request;
struct export_opts;
struct store_reader;

/*
 * Answers req from now on, headers included; whatever happens to the connection, the download ends
 * itself. On an error nothing has been sent and req is still the caller's.
 */
int download_start(struct event_base *base, struct evhttp_request *req, struct store_reader *r,
    int64_t session_id, const struct export_opts *opts);

#endif
