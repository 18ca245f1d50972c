/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/join/boxtalk.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/provider.h"
#include "narrows/xmalloc.h"
#include "pki/ask/httpask.h"

enum { PORT_DEFAULT = 8443, CONNECT_MS = 10000 };
#define SECOND_NS       INT64_C(1000000000)
#define SESSION_WAIT_NS (10 * SECOND_NS)

static const char pem_begin[] = "-----BEGIN CERTIFICATE-----";

/* --- the address --- */

int
boxtalk_parse(struct boxtalk *b, const char *text)
{
	char all[ADDRESS_HOST_BYTES + 16];
	const char *after;
	size_t len;
	bool v6;

	if (strncmp(text, "https://", 8) == 0)
		text += 8;
	len = strlen(text);
	if (len > 0 && text[len - 1] == '/')
		len--;
	if (len == 0 || len + 8 >= sizeof(all) || strncmp(text, "http", 4) == 0)
		return NW_EINVAL;
	snprintf(all, sizeof(all), "%.*s", (int)len, text);
	after = strchr(all, ']');
	if (strpbrk(after != NULL ? after : all, ":/") == NULL)
		snprintf(all + len, sizeof(all) - len, ":%d", PORT_DEFAULT);
	if (address_parse(all, b->host, &b->https_port) < 0)
		return NW_EINVAL;
	v6 = strchr(b->host, ':') != NULL;
	snprintf(b->url, sizeof(b->url), "https://%s%s%s:%u", v6 ? "[" : "", b->host, v6 ? "]" : "",
	    b->https_port);
	return NW_OK;
}

void
boxtalk_address(const struct boxtalk *b, char out[BOXTALK_URL_BYTES])
{
	bool v6 = strchr(b->host, ':') != NULL;

	snprintf(out, BOXTALK_URL_BYTES, "tls://%s%s%s%c%u", v6 ? "[" : "", b->host, v6 ? "]" : "",
	    v6 ? ':' : '/', b->port);
}

/* --- a port --- */

static bool
address_opens(const struct addrinfo *a, const char **why)
{
	int fd =
		socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol),
	    error = errno;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(error);

	if (fd >= 0 &&
	    (error = connect(fd, a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno) == EINPROGRESS) {
		error = ETIMEDOUT;
		if (poll(&p, 1, CONNECT_MS) == 1)
			(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	}
	if (fd >= 0)
		close(fd);
	*why = error == ETIMEDOUT ? "no answer within ten seconds" : strerror(error);
	return error == 0;
}

bool
boxtalk_reaches(const struct boxtalk *b, uint16_t port, const char **why)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL, *a;
	char service[8];
	bool opens = false;
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	*why = "";
	if ((rc = getaddrinfo(b->host, service, &hints, &all)) != 0) {
		*why = gai_strerror(rc);
		return false;
	}
	for (a = all; a != NULL && !opens; a = a->ai_next)
		opens = address_opens(a, why);
	freeaddrinfo(all);
	return opens;
}

/* --- questions --- */

struct reply {
	char *text;
	size_t len, cap;
	int64_t first_wall_ns; /* time of the first byte */
};

static int
on_data(void *arg, const char *data, size_t len)
{
	struct reply *r = arg;

	if (r->first_wall_ns == 0)
		r->first_wall_ns = nw_wall_ns();
	if (len >= r->cap - r->len)
		return NW_ETOOBIG;
	memcpy(r->text + r->len, data, len);
	r->len += len;
	r->text[r->len] = '\0';
	return NW_OK;
}

static int
ask(struct boxtalk *b, const char *body, struct reply *r, int *status, char why[BOXTALK_WHY_BYTES])
{
	const struct httpask q = { .base = b->url,
		.ca_pin = b->pin,
		.ca_path = b->ca_path,
		.path = "/enroll",
		.body = body };
	char reason[HTTPASK_WHY_BYTES];
	int rc;

	r->text[0] = '\0';
	*status = 0;
	if ((rc = httpask(&q, on_data, r, status, reason)) < 0)
		snprintf(why, BOXTALK_WHY_BYTES, "%s: %s", b->url, reason);
	return rc;
}

