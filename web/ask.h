/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request on its way to its answer. A handler fills the answer in and returns NW_OK or NW_E*:
 * then the answer is sent, or the error that belongs to the code. A handler of a `local` resource,
 * which narrows -s has too, works without a running box: `web` and `reply` are NULL there, as they
 * are for an `is_long` resource, which a thread of the pool answers.
 */
#ifndef NARROWS_WEB_ASK_H
#define NARROWS_WEB_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/store.h"
#include "web/answer/hosts.h"
#include "web/draw/html.h"
#include "web/http/reply.h"
#include "web/query/out_stream.h"
#include "web/query/param.h"
#include "web/route.h"

enum { ASK_BODY_BYTES = 8192, ASK_LOCATION_BYTES = 8192 + 256, ASK_WHY_BYTES = 200 };

struct ask {
	/* the request */
	struct route to;
	const char *query; /* behind the '?', or NULL */
	const char *form;  /* body of a POST, or NULL */
	struct store_reader *r;
	struct web *web;
	struct reply *reply;
	const struct resource *resources; /* all, for their description; NULL without a box */
	size_t n_resources;
	struct lines_cache *lines; /* of the thread, or NULL */
	double cost_max;           /* values that an answer may read and compute; 0: no limit */
	/* the answer: a body, a stream, or where to go instead */
	struct evbuffer *body;
	struct html h; /* writes into the body */
	const char *type;
	int status; /* 0: as the handler's return code says */
	struct stream stream;
	bool is_download; /* a stream goes out as such, even if it is short */
	char location[ASK_LOCATION_BYTES];
	char file_name[96]; /* for a browser that saves the answer; "": the browser shows it */
	const char *why;    /* of an error, or NULL */
	char why_text[ASK_WHY_BYTES];
	/* without a box: where an export goes at once */
	stream_write_fn *write;
	void *write_arg;
};

typedef int ask_fn(struct ask *q);

/* Has a handler of the resource make the answer. Returns its code, or NW_EINVAL with the name of a
 * parameter of the query that the resource does not have. */
int ask_run(struct ask *q, ask_fn *handler);
/* The HTTP status of a code. */
int ask_code(int rc);

/* Takes the reference of a document, unless rc is a failure. Returns rc or NW_ENOMEM. */
int ask_document(struct ask *q, int rc, json_t *doc);
/* Says of an error which value the parameter takes; NULL: says nothing. */
void ask_refuse_value(struct ask *q, const struct param *p);
/* Resolves "last". NW_ENOTFOUND: there is no session. */
int ask_id(struct ask *q);
/* The value of a field of the form or of the query; free() the result. NULL: no such field. */
char *ask_field(const char *form, const char *name);

#endif
