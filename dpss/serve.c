/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/serve.h"

#include <errno.h>
#include <glob.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <utlist.h>

#include "narrows/address.h"
#include "narrows/err.h"
#include "narrows/fairq.h"
#include "narrows/tls.h"

enum {
	HANDSHAKE_MS = 5000,
	PATH_BYTES = 1024,
	LARGE_GENTLE_S = 1, /* a large message waits so long before it displaces another */
	LARGE_WAIT_S = 60
};

struct connection {
	struct serving *all;
	int fd;
	char peer[INET6_ADDRSTRLEN];
	struct channel *wire; /* NULL until the handshake is over */
	bool over;            /* another connection has the place */
	struct fairq_item place, large;
	struct connection *prev, *next;
};

struct serving {
	const struct serve_opts *opts;
	struct nw_tls_ctx *tls;
	pthread_mutex_t lock;
	pthread_cond_t change, given; /* given: a place of a large message */
	struct fairq *places, *large;
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
	c->wire = NULL; /* from now on no other thread shuts the channel */
	pthread_mutex_unlock(&all->lock);
	channel_free(w);
	pthread_mutex_lock(&all->lock);
	fairq_remove(all->places, &c->place);
	fairq_remove(all->large, &c->large);
	DL_DELETE(all->connections, c);
	all->n--;
	pthread_cond_signal(&all->change);
	pthread_mutex_unlock(&all->lock);
	free(c);
}

/* Ends the connection of an item that lost its place. Called with the lock held. */
static void
connection_displace(struct connection *c)
{
	c->over = true;
	if (c->wire != NULL)
		channel_shut(c->wire);
}

/* --- large messages --- */

/* NW_EFULL: not now. Called with the lock held. */
static int
large_try(struct connection *c, bool gently)
{
	const char *name = channel_peer_name(c->wire);
	struct fairq_item *displaced = NULL;
	struct serving *all = c->all;
	int rc;

	if (c->over || all->over)
		return NW_ECLOSED;
	if (gently && fairq_count(all->large) >= all->opts->large_max)
		return NW_EFULL;
	rc = fairq_put(all->large, *name != '\0' ? name : c->peer, &c->large, &displaced);
	if (rc == NW_OK && displaced != NULL)
		connection_displace(fairq_of(displaced, struct connection, large));
	return rc;
}

static int
large_take(void *arg)
{
	struct connection *c = arg;
	struct serving *all = c->all;
	struct timespec at;
	int rc, waited_s = 0;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_sec++;
	pthread_mutex_lock(&all->lock);
	while (
	    (rc = large_try(c, waited_s < LARGE_GENTLE_S)) == NW_EFULL && waited_s < LARGE_WAIT_S)
		if (pthread_cond_timedwait(&all->given, &all->lock, &at) == ETIMEDOUT) {
			at.tv_sec++;
			waited_s++;
		}
	pthread_mutex_unlock(&all->lock);
	return rc;
}

static void
large_give(void *arg)
{
	struct connection *c = arg;

	pthread_mutex_lock(&c->all->lock);
	fairq_remove(c->all->large, &c->large);
	pthread_cond_broadcast(&c->all->given);
	pthread_mutex_unlock(&c->all->lock);
}

static void *
connection_run(void *arg)
{
	struct connection *c = arg;
	struct serving *all = c->all;
	struct channel *w = NULL;
	bool over;

	if (channel_accept(c->fd, all->tls, HANDSHAKE_MS, &w) == NW_OK) {
		channel_bound(w, &(struct channel_large){ large_take, large_give, c });
		pthread_mutex_lock(&all->lock);
		c->wire = w;
		over = all->over || c->over;
		pthread_mutex_unlock(&all->lock);
		if (!over)
			all->opts->handle(all->opts->arg, w);
	}
	connection_end(c);
	return NULL;
}

/* The text of an IPv4 address, or of the upper half of an IPv6 address. */
static void
address_print(const struct sockaddr_storage *a, char out[INET6_ADDRSTRLEN])
{
	const struct sockaddr_in *four = (const void *)a;
	struct in6_addr six = { 0 };

	if (a->ss_family == AF_INET) {
		inet_ntop(AF_INET, &four->sin_addr, out, INET6_ADDRSTRLEN);
		return;
	}
	six = ((const struct sockaddr_in6 *)a)->sin6_addr;
	if (IN6_IS_ADDR_V4MAPPED(&six)) {
		inet_ntop(AF_INET, six.s6_addr + 12, out, INET6_ADDRSTRLEN);
		return;
	}
	memset(six.s6_addr + 8, 0, 8);
	inet_ntop(AF_INET6, &six, out, INET6_ADDRSTRLEN);
}

/* Returns false if there is no place for the connection. */
static bool
connection_add(struct serving *all, struct connection *c)
{
	struct fairq_item *displaced = NULL;
	bool room;

	pthread_mutex_lock(&all->lock);
	if ((room = fairq_put(all->places, c->peer, &c->place, &displaced) == NW_OK)) {
		DL_APPEND(all->connections, c);
		all->n++;
	}
	if (displaced != NULL)
		connection_displace(fairq_of(displaced, struct connection, place));
	pthread_mutex_unlock(&all->lock);
	return room;
}

static void
connection_new(struct serving *all, int fd, const struct sockaddr_storage *peer)
{
	struct connection *c = calloc(1, sizeof(*c));
	pthread_t thread;

	if (c != NULL) {
		*c = (struct connection){ .all = all, .fd = fd };
		address_print(peer, c->peer);
	}
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
	pthread_cond_broadcast(&all->given);
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

/* All places can be taken: descriptors for connections, disks and files. */
static void
descriptors_raise(void)
{
	const rlim_t wanted = 4 * SERVE_CONNECTIONS_MAX;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int
places_new(struct serving *all)
{
	const struct fairq_limits connections = { SERVE_CONNECTIONS_MAX, SERVE_PER_ADDRESS_MAX,
		2 * SERVE_CONNECTIONS_MAX },
				  large = { all->opts->large_max, all->opts->large_max / 4,
					  2 * SERVE_CONNECTIONS_MAX };

	all->places = fairq_new(&connections);
	all->large = fairq_new(&large);
	if (all->places != NULL && all->large != NULL)
		return NW_OK;
	fairq_free(all->places);
	fairq_free(all->large);
	return NW_ENOMEM;
}

int
serve_run(const struct serve_opts *opts, char why[CHANNEL_WHY_BYTES])
{
	struct serving all = { .opts = opts };
	int listening = -1, signals, rc;
	sigset_t set = end_signals();

	if ((rc = serve_tls(opts->tls_dir, true, &all.tls, why)) != NW_OK)
		return rc;
	descriptors_raise();
	if ((rc = places_new(&all)) != NW_OK) {
		nw_tls_ctx_release(all.tls);
		return rc;
	}
	if ((signals = signalfd(-1, &set, SFD_CLOEXEC)) < 0)
		return NW_EIO;
	pthread_mutex_init(&all.lock, NULL);
	pthread_cond_init(&all.change, NULL);
	pthread_cond_init(&all.given, NULL);
	if ((rc = listen_start(opts, &listening, why)) == NW_OK) {
		accept_all(&all, listening, signals);
		all_end(&all);
	}
	if (listening >= 0)
		close(listening);
	close(signals);
	nw_tls_ctx_release(all.tls);
	fairq_free(all.places);
	fairq_free(all.large);
	return rc;
}
