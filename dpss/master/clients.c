/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/master/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/tls.h"

#define TICKET_NS (INT64_C(86400) * 1000000000) /* a ticket is good for a day */
enum { MASK_WORDS = DPSS_SERVERS_MAX / 64 };

struct client {
	struct clients *all;
	struct outbox *out;
	char user[DPSS_NAME_BYTES];
	uint64_t session; /* 0: no set is open */
	uint64_t key, expiry;
	struct catalog_set set;
	bool operator;             /* sits at the master's own machine */
	bool writes, flush, moves; /* moves: copies in places that must be left */
	struct client *prev, *next;
};

struct clients {
	struct clients_opts opts;
	struct links *links;
	pthread_mutex_t lock;
	struct client *first;
};

/* --- answers --- */

static int
done(struct client *c)
{
	struct packer p = { 0 };

	return outbox_put_packed(c->out, DPSS_DONE, &p);
}

static int
failed(struct client *c, int rc, const char *why)
{
	struct packer p = { 0 };

	pack_u16(&p, (uint16_t)-rc);
	pack_text(&p, why);
	return outbox_put_packed(c->out, DPSS_FAILED, &p);
}

static int
answer(struct client *c, int rc)
{
	return rc == NW_OK ? done(c) : failed(c, rc, nw_strerror(rc));
}

/* --- sets --- */

/* Servers are the operator's affair: a user at the master's own machine, in TLS with the
 * master's own certificate. */
static bool
operator_find(const struct clients *all, const struct channel *w)
{
	return channel_is_loopback(w) &&
	    (channel_is_clear(w) ||
		(all->opts.tls_name[0] != '\0' &&
		    strcmp(channel_peer_name(w), all->opts.tls_name) == 0));
}

static int
ticket_pack(struct client *c, const struct catalog_server *s, struct packer *p)
{
	struct ticket t = { c->session, c->expiry, c->set.id };
	uint8_t mac[TICKET_MAC_BYTES];
	int rc = ticket_sign(s->secret, &t, mac);

	pack_u32(p, s->id);
	pack_text(p, s->host);
	pack_u16(p, s->port);
	pack_bytes(p, mac, sizeof(mac));
	return rc;
}

static int
opened(struct client *c)
{
	struct catalog_server *servers;
	struct packer p = { 0 }, tickets = { 0 };
	uint32_t n_up = 0;
	size_t n, i;
	int rc = catalog_servers(c->all->opts.catalog, &servers, &n);

	if (rc != NW_OK)
		return answer(c, rc);
	for (i = 0; i < n && rc == NW_OK; i++)
		if (links_is_up(c->all->links, servers[i].id)) {
			rc = ticket_pack(c, &servers[i], &tickets);
			n_up++;
		}
	free(servers);
	pack_u64(&p, c->session);
	pack_u64(&p, c->key);
	pack_u32(&p, c->set.id);
	pack_u32(&p, c->set.layout.block_bytes);
	pack_u64(&p, c->set.layout.bytes);
	layout_pack(&p, &c->set.layout);
	pack_u64(&p, c->expiry);
	pack_text(&p, c->all->opts.name);
	pack_u32(&p, n_up);
	pack_bytes(&p, tickets.bytes, tickets.len);
	p.failed = p.failed || tickets.failed || rc != NW_OK;
	pack_free(&tickets);
	return outbox_put_packed(c->out, DPSS_OPENED, &p);
}

static void
session_set(struct client *c, uint64_t session, uint64_t key)
{
	pthread_mutex_lock(&c->all->lock);
	c->session = session;
	c->key = key;
	pthread_mutex_unlock(&c->all->lock);
}

static int
session_begin(struct client *c, bool writes, bool flush)
{
	uint64_t numbers[2] = { 0 };

	if (nw_tls_random(NULL, (unsigned char *)numbers, sizeof(numbers)) != 0 || numbers[0] == 0)
		return failed(c, NW_EIO, "no random numbers");
	c->writes = writes;
	c->flush = flush;
	c->expiry = (uint64_t)(nw_wall_ns() + TICKET_NS);
	session_set(c, numbers[0], numbers[1]);
	return opened(c);
}

