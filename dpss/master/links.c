/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/master/links.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/log.h"

/* Clients notice a server's death by themselves, and sooner. */
enum { CONNECT_MS = 1000, PAUSE_US = 200000, LINK_SILENCE_MS = 3000 };

struct link {
	struct links *all;
	struct catalog_server server;
	pthread_t thread;
	bool started;
	bool refused; /* already in the log */
	atomic_bool removed;
	pthread_mutex_t lock;
	struct channel *wire; /* under lock, to be shut at the end */
	struct outbox *out;   /* under lock; NULL while the server is away */
	atomic_bool up;
};

struct links {
	struct links_opts opts;
	atomic_bool over;
	struct link link[DPSS_SERVERS_MAX];
};

/* --- a connection --- */

static int
prove(struct link *l, struct channel *w)
{
	uint8_t mac[TICKET_MAC_BYTES];
	const uint8_t *nonce;
	struct packer hello = { 0 }, proof = { 0 };
	struct channel_message m;
	int rc;

	pack_u16(&hello, DPSS_VERSION);
	pack_u8(&hello, DPSS_MASTER);
	if ((rc = channel_send(w, DPSS_HELLO, &hello)) != NW_OK ||
	    (rc = channel_read(w, &m)) != NW_OK)
		return rc;
	nonce = unpack_bytes(&m.contents, DPSS_NONCE_BYTES);
	if (m.type != DPSS_CHALLENGE || unpack_end(&m.contents) != NW_OK)
		return NW_EPROTO;
	if ((rc = ticket_prove(l->server.secret, nonce, DPSS_NONCE_BYTES, mac)) != NW_OK)
		return rc;
	pack_text(&proof, l->all->opts.name);
	pack_bytes(&proof, mac, sizeof(mac));
	return channel_send(w, DPSS_PROOF, &proof);
}

static int
on_space(struct link *l, struct unpacker *u)
{
	uint64_t slots[CATALOG_DISKS_MAX];
	uint32_t block_bytes = unpack_u32(u), n = unpack_u32(u), i;
	int rc;

	if (n > CATALOG_DISKS_MAX || !unpack_has(u, n, 8))
		return NW_EPROTO;
	for (i = 0; i < n; i++)
		slots[i] = unpack_u64(u);
	if ((rc = unpack_end(u)) != NW_OK)
		return rc;
	rc = catalog_server_space(l->all->opts.catalog, l->server.id, block_bytes, slots, n);
	if (rc == NW_OK) {
		atomic_store(&l->up, true);
		l->refused = false;
		l->all->opts.on_up(l->all->opts.arg, &l->server);
		log_info("server.up id=%u host=%s port=%u", l->server.id, l->server.host,
		    (unsigned)l->server.port);
	}
	return rc;
}

static int
on_stored(struct link *l, struct unpacker *u)
{
	struct catalog_place at = { .server = l->server.id };
	uint32_t n = unpack_u32(u), set;

	for (unpack_has(u, n, 32); n > 0 && !u->failed; n--) {
		set = unpack_u32(u);
		at.logical = unpack_u64(u);
		at.disk = unpack_u32(u);
		at.slot = unpack_u64(u);
		unpack_bytes(u, 8); /* checksum, length */
		if (!u->failed)
			catalog_stored(l->all->opts.catalog, set, &at);
	}
	return unpack_end(u);
}

static int
on_damaged(struct link *l, struct unpacker *u)
{
	struct catalog_place at = { .server = l->server.id };
	uint32_t set = unpack_u32(u), list;
	uint64_t session;

	at.logical = unpack_u64(u);
	at.disk = unpack_u32(u);
	at.slot = unpack_u64(u);
	session = unpack_u64(u);
	list = unpack_u32(u);
	if (unpack_end(u) != NW_OK)
		return NW_EPROTO;
	log_warnx("block.damaged server=%u set=%u logical=%llu", l->server.id, set,
	    (unsigned long long)at.logical);
	catalog_damaged(l->all->opts.catalog, set, &at);
	l->all->opts.on_damaged(l->all->opts.arg, set, &at, session, list);
	return NW_OK;
}

static int
on_message(struct link *l, struct channel_message *m)
{
	switch (m->type) {
	case DPSS_SPACE: return on_space(l, &m->contents);
	case DPSS_STORED: return on_stored(l, &m->contents);
	case DPSS_DAMAGED: return on_damaged(l, &m->contents);
	case DPSS_PING: return NW_OK;
	case DPSS_FAILED:
		if (!l->refused)
			log_warnx("server.refused id=%u: no grant, or another secret; the server "
				  "is asked again and again",
			    l->server.id);
		l->refused = true;
		return NW_ECLOSED;
	default: return NW_EPROTO;
	}
}

