/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/serve.h"

#include <errno.h>
#include <glob.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utlist.h>

#include "narrows/address.h"
#include "narrows/err.h"
#include "narrows/tls.h"

enum { HANDSHAKE_MS = 5000, PATH_BYTES = 1024 };

struct connection {
	struct serving *all;
	int fd;
	struct in6_addr peer; /* an IPv4 address is mapped */
	struct channel *wire; /* NULL until the handshake is over */
	struct connection *prev, *next;
};

struct serving {
	const struct serve_opts *opts;
	struct nw_tls_ctx *tls;
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct connection *connections;
	size_t n;
	bool over;
};

/* --- TLS --- */

static int
one_file(const char *dir, const char *pattern, char out[PATH_BYTES])
{
	char path[PATH_BYTES];
	glob_t found;
	int rc = NW_ENOTFOUND;

	snprintf(path, sizeof(path), "%.900s/%s", dir, pattern);
	if (glob(path, 0, NULL, &found) != 0)
		return NW_ENOTFOUND;
	if (found.gl_pathc == 1 && strlen(found.gl_pathv[0]) < PATH_BYTES) {
		strcpy(out, found.gl_pathv[0]);
		rc = NW_OK;
	}
	globfree(&found);
	return rc;
}

int
serve_tls(const char *dir, bool server, struct nw_tls_ctx **out, char why[CHANNEL_WHY_BYTES])
{
	char ca[PATH_BYTES], cert[PATH_BYTES], key[PATH_BYTES];
	struct nw_tls_opts opts = { .server = server, .peer_certificate = server };
	size_t len;

	*out = NULL;
	if (dir == NULL)
		return NW_OK;
	if (one_file(dir, "ca.crt", ca) != NW_OK || one_file(dir, "*.key", key) != NW_OK) {
		snprintf(why, CHANNEL_WHY_BYTES,
		    "%.150s: needs ca.crt and one HOST.key with its HOST.crt", dir);
		return NW_EINVAL;
	}
	strcpy(cert, key);
	len = strlen(cert);
	memcpy(cert + len - 3, "crt", 3);
	opts.ca_path = ca;
	opts.cert_path = cert;
	opts.key_path = key;
	return nw_tls_ctx_new(&opts, out, why);
}

void
serve_tls_name(const char *dir, char out[CHANNEL_NAME_BYTES])
{
	char key[PATH_BYTES];
	const char *name;

	out[0] = '\0';
	if (dir == NULL || one_file(dir, "*.key", key) != NW_OK)
		return;
	name = strrchr(key, '/') + 1;
	snprintf(out, CHANNEL_NAME_BYTES, "%.*s", (int)(strlen(name) - strlen(".key")), name);
}

/* --- connections --- */

static void
connection_end(struct connection *c)
{
	struct serving *all = c->all;
	struct channel *w = c->wire;

	pthread_mutex_lock(&all->lock);
	DL_DELETE(all->connections, c);
	all->n--;
	pthread_cond_signal(&all->change);
	pthread_mutex_unlock(&all->lock);
	channel_free(w);
	free(c);
}

static void *
connection_run(void *arg)
{
	struct connection *c = arg;
	struct serving *all = c->all;
	struct channel *w = NULL;
	bool over;

	if (channel_accept(c->fd, all->tls, HANDSHAKE_MS, &w) == NW_OK) {
		pthread_mutex_lock(&all->lock);
		c->wire = w;
		over = all->over;
		pthread_mutex_unlock(&all->lock);
		if (!over)
			all->opts->handle(all->opts->arg, w);
	}
	connection_end(c);
	return NULL;
}

static struct in6_addr
address_of(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *four = (const void *)a;
	struct in6_addr mapped = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	if (a->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)a)->sin6_addr;
	memcpy(mapped.s6_addr + 12, &four->sin_addr, 4);
	return mapped;
}

/* Returns false if there are too many connections, altogether or from this address; an address
 * leaves room for other addresses. */
static bool
connection_add(struct serving *all, struct connection *c)
{
	struct connection *other;
	size_t same = 0;
	bool room;

	pthread_mutex_lock(&all->lock);
	DL_FOREACH (all->connections, other) {
		same += memcmp(&other->peer, &c->peer, sizeof(c->peer)) == 0;
	}
	if ((room = all->n < SERVE_CONNECTIONS_MAX && same < SERVE_PER_ADDRESS_MAX)) {
		DL_APPEND(all->connections, c);
		all->n++;
	}
	pthread_mutex_unlock(&all->lock);
	return room;
}