static int
on_create(struct client *c, struct unpacker *u)
{
	struct catalog_set s = { .id = 0 };
	int rc;

	unpack_text(u, s.name, sizeof(s.name));
	s.layout.block_bytes = unpack_u32(u);
	s.layout.bytes = unpack_u64(u);
	layout_unpack(u, &s.layout);
	if (unpack_end(u) != NW_OK || c->session != 0)
		return NW_EPROTO;
	strcpy(s.owner, c->user);
	if ((rc = catalog_set_new(c->all->opts.catalog, &s)) != NW_OK)
		return failed(
		    c, rc, rc == NW_ECONFLICT ? "a set of this name exists" : nw_strerror(rc));
	c->set = s;
	return session_begin(c, true, false);
}

static int
on_open(struct client *c, struct unpacker *u)
{
	char name[DPSS_NAME_BYTES];
	enum catalog_rights rights;
	unsigned flags;

	unpack_text(u, name, sizeof(name));
	flags = unpack_u8(u);
	if (unpack_end(u) != NW_OK || c->session != 0)
		return NW_EPROTO;
	if (catalog_set_find(c->all->opts.catalog, name, c->user, &c->set, &rights) != NW_OK ||
	    (rights == CATALOG_NONE && !((flags & DPSS_OPEN_MOVE) != 0 && c->operator)))
		return failed(c, NW_ENOTFOUND, "there is no set of this name for you");
	if ((flags & DPSS_OPEN_WRITE) != 0 && rights < CATALOG_WRITE)
		return failed(c, NW_EINVAL, "you may read this set, not write");
	if ((flags & DPSS_OPEN_WRITE) != 0 && c->set.sealed)
		return failed(c, NW_ECONFLICT, "the set is complete: nothing can be written");
	c->moves = (flags & DPSS_OPEN_MOVE) != 0 && c->operator;
	return session_begin(c, (flags & DPSS_OPEN_WRITE) != 0, (flags & DPSS_OPEN_FLUSH) != 0);
}

/* The ticket of the session of the client's claim: no other master could have made the ticket. */
static bool
ticket_is_good(struct client *c, const struct ticket *t, uint32_t server, const uint8_t *mac)
{
	struct catalog_server *all;
	uint8_t want[TICKET_MAC_BYTES];
	bool good = false;
	size_t n, i;

	if (catalog_servers(c->all->opts.catalog, &all, &n) != NW_OK)
		return false;
	for (i = 0; i < n; i++)
		if (all[i].id == server && ticket_sign(all[i].secret, t, want) == NW_OK)
			good = ticket_equal(mac, want);
	free(all);
	return good && t->expiry_wall_ns > (uint64_t)nw_wall_ns();
}

static int
on_resume(struct client *c, struct unpacker *u)
{
	char name[DPSS_NAME_BYTES];
	enum catalog_rights rights;
	struct ticket t = { 0 };
	const uint8_t *mac;
	uint64_t key;
	uint32_t server;
	unsigned flags;

	unpack_text(u, name, sizeof(name));
	flags = unpack_u8(u);
	t.session = unpack_u64(u);
	key = unpack_u64(u);
	t.expiry_wall_ns = unpack_u64(u);
	server = unpack_u32(u);
	mac = unpack_bytes(u, TICKET_MAC_BYTES);
	if (unpack_end(u) != NW_OK || c->session != 0 || t.session == 0)
		return NW_EPROTO;
	if (catalog_set_find(c->all->opts.catalog, name, c->user, &c->set, &rights) != NW_OK ||
	    rights == CATALOG_NONE)
		return failed(c, NW_ENOTFOUND, "there is no set of this name for you");
	t.set = c->set.id;
	if (!ticket_is_good(c, &t, server, mac) ||
	    ((flags & DPSS_OPEN_WRITE) != 0 && rights < CATALOG_WRITE))
		return failed(c, NW_EINVAL, "the session is not one of yours");
	c->writes = (flags & DPSS_OPEN_WRITE) != 0;
	c->flush = (flags & DPSS_OPEN_FLUSH) != 0;
	c->expiry = t.expiry_wall_ns;
	session_set(c, t.session, key);
	return opened(c);
}

