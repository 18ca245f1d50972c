/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As much of HTTP/1.1 (RFC 9112) as one question needs: the connection is closed after the answer, whose body has a
 * length, or comes in chunks, or ends with the connection. Half an answer is never taken for a whole one where any of
 * the three can tell: the last can in TLS only.
 */
#include "daemon/cmd/httpget.h"

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

struct get {
	struct dial *dial;
	const char *why;
	char in[32 << 10];
	size_t at, len;                          /* what of `in` is not used yet */
	httpget_fn *fn;
	void *arg;
	uint64_t length;                         /* of the body; UINT64_MAX: not said */
	bool chunked;
};

static int
refuse(struct get *g, const char *why)
{
	g->why = why;
	return NW_EPROTO;
}

/* --- bytes --- */

/* NW_ECLOSED: no more will come. */
static int
input_fill(struct get *g)
{
	long n;

	if (g->at < g->len)
		return NW_OK;
	g->at = g->len = 0;
	if ((n = dial_recv(g->dial, g->in, sizeof(g->in), &g->why)) < 0)
		return (int)n;
	g->len = (size_t)n;
	return n > 0 ? NW_OK : NW_ECLOSED;
}

/* One line, without its end. */
static int
line_read(struct get *g, char line[LINE_MAX_BYTES])
{
	size_t n = 0;
	char ch = '\0';
	int rc;

	while (ch != '\n') {
		if ((rc = input_fill(g)) < 0)
			return rc == NW_ECLOSED ? refuse(g, "the answer breaks off") : rc;
		ch = g->in[g->at++];
		if (n == LINE_MAX_BYTES - 1)
			return refuse(g, "a header that is too long");
		line[n++] = ch;
	}
	line[--n] = '\0';
	if (n > 0 && line[n - 1] == '\r')
		line[n - 1] = '\0';
	return NW_OK;
}

/* Passes on what comes: n bytes, or with UINT64_MAX all there is. */
static int
body_pass(struct get *g, uint64_t n)
{
	size_t some;
	int rc = NW_OK;

	for (; n > 0 && rc == NW_OK; n -= n == UINT64_MAX ? 0 : some) {
		if ((rc = input_fill(g)) < 0)
			return rc != NW_ECLOSED ? rc : n == UINT64_MAX ? NW_OK : refuse(g, "the answer breaks off");
		some = g->len - g->at;
		if (some > n)
			some = (size_t)n;
		rc = g->fn(g->arg, g->in + g->at, some);
		g->at += some;
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
header_take(struct get *g, char *line)
{
	char *value = strchr(line, ':');

	if (value == NULL)
		return refuse(g, "a header that is none");
	*value++ = '\0';
	value += strspn(value, " \t");
	if (strcasecmp(line, "Transfer-Encoding") == 0) {
		g->chunked = strcasecmp(value, "chunked") == 0;
		return g->chunked ? NW_OK : refuse(g, "an encoding we do not know");
	}
	if (strcasecmp(line, "Content-Length") == 0 && !number_parse(value, 10, "", &g->length))
		return refuse(g, "a length that is none");
	return NW_OK;
}

static int
head_read(struct get *g, int *status)
{
	char line[LINE_MAX_BYTES];
	int rc, n;

	if ((rc = line_read(g, line)) < 0)
		return rc;
	if (sscanf(line, "HTTP/1.%*1[01] %3d", status) != 1 || *status < 200 || *status > 599)
		return refuse(g, "the answer is not HTTP");
	for (n = 0; n < HEADERS_MAX; n++) {
		if ((rc = line_read(g, line)) < 0 || *line == '\0')
			return rc;
		if ((rc = header_take(g, line)) < 0)
			return rc;
	}
	return refuse(g, "too many headers");
}

static int
chunks_read(struct get *g)
{
	char line[LINE_MAX_BYTES];
	uint64_t len;
	int rc;

	for (;;) {
		if ((rc = line_read(g, line)) < 0)
			return rc;
		if (!number_parse(line, 16, " ;", &len))
			return refuse(g, "a chunk without length");
		if (len == 0)
			return NW_OK;            /* trailers are nothing to us */
		if ((rc = body_pass(g, len)) < 0 || (rc = line_read(g, line)) < 0)
			return rc;
		if (*line != '\0')
			return refuse(g, "a chunk that is longer than it says");
	}
}

static int
answer_read(struct get *g, int *status)
{
	int rc = head_read(g, status);

	if (rc < 0 || *status == 204 || *status == 304)
		return rc;
	return g->chunked ? chunks_read(g) : body_pass(g, g->length);
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
ask(struct get *g, const char *host, uint16_t port, const char *path, int *status)
{
	const char *v6 = strchr(host, ':');
	char *request = xasprintf("GET %s HTTP/1.1\r\nHost: %s%s%s:%u\r\nUser-Agent: narrows/%s\r\nConnection: close\r\n\r\n", path,
	    v6 != NULL ? "[" : "", host, v6 != NULL ? "]" : "", port, NW_VERSION);
	int rc = dial_send(g->dial, request, strlen(request), &g->why);

	free(request);
	return rc == NW_OK ? answer_read(g, status) : rc;
}

int
httpget(const char *base, const char *ca_path, const char *path, httpget_fn *fn, void *arg, int *status,
    char why[HTTPGET_WHY_BYTES])
{
	struct get g = { .fn = fn, .arg = arg, .length = UINT64_MAX };
	const struct nw_tls_opts opts = { .ca_path = ca_path };
	struct nw_tls_ctx *ctx = NULL;
	char host[256], reason[NW_TLS_WHY_BYTES];
	uint16_t port;
	bool tls;
	int rc;

	if (!base_parse(base, host, &port, &tls)) {
		snprintf(why, HTTPGET_WHY_BYTES, "not an address: write https://host:port");
		return NW_EINVAL;
	}
	if (tls && (rc = nw_tls_ctx_new(&opts, &ctx, reason)) < 0)
		g.why = reason;
	else if ((rc = dial_open(host, port, ctx, &g.dial, &g.why)) == NW_OK)
		rc = ask(&g, host, port, path, status);
	snprintf(why, HTTPGET_WHY_BYTES, "%s", g.why != NULL && *g.why != '\0' ? g.why : nw_strerror(rc));
	dial_close(g.dial);
	nw_tls_ctx_release(ctx);
	return rc;
}
