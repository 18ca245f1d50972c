/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's connections: each has a thread that reads, and connects again after an end. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dpss/client/client.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum {
	AGAIN_MS = 500,        /* between attempts to connect */
	SILENT_MAX_MS = 10000, /* of a connection with a chance to go on */
	MASTER_SILENCE_MS = 3000,
	MASTER_PATIENCE_MS = 10000 /* after a longer absence a master is gone */
};

static bool
is_closing(struct dpss *d)
{
	bool closing;

	pthread_mutex_lock(&d->lock);
	closing = d->closing;
	pthread_mutex_unlock(&d->lock);
	return closing;
}

/* Returns false if the handle is being closed. */
static bool
pause_ms(struct dpss *d, int64_t ms)
{
	int64_t end = nw_mono_ns() + ms * NS_PER_MS;

	while (nw_mono_ns() < end && !is_closing(d))
		usleep(20000);
	return !is_closing(d);
}

/* --- servers --- */

static int
ticket_show(struct server *s, struct channel *w)
{
	const struct dpss *d = s->d;
	struct packer hello = { 0 }, ticket = { 0 };
	char why[DPSS_WHY_BYTES];
	struct channel_message m;
	uint16_t port = 0;
	uint64_t key = 0;
	int rc;

	channel_limits(w, d->layout.block_bytes + 256U, CONNECT_MS);
	pack_u16(&hello, DPSS_VERSION);
	pack_u8(&hello, DPSS_CLIENT);
	pack_text(&ticket, d->master_name);
	pack_u64(&ticket, d->session);
	pack_u32(&ticket, d->set);
	pack_u64(&ticket, d->expiry);
	pack_bytes(&ticket, s->mac, sizeof(s->mac));
	if (d->opts.udp && (rc = client_udp_new(s, w, &port, &key)) != NW_OK) {
		pack_free(&hello);
		pack_free(&ticket);
		return rc;
	}
	pack_u16(&ticket, port);
	pack_u64(&ticket, key);
	if ((rc = channel_send(w, DPSS_HELLO, &hello)) == NW_OK)
		rc = client_ask(w, DPSS_TICKET, &ticket, DPSS_DONE, &m, why);
	pack_free(&ticket);
	channel_limits(w, d->layout.block_bytes + 256U, DPSS_SILENCE_MS);
	return rc;
}

static uint8_t *
block_give(void *arg, size_t len)
{
	struct dpss *d = arg;

	return len <= d->layout.block_bytes ? pool_get(d->pool) : NULL;
}

static void
server_tell(const struct server *s, bool alive)
{
	const struct dpss_opts *o = &s->d->opts;

	if (o->on_server != NULL)
		o->on_server(o->arg, s->id, s->host, s->port, alive);
}

/* The server takes no more part: the client asks other servers for the blocks. silent: the
 * connection stands still, and may go on after all. */
static void
server_dead(struct server *s, bool silent)
{
	struct dpss *d = s->d;
	bool again, tell;

	pthread_mutex_lock(&d->lock);
	tell = s->alive && !d->closing;
	s->alive = false;
	s->silent = silent;
	if (!silent)
		client_copies_end(s);
	again = !d->closing && (d->pending != NULL || d->rebuilds != NULL);
	pthread_mutex_unlock(&d->lock);
	if (tell)
		server_tell(s, false);
	if (again)
		client_request_again(d);
}

/* A network that loses packets can be silent for longer than a second. */
static int
on_silence(void *arg)
{
	struct server *s = arg;
	int64_t now = nw_mono_ns();

	if (now - atomic_load(&s->packet_mono_ns) < DPSS_SILENCE_MS * NS_PER_MS)
		return NW_OK;
	if (!s->silent) {
		s->silent_mono_ns = now;
		server_dead(s, true);
	}
	return now - s->silent_mono_ns < SILENT_MAX_MS * NS_PER_MS ? NW_OK : NW_ECLOSED;
}

/* A word from a silent server. */
static void
server_heard(struct server *s)
{
	struct dpss *d = s->d;

	if (!s->silent)
		return;
	pthread_mutex_lock(&d->lock);
	s->silent = false;
	s->alive = true;
	pthread_mutex_unlock(&d->lock);
	server_tell(s, true);
}

