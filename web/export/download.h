/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream on its way to a client: a slice is made when the slice before has left, and the owner of
 * the request has the turn. */
#ifndef NARROWS_WEB_DOWNLOAD_H
#define NARROWS_WEB_DOWNLOAD_H

#include <stdbool.h>

#include "web/query/out_stream.h"
#include "web/query/turns.h"

struct evbuffer;
struct evhttp_request;

/*
 * Answers req from now on with `begun` and all slices that follow, compressed if `packed`; the
 * headers stand in the request. Takes the stream and ends itself, whatever happens to the
 * connection. NW_ENOMEM: nothing was sent; req and the stream are still the caller's.
 */
int download_start(struct turns *turns, const char *owner, struct evhttp_request *req,
    struct stream *s, struct evbuffer *begun, bool packed);

#endif