static int
on_sets(struct client *c)
{
	struct catalog_set *all;
	struct packer p = { 0 };
	size_t n, i;
	int rc = catalog_sets(c->all->opts.catalog, c->operator? NULL : c->user, &all, &n);

	if (rc != NW_OK)
		return answer(c, rc);
	pack_u32(&p, (uint32_t)n);
	for (i = 0; i < n; i++) {
		pack_text(&p, all[i].name);
		pack_u32(&p, all[i].layout.block_bytes);
		pack_u64(&p, all[i].layout.bytes);
		pack_u64(&p, all[i].written);
		layout_pack(&p, &all[i].layout);
		pack_u64(&p, all[i].blocks);
		pack_text(&p, all[i].owner);
		pack_u8(&p, all[i].sealed);
	}
	free(all);
	return outbox_put_packed(c->out, DPSS_SETS, &p);
}

/* A set of the user, or with a grant to write. */
static int
own_set(struct client *c, const char *name, struct catalog_set *s)
{
	enum catalog_rights rights;
	int rc = catalog_set_find(c->all->opts.catalog, name, c->user, s, &rights);

	return rc != NW_OK ? rc : rights == CATALOG_WRITE ? NW_OK : NW_ENOTFOUND;
}

static int
on_drop(struct client *c, struct unpacker *u)
{
	char name[DPSS_NAME_BYTES];
	struct catalog_set s;
	int rc;

	unpack_text(u, name, sizeof(name));
	if (unpack_end(u) != NW_OK)
		return NW_EPROTO;
	if ((rc = own_set(c, name, &s)) == NW_OK)
		rc = catalog_set_drop(c->all->opts.catalog, s.id);
	return answer(c, rc);
}

static int
on_allow(struct client *c, struct unpacker *u)
{
	char name[DPSS_NAME_BYTES], user[DPSS_NAME_BYTES];
	struct catalog_set s;
	unsigned rights;
	int rc;

	unpack_text(u, name, sizeof(name));
	unpack_text(u, user, sizeof(user));
	rights = unpack_u8(u);
	if (unpack_end(u) != NW_OK || rights > CATALOG_WRITE)
		return NW_EPROTO;
	if ((rc = own_set(c, name, &s)) == NW_OK)
		rc = catalog_allow(c->all->opts.catalog, s.id, user, (enum catalog_rights)rights);
	return answer(c, rc);
}

/* --- servers --- */

static int
on_servers(struct client *c)
{
	struct catalog_server *all;
	struct packer p = { 0 };
	uint64_t slots, used;
	uint32_t disks;
	size_t n, i;
	int rc = catalog_servers(c->all->opts.catalog, &all, &n);

	if (rc != NW_OK)
		return answer(c, rc);
	pack_u32(&p, (uint32_t)n);
	for (i = 0; i < n; i++) {
		catalog_server_use(c->all->opts.catalog, all[i].id, &disks, &slots, &used);
		pack_u32(&p, all[i].id);
		pack_text(&p, all[i].host);
		pack_u16(&p, all[i].port);
		pack_u8(&p,
		    !links_is_up(c->all->links, all[i].id) ? DPSS_SERVER_AWAY
			: all[i].draining                  ? DPSS_SERVER_DRAINING
							   : DPSS_SERVER_UP);
		pack_u32(&p, disks);
		pack_u64(&p, slots);
		pack_u64(&p, used);
	}
	free(all);
	return outbox_put_packed(c->out, DPSS_SERVER_LIST, &p);
}

static int
on_server_add(struct client *c, struct unpacker *u)
{
	struct catalog_server s = { .id = 0 };
	char secret[TICKET_SECRET_CHARS + 1];
	int rc;

	unpack_text(u, s.host, sizeof(s.host));
	s.port = unpack_u16(u);
	unpack_text(u, secret, sizeof(secret));
	if (unpack_end(u) != NW_OK)
		return NW_EPROTO;
	if (!c->operator)
		return failed(c, NW_EINVAL, "only at the master's own machine");
	if (ticket_secret_parse(secret, s.secret) != NW_OK)
		return failed(c, NW_EINVAL, "the secret has 64 hexadecimal digits");
	if ((rc = catalog_server_add(c->all->opts.catalog, &s)) != NW_OK)
		return failed(
		    c, rc, rc == NW_ECONFLICT ? "the server is known already" : nw_strerror(rc));
	return answer(c, links_add(c->all->links, &s));
}

