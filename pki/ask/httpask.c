/* SPDX-License-Identifier: BSD-3-Clause */
#include "pki/ask/httpask.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pki/ask/dial.h"
#include "pki/ask/httpanswer.h"
#include "narrows/address.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"
#include "narrows/tls.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

/* Parses the base of a URL into host and port; the scheme is optional and gives the default
 * port. */
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
	return address_parse(text, host, port) == NW_OK;
}

/* The header line with the asker's token. */
static char *
token_line(const struct httpask *q, const char *host, bool tls)
{
	if (q->token == NULL || strpbrk(q->token, "\r\n") != NULL ||
	    !(tls || address_is_loopback(host)))
		return xstrdup("");
	return xasprintf("Authorization: Bearer %s\r\n", q->token);
}

static int
question_send(struct dial *d, const struct httpask *q, const char *host, uint16_t port, bool tls,
    const char **why)
{
	bool v6 = strchr(host, ':') != NULL;
	char *who = token_line(q, host, tls),
	     *question = xasprintf("%s %s HTTP/1.1\r\nHost: %s%s%s:%u\r\nUser-Agent: "
				   "narrows/%s\r\n%s%sConnection: close\r\n",
		 q->body != NULL ? "POST" : "GET", q->path, v6 ? "[" : "", host, v6 ? "]" : "",
		 port, NW_VERSION, who, q->lines != NULL ? q->lines : ""),
	     *whole;
	int rc;

	if (q->body != NULL)
		whole = xasprintf("%sContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", question,
		    q->lines != NULL ? "application/json" : "text/plain", strlen(q->body), q->body);
	else
		whole = xasprintf("%s\r\n", question);
	rc = dial_send(d, whole, strlen(whole), why);
	free(whole);
	free(question);
	free(who);
	return rc;
}

static long
on_recv(void *from, void *buf, size_t cap, const char **why)
{
	return dial_recv(from, buf, cap, why);
}

int
httpask(
    const struct httpask *q, httpask_fn *fn, void *arg, int *status, char why[HTTPASK_WHY_BYTES])
{
	const struct nw_tls_opts opts = { .ca_path = q->ca_path, .ca_pin = q->ca_pin };
	struct nw_tls_ctx *ctx = NULL;
	struct dial *dial = NULL;
	char host[256], reason[NW_TLS_WHY_BYTES];
	const char *said = NULL;
	uint16_t port;
	bool tls;
	int rc;

	if (!base_parse(q->base, host, &port, &tls) || (q->ca_pin != NULL && !tls)) {
		snprintf(why, HTTPASK_WHY_BYTES, "not an address: write https://host:port");
		return NW_EINVAL;
	}
	if (tls && (rc = nw_tls_ctx_new(&opts, &ctx, reason)) < 0)
		said = reason;
	else if ((rc = dial_open(host, port, ctx, &dial, &said)) == NW_OK &&
	    (rc = question_send(dial, q, host, port, tls, &said)) == NW_OK)
		rc = httpanswer_read(
		    &(struct httpanswer){ .recv = on_recv, .from = dial, .fn = fn, .arg = arg },
		    status, &said);
	snprintf(
	    why, HTTPASK_WHY_BYTES, "%s", said != NULL && *said != '\0' ? said : nw_strerror(rc));
	dial_close(dial);
	nw_tls_ctx_release(ctx);
	return rc;
}
