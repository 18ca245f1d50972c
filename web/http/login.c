/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/http/login.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include <event2/http.h>

#include "narrows/clock.h"
#include "narrows/hex.h"
#include "web/http/ration.h"

enum { COOKIES_MAX = 512, COOKIE_BYTES = 32, COOKIE_CHARS = 2 * COOKIE_BYTES };
#define SECOND_NS INT64_C(1000000000)
static const int64_t IDLE_MAX_NS = 12 * 3600 * SECOND_NS, COOKIE_MAX_NS = 7 * 86400 * SECOND_NS;
static const char secure_name[] = "__Host-narrows", clear_name[] = "narrows";

struct cookie {
	char text[COOKIE_CHARS + 1]; /* "": free */
	char user[ACCOUNT_NAME_BYTES];
	uint64_t stamp; /* of the password that was given */
	int64_t begun_mono_ns, used_mono_ns;
};

struct login {
	struct web_access access;
	struct cookie cookies[COOKIES_MAX];
	struct ration *ration;
};

struct login *
login_new(const struct web_access *access)
{
	struct login *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->access = *access;
	if ((l->ration = ration_new()) == NULL) {
		free(l);
		return NULL;
	}
	return l;
}

void
login_free(struct login *l)
{
	if (l == NULL)
		return;
	ration_free(l->ration);
	free(l);
}

static const char *
peer_of(struct evhttp_request *req)
{
	char *peer = NULL;
	uint16_t port;

	evhttp_connection_get_peer(evhttp_request_get_connection(req), &peer, &port);
	return peer != NULL ? peer : "?";
}

/* --- cookies --- */

static const char *
name_of(bool secure)
{
	return secure ? secure_name : clear_name;
}

/*
 * The value of the port's cookie in a Cookie header, COOKIE_CHARS long. Any program of the machine
 * can plant a cookie with the clear name, so HTTPS reads the __Host- name alone.
 */
static bool
cookie_text(struct evhttp_request *req, bool secure, char out[COOKIE_CHARS + 1])
{
	const char *at = evhttp_find_header(evhttp_request_get_input_headers(req), "Cookie"),
		   *name = name_of(secure);
	size_t len;

	for (; at != NULL && *at != '\0'; at += strcspn(at, ";"), at += strspn(at, "; ")) {
		len = strcspn(at, "=; ");
		if (at[len] != '=' || len != strlen(name) || strncmp(at, name, len) != 0)
			continue;
		at += len + 1;
		if (strcspn(at, "; ") != COOKIE_CHARS)
			continue;
		memcpy(out, at, COOKIE_CHARS);
		out[COOKIE_CHARS] = '\0';
		return true;
	}
	return false;
}

/* Compares all characters, so that the time tells nothing. */
static bool
same_text(const char *a, const char *b)
{
	unsigned differ = 0;
	size_t i;

	for (i = 0; i < COOKIE_CHARS; i++)
		differ |= (unsigned char)a[i] ^ (unsigned char)b[i];
	return differ == 0;
}

static bool
cookie_is_over(const struct cookie *c, int64_t now)
{
	return now - c->used_mono_ns > IDLE_MAX_NS || now - c->begun_mono_ns > COOKIE_MAX_NS;
}

static struct cookie *
cookie_find(struct login *l, struct evhttp_request *req, bool secure)
{
	char text[COOKIE_CHARS + 1];
	int64_t now = nw_mono_ns();
	struct cookie *c;

	if (!cookie_text(req, secure, text))
		return NULL;
	for (c = l->cookies; c < l->cookies + COOKIES_MAX; c++)
		if (c->text[0] != '\0' && same_text(c->text, text))
			break;
	if (c == l->cookies + COOKIES_MAX)
		return NULL;
	if (cookie_is_over(c, now)) {
		c->text[0] = '\0';
		return NULL;
	}
	c->used_mono_ns = now;
	return c;
}

/* Returns a free place, or else the place of the cookie that was used least recently. */
static struct cookie *
cookie_room(struct login *l)
{
	struct cookie *oldest = l->cookies, *c;

	for (c = l->cookies; c < l->cookies + COOKIES_MAX; c++) {
		if (c->text[0] == '\0')
			return c;
		if (c->used_mono_ns < oldest->used_mono_ns)
			oldest = c;
	}
	return oldest;
}

static bool
cookie_make(
    struct login *l, const char *user, uint64_t stamp, bool secure, char out[LOGIN_COOKIE_BYTES])
{
	struct cookie *c = cookie_room(l);
	uint8_t bytes[COOKIE_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	nw_hex_put(c->text, bytes, sizeof(bytes));
	snprintf(c->user, sizeof(c->user), "%s", user);
	c->stamp = stamp;
	c->begun_mono_ns = c->used_mono_ns = nw_mono_ns();
	snprintf(out, LOGIN_COOKIE_BYTES, "%s=%s; Path=/; %sHttpOnly; SameSite=Strict",
	    name_of(secure), c->text, secure ? "Secure; " : "");
	return true;
}

/* --- requests --- */

/* The value of a digit of base64 (RFC 4648); -1 for another character. */
static int
digit_of(char c)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	return at != NULL ? (int)(at - digits) : -1;
}

