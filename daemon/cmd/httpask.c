/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As much of HTTP/1.1 (RFC 9112) as one question needs: the connection is closed after the answer, whose body has a
 * length, or comes in chunks, or ends with the connection. Half an answer is never taken for a whole one where any of
 * the three can tell: the last can in TLS only.
 */
#include "daemon/cmd/httpask.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/cmd/dial.h"
#include "daemon/conf.h"
#include "daemon/xmalloc.h"
#include "narrows/err.h"
#include "narrows/tls.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443, LINE_MAX_BYTES = 8192, HEADERS_MAX = 200 };

struct answer {
	struct dial *dial;
	const char *why;
	char in[32 << 10];
	size_t at, len;                          /* what of `in` is not used yet */
	httpask_fn *fn;
	void *arg;
	uint64_t length;                         /* of the body; UINT64_MAX: not said */
	bool chunked;
};

static int
refuse(struct answer *a, const char *why)
{
	a->why = why;
	return NW_EPROTO;
}

/* --- bytes --- */

/* NW_ECLOSED: no more will come. */
static int
input_fill(struct answer *a)
{
	long n;

	if (a->at < a->len)
		return NW_OK;
	a->at = a->len = 0;
	if ((n = dial_recv(a->dial, a->in, sizeof(a->in), &a->why)) < 0)
		return (int)n;
	a->len = (size_t)n;
	return n > 0 ? NW_OK : NW_ECLOSED;
}

/* One line, without its end. */
static int
line_read(struct answer *a, char line[LINE_MAX_BYTES])
{
	size_t n = 0;
	char ch = '\0';
	int rc;

	while (ch != '\n') {
		if ((rc = input_fill(a)) < 0)
			return rc == NW_ECLOSED ? refuse(a, "the answer breaks off") : rc;
		ch = a->in[a->at++];
		if (n == LINE_MAX_BYTES - 1)
			return refuse(a, "a header that is too long");
		line[n++] = ch;
	}
	line[--n] = '\0';
	if (n > 0 && line[n - 1] == '\r')
		line[n - 1] = '\0';
	return NW_OK;
}

/* Passes on what comes: n bytes, or with UINT64_MAX all there is. */
static int
body_pass(struct answer *a, uint64_t n)
{
	size_t some;
	int rc = NW_OK;

	for (; n > 0 && rc == NW_OK; n -= n == UINT64_MAX ? 0 : some) {
		if ((rc = input_fill(a)) < 0)
			return rc != NW_ECLOSED ? rc : n == UINT64_MAX ? NW_OK : refuse(a, "the answer breaks off");
		some = a->len - a->at;
		if (some > n)
			some = (size_t)n;
		rc = a->fn(a->arg, a->in + a->at, some);
		a->at += some;
	}
	return rc;
}

/* --- the answer --- */

static bool
number_parse(const char *text, int base, const char *ends, uint64_t *out)
{
	char *end;

	if (strchr("0123456789abcdefABCDEF", *text) == NULL || *text == '\0')
		return false;
	*out = strtoull(text, &end, base);
	return end != text && strchr(ends, *end) != NULL && *out < UINT64_MAX;
}

static int
header_take(struct answer *a, char *line)
{
	char *value = strchr(line, ':');

	if (value == NULL)
		return refuse(a, "a header that is none");
	*value++ = '\0';
	value += strspn(value, " \t");
	if (strcasecmp(line, "Transfer-Encoding") == 0) {
		a->chunked = strcasecmp(value, "chunked") == 0;
		return a->chunked ? NW_OK : refuse(a, "an encoding we do not know");
	}
	if (strcasecmp(line, "Content-Length") == 0 && !number_parse(value, 10, "", &a->length))
		return refuse(a, "a length that is none");
	return NW_OK;
}

static int
head_read(struct answer *a, int *status)
{
	char line[LINE_MAX_BYTES];
	int rc, n;

	if ((rc = line_read(a, line)) < 0)
		return rc;
	if (sscanf(line, "HTTP/1.%*1[01] %3d", status) != 1 || *status < 200 || *status > 599)
		return refuse(a, "the answer is not HTTP");
	for (n = 0; n < HEADERS_MAX; n++) {
		if ((rc = line_read(a, line)) < 0 || *line == '\0')
			return rc;
		if ((rc = header_take(a, line)) < 0)
			return rc;
	}
	return refuse(a, "too many headers");
}