static int
server_connect(struct server *s)
{
	struct dpss *d = s->d;
	const struct channel_sink sink = { DPSS_BLOCK, DPSS_BLOCK_HEAD_BYTES, block_give, pool_put,
		d };
	char why[CHANNEL_WHY_BYTES];
	struct channel *w = NULL, *old;
	int rc;

	if ((rc = channel_connect(s->host, s->port, d->tls, CONNECT_MS, &w, why)) != NW_OK)
		return rc;
	channel_sink(w, &sink);
	if ((rc = ticket_show(s, w)) != NW_OK) {
		channel_free(w);
		return rc;
	}
	channel_on_silence(w, on_silence, s);
	pthread_mutex_lock(&s->sending);
	old = s->wire;
	s->wire = w;
	pthread_mutex_unlock(&s->sending);
	channel_free(old);
	pthread_mutex_lock(&d->lock);
	s->alive = true;
	if (d->closing) /* the end has shut the connection before */
		channel_shut(w);
	pthread_mutex_unlock(&d->lock);
	server_tell(s, true);
	return NW_OK;
}

static void
server_listen(struct server *s)
{
	struct channel_message m;
	int rc = NW_OK;

	while (rc == NW_OK && (rc = channel_read(s->wire, &m)) == NW_OK) {
		server_heard(s);
		if (m.type == DPSS_BLOCK)
			rc = client_block(s, &m);
		else if (m.type == DPSS_WRITTEN)
			rc = client_written(s, &m.contents);
		else if (m.type != DPSS_PING && m.type != DPSS_LACKING && m.type != DPSS_DONE)
			rc = NW_EPROTO;
	}
	channel_shut(s->wire);
	server_dead(s, false);
}

/* A dead server may come again. */
static void *
server_run(void *arg)
{
	struct server *s = arg;
	bool connected = s->alive;

	for (;;) {
		if (connected)
			server_listen(s);
		if (!pause_ms(s->d, AGAIN_MS))
			return NULL;
		connected = server_connect(s) == NW_OK;
	}
}

static int
server_start(struct server *s)
{
	int rc = server_connect(s);

	if (pthread_create(&s->thread, NULL, server_run, s) != 0) {
		s->alive = false;
		return NW_ENOMEM;
	}
	s->started = true;
	return rc;
}

/* --- the master's answer --- */

static int
server_unpack(struct dpss *d, struct unpacker *u, bool *reached)
{
	struct server *s;
	char host[DPSS_NAME_BYTES];
	uint32_t id = unpack_u32(u);
	const uint8_t *mac;
	uint16_t port;

	unpack_text(u, host, sizeof(host));
	port = unpack_u16(u);
	mac = unpack_bytes(u, sizeof(d->servers[0].mac));
	if (u->failed || id >= DPSS_SERVERS_MAX)
		return NW_EPROTO;
	s = &d->servers[id];
	*reached = s->started;
	if (s->started && !s->alive && s->port == port && strcmp(s->host, host) == 0)
		memcpy(s->mac, mac, sizeof(s->mac));
	if (s->started)
		return NW_OK;
	s->d = d;
	s->id = id;
	s->port = port;
	memcpy(s->mac, mac, sizeof(s->mac));
	strcpy(s->host, host);
	*reached = server_start(s) == NW_OK;
	return NW_OK;
}

/* A server out of reach counts as away. */
static int
servers_connect(struct dpss *d, struct unpacker *u)
{
	uint32_t n = unpack_u32(u), n_reached = 0;
	bool reached;
	int rc = NW_OK;

	for (; n > 0 && rc == NW_OK; n--, n_reached += reached)
		rc = server_unpack(d, u, &reached);
	if (rc != NW_OK || unpack_end(u) != NW_OK)
		return NW_EPROTO;
	return n_reached > 0 ? NW_OK
			     : client_fail(d, NW_ENOTFOUND, "no server of the set can be reached");
}

int
client_opened(struct dpss *d, struct unpacker *u)
{
	struct dpss_layout l = { 0 };
	char master_name[DPSS_NAME_BYTES];
	uint64_t session = unpack_u64(u), key = unpack_u64(u), expiry;
	uint32_t set = unpack_u32(u);

	l.block_bytes = unpack_u32(u);
	l.bytes = unpack_u64(u);
	layout_unpack(u, &l);
	expiry = unpack_u64(u);
	unpack_text(u, master_name, sizeof(master_name));
	if (u->failed || l.block_bytes == 0 || l.block_bytes > DPSS_BLOCK_MAX)
		return client_fail(d, NW_EPROTO, "the master's answer is malformed");
	if (d->pool != NULL) /* resumed */
		return session == d->session && set == d->set ? servers_connect(d, u) : NW_EPROTO;
	d->session = session;
	d->key = key;
	d->set = set;
	d->expiry = expiry;
	d->layout = l;
	strcpy(d->master_name, master_name);
	if ((l.parity > 0 && (d->parity = calloc(1, l.block_bytes)) == NULL) ||
	    pool_new(l.block_bytes, &d->pool) != NW_OK)
		return NW_ENOMEM;
	return servers_connect(d, u);
}

