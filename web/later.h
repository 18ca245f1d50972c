/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An answer that is made in slices while other requests have their turn. A small answer goes out
 * whole, with its tag; the slices of a large one wait for their reader (download.h).
 */
#ifndef NARROWS_WEB_LATER_H
#define NARROWS_WEB_LATER_H

#include "web/http/reply.h"
#include "web/query/out_stream.h"

/* Takes the stream and the reply's body, and answers the request some time, unless the client
 * leaves. NW_ENOMEM: both are still the caller's. */
int later_start(struct reply *a, struct stream *s);
/* Streams the answer from its present body on. Takes the stream. */
void answer_stream(struct reply *a, struct stream *s);

#endif
