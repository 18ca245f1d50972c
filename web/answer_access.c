/* SPDX-License-Identifier: BSD-3-Clause */
/* Logins, accounts, and the certificates of hosts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>

#include "narrows/err.h"
#include "web/page/page.h"
#include "web/resource.h"
#include "web/web_in.h"

enum { ENROLMENT_BYTES = 10240 }; /* two certificates and a name */

/* The page of the login: empty, or what became of an attempt. */
static int
login_show(struct ask *q, const char *next, int tried, unsigned wait_s)
{
	char seconds[16];

	page_login(&q->h, login_next_ok(next) ? next : "/", tried, wait_s,
	    q->reply->who.role != ACCOUNT_NOBODY ? q->reply->who.name : NULL);
	if (tried == 429) {
		snprintf(seconds, sizeof(seconds), "%u", wait_s);
		reply_header(q->reply, "Retry-After", seconds);
	}
	q->status = tried != 0 ? tried : 200;
	return NW_OK;
}

int
answer_login(struct ask *q)
{
	char *next = ask_field(q->query, "next");
	int rc = login_show(q, next, 0, 0);

	free(next);
	return rc;
}

static int
login_leave(struct ask *q, const char *cookie, const char *to)
{
	reply_header(q->reply, "Set-Cookie", cookie);
	snprintf(q->location, sizeof(q->location), "%s", to);
	return NW_OK;
}

int
take_login(struct ask *q)
{
	char cookie[LOGIN_COOKIE_BYTES], *user = ask_field(q->form, "user"),
					 *password = ask_field(q->form, "password"),
					 *next = ask_field(q->form, "next");
	unsigned wait_s = 0;
	int code = 401, rc;

	if (user != NULL && password != NULL)
		code = login_try(q->web->login, q->reply->req, user, password,
		    request_is_secure(q->reply), cookie, &wait_s);
	rc = code == 303  ? login_leave(q, cookie, login_next_ok(next) ? next : "/")
	    : code == 503 ? NW_EFULL
			  : login_show(q, next, code, wait_s);
	free(user);
	free(password);
	free(next);
	return rc;
}

int
take_logout(struct ask *q)
{
	char cookie[LOGIN_COOKIE_BYTES];

	login_end(q->web->login, q->reply->req, request_is_secure(q->reply), cookie);
	return login_leave(q, cookie, "/login");
}

int
answer_access(struct ask *q)
{
	page_access(&q->h, q->web->opts.access, q->reply->who.name);
	return NW_OK;
}

/* Has the daemon answer, by status and text. */
static int
daemon_run(struct ask *q,
    int (*run)(void *arg, const char *peer, const char *body, char *out, size_t cap), void *arg,
    const char *body)
{
	char out[ENROLMENT_BYTES] = "", *peer = NULL;
	uint16_t port;

	evhttp_connection_get_peer(evhttp_request_get_connection(q->reply->req), &peer, &port);
	q->status = run(arg, peer != NULL ? peer : "?", body, out, sizeof(out));
	return evbuffer_add(q->body, out, strlen(out)) == 0 ? NW_OK : NW_ENOMEM;
}

/*
 * A host with a token gets its certificate. No page can send the request, because no page has a
 * token.
 */
static int
enrolment_run(struct ask *q, const char *body)
{
	return daemon_run(q, q->web->opts.enroll, q->web->opts.enroll_arg, body);
}

int
take_enrolment(struct ask *q)
{
	return enrolment_run(q, q->form);
}

/* The facts for a host before the token is spent. */
int
answer_enrolment(struct ask *q)
{
	return enrolment_run(q, NULL);
}

int
take_traces(struct ask *q)
{
	return daemon_run(q, q->web->opts.traces, q->web->opts.traces_arg, q->form);
}
