/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/receive/receive.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "narrows/tcplisten.h"
#include "narrows/tls.h"
#include "narrows/xmalloc.h"

/* --- a connection, in a process apart --- */

struct wire {
	int fd;
	struct nw_tls *tls;
	uint8_t in[32 << 10];
};

static bool
wire_flush(struct wire *w)
{
	const uint8_t *bytes;
	size_t len;
	ssize_t n;

	while ((len = nw_tls_output(w->tls, &bytes)) > 0) {
		if ((n = send(w->fd, bytes, len, MSG_NOSIGNAL)) < 0 && errno != EINTR)
			return false;
		if (n > 0)
			nw_tls_sent(w->tls, (size_t)n);
	}
	return true;
}

static bool
wire_feed(struct wire *w)
{
	ssize_t n;

	do
		n = recv(w->fd, w->in, sizeof(w->in), 0);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		nw_tls_feed(w->tls, w->in, (size_t)n);
	return n > 0;
}

static bool
wire_handshake(struct wire *w)
{
	int rc;

	while ((rc = nw_tls_handshake(w->tls)) == NW_EAGAIN)
		if (!wire_flush(w) || !wire_feed(w))
			return false;
	return wire_flush(w) && rc == NW_OK;
}

static long
wire_read(struct wire *w, void *buf, size_t cap)
{
	long n;

	while ((n = nw_tls_read(w->tls, buf, cap)) == NW_EAGAIN)
		if (!wire_flush(w) || !wire_feed(w))
			return NW_ECLOSED;
	return n;
}

static bool
wire_write(struct wire *w, const char *bytes, size_t len)
{
	long n;

	while (len > 0) {
		n = nw_tls_write(w->tls, (const uint8_t *)bytes, len);
		if ((n < 0 && n != NW_EFULL) || !wire_flush(w))
			return false;
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static void
answer_send(struct wire *w, int status, const char *answer, size_t len)
{
	char *head = xasprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
			       "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	    status, status == 200 ? "OK" : "refused", len);

	if (wire_write(w, head, strlen(head)) && wire_write(w, answer, len)) {
		nw_tls_close(w->tls);
		(void)wire_flush(w);
	}
	free(head);
}

static bool
is_taken(const struct fleet_conf *c, const char *site)
{
	const char *line = c->takes;
	size_t n;

	for (; line != NULL && *line != '\0'; line += n, line += *line == '\n') {
		n = strcspn(line, "\n");
		if (n == strlen(site) && strncmp(line, site, n) == 0)
			return true;
	}
	return false;
}

/* Reads a request and answers; returns the status. */
static int
request_do(struct wire *w, const struct fleet_conf *conf)
{
	char head_text[RECEIVE_HEAD_MAX_BYTES + 1], *body, *answer = NULL;
	const char *end = NULL;
	struct receive_head head;
	size_t n = 0, have, len = 0;
	long got;
	int status;

	while (end == NULL && n < RECEIVE_HEAD_MAX_BYTES) {
		if ((got = wire_read(w, head_text + n, RECEIVE_HEAD_MAX_BYTES - n)) <= 0)
			return 0;
		n += (size_t)got;
		head_text[n] = '\0';
		end = strstr(head_text, "\r\n\r\n");
	}
	status = end == NULL ? 400 : receive_head(head_text, (size_t)(end + 4 - head_text), &head);
	if (status == 0 && !is_taken(conf, conf->site))
		status = 403;
	if (status != 0) {
		answer_send(w, status, "refused\n", 8);
		return status;
	}
	have = n - (size_t)(end + 4 - head_text);
	have = have < head.body_bytes ? have : head.body_bytes;
	body = xmalloc(head.body_bytes + 1);
	memcpy(body, end + 4, have);
	for (; have < head.body_bytes; have += (size_t)got)
		if ((got = wire_read(w, body + have, head.body_bytes - have)) <= 0) {
			free(body);
			return 0;
		}
	status = receive_do(conf, &head, body, &answer, &len);
	free(body);
	answer_send(w, status, answer != NULL ? answer : "", len);
	free(answer);
	return status;
}

static void
connection_serve(int fd, const struct fleet_conf *c, const char *peer)
{
	char *ca = xasprintf("%s/ca.crt", c->tls_dir), *crt = xasprintf("%s/box.crt", c->tls_dir),
	     *key = xasprintf("%s/box.key", c->tls_dir), *hosts = xasprintf("%s/hosts", c->tls_dir);
	const struct nw_tls_opts opts = { .server = true,
		.peer_certificate = true,
		.ca_path = ca,
		.cert_path = crt,
		.key_path = key,
		.revoked_path = hosts };
	struct fleet_conf conf = *c;
	struct wire *w = xcalloc(1, sizeof(*w));
	struct nw_tls_ctx *ctx = NULL;
	char why[NW_TLS_WHY_BYTES] = "";
	const char *distrust;
	int status = 0;

	alarm(RECEIVE_HELLO_MAX_S); /* its default ends the process */
	w->fd = fd;
	if (nw_tls_ctx_new(&opts, &ctx, why) < 0 || nw_tls_new(ctx, NULL, &w->tls) < 0)
		log_warnx("fleet.receive peer=%s why=\"%s\"", peer, why);
	else if (!wire_handshake(w))
		log_info("fleet.reject peer=%s why=\"%s\"", peer, nw_tls_why(w->tls));
	else if ((distrust = nw_tls_distrust(w->tls, ctx, nw_wall_ns())) != NULL)
		log_info("fleet.reject peer=%s why=\"%s\"", peer, distrust);
	else {
		alarm(RECEIVE_MAX_S);
		conf.site = xstrdup(nw_tls_peer_name(w->tls));
		status = request_do(w, &conf);
		log_info("fleet.request peer=%s site=\"%s\" status=%d", peer, conf.site, status);
		free(conf.site);
	}
	nw_tls_free(w->tls);
	nw_tls_ctx_release(ctx);
	free(w);
	free(ca);
	free(crt);
	free(key);
	free(hosts);
}

/* --- listening --- */

static void
connection_take(int listening, const struct fleet_conf *c, size_t *children)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char peer[TCPLISTEN_NAME_BYTES];
	pid_t pid;
	int fd = accept4(listening, (struct sockaddr *)&ss, &len, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	tcplisten_name(&ss, len, peer);
	if ((pid = tcplisten_child(listening)) == 0) {
		connection_serve(fd, c, peer);
		_exit(0);
	}
	if (pid > 0)
		++*children;
	else
		log_warn("fleet.receive peer=%s", peer);
	close(fd);
}

int
receive_run(const struct fleet_conf *c, const char *listen, volatile sig_atomic_t *stop,
    void (*ready)(const char *address), char why[FLEET_WHY_BYTES])
{
	struct pollfd p = { .fd = -1, .events = POLLIN };
	char name[TCPLISTEN_NAME_BYTES];
	const char *fault;
	size_t children = 0;
	int rc = tcplisten_open(listen, &p.fd, name, &fault);

	if (rc < 0) {
		(void)fleet_failed(listen, fault, why);
		return rc;
	}
	ready(name);
	while (!*stop) {
		while (children > 0 &&
		    waitpid(-1, NULL, children < RECEIVE_AT_ONCE_MAX ? WNOHANG : 0) > 0)
			children--;
		if (children < RECEIVE_AT_ONCE_MAX && poll(&p, 1, 500) > 0)
			connection_take(p.fd, c, &children);
	}
	close(p.fd);
	while (children > 0 && waitpid(-1, NULL, 0) > 0)
		children--;
	return NW_OK;
}
