/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/http/reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

#include "narrows/err.h"
#include "narrows/fnv.h"
#include "web/http/body.h"
#include "web/http/conns.h"
#include "web/query/gzip.h"
#include "web/draw/html.h"
#include "web/query/prom.h"

enum { GZIP_MIN_BYTES = 1000, TAG_BYTES = 32, METHODS_BYTES = 64 };

const char reply_type_json[] = "application/json";
const char reply_type_csv[] = "text/csv; charset=utf-8";
const char reply_type_text[] = "text/plain; charset=utf-8";

void
reply_header(struct reply *a, const char *name, const char *value)
{
	evhttp_add_header(evhttp_request_get_output_headers(a->req), name, value);
}

const char *
reply_request_header(const struct reply *a, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(a->req), name);
}

/* Only the box's own script may run, nothing may be fetched from elsewhere, no other page may
 * frame the page or learn the origin of a link. */
static const struct {
	const char *name, *value;
} safe_headers[] = {
	{ "Content-Security-Policy",
	    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
	    "img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	/* without a referrer a browser gives its own forms no origin, either */
	{ "Referrer-Policy", "same-origin" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
};
enum { N_SAFE_HEADERS = sizeof(safe_headers) / sizeof(safe_headers[0]) };

/*
 * A handshake of TLS costs more than most answers, so a connection in TLS stays for further
 * requests behind a whole answer that is no error. Elsewhere one answer per connection keeps limits
 * on time and number simple.
 */
static bool
stays_open(struct reply *a, int code)
{
	const char *asked = reply_request_header(a, "Connection");

	return a->keep != NULL && code < 400 && a->req->major == 1 && a->req->minor > 0 &&
	    (asked == NULL || strcasecmp(asked, "close") != 0) && conns_keep(a->keep, a->req);
}

static void
headers_add(struct reply *a, bool tagged, bool keep)
{
	size_t i;

	reply_header(a, "Content-Type", a->type != NULL ? a->type : "text/html; charset=utf-8");
	reply_header(a, "Cache-Control",
	    a->cache != NULL ? a->cache
		: tagged     ? "no-cache"
			     : "no-store");
	reply_header(a, "Vary", "Accept-Encoding");
	for (i = 0; i < N_SAFE_HEADERS; i++)
		reply_header(a, safe_headers[i].name, safe_headers[i].value);
	reply_header(a, "Connection", keep ? "keep-alive" : "close");
}

void
reply_lines(char out[REPLY_LINES_BYTES])
{
	size_t i, n = (size_t)snprintf(out, REPLY_LINES_BYTES, "Cache-Control: no-store\r\n");

	for (i = 0; i < N_SAFE_HEADERS; i++)
		n += (size_t)snprintf(out + n, REPLY_LINES_BYTES - n, "%s: %s\r\n",
		    safe_headers[i].name, safe_headers[i].value);
}

const char *
reply_reason(int code)
{
	switch (code) {
	case 200: return "OK";
	case 303: return "See Other";
	case 304: return "Not Modified";
	case 400: return "Bad Request";
	case 401: return "Unauthorized";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 413: return "Content Too Large";
	case 415: return "Unsupported Media Type";
	case 421: return "Misdirected Request";
	case 422: return "Unprocessable Entity";
	case 429: return "Too Many Requests";
	case 500: return "Internal Server Error";
	case 503: return "Service Unavailable";
	}
	return "Error";
}

/* --- whole answers --- */

/* FNV-1a, 64 bits: a tag tells versions of one address apart, nothing more. */
static void
tag_make(struct evbuffer *body, char tag[TAG_BYTES])
{
	const unsigned char *bytes = evbuffer_pullup(body, -1);
	size_t len = evbuffer_get_length(body);

	snprintf(tag, TAG_BYTES, "W/\"%016" PRIx64 "\"", fnv_bytes(FNV_BEGIN, bytes, len));
}

/* The answer stays as it is if there is no memory to compress it. */
static void
compress_body(struct reply *a)
{
	struct evbuffer *copy, *packed;
	struct gzip *z;

	if (evbuffer_get_length(a->body) < GZIP_MIN_BYTES ||
	    !gzip_accepted(reply_request_header(a, "Accept-Encoding")))
		return;
	copy = evbuffer_new();
	packed = evbuffer_new();
	z = gzip_new();
	if (copy != NULL && packed != NULL && z != NULL &&
	    evbuffer_add_buffer_reference(copy, a->body) == 0 &&
	    gzip_add(z, copy, packed, true) == NW_OK) {
		evbuffer_drain(a->body, evbuffer_get_length(a->body));
		evbuffer_add_buffer(a->body, packed);
		reply_header(a, "Content-Encoding", "gzip");
	}
	gzip_free(z);
	if (packed != NULL)
		evbuffer_free(packed);
	if (copy != NULL)
		evbuffer_free(copy);
}

static void
send_now(struct reply *a, int code, bool tagged)
{
	char length[32];

	headers_add(a, tagged, stays_open(a, code));
	snprintf(length, sizeof(length), "%zu", evbuffer_get_length(a->body));
	if (code != 304)
		reply_header(a, "Content-Length", length);
	if (evhttp_request_get_command(a->req) == EVHTTP_REQ_HEAD || code == 304)
		evbuffer_drain(a->body, evbuffer_get_length(a->body));
	evhttp_send_reply(a->req, code, reply_reason(code), a->body);
}

void
reply_send(struct reply *a, int code)
{
	compress_body(a);
	send_now(a, code, false);
}

void
reply_send_tagged(struct reply *a)
{
	const char *have = reply_request_header(a, "If-None-Match");
	char tag[TAG_BYTES];

	tag_make(a->body, tag);
	reply_header(a, "ETag", tag);
	/* weak comparison: a client may have got the tag without its W/ */
	if (have != NULL && (strstr(have, tag + 2) != NULL || strcmp(have, "*") == 0)) {
		send_now(a, 304, true);
		return;
	}
	compress_body(a);
	send_now(a, 200, true);
}

/* --- errors --- */

/* Errors in words for a person; the last row is for all other codes. */
static const struct {
	int code;
	const char *title, *advice;
} troubles[] = {
	{ 400, "The box does not understand the request.",
	    "Correct the address: one of its parts is not valid." },
	{ 401, "The box needs a login or a token.",
	    "Send a token: Authorization: Bearer TOKEN. \"narrows access\" makes one." },
	{ 403, "Your role does not allow this.",
	    "Ask the box's administrator for another role (narrows access)." },
	{ 404, "There is nothing at this address.",
	    "Check the address; an old session may have been deleted." },
	{ 405, "The address does not take this method.",
	    "Use a method that the header Allow names." },
	{ 413, "The request is too long.", "Shorten the request to at most 8 kB." },
	{ 415, "The box expects a form.",
	    "Send application/x-www-form-urlencoded, as curl -d does." },
	{ 421, "The box does not have the name in the request.",
	    "Use the box's address, or ask its administrator to add the name to http-names." },
	{ 503, "The box is busy.",
	    "Too many downloads are under way. Try again after one of them has ended." },
	{ 0, "The box could not answer.",
	    "Read the reason on the page Health, or in the box's log." },
};

/* "Use GET, HEAD or POST.": the methods of the answer's header Allow. */
static const char *
methods_say(const struct reply *a, char out[METHODS_BYTES], const char *otherwise)
{
	const char *allow = evhttp_find_header(evhttp_request_get_output_headers(a->req), "Allow");
	const char *last = allow != NULL ? strrchr(allow, ',') : NULL;

	if (allow == NULL)
		return otherwise;
	if (last == NULL)
		snprintf(out, METHODS_BYTES, "Use %s.", allow);
	else
		snprintf(
		    out, METHODS_BYTES, "Use %.*s or%s.", (int)(last - allow), allow, last + 1);
	return out;
}

void
reply_error(struct reply *a, int code)
{
	struct html h = { .out = a->body, .with_accounts = a->with_accounts };
	char methods[METHODS_BYTES];
	const char *advice;
	size_t i = 0;

	while (troubles[i].code != code && troubles[i].code != 0)
		i++;
	advice = code == 405 ? methods_say(a, methods, troubles[i].advice) : troubles[i].advice;
	evbuffer_drain(a->body, evbuffer_get_length(a->body));
	a->cache = NULL;
	switch (a->errors) {
	case REPLY_PROBLEM:
		a->type = "application/problem+json";
		body_put_problem(
		    a->body, code, reply_reason(code), a->why != NULL ? a->why : advice);
		break;
	case REPLY_PROMETHEUS:
		a->type = reply_type_json;
		prom_error(a->body, code,
		    a->why != NULL && a->why[0] != '\0' ? a->why
			: code == 400                   ? "too many samples for one series"
							: reply_reason(code));
		break;
	case REPLY_JSON:
		body_put_error(
		    a->body, code, code == 400 && a->why != NULL ? a->why : reply_reason(code));
		break;
	case REPLY_PAGE:
		a->type = NULL;
		a->error_page(
		    &h, code, troubles[i].title, code == 400 && a->why != NULL ? a->why : advice);
		break;
	}
	reply_send(a, code);
}

void
reply_rc(struct reply *a, int rc)
{
	if (rc == NW_OK)
		reply_send_tagged(a);
	else
		reply_error(a,
		    rc == NW_ENOTFOUND                      ? 404
			: rc == NW_ENOMEM || rc == NW_EFULL ? 503
			: rc == NW_ETOOBIG                  ? 400
							    : 500);
}

void
reply_html(struct reply *a, const struct html *h, int rc)
{
	reply_rc(a, rc == NW_OK && h->failed ? NW_ENOMEM : rc);
}

/* --- streams --- */

bool
reply_begin_stream(struct reply *a)
{
	bool packed = gzip_accepted(reply_request_header(a, "Accept-Encoding"));

	if (packed)
		reply_header(a, "Content-Encoding", "gzip");
	headers_add(a, false, false);
	return packed;
}