static int
on_server_drain(struct client *c, struct unpacker *u)
{
	uint32_t id = unpack_u32(u);

	if (unpack_end(u) != NW_OK)
		return NW_EPROTO;
	if (!c->operator)
		return failed(c, NW_EINVAL, "only at the master's own machine");
	return answer(c, catalog_server_drain(c->all->opts.catalog, id));
}

static int
on_server_drop(struct client *c, struct unpacker *u)
{
	uint32_t id = unpack_u32(u);
	int rc;

	if (unpack_end(u) != NW_OK || id >= DPSS_SERVERS_MAX)
		return NW_EPROTO;
	if (!c->operator)
		return failed(c, NW_EINVAL, "only at the master's own machine");
	rc = catalog_server_drop(c->all->opts.catalog, id);
	if (rc == NW_ECONFLICT)
		return failed(c, rc, "blocks stand there: drain the server first");
	if (rc == NW_OK)
		links_remove(c->all->links, id);
	return answer(c, rc);
}

/* --- blocks --- */

/* Called with the lock of all. */
static struct client *
client_find(struct clients *all, uint64_t session)
{
	struct client *c;

	DL_FOREACH (all->first, c) {
		if (c->session == session)
			return c;
	}
	return NULL;
}

struct routes {
	struct packer to[DPSS_SERVERS_MAX]; /* places, by server */
	uint32_t n_to[DPSS_SERVERS_MAX];
	struct packer absent;
	uint32_t n_absent;
	uint64_t left_out[MASK_WORDS];      /* servers out of the client's reach */
	const struct catalog_place *not_at; /* a damaged copy, or NULL */
};

static bool
is_same(const struct catalog_place *a, const struct catalog_place *b)
{
	return b != NULL && a->server == b->server && a->disk == b->disk && a->slot == b->slot;
}

/* A copy on a server that is up and not left out; neighbours choose different servers. */
static bool
copy_choose(struct client *c, const struct catalog_found *found, const struct routes *r,
    struct catalog_place *out)
{
	struct catalog_place good[CATALOG_COPIES_MAX];
	const struct catalog_place *copies = found->copies;
	size_t i, n_good = 0;

	for (i = 0; i < found->n; i++)
		if ((r->left_out[copies[i].server / 64] >> copies[i].server % 64 & 1) == 0 &&
		    !is_same(&copies[i], r->not_at) && links_is_up(c->all->links, copies[i].server))
			good[n_good++] = copies[i];
	if (n_good == 0)
		return false;
	*out = good[found->logical / (c->set.layout.copies + 1U) % n_good];
	return true;
}

static void
route(struct client *c, struct routes *r, const struct catalog_found *found)
{
	uint64_t logical = found->logical;
	struct catalog_place at;

	if (!copy_choose(c, found, r, &at)) {
		pack_u64(&r->absent, logical);
		r->n_absent++;
		return;
	}
	pack_u64(&r->to[at.server], logical);
	pack_u32(&r->to[at.server], at.disk);
	pack_u64(&r->to[at.server], at.slot);
	r->n_to[at.server]++;
}

