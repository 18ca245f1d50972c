/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answer to a request: headers, entity tag, compression, errors. A whole answer gets an ETag
 * made of its bytes, is not sent twice to a client, and is compressed for clients that accept gzip.
 */
#ifndef NARROWS_WEB_REPLY_H
#define NARROWS_WEB_REPLY_H

#include <stdbool.h>

#include "web/http/login.h"

struct evbuffer;
struct evhttp_request;
struct html;
struct port;
struct web;

enum { REPLY_LINES_BYTES = 1024, REPLY_OWNER_BYTES = ACCOUNT_NAME_BYTES + 16 };

/* How errors are told. */
enum reply_errors { REPLY_PAGE, REPLY_JSON, REPLY_PROBLEM, REPLY_PROMETHEUS };

struct conns;
struct reply {
	struct web *w;
	struct port *port;
	struct evhttp_request *req;
	struct conns *keep; /* of the port, if connections stay open behind an answer; or NULL */
	struct evbuffer *body;
	const char *type;  /* NULL: text/html */
	const char *cache; /* NULL: no-cache of tagged answers, no-store of all others */
	const char *why;   /* of a problem, or NULL */
	enum reply_errors errors;
	/* writes the page of an error */
	void (*error_page)(struct html *h, int code, const char *reason, const char *advice);
	/* The caller. What changes anything wants ACCOUNT_OPERATOR; the request's form, a cookie's
	 * origin and the method are checked before a page is called. */
	struct login_who who;
	char owner
	    [REPLY_OWNER_BYTES]; /* who shares the web thread's time: a user, a token, an address */
	bool with_accounts;      /* of error pages: readers log in */
};

extern const char reply_type_json[], reply_type_csv[], reply_type_text[];

void reply_header(struct reply *a, const char *name, const char *value);
const char *reply_request_header(const struct reply *a, const char *name);
/* Sends the body with all headers. */
void reply_send(struct reply *a, int code);
/* Sends the body and its ETag, or 304 to a client with this ETag. */
void reply_send_tagged(struct reply *a);
void reply_error(struct reply *a, int code);
/* The tagged body for NW_OK, else an error. */
void reply_rc(struct reply *a, int rc);
void reply_html(struct reply *a, const struct html *h, int rc);
/* Headers of an answer that is streamed. Returns whether its client accepts gzip, and then the
 * headers say that the answer is. */
bool reply_begin_stream(struct reply *a);
const char *reply_reason(int code);

/* The headers of all answers as lines, for answers that evhttp gives by itself. */
void reply_lines(char out[REPLY_LINES_BYTES]);

#endif