static int
chunks_read(struct answer *a)
{
	char line[LINE_MAX_BYTES];
	uint64_t len;
	int rc;

	for (;;) {
		if ((rc = line_read(a, line)) < 0)
			return rc;
		if (!number_parse(line, 16, " ;", &len))
			return refuse(a, "a chunk without length");
		if (len == 0)
			return NW_OK;            /* trailers are nothing to us */
		if ((rc = body_pass(a, len)) < 0 || (rc = line_read(a, line)) < 0)
			return rc;
		if (*line != '\0')
			return refuse(a, "a chunk that is longer than it says");
	}
}

static int
answer_read(struct answer *a, int *status)
{
	int rc = head_read(a, status);

	if (rc < 0 || *status == 204 || *status == 304)
		return rc;
	return a->chunked ? chunks_read(a) : body_pass(a, a->length);
}

/* --- the question --- */

/* The authority of a URL: with its scheme off, its port on. */
static bool
base_parse(const char *base, char host[256], uint16_t *port, bool *tls)
{
	const char *after;
	char text[300];
	size_t len;

	*tls = strncmp(base, "https://", 8) == 0;
	if (*tls || strncmp(base, "http://", 7) == 0)
		base += *tls ? 8 : 7;
	if ((len = strlen(base)) > 0 && base[len - 1] == '/')
		len--;
	after = memchr(base, ']', len);
	if (after == NULL)
		after = base;
	if (len + 8 >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)len, base);
	if (strpbrk(text + (after - base), ":/") == NULL)
		snprintf(text + len, sizeof(text) - len, ":%d", *tls ? PORT_HTTPS : PORT_HTTP);
	return conf_address(text, host, port) == NW_OK;
}

static int
ask(struct answer *a, const struct httpask *q, const char *host, uint16_t port, int *status)
{
	bool v6 = strchr(host, ':') != NULL;
	char *question = xasprintf("%s %s HTTP/1.1\r\nHost: %s%s%s:%u\r\nUser-Agent: narrows/%s\r\nConnection: close\r\n",
	    q->body != NULL ? "POST" : "GET", q->path, v6 ? "[" : "", host, v6 ? "]" : "", port, NW_VERSION), *whole;
	int rc;

	if (q->body != NULL)
		whole = xasprintf("%sContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s", question, strlen(q->body), q->body);
	else
		whole = xasprintf("%s\r\n", question);
	rc = dial_send(a->dial, whole, strlen(whole), &a->why);
	free(whole);
	free(question);
	return rc == NW_OK ? answer_read(a, status) : rc;
}

int
httpask(const struct httpask *q, httpask_fn *fn, void *arg, int *status, char why[HTTPASK_WHY_BYTES])
{
	struct answer a = { .fn = fn, .arg = arg, .length = UINT64_MAX };
	const struct nw_tls_opts opts = { .ca_path = q->ca_path, .ca_pin = q->ca_pin };
	struct nw_tls_ctx *ctx = NULL;
	char host[256], reason[NW_TLS_WHY_BYTES];
	uint16_t port;
	bool tls;
	int rc;

	if (!base_parse(q->base, host, &port, &tls) || (q->ca_pin != NULL && !tls)) {
		snprintf(why, HTTPASK_WHY_BYTES, "not an address: write https://host:port");
		return NW_EINVAL;
	}
	if (tls && (rc = nw_tls_ctx_new(&opts, &ctx, reason)) < 0)
		a.why = reason;
	else if ((rc = dial_open(host, port, ctx, &a.dial, &a.why)) == NW_OK)
		rc = ask(&a, q, host, port, status);
	snprintf(why, HTTPASK_WHY_BYTES, "%s", a.why != NULL && *a.why != '\0' ? a.why : nw_strerror(rc));
	dial_close(a.dial);
	nw_tls_ctx_release(ctx);
	return rc;
}