/* A list of blocks, as the message has them. */
static int
route_all(struct client *c, struct routes *r, struct unpacker *u, uint32_t n)
{
	struct catalog_found *found = calloc(n + 1UL, sizeof(*found));
	uint32_t i;
	int rc;

	if (found == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		found[i].logical = unpack_u64(u);
	if ((rc = catalog_find_all(c->all->opts.catalog, c->set.id, found, n)) == NW_OK)
		for (i = 0; i < n; i++)
			route(c, r, &found[i]);
	free(found);
	return rc;
}

static void
absent_send(struct client *c, struct routes *r, uint32_t list)
{
	struct packer p = { 0 };

	if (r->n_absent == 0)
		return;
	pack_u32(&p, list);
	pack_u32(&p, r->n_absent);
	pack_bytes(&p, r->absent.bytes, r->absent.len);
	outbox_put_packed(c->out, DPSS_ABSENT, &p);
}

static void
routes_send(struct client *c, struct routes *r, uint32_t list, unsigned careful, uint64_t t_app,
    uint64_t t_in)
{
	uint64_t now = (uint64_t)nw_wall_ns(), data[] = { list, c->set.id, c->session };
	struct packer p;
	uint32_t i;

	for (i = 0; i < DPSS_SERVERS_MAX; i++) {
		if (r->n_to[i] == 0)
			continue;
		p = (struct packer){ 0 };
		pack_u64(&p, c->session);
		pack_u32(&p, c->set.id);
		pack_u32(&p, list);
		pack_u8(&p,
		    (uint8_t)((c->flush ? DPSS_READ_FLUSH : 0) |
			(careful != 0 ? DPSS_READ_CAREFUL : 0)));
		pack_u64(&p, t_app);
		pack_u64(&p, t_in);
		pack_u64(&p, now);
		pack_u32(&p, r->n_to[i]);
		pack_bytes(&p, r->to[i].bytes, r->to[i].len);
		links_send(c->all->links, i, DPSS_READ, &p);
		pack_free(&r->to[i]);
	}
	absent_send(c, r, list);
	pack_free(&r->absent);
	blocklog_put(c->all->opts.log, "DPSS_MASTER_LIST_IN", NULL, (int64_t)t_in, data, 3);
	blocklog_put(c->all->opts.log, "DPSS_MASTER_LIST_OUT", NULL, (int64_t)now, data, 3);
}

static int
on_request(struct client *c, struct unpacker *u)
{
	uint64_t t_in = (uint64_t)nw_wall_ns(), t_app;
	uint32_t list = unpack_u32(u), n, i;
	struct routes *r;
	unsigned flags;
	int rc;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return NW_ENOMEM;
	t_app = unpack_u64(u);
	for (i = 0; i < MASK_WORDS; i++)
		r->left_out[i] = unpack_u64(u);
	flags = unpack_u8(u);
	n = unpack_u32(u);
	if (c->session == 0 || n > DPSS_LIST_MAX || !unpack_has(u, n, 8)) {
		free(r);
		return NW_EPROTO;
	}
	if ((rc = route_all(c, r, u, n)) == NW_OK)
		routes_send(c, r, list, flags & DPSS_REQUEST_CAREFUL, t_app, t_in);
	free(r);
	return rc == NW_OK ? unpack_end(u) : rc;
}

void
clients_on_damaged(
    void *clients, uint32_t set, const struct catalog_place *at, uint64_t session, uint32_t list)
{
	struct clients *all = clients;
	struct routes *r = calloc(1, sizeof(*r));
	struct catalog_found found = { .logical = at->logical };
	uint64_t now = (uint64_t)nw_wall_ns();
	struct client *c;

	if (r == NULL)
		return;
	r->not_at = at;
	found.n = catalog_find(all->opts.catalog, set, at->logical, found.copies);
	pthread_mutex_lock(&all->lock);
	if ((c = client_find(all, session)) != NULL && c->set.id == set) {
		route(c, r, &found);
		routes_send(c, r, list, 0, now, now);
	}
	pthread_mutex_unlock(&all->lock);
	free(r);
}

/* Blocks for another client at a given address: the servers send the blocks straight there. */
static int
on_deliver(struct client *c, struct unpacker *u)
{
	uint64_t session = unpack_u64(u), key = unpack_u64(u), now = (uint64_t)nw_wall_ns();
	uint32_t n = unpack_u32(u);
	struct routes *r;
	struct client *to;
	bool found;
	int rc = NW_OK;

	if (n > DPSS_LIST_MAX || !unpack_has(u, n, 8) || session == 0)
		return NW_EPROTO;
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return NW_ENOMEM;
	pthread_mutex_lock(&c->all->lock);
	to = client_find(c->all, session);
	found = to != NULL && to->key == key && !to->flush;
	if (found && (rc = route_all(to, r, u, n)) == NW_OK)
		routes_send(to, r, 0, 0, now, now);
	pthread_mutex_unlock(&c->all->lock);
	free(r);
	return found ? answer(c, rc)
		     : failed(c, NW_ENOTFOUND, "no client takes blocks at this address");
}

void
clients_on_up(void *clients, const struct catalog_server *s)
{
	struct clients *all = clients;
	struct client *c;

	pthread_mutex_lock(&all->lock);
	DL_FOREACH (all->first, c) {
		struct packer p = { 0 };

		if (c->session != 0 && ticket_pack(c, s, &p) == NW_OK)
			outbox_put_packed(c->out, DPSS_JOINED, &p);
		pack_free(&p);
	}
	pthread_mutex_unlock(&all->lock);
}

/* The servers hear what the client may write before the client hears where. */
static void
places_tell(struct client *c, const struct catalog_place *places, size_t n)
{
	struct routes *r = calloc(1, sizeof(*r));
	struct packer p;
	size_t i;

	for (i = 0; r != NULL && i < n; i++) {
		struct packer *to = &r->to[places[i].server];

		pack_u64(to, places[i].logical);
		pack_u32(to, places[i].disk);
		pack_u64(to, places[i].slot);
		r->n_to[places[i].server]++;
	}
	for (i = 0; r != NULL && i < DPSS_SERVERS_MAX; i++) {
		if (r->n_to[i] == 0)
			continue;
		p = (struct packer){ 0 };
		pack_u64(&p, c->session);
		pack_u32(&p, c->set.id);
		pack_u32(&p, r->n_to[i]);
		pack_bytes(&p, r->to[i].bytes, r->to[i].len);
		links_send(c->all->links, (uint32_t)i, DPSS_TAKE, &p);
		pack_free(&r->to[i]);
	}
	free(r);
}

static int
placed(struct client *c, const struct catalog_place *places, size_t n)
{
	struct packer p = { 0 };
	size_t i;

	pack_u32(&p, (uint32_t)n);
	for (i = 0; i < n; i++) {
		pack_u64(&p, places[i].logical);
		pack_u32(&p, places[i].server);
		pack_u32(&p, places[i].disk);
		pack_u64(&p, places[i].slot);
	}
	return outbox_put_packed(c->out, DPSS_PLACED, &p);
}

static int
on_place(struct client *c, struct unpacker *u)
{
	struct catalog_place *places;
	struct catalog_wish *wishes;
	uint64_t last;
	uint32_t n = unpack_u32(u), i;
	size_t n_places;
	int rc;

	if (c->session == 0 || n > DPSS_LIST_MAX || !unpack_has(u, n, 16))
		return NW_EPROTO;
	if (!c->writes)
		return failed(c, NW_EINVAL, "the set is open for reading");
	if ((wishes = calloc(n + 1, sizeof(*wishes))) == NULL)
		return NW_ENOMEM;
	last = c->set.blocks;
	if (c->set.layout.parity > 0)
		last += (c->set.blocks + c->set.layout.parity - 1) / c->set.layout.parity;
	for (i = 0, rc = NW_OK; i < n; i++) {
		wishes[i].logical = unpack_u64(u);
		wishes[i].server = unpack_u32(u);
		wishes[i].disk = unpack_u32(u);
		if (wishes[i].logical >= last)
			rc = NW_EINVAL;
	}
	if (rc == NW_OK && (rc = unpack_end(u)) == NW_OK)
		rc = catalog_place(c->all->opts.catalog, &c->set, wishes, n, links_is_up,
		    c->all->links, &places, &n_places);
	free(wishes);
	if (rc != NW_OK)
		return failed(c, rc,
		    rc == NW_EFULL ? "no server that is up has room for these blocks"
				   : nw_strerror(rc));
	places_tell(c, places, n_places);
	rc = placed(c, places, n_places);
	free(places);
	return rc;
}

/* As for PLACE: the servers hear first. */
static int
on_move(struct client *c, struct unpacker *u)
{
	struct catalog_place places[CATALOG_MOVES_MAX];
	uint64_t from = unpack_u64(u);
	size_t n;
	int rc;

	if (unpack_end(u) != NW_OK || c->session == 0)
		return NW_EPROTO;
	if (!c->moves)
		return failed(c, NW_EINVAL, "the set is not open for moves");
	rc = catalog_move(
	    c->all->opts.catalog, &c->set, from, links_is_up, c->all->links, places, &n);
	if (rc != NW_OK)
		return failed(
		    c, rc, rc == NW_EFULL ? "no server that is up has room" : nw_strerror(rc));
	places_tell(c, places, n);
	return placed(c, places, n);
}

static int
on_seal(struct client *c, struct unpacker *u)
{
	uint64_t bytes = unpack_u64(u);

	if (unpack_end(u) != NW_OK)
		return NW_EPROTO;
	if (c->session == 0 || !c->writes)
		return failed(c, NW_EINVAL, "no set is open for writing");
	if (bytes > c->set.layout.bytes ||
	    (c->set.layout.parity > 0 && bytes < c->set.layout.bytes))
		return failed(c, NW_EINVAL, "a set can become shorter only without parity");
	return answer(c, catalog_set_seal(c->all->opts.catalog, &c->set, bytes));
}

/* --- the connection --- */

static int
on_message(struct client *c, struct channel_message *m)
{
	struct unpacker *u = &m->contents;

	switch (m->type) {
	case DPSS_PING: return NW_OK;
	case DPSS_CREATE: return on_create(c, u);
	case DPSS_OPEN: return on_open(c, u);
	case DPSS_RESUME: return on_resume(c, u);
	case DPSS_REQUEST: return on_request(c, u);
	case DPSS_PLACE: return on_place(c, u);
	case DPSS_LIST: return on_sets(c);
	case DPSS_DROP: return on_drop(c, u);
	case DPSS_ALLOW: return on_allow(c, u);
	case DPSS_SERVERS: return on_servers(c);
	case DPSS_SERVER_ADD: return on_server_add(c, u);
	case DPSS_DRAIN: return on_server_drain(c, u);
	case DPSS_SERVER_DROP: return on_server_drop(c, u);
	case DPSS_MOVE: return on_move(c, u);
	case DPSS_DELIVER: return on_deliver(c, u);
	case DPSS_SEAL: return on_seal(c, u);
	default: return NW_EPROTO;
	}
}

static void
session_end(struct client *c)
{
	struct packer p;
	bool resumed;
	uint32_t i;

	pthread_mutex_lock(&c->all->lock);
	resumed = client_find(c->all, c->session) != NULL; /* on another connection */
	pthread_mutex_unlock(&c->all->lock);
	for (i = 0; c->session != 0 && !resumed && i < DPSS_SERVERS_MAX; i++) {
		if (!links_is_up(c->all->links, i))
			continue;
		p = (struct packer){ 0 };
		pack_u64(&p, c->session);
		links_send(c->all->links, i, DPSS_END, &p);
	}
}

void
clients_serve(struct clients *all, struct channel *w)
{
	struct client c = { .all = all };
	const char *name = channel_peer_name(w);
	struct channel_message m;
	int rc;

	if (strlen(name) >= sizeof(c.user) ||
	    outbox_new(w, DPSS_PING_MS, NULL, NULL, &c.out) != NW_OK)
		return;
	strcpy(c.user, *name != '\0' ? name : channel_is_loopback(w) ? "local" : "anonymous");
	c.operator= operator_find(all, w);
	pthread_mutex_lock(&all->lock);
	DL_APPEND(all->first, &c);
	pthread_mutex_unlock(&all->lock);
	channel_limits(w, CHANNEL_SMALL_BYTES, 0);
	while ((rc = channel_read(w, &m)) == NW_OK) {
		if ((rc = on_message(&c, &m)) != NW_OK)
			break;
		if (c.session != 0) /* rights to a set are proved: lists may follow */
			channel_limits(w, DPSS_REQUEST_MAX, 0);
	}
	if (rc != NW_OK && rc != NW_ECLOSED)
		failed(&c, rc, nw_strerror(rc));
	pthread_mutex_lock(&all->lock);
	DL_DELETE(all->first, &c);
	pthread_mutex_unlock(&all->lock);
	session_end(&c);
	outbox_free(c.out);
}

int
clients_new(const struct clients_opts *opts, struct clients **out)
{
	struct clients *all = calloc(1, sizeof(*all));

	if (all == NULL)
		return NW_ENOMEM;
	all->opts = *opts;
	pthread_mutex_init(&all->lock, NULL);
	*out = all;
	return NW_OK;
}

void
clients_links(struct clients *all, struct links *links)
{
	all->links = links;
}

void
clients_free(struct clients *all)
{
	if (all == NULL)
		return;
	pthread_mutex_destroy(&all->lock);
	free(all);
}
