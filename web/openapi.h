/* SPDX-License-Identifier: BSD-3-Clause */
/* The OpenAPI document of /api/v1, made from the tables of queries and of result keys. */
#ifndef NARROWS_WEB_OPENAPI_H
#define NARROWS_WEB_OPENAPI_H

struct evbuffer;

int openapi_write(struct evbuffer *out); /* NW_ENOMEM */

#endif
