/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The caller of a request. A port that wants a login answers only askers with a role: people log in
 * with a password and get a cookie, programs send a token (RFC 6750). Logins live in memory alone:
 * a restart of the box ends them, and so does another password, or the end of
 * the account.
 *
 * Attempts are rationed (web/http/ration.h). Memory does not grow with the callers.
 * The web thread alone calls.
 */
#ifndef NARROWS_WEB_LOGIN_H
#define NARROWS_WEB_LOGIN_H

#include <stdbool.h>

#include "narrows/account.h"
#include "narrows/web.h"
#include "web/query/param.h"

struct login;
struct evhttp_request;

enum { LOGIN_COOKIE_BYTES = 256 };

struct login_who {
	enum account_role role; /* ACCOUNT_NOBODY: no account of the box */
	char name[ACCOUNT_NAME_BYTES];
	bool by_token;
};

/* NULL: out of memory. The callbacks stay the caller's. */
struct login *login_new(const struct web_access *access);
void login_free(struct login *l);

/* The sender of the request; secure: it came by HTTPS, which has a cookie of its own. */
struct login_who login_who(struct login *l, struct evhttp_request *req, bool secure);

/*
 * An attempt to log in. Returns the status: 303 with the cookie that the answer sets, 401, or 429
 * with the seconds after which to try again.
 */
int login_try(struct login *l, struct evhttp_request *req, const char *user, const char *password,
    bool secure, char cookie[LOGIN_COOKIE_BYTES], unsigned *wait_s);
/* Ends the login of the request's cookie; the answer's cookie removes the browser's. */
void login_end(
    struct login *l, struct evhttp_request *req, bool secure, char cookie[LOGIN_COOKIE_BYTES]);

/* Parameters of the form's address. */
extern const struct param login_params[];

/* Whether `next` is an address on this box that a login may lead to. */
bool login_next_ok(const char *next);

#endif
