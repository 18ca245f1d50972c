/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests wait in a queue for each server; its connections are threads: each takes a request,
 * sends the request and reads the answer. A failed connection is made anew once for each request.
 */
#include "dpss/sim/ranges.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utlist.h>

#include "dpss/blocklog.h"
#include "dpss/proto.h"
#include "narrows/clock.h"
#include "narrows/condwait.h"
#include "narrows/err.h"

enum { SERVERS = 16, HEAD_BYTES = 8192, PATH_BYTES = 512, TIMEOUT_S = 10, CONNECTIONS_MAX = 64 };

struct wanted {
	uint64_t logical;
	uint32_t list;
	int64_t asked_wall_ns;
	struct wanted *prev, *next;
};

struct got {
	struct ranges_block block;
	struct got *prev, *next;
};

struct place {
	char host[256], port[8], path[PATH_BYTES];
	struct ranges *all;
	struct wanted *queue;
};

/* A connection: a thread with a socket, -1 for closed. */
struct line {
	struct place *place;
	pthread_t thread;
	int fd;
	char head[HEAD_BYTES + 1];
	size_t len; /* bytes in head */
};

struct ranges {
	struct ranges_opts opts;
	struct blocklog *log;
	struct place places[SERVERS];
	size_t n_places, n_lines;
	struct line lines[SERVERS * CONNECTIONS_MAX];
	uint64_t bytes;
	uint32_t list;
	pthread_mutex_t lock;
	pthread_cond_t work, change;
	struct got *got;
	size_t pending;
	bool over;
};

/* --- HTTP --- */

static int
url_parse(const char *url, size_t len, struct place *p)
{
	static const char scheme[] = "http://";
	const char *host = url + sizeof(scheme) - 1, *end = url + len, *slash, *colon;

	if (len <= sizeof(scheme) || strncmp(url, scheme, sizeof(scheme) - 1) != 0 ||
	    (slash = memchr(host, '/', (size_t)(end - host))) == NULL)
		return NW_EINVAL;
	if ((colon = memchr(host, ':', (size_t)(slash - host))) == NULL)
		colon = slash;
	if ((size_t)(colon - host) >= sizeof(p->host) || (size_t)(end - slash) >= sizeof(p->path) ||
	    colon == host || slash - colon > 6)
		return NW_EINVAL;
	snprintf(p->host, sizeof(p->host), "%.*s", (int)(colon - host), host);
	snprintf(p->path, sizeof(p->path), "%.*s", (int)(end - slash), slash);
	if (colon == slash)
		strcpy(p->port, "80");
	else
		snprintf(p->port, sizeof(p->port), "%.*s", (int)(slash - colon - 1), colon + 1);
	return NW_OK;
}