/* The password of "USER:PASSWORD" in base64. Returns false for any other text. */
static bool
basic_password(const char *text, char out[ACCOUNT_TOKEN_BYTES])
{
	char plain[ACCOUNT_NAME_BYTES + ACCOUNT_TOKEN_BYTES], *colon;
	uint32_t bits = 0;
	size_t n = 0, i;
	int digit;

	for (i = 0; (digit = digit_of(text[i])) >= 0; i++) {
		bits = bits << 6 | (uint32_t)digit;
		if (i % 4 == 0)
			continue;
		if (n == sizeof(plain) - 1)
			return false;
		plain[n++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xff);
	}
	plain[n] = '\0';
	if (strspn(text + i, "=") != strlen(text + i) || memchr(plain, '\0', n) != NULL ||
	    (colon = strchr(plain, ':')) == NULL || strlen(colon + 1) >= ACCOUNT_TOKEN_BYTES)
		return false;
	strcpy(out, colon + 1);
	return true;
}

/* The token of "Authorization: Bearer TOKEN". Programs that take a URL alone, as Rucio's clients,
 * send the token as the password of "Basic". Returns false without a token. */
static bool
token_read(struct evhttp_request *req, char out[ACCOUNT_TOKEN_BYTES])
{
	static const char bearer[] = "Bearer ", basic[] = "Basic ";
	const char *text =
	    evhttp_find_header(evhttp_request_get_input_headers(req), "Authorization");

	if (text != NULL && strncasecmp(text, basic, sizeof(basic) - 1) == 0)
		return basic_password(text + sizeof(basic) - 1, out);
	if (text == NULL || strncasecmp(text, bearer, sizeof(bearer) - 1) != 0)
		return false;
	text += sizeof(bearer) - 1;
	strcpy(out, strlen(text) < ACCOUNT_TOKEN_BYTES ? text : ""); /* no token is longer */
	return true;
}

struct login_who
login_who(struct login *l, struct evhttp_request *req, bool secure)
{
	struct login_who who = { .role = ACCOUNT_NOBODY };
	char token[ACCOUNT_TOKEN_BYTES];
	struct cookie *c;

	if (token_read(req, token)) {
		who.by_token = true;
		who.role = l->access.token(l->access.arg, peer_of(req), token, who.name);
	} else if ((c = cookie_find(l, req, secure)) != NULL) {
		snprintf(who.name, sizeof(who.name), "%s", c->user);
		if ((who.role = l->access.role(l->access.arg, c->user, c->stamp)) == ACCOUNT_NOBODY)
			c->text[0] = '\0';
	}
	return who;
}

int
login_try(struct login *l, struct evhttp_request *req, const char *user, const char *password,
    bool secure, char cookie[LOGIN_COOKIE_BYTES], unsigned *wait_s)
{
	const char *peer = peer_of(req);
	uint64_t stamp = 0;
	bool good;

	if ((*wait_s = ration_take(l->ration, peer, nw_mono_ns())) > 0)
		return 429;
	good = l->access.login(l->access.arg, peer, user, password, &stamp) != ACCOUNT_NOBODY;
	ration_outcome(l->ration, peer, nw_mono_ns(), good);
	if (!good)
		return 401;
	return cookie_make(l, user, stamp, secure, cookie) ? 303 : 503;
}

void
login_end(struct login *l, struct evhttp_request *req, bool secure, char cookie[LOGIN_COOKIE_BYTES])
{
	struct cookie *c = cookie_find(l, req, secure);

	if (c != NULL) {
		l->access.end(l->access.arg, peer_of(req), c->user);
		c->text[0] = '\0';
	}
	snprintf(cookie, LOGIN_COOKIE_BYTES, "%s=; Path=/; %sHttpOnly; SameSite=Strict; Max-Age=0",
	    name_of(secure), secure ? "Secure; " : "");
}

const struct param login_params[] = {
	{ "next", .meaning = "Where the login leads to.", .form = "an address of the box",
	    .example = "/health" },
	{ .name = NULL },
};

bool
login_next_ok(const char *next)
{
	const char *at;

	if (next == NULL || next[0] != '/' || next[1] == '/' || strlen(next) > 1000)
		return false;
	for (at = next; *at != '\0'; at++)
		if (*at <= ' ' || *at == '\\' || *at == 0x7f || (unsigned char)*at >= 0x80)
			return false;
	return true;
}
