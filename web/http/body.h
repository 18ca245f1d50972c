/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents and errors as the body of an answer. After NW_ENOMEM the body is not complete. */
#ifndef NARROWS_WEB_BODY_H
#define NARROWS_WEB_BODY_H

#include <jansson.h>

struct evbuffer;

/* Takes the reference of doc; NULL is NW_ENOMEM. */
int body_put_document(struct evbuffer *out, json_t *doc);
int body_put_error(struct evbuffer *out, int code, const char *reason);
/* An error as RFC 9457 has it; detail may be NULL. */
int body_put_problem(struct evbuffer *out, int code, const char *title, const char *detail);

#endif