static void
channel_set(struct link *l, struct channel *w, struct outbox *o)
{
	pthread_mutex_lock(&l->lock);
	l->wire = w;
	l->out = o;
	pthread_mutex_unlock(&l->lock);
}

static bool
is_over(struct link *l)
{
	return atomic_load(&l->all->over) || atomic_load(&l->removed);
}

static void
converse(struct link *l, struct channel *w)
{
	struct outbox *o = NULL;
	struct channel_message m;
	int rc;

	channel_limits(w, 1 << 20, LINK_SILENCE_MS);
	if ((rc = prove(l, w)) == NW_OK)
		rc = outbox_new(w, DPSS_PING_MS, NULL, NULL, &o);
	channel_set(l, w, o);
	while (rc == NW_OK && !is_over(l) && (rc = channel_read(w, &m)) == NW_OK)
		rc = on_message(l, &m);
	if (atomic_exchange(&l->up, false))
		log_warnx("server.away id=%u: %s", l->server.id, nw_strerror(rc));
	channel_set(l, NULL, NULL);
	outbox_free(o);
}

static void *
link_run(void *arg)
{
	struct link *l = arg;
	char why[CHANNEL_WHY_BYTES];
	struct channel *w;

	while (!is_over(l)) {
		if (channel_connect(l->server.host, l->server.port, l->all->opts.tls, CONNECT_MS,
			&w, why) == NW_OK) {
			converse(l, w);
			channel_free(w);
		}
		if (!is_over(l))
			usleep(PAUSE_US);
	}
	return NULL;
}

/* --- all of them --- */

int
links_add(struct links *all, const struct catalog_server *s)
{
	struct link *l = &all->link[s->id];

	l->server = *s;
	l->refused = false;
	atomic_store(&l->removed, false);
	if (pthread_create(&l->thread, NULL, link_run, l) != 0)
		return NW_ENOMEM;
	l->started = true;
	return NW_OK;
}

static void
link_end(struct link *l)
{
	pthread_mutex_lock(&l->lock);
	if (l->wire != NULL)
		channel_shut(l->wire);
	pthread_mutex_unlock(&l->lock);
}

void
links_remove(struct links *all, uint32_t server)
{
	struct link *l = &all->link[server];

	if (!l->started)
		return;
	atomic_store(&l->removed, true);
	link_end(l);
	pthread_join(l->thread, NULL);
	l->started = false;
}

bool
links_is_up(void *links, uint32_t server)
{
	struct links *all = links;

	return server < DPSS_SERVERS_MAX && atomic_load(&all->link[server].up);
}

int
links_send(struct links *all, uint32_t server, uint16_t type, struct packer *p)
{
	struct link *l = &all->link[server];
	int rc = NW_ECLOSED;

	pthread_mutex_lock(&l->lock);
	if (l->out != NULL)
		rc = outbox_put_packed(l->out, type, p);
	pthread_mutex_unlock(&l->lock);
	pack_free(p);
	return rc;
}

int
links_new(const struct links_opts *opts, struct links **out)
{
	struct links *all = calloc(1, sizeof(*all));
	struct catalog_server *servers = NULL;
	size_t n, i;
	int rc;

	if (all == NULL)
		return NW_ENOMEM;
	all->opts = *opts;
	for (i = 0; i < DPSS_SERVERS_MAX; i++) {
		all->link[i].all = all;
		pthread_mutex_init(&all->link[i].lock, NULL);
	}
	rc = catalog_servers(opts->catalog, &servers, &n);
	for (i = 0; i < n && rc == NW_OK; i++)
		rc = links_add(all, &servers[i]);
	free(servers);
	if (rc != NW_OK) {
		links_free(all);
		return rc;
	}
	*out = all;
	return NW_OK;
}

void
links_free(struct links *all)
{
	size_t i;

	if (all == NULL)
		return;
	atomic_store(&all->over, true);
	for (i = 0; i < DPSS_SERVERS_MAX; i++) {
		link_end(&all->link[i]);
	}
	for (i = 0; i < DPSS_SERVERS_MAX; i++) {
		if (all->link[i].started)
			pthread_join(all->link[i].thread, NULL);
		pthread_mutex_destroy(&all->link[i].lock);
	}
	free(all);
}