static void
connection_new(struct serving *all, int fd, const struct sockaddr_storage *peer)
{
	struct connection *c = calloc(1, sizeof(*c));
	pthread_t thread;

	if (c != NULL)
		*c = (struct connection){ .all = all, .fd = fd, .peer = address_of(peer) };
	if (c == NULL || !connection_add(all, c)) {
		close(fd);
		free(c);
		return;
	}
	if (pthread_create(&thread, NULL, connection_run, c) != 0) {
		close(fd);
		connection_end(c);
		return;
	}
	pthread_detach(thread);
}

static void
all_end(struct serving *all)
{
	struct connection *c;

	pthread_mutex_lock(&all->lock);
	all->over = true;
	DL_FOREACH (all->connections, c) {
		if (c->wire != NULL)
			channel_shut(c->wire);
	}
	while (all->n > 0)
		pthread_cond_wait(&all->change, &all->lock);
	pthread_mutex_unlock(&all->lock);
}

static void
accept_all(struct serving *all, int listening, int signals)
{
	struct pollfd p[2] = { { .fd = listening, .events = POLLIN },
		{ .fd = signals, .events = POLLIN } };
	struct sockaddr_storage peer;
	socklen_t len;
	int fd;

	while (poll(p, 2, -1) < 0 ? errno == EINTR : (p[1].revents & POLLIN) == 0) {
		if ((p[0].revents & POLLIN) == 0)
			continue;
		len = sizeof(peer);
		if ((fd = accept4(listening, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC)) >= 0)
			connection_new(all, fd, &peer);
		else if (errno == EMFILE || errno == ENFILE)
			usleep(10000);
	}
}

/* --- the program --- */

static int
port_tell(const struct serve_opts *opts, const char *host, uint16_t port, char *why)
{
	FILE *f;

	printf("%s: listens on %s/%u\n", opts->name, host, (unsigned)port);
	fflush(stdout);
	if (opts->port_file == NULL)
		return NW_OK;
	f = fopen(opts->port_file, "we");
	if (f == NULL || fprintf(f, "%u\n", (unsigned)port) < 0 || fclose(f) != 0) {
		snprintf(why, CHANNEL_WHY_BYTES, "%.150s: %s", opts->port_file, strerror(errno));
		return NW_EIO;
	}
	return NW_OK;
}

static int
listen_start(const struct serve_opts *opts, int *fd, char *why)
{
	char host[ADDRESS_HOST_BYTES];
	uint16_t port;
	int rc;

	if (address_parse(opts->listen, host, &port) != NW_OK) {
		snprintf(why, CHANNEL_WHY_BYTES, "%.100s: HOST/PORT is wanted", opts->listen);
		return NW_EINVAL;
	}
	if (opts->tls_dir == NULL && !opts->plain && !address_is_loopback(host)) {
		snprintf(why, CHANNEL_WHY_BYTES,
		    "%.100s: beyond loopback only with -T (TLS), or with -p (in clear)", host);
		return NW_EINVAL;
	}
	if ((rc = channel_listen(host, port, fd, &port, why)) != NW_OK)
		return rc;
	return port_tell(opts, host, port, why);
}

static sigset_t
end_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return set;
}

void
serve_signals(void)
{
	sigset_t set = end_signals();

	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int
serve_run(const struct serve_opts *opts, char why[CHANNEL_WHY_BYTES])
{
	struct serving all = { .opts = opts };
	int listening = -1, signals, rc;
	sigset_t set = end_signals();

	if ((rc = serve_tls(opts->tls_dir, true, &all.tls, why)) != NW_OK)
		return rc;
	if ((signals = signalfd(-1, &set, SFD_CLOEXEC)) < 0)
		return NW_EIO;
	pthread_mutex_init(&all.lock, NULL);
	pthread_cond_init(&all.change, NULL);
	if ((rc = listen_start(opts, &listening, why)) == NW_OK) {
		accept_all(&all, listening, signals);
		all_end(&all);
	}
	if (listening >= 0)
		close(listening);
	close(signals);
	nw_tls_ctx_release(all.tls);
	return rc;
}