/* --- the master --- */

static int
refused(struct dpss *d, struct unpacker *u)
{
	int rc = -(int)unpack_u16(u);

	unpack_text(u, d->why, sizeof(d->why));
	return rc < 0 ? rc : NW_EPROTO;
}

static int
on_master(struct dpss *d, struct channel_message *m)
{
	bool reached;
	int rc = NW_OK;

	switch (m->type) {
	case DPSS_PING: return NW_OK;
	case DPSS_ABSENT: return client_absent(d, &m->contents);
	case DPSS_JOINED: return server_unpack(d, &m->contents, &reached);
	default: break;
	}
	pthread_mutex_lock(&d->lock);
	if (m->type == DPSS_PLACED) {
		rc = client_placed(d, &m->contents);
		client_answered(d, rc);
	} else if (m->type == DPSS_DONE) {
		client_answered(d, NW_OK);
	} else if (m->type == DPSS_FAILED) {
		client_answered(d, refused(d, &m->contents));
	} else {
		rc = NW_EPROTO;
	}
	pthread_mutex_unlock(&d->lock);
	return rc;
}

/* A server whose ticket proves the session: the first connected server, as the session may have
 * dropped some. */
static const struct server *
server_witness(struct dpss *d)
{
	const struct server *found = NULL;
	size_t i;

	pthread_mutex_lock(&d->lock);
	for (i = DPSS_SERVERS_MAX; i-- > 0;)
		if (d->servers[i].started && (d->servers[i].alive || found == NULL))
			found = &d->servers[i];
	pthread_mutex_unlock(&d->lock);
	return found;
}

/* The session goes on under a master that was away. */
static int
resume_ask(struct dpss *d, struct channel *w)
{
	const struct server *witness = server_witness(d);
	struct channel_message m;
	struct packer p = { 0 };
	char why[DPSS_WHY_BYTES];
	int rc;

	if (witness == NULL)
		return NW_ENOTFOUND;
	pack_text(&p, d->name);
	pack_u8(&p,
	    (uint8_t)((d->opts.write ? DPSS_OPEN_WRITE : 0) |
		(d->opts.flush ? DPSS_OPEN_FLUSH : 0)));
	pack_u64(&p, d->session);
	pack_u64(&p, d->key);
	pack_u64(&p, d->expiry);
	pack_u32(&p, witness->id);
	pack_bytes(&p, witness->mac, sizeof(witness->mac));
	if ((rc = client_ask(w, DPSS_RESUME, &p, DPSS_OPENED, &m, why)) == NW_OK)
		rc = client_opened(d, &m.contents);
	pack_free(&p);
	return rc == NW_ENOTFOUND ? NW_OK : rc; /* servers come in turn */
}

static int
resume(struct dpss *d)
{
	char why[DPSS_WHY_BYTES];
	struct channel *w, *old;
	int rc;

	if ((rc = client_connect(&d->opts, d->tls, &w, why)) != NW_OK)
		return rc;
	if ((rc = resume_ask(d, w)) != NW_OK) {
		channel_free(w);
		return rc;
	}
	channel_limits(w, DPSS_MESSAGE_MAX, MASTER_SILENCE_MS);
	pthread_mutex_lock(&d->master_sending);
	old = d->master;
	d->master = w;
	d->master_away = false;
	pthread_mutex_unlock(&d->master_sending);
	channel_free(old);
	pthread_mutex_lock(&d->lock);
	if (d->closing)
		channel_shut(w);
	client_answered(d, NW_EAGAIN);
	pthread_mutex_unlock(&d->lock);
	return client_request_again(d);
}

/* Returns false if the master did not return, or if the handle is being closed. */
static bool
master_wait(struct dpss *d)
{
	int64_t end = nw_mono_ns() + MASTER_PATIENCE_MS * NS_PER_MS;

	pthread_mutex_lock(&d->master_sending);
	d->master_away = true;
	channel_shut(d->master);
	pthread_mutex_unlock(&d->master_sending);
	while (nw_mono_ns() < end && pause_ms(d, AGAIN_MS / 5))
		if (resume(d) == NW_OK)
			return true;
	return false;
}

void *
client_master_run(void *arg)
{
	struct dpss *d = arg;
	struct channel_message m;

	channel_limits(d->master, DPSS_MESSAGE_MAX, MASTER_SILENCE_MS);
	do
		while (channel_read(d->master, &m) == NW_OK && on_master(d, &m) == NW_OK)
			;
	while (master_wait(d));
	pthread_mutex_lock(&d->lock);
	d->master_gone = true;
	client_answered(d, NW_ECLOSED);
	pthread_mutex_unlock(&d->lock);
	return NULL;
}
