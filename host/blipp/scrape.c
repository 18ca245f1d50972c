/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/scrape.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lib/conn.h"
#include "narrows/err.h"

#define PATIENCE_NS INT64_C(10000000000)

static int
listen_at(const struct conn_addr *a)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE },
			*found = NULL;
	const int yes = 1;
	int fd = -1;

	if (getaddrinfo(a->host, a->port, &hints, &found) != 0)
		return NW_EINVAL;
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		if (bind(fd, found->ai_addr, found->ai_addrlen) < 0 ||
		    listen(fd, 8 * SCRAPES) < 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd >= 0 ? fd : NW_EIO;
}

int
scrapes_open(struct scrapes *s, const char *address,
    void (*write)(void *arg, bool classic, FILE *to), void *arg)
{
	struct conn_addr a = { .host = "127.0.0.1" };
	int fd;

	s->fd = -1;
	s->n = 0;
	s->write = write;
	s->arg = arg;
	if (strlen(address) <= 5 && strspn(address, "0123456789") == strlen(address))
		snprintf(a.port, sizeof(a.port), "%.5s", address);
	else if (conn_addr_parse(address, &a) < 0 || a.tls)
		return NW_EINVAL;
	if ((fd = listen_at(&a)) < 0)
		return fd;
	s->fd = fd;
	return NW_OK;
}

static void
drop(struct scrapes *s, size_t i)
{
	close(s->list[i].fd);
	free(s->list[i].answer);
	s->n--;
	memmove(&s->list[i], &s->list[i + 1], (s->n - i) * sizeof(s->list[0]));
}

void
scrapes_close(struct scrapes *s)
{
	if (s->fd < 0)
		return;
	while (s->n > 0)
		drop(s, 0);
	close(s->fd);
	s->fd = -1;
}

size_t
scrapes_poll(const struct scrapes *s, struct pollfd *out)
{
	size_t i, n = 0;

	if (s->fd < 0)
		return 0;
	out[n++] = (struct pollfd){ .fd = s->fd, .events = POLLIN };
	for (i = 0; i < s->n; i++)
		out[n++] = (struct pollfd){ .fd = s->list[i].fd,
			.events = s->list[i].answer != NULL ? POLLOUT : POLLIN };
	return n;
}

static void
take_new(struct scrapes *s, int64_t now_mono_ns)
{
	int fd;

	while ((fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		if (s->n == SCRAPES)
			drop(s, 0);
		s->list[s->n++] = (struct scrape){ .fd = fd, .begun_mono_ns = now_mono_ns };
	}
}

static bool
is_page(const char *request, const char *page)
{
	const size_t len = strlen(page);

	return strncmp(request, page, len) == 0 && (request[len] == ' ' || request[len] == '?');
}

/* The answer to a whole request: head and metrics in one piece of memory. */
static void
answer_make(const struct scrapes *s, struct scrape *c)
{
	bool found = is_page(c->request, "GET /metrics") ||
	    is_page(c->request, "GET /node_exporter/metrics");
	bool classic = strstr(c->request, "application/openmetrics-text") == NULL;
	const char *type = classic ? "text/plain; version=0.0.4; charset=utf-8"
				   : "application/openmetrics-text; version=1.0.0; charset=utf-8";
	char *body = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&body, &len);

	if (f != NULL && found)
		s->write(s->arg, classic, f);
	else if (f != NULL)
		fputs("/metrics is the only page here\n", f);
	if (f == NULL || fclose(f) != 0) {
		free(body);
		return;
	}
	c->answer_len = 0;
	f = open_memstream(&c->answer, &c->answer_len);
	if (f != NULL) {
		fprintf(f,
		    "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		    "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
		    found ? "200 OK" : "404 Not Found", found ? type : "text/plain; charset=utf-8",
		    len);
		fwrite(body, 1, len, f);
		if (fclose(f) != 0) {
			free(c->answer);
			c->answer = NULL;
		}
	}
	free(body);
}

/* Returns false if the connection is over. */
static bool
request_read(const struct scrapes *s, struct scrape *c)
{
	ssize_t n =
	    recv(c->fd, c->request + c->request_len, sizeof(c->request) - 1 - c->request_len, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	c->request_len += (size_t)n;
	c->request[c->request_len] = '\0';
	if (memmem(c->request, c->request_len, "\r\n\r\n", 4) == NULL)
		return c->request_len < sizeof(c->request) - 1;
	answer_make(s, c);
	return c->answer != NULL;
}

static bool
answer_send(struct scrape *c)
{
	ssize_t n = send(c->fd, c->answer + c->sent, c->answer_len - c->sent, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->sent += (size_t)n;
	return c->sent < c->answer_len;
}

void
scrapes_run(struct scrapes *s, int64_t now_mono_ns)
{
	struct scrape *c;
	size_t i = 0;
	bool stays;

	if (s->fd < 0)
		return;
	take_new(s, now_mono_ns);
	while (i < s->n) {
		c = &s->list[i];
		stays = now_mono_ns - c->begun_mono_ns < PATIENCE_NS;
		if (stays && c->answer == NULL)
			stays = request_read(s, c);
		if (stays && c->answer != NULL)
			stays = answer_send(c);
		if (stays)
			i++;
		else
			drop(s, i);
	}
}
