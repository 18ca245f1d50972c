/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers that are made in turns, shared by the owners of requests (web/query/turns.h), and long
 * answers, which other threads make (web/pagepool.h). A small answer goes out whole, with its tag;
 * the slices of a large one wait for their reader (download.h).
 */
#ifndef NARROWS_WEB_LATER_H
#define NARROWS_WEB_LATER_H

#include "web/ask.h"

/*
 * Has the handler make the answer some time, unless the client leaves. Takes the reply's body.
 * NW_ENOMEM: the body is still the caller's, and nothing is answered.
 */
int later_ask(struct reply *a, const struct ask *q, ask_fn *handler);
/* Sends the answer of a handler that has returned rc; the answer is no stream. */
void answer_send(struct reply *a, const struct ask *q, int rc);

#endif