int
boxtalk_facts(struct boxtalk *b, char why[BOXTALK_WHY_BYTES])
{
	char text[1024];
	struct reply r = { .text = text, .cap = sizeof(text) };
	int64_t before_wall_ns, clock_wall_ns;
	const char *reason;
	int rc, status;

	if (!boxtalk_reaches(b, b->https_port, &reason)) {
		snprintf(why, BOXTALK_WHY_BYTES, "%s: %s", b->url, reason);
		return NW_EIO;
	}
	before_wall_ns = nw_wall_ns();
	if ((rc = ask(b, NULL, &r, &status, why)) < 0)
		return rc;
	text[strcspn(text, "\r")] = '\0';
	if (status == 200 &&
	    sscanf(text, "port %" SCNu16 " clock %" SCNd64, &b->port, &clock_wall_ns) == 2 &&
	    b->port > 0 && clock_wall_ns > 0 && r.first_wall_ns >= before_wall_ns) {
		b->error_s = (double)(r.first_wall_ns - before_wall_ns) / 2e9;
		b->ahead_s = (double)(before_wall_ns - clock_wall_ns) / 1e9 + b->error_s;
		return NW_OK;
	}
	text[strcspn(text, "\n")] = '\0';
	snprintf(why, BOXTALK_WHY_BYTES, "%s: %s", b->url,
	    status == 404 && strstr(text, "listen-xsp-tls") != NULL
		? "this box takes no hosts: run \"narrows enroll --open --token HOST\" on the box"
		: "the answer is not that of a box of this version");
	return NW_EIO;
}

/* Cuts the reply into name, certificate and CA. The CA must have the token's pin. */
static bool
grant_parse(struct boxtalk_grant *g, const uint8_t pin[NW_TLS_PIN_BYTES])
{
	uint8_t pin_of_ca[NW_TLS_PIN_BYTES];
	char *end = strchr(g->reply, '\n');

	if (end == NULL)
		return false;
	*end = '\0';
	g->host = g->reply;
	if (strncmp(end + 1, pem_begin, strlen(pem_begin)) != 0 ||
	    (g->ca_pem = strstr(end + 2, pem_begin)) == NULL ||
	    (size_t)(g->ca_pem - (end + 1)) >= sizeof(g->cert_pem))
		return false;
	snprintf(g->cert_pem, sizeof(g->cert_pem), "%.*s", (int)(g->ca_pem - (end + 1)), end + 1);
	return nw_cert_name_ok(g->host) && nw_cert_pin(g->ca_pem, pin_of_ca) == NW_OK &&
	    memcmp(pin, pin_of_ca, sizeof(pin_of_ca)) == 0;
}

int
boxtalk_enroll(struct boxtalk *b, const char *secret, const char *request_pem,
    struct boxtalk_grant *out, char why[BOXTALK_WHY_BYTES])
{
	struct reply r = { .text = out->reply, .cap = sizeof(out->reply) };
	char *body = xasprintf("%s\n%s", secret, request_pem);
	int status, rc = ask(b, body, &r, &status, why);

	explicit_bzero(body, strlen(body));
	free(body);
	if (rc < 0)
		return rc;
	if (status == 200 && grant_parse(out, b->pin))
		return NW_OK;
	out->reply[strcspn(out->reply, "\r\n")] = '\0';
	snprintf(why, BOXTALK_WHY_BYTES, "%s: %.200s", b->url,
	    status == 403 || status == 400 ? out->reply
		: status == 200            ? "the answer is not a certificate of the token's site"
				: "this box enrols no hosts: run \"narrows enroll --open --token "
				  "HOST\" on the box");
	return NW_ECONFLICT;
}

/* --- measurements --- */

int
boxtalk_session(
    const char *box, const char *host, const struct boxtalk_files *f, char why[BOXTALK_WHY_BYTES])
{
	const struct nw_provider_opts o = { .box = box,
		.host = host,
		.software = "narrows-host",
		.tls_ca = f->ca,
		.tls_cert = f->cert,
		.tls_key = f->key };
	int64_t until_mono_ns = nw_mono_ns() + SESSION_WAIT_NS;
	struct nw_provider_stats s = { .connected = false };
	struct nw_provider *p = NULL;
	int rc = nw_provider_new(&o, &p);

	while (rc == NW_OK && !s.acknowledged && nw_mono_ns() < until_mono_ns) {
		rc = nw_provider_run(p, SECOND_NS / 20);
		nw_provider_get_stats(p, &s);
	}
	snprintf(why, BOXTALK_WHY_BYTES, "%s", rc < 0 ? nw_strerror(rc) : nw_provider_why(p));
	nw_provider_close(p, SECOND_NS);
	return rc < 0 ? rc : s.acknowledged ? NW_OK : NW_EIO;
}
