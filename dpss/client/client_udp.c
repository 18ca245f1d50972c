/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks that come by UDP: a thread for each server puts the packets of a block together. What is
 * not complete in time is late, delivered as such, and not asked for again.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpss/client/client.h"
#include "dpss/rtp.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/tls.h"

enum { WAIT_MS = 50, BUFFER_BYTES = 4 << 20 };

/* A block, of whose packets some have come. */
struct partial {
	uint64_t logical;
	struct dpss_block block;
	uint32_t sum;
	size_t missing;
	int64_t begun_mono_ns;
	UT_hash_handle hh;
	bool has[]; /* packets */
};

struct udp {
	struct server *server;
	int fd;
	uint16_t port;
	uint64_t key;
	pthread_t thread;
	atomic_bool over;
	struct partial *partials;
};

static void
partial_drop(struct udp *u, struct partial *p, bool with_data)
{
	HASH_DEL(u->partials, p);
	if (with_data)
		pool_put(p->block.data);
	free(p);
}

static struct partial *
partial_begin(struct udp *u, const struct rtp_packet *r)
{
	struct dpss *d = u->server->d;
	size_t n = (r->len + RTP_DATA_BYTES - 1) / RTP_DATA_BYTES, i;
	struct partial *p;

	if (r->logical >= client_blocks_all(d) || r->len != dpss_block_len(d, r->logical) ||
	    (p = calloc(1, sizeof(*p) + n * sizeof(p->has[0]))) == NULL)
		return NULL;
	if ((p->block.data = pool_get(d->pool)) == NULL) {
		free(p);
		return NULL;
	}
	p->logical = p->block.logical = r->logical;
	p->block.list = r->list;
	p->block.len = r->len;
	p->block.server = u->server->id;
	p->block.recorded_wall_ns = (int64_t)r->stamp_wall_ns;
	for (i = 0; i < DPSS_TIMES; i++)
		p->block.times[i] = (int64_t)r->times[i];
	p->sum = r->sum;
	p->missing = n;
	p->begun_mono_ns = nw_mono_ns();
	HASH_ADD(hh, u->partials, logical, sizeof(p->logical), p);
	if (p->hh.tbl != NULL)
		return p;
	pool_put(p->block.data);
	free(p);
	return NULL;
}

static void
on_packet(struct udp *u, const struct rtp_packet *r)
{
	struct partial *p;
	struct dpss_block b;
	size_t at = r->offset / RTP_DATA_BYTES;
	uint32_t sum;

	HASH_FIND(hh, u->partials, &r->logical, sizeof(r->logical), p);
	if (p != NULL && (p->sum != r->sum || p->block.list != r->list)) { /* asked for again */
		partial_drop(u, p, true);
		p = NULL;
	}
	if ((p == NULL && (p = partial_begin(u, r)) == NULL) || p->has[at])
		return;
	p->has[at] = true;
	memcpy(p->block.data + r->offset, r->data, r->data_len);
	if (--p->missing > 0)
		return;
	b = p->block;
	sum = p->sum;
	partial_drop(u, p, false);
	client_block_take(u->server, &b, sum);
}

/* Packets without a reader. */
static void
partials_sweep(struct udp *u)
{
	int64_t before = nw_mono_ns() - client_late_ns(u->server->d);
	struct partial *p, *next;

	HASH_ITER (hh, u->partials, p, next) {
		if (p->begun_mono_ns < before)
			partial_drop(u, p, true);
	}
}

static void *
udp_run(void *arg)
{
	struct udp *u = arg;
	uint8_t bytes[RTP_PACKET_BYTES + 1];
	int64_t swept = nw_mono_ns();
	struct rtp_packet r;
	ssize_t n;

	while (!atomic_load(&u->over)) {
		n = recv(u->fd, bytes, sizeof(bytes), 0);
		if (n > 0 && rtp_unpack(bytes, (size_t)n, &r) == NW_OK && r.key == u->key) {
			atomic_store(&u->server->packet_mono_ns, nw_mono_ns());
			on_packet(u, &r);
		}
		if (nw_mono_ns() - swept > WAIT_MS * NS_PER_MS) {
			partials_sweep(u);
			swept = nw_mono_ns();
		}
	}
	return NULL;
}

int
client_udp_new(struct server *s, const struct channel *w, uint16_t *port, uint64_t *key)
{
	struct timeval wait = { 0, WAIT_MS * 1000 };
	struct udp *u;

	if (s->udp == NULL) {
		if ((u = calloc(1, sizeof(*u))) == NULL)
			return NW_ENOMEM;
		u->server = s;
		if (nw_tls_random(NULL, (unsigned char *)&u->key, sizeof(u->key)) != 0 ||
		    channel_datagrams_at(w, &u->fd, &u->port) != NW_OK) {
			free(u);
			return NW_EIO;
		}
		setsockopt(u->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
		setsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &(int){ BUFFER_BYTES }, sizeof(int));
		if (pthread_create(&u->thread, NULL, udp_run, u) != 0) {
			close(u->fd);
			free(u);
			return NW_ENOMEM;
		}
		s->udp = u;
	}
	*port = s->udp->port;
	*key = s->udp->key;
	return NW_OK;
}

void
client_udp_free(struct server *s)
{
	struct udp *u = s->udp;
	struct partial *p, *next;

	if (u == NULL)
		return;
	atomic_store(&u->over, true);
	pthread_join(u->thread, NULL);
	close(u->fd);
	HASH_ITER (hh, u->partials, p, next) {
		partial_drop(u, p, true);
	}
	free(u);
	s->udp = NULL;
}