static int
line_connect(struct line *l)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all, *at;
	struct timeval limit = { TIMEOUT_S, 0 };

	l->len = 0;
	if (getaddrinfo(l->place->host, l->place->port, &hints, &all) != 0)
		return NW_EIO;
	for (at = all; at != NULL && l->fd < 0; at = at->ai_next) {
		if ((l->fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
			continue;
		setsockopt(l->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		setsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		if (connect(l->fd, at->ai_addr, at->ai_addrlen) < 0) {
			close(l->fd);
			l->fd = -1;
		}
	}
	freeaddrinfo(all);
	return l->fd >= 0 ? NW_OK : NW_EIO;
}

static void
line_close(struct line *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

static int
line_send(struct line *l, uint64_t from, uint64_t to)
{
	char text[PATH_BYTES + 512];
	int len = snprintf(text, sizeof(text),
	    "GET %s HTTP/1.1\r\nHost: %s:%s\r\nUser-Agent: tv_sim\r\nRange: bytes=%" PRIu64
	    "-%" PRIu64 "\r\n\r\n",
	    l->place->path, l->place->host, l->place->port, from, to);

	return send(l->fd, text, (size_t)len, MSG_NOSIGNAL) == len ? NW_OK : NW_ECLOSED;
}

/* The answer's head, up to the empty line; *end is behind. */
static int
head_read(struct line *l, char **end)
{
	ssize_t n;

	for (;;) {
		l->head[l->len] = '\0';
		if ((*end = strstr(l->head, "\r\n\r\n")) != NULL) {
			*end += 4;
			return NW_OK;
		}
		if (l->len == HEAD_BYTES)
			return NW_EPROTO;
		if ((n = recv(l->fd, l->head + l->len, HEAD_BYTES - l->len, 0)) <= 0)
			return NW_ECLOSED;
		l->len += (size_t)n;
	}
}

/* The value of a field; NULL: the head has none. */
static const char *
field(const char *head, const char *name)
{
	size_t len = strlen(name);
	const char *at;

	for (at = strstr(head, "\r\n"); at != NULL; at = strstr(at + 2, "\r\n"))
		if (strncasecmp(at + 2, name, len) == 0 && at[2 + len] == ':')
			return at + 3 + len + strspn(at + 3 + len, " \t");
	return NULL;
}

/* Bytes of the body are counted and thrown away. */
static int
body_skip(struct line *l, size_t have, uint64_t len)
{
	static _Thread_local char sink[64 << 10];
	ssize_t n;

	for (len -= have; len > 0; len -= (uint64_t)n)
		if ((n = recv(l->fd, sink, len < sizeof(sink) ? len : sizeof(sink), 0)) <= 0)
			return NW_ECLOSED;
	return NW_OK;
}

/* One range; *total gets the length of the whole file. */
static int
line_get(struct line *l, uint64_t from, uint64_t to, uint64_t *total)
{
	uint64_t length, got_from, got_to;
	const char *at;
	char *end;
	int rc;

	if ((rc = line_send(l, from, to)) != NW_OK || (rc = head_read(l, &end)) != NW_OK)
		return rc;
	if (strncmp(l->head, "HTTP/1.1 206 ", 13) != 0 ||
	    (at = field(l->head, "Content-Range")) == NULL ||
	    sscanf(at, "bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64, &got_from, &got_to, total) != 3 ||
	    got_from != from || got_to > to || got_to < from ||
	    (at = field(l->head, "Content-Length")) == NULL ||
	    (length = strtoull(at, NULL, 10)) != got_to - got_from + 1 ||
	    (size_t)(l->head + l->len - end) > length)
		return NW_EPROTO;
	rc = body_skip(l, (size_t)(l->head + l->len - end), length);
	at = field(l->head, "Connection");
	l->len = 0;
	if (rc == NW_OK && at != NULL && strncasecmp(at, "close", 5) == 0)
		line_close(l);
	return rc;
}

/* A server may have closed an idle connection: the second attempt is on a new connection. */
static int
line_fetch(struct line *l, uint64_t from, uint64_t to, uint64_t *total)
{
	int attempt, rc = NW_ECLOSED;

	for (attempt = 0; attempt < 2 && rc == NW_ECLOSED; attempt++) {
		if (l->fd < 0 && line_connect(l) != NW_OK)
			return NW_EIO;
		if ((rc = line_get(l, from, to, total)) != NW_OK)
			line_close(l);
	}
	return rc;
}

/* --- the threads --- */

static void
event(
    struct ranges *r, const char *keyword, int64_t t_wall_ns, const struct wanted *w, size_t place)
{
	const uint64_t data[] = { w->logical, 0, 0, w->list, place };

	blocklog_put(r->log, keyword, NULL, t_wall_ns, data, 5);
}

static struct wanted *
wanted_take(struct line *l)
{
	struct ranges *r = l->place->all;
	struct wanted *w;

	pthread_mutex_lock(&r->lock);
	while (l->place->queue == NULL && !r->over)
		pthread_cond_wait(&r->work, &r->lock);
	if ((w = r->over ? NULL : l->place->queue) != NULL)
		DL_DELETE(l->place->queue, w);
	pthread_mutex_unlock(&r->lock);
	return w;
}

static void
wanted_end(struct ranges *r, const struct wanted *w, uint32_t len, int rc)
{
	struct got *g = calloc(1, sizeof(*g));

	pthread_mutex_lock(&r->lock);
	r->pending--;
	if (g != NULL) {
		g->block = (struct ranges_block){ w->logical, w->list, len, rc };
		DL_APPEND(r->got, g);
	}
	pthread_cond_signal(&r->change);
	pthread_mutex_unlock(&r->lock);
}

static void *
line_run(void *arg)
{
	struct line *l = arg;
	struct ranges *r = l->place->all;
	uint64_t from, to, total;
	struct wanted *w;
	int rc;

	while ((w = wanted_take(l)) != NULL) {
		from = w->logical * r->opts.block_bytes;
		to = from + r->opts.block_bytes < r->bytes ? from + r->opts.block_bytes : r->bytes;
		event(r, dpss_point_words[DPSS_APP_SEND], w->asked_wall_ns, w,
		    (size_t)(l->place - r->places));
		event(r, "HTTP_SEND", nw_wall_ns(), w, (size_t)(l->place - r->places));
		rc = line_fetch(l, from, to - 1, &total);
		event(r, dpss_point_words[DPSS_APP_RECEIVE], nw_wall_ns(), w,
		    (size_t)(l->place - r->places));
		wanted_end(r, w, (uint32_t)(to - from), rc);
		free(w);
	}
	return NULL;
}

/* --- requests --- */

uint64_t
ranges_blocks(const struct ranges *r)
{
	return (r->bytes + r->opts.block_bytes - 1) / r->opts.block_bytes;
}

/* Called with the lock. Returns how many requests are forgotten. */
static uint64_t
queues_clear(struct ranges *r)
{
	struct wanted *w, *next;
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < r->n_places; i++) {
		DL_FOREACH_SAFE(r->places[i].queue, w, next)
		{
			DL_DELETE(r->places[i].queue, w);
			free(w);
			r->pending--;
			n++;
		}
	}
	return n;
}

int
ranges_request(struct ranges *r, const uint64_t *logical, size_t n)
{
	struct wanted *w;
	size_t i;

	pthread_mutex_lock(&r->lock);
	if (r->opts.flush)
		(void)queues_clear(r);
	r->list++;
	for (i = 0; i < n && (w = calloc(1, sizeof(*w))) != NULL; i++) {
		*w = (struct wanted){ logical[i], r->list, nw_wall_ns(), NULL, NULL };
		DL_APPEND(r->places[logical[i] % r->n_places].queue, w);
		r->pending++;
	}
	pthread_cond_broadcast(&r->work);
	pthread_mutex_unlock(&r->lock);
	return i == n ? NW_OK : NW_ENOMEM;
}

int
ranges_next(struct ranges *r, int wait_ms, struct ranges_block *out)
{
	int64_t until_mono_ns = nw_mono_ns() + wait_ms * INT64_C(1000000);
	struct got *g;

	pthread_mutex_lock(&r->lock);
	while (r->got == NULL && nw_cond_wait_until(&r->change, &r->lock, until_mono_ns))
		continue;
	if ((g = r->got) != NULL)
		DL_DELETE(r->got, g);
	pthread_mutex_unlock(&r->lock);
	if (g == NULL)
		return NW_EAGAIN;
	*out = g->block;
	free(g);
	return NW_OK;
}

size_t
ranges_pending(struct ranges *r)
{
	size_t n;

	pthread_mutex_lock(&r->lock);
	n = r->pending;
	pthread_mutex_unlock(&r->lock);
	return n;
}

uint64_t
ranges_forget(struct ranges *r)
{
	uint64_t n;

	pthread_mutex_lock(&r->lock);
	n = queues_clear(r);
	pthread_mutex_unlock(&r->lock);
	return n;
}

/* --- beginning and end --- */

static int
places_parse(struct ranges *r, const char *urls)
{
	const char *at, *comma;

	for (at = urls; at != NULL; at = comma != NULL ? comma + 1 : NULL) {
		comma = strchr(at, ',');
		if (r->n_places == SERVERS ||
		    url_parse(at, comma != NULL ? (size_t)(comma - at) : strlen(at),
			&r->places[r->n_places]) != NW_OK)
			return NW_EINVAL;
		r->places[r->n_places++].all = r;
	}
	return NW_OK;
}

/* The length of the file; all servers have the same one. */
static int
places_ask(struct ranges *r, char *why)
{
	uint64_t total;
	struct line l;
	size_t i;
	int rc;

	for (i = 0; i < r->n_places; i++) {
		l = (struct line){ .place = &r->places[i], .fd = -1 };
		rc = line_fetch(&l, 0, 0, &total);
		line_close(&l);
		if (rc == NW_OK && (total == 0 || (i > 0 && total != r->bytes)))
			rc = NW_EPROTO;
		if (rc != NW_OK) {
			snprintf(why, RANGES_WHY_BYTES, "%.100s:%s: %s", r->places[i].host,
			    r->places[i].port,
			    rc == NW_EPROTO
				? "no file that can be read by ranges, or another length"
				: nw_strerror(rc));
			return rc;
		}
		r->bytes = total;
	}
	return NW_OK;
}

static int
lines_start(struct ranges *r)
{
	size_t i, k;

	for (i = 0; i < r->n_places; i++)
		for (k = 0; k < r->opts.connections && k < CONNECTIONS_MAX; k++) {
			struct line *l = &r->lines[r->n_lines];

			l->place = &r->places[i];
			l->fd = -1;
			if (pthread_create(&l->thread, NULL, line_run, l) != 0)
				return NW_ENOMEM;
			r->n_lines++;
		}
	return NW_OK;
}

int
ranges_open(const char *urls, const struct ranges_opts *opts, struct ranges **out,
    char why[RANGES_WHY_BYTES])
{
	struct ranges *r = calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return NW_ENOMEM;
	r->opts = *opts;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, NULL);
	pthread_cond_init(&r->change, NULL);
	if ((rc = places_parse(r, urls)) != NW_OK)
		snprintf(why, RANGES_WHY_BYTES, "%.100s: http://HOST:PORT/PATH is wanted", urls);
	else if ((rc = blocklog_open(opts->log, NULL, &r->log, why)) == NW_OK &&
	    (rc = places_ask(r, why)) == NW_OK)
		rc = lines_start(r);
	if (rc != NW_OK) {
		ranges_close(r);
		return rc;
	}
	*out = r;
	return NW_OK;
}

int
ranges_close(struct ranges *r)
{
	struct got *g, *next;
	size_t i;
	int rc;

	if (r == NULL)
		return NW_OK;
	pthread_mutex_lock(&r->lock);
	r->over = true;
	queues_clear(r);
	pthread_cond_broadcast(&r->work);
	pthread_mutex_unlock(&r->lock);
	for (i = 0; i < r->n_lines; i++) {
		pthread_join(r->lines[i].thread, NULL);
		line_close(&r->lines[i]);
	}
	DL_FOREACH_SAFE(r->got, g, next)
	{
		free(g);
	}
	rc = blocklog_close(r->log);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->work);
	pthread_cond_destroy(&r->change);
	free(r);
	return rc;
}
