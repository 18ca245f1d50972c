/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread for the master and one for each server read; the owner's thread writes. One lock guards
 * everything that they share, and is not held while anything is sent.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define uthash_fatal(msg) abort()
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "dpss/client.h"
#include "dpss/eventlog.h"
#include "dpss/proto.h"
#include "dpss/serve.h"
#include "narrows/clock.h"
#include "narrows/condwait.h"
#include "narrows/err.h"
#include "narrows/tls.h"

#define NS_PER_MS INT64_C(1000000)
enum {
	MASK_WORDS = DPSS_SERVERS_MAX / 64,
	COPIES_MAX = 4,
	CONNECT_MS = 3000,
	AGAIN_MS = 2000,    /* blocks that do not come for so long are asked for again */
	PLACE_BLOCKS = 256, /* places are asked for in groups of neighbours */
	UNDERWAY_BYTES = 32 << 20,
	AHEAD_BYTES = 8 << 20
};

const char *const dpss_point_words[DPSS_POINTS] = { "APP_SEND", "DPSS_MASTER_IN", "DPSS_MASTER_OUT",
	"DPSS_SERV_IN", "DPSS_START_READ", "DPSS_END_READ", "DPSS_START_WRITE", "APP_RECEIVE" };

struct server {
	struct dpss *d;
	uint32_t id;
	char host[DPSS_NAME_BYTES];
	uint16_t port;
	uint8_t mac[32];      /* of the ticket */
	struct channel *wire; /* changes under `sending` only */
	pthread_mutex_t sending;
	pthread_t thread;
	bool started, alive; /* alive: under the lock of all */
};

/* A block that was asked for. */
struct pending {
	uint64_t logical;
	uint32_t list, wanted; /* wanted: so many requests */
	bool rebuilding;       /* nobody has the block; its group is asked for */
	UT_hash_handle hh;
};

struct arrived {
	struct dpss_block block;
	struct arrived *prev, *next;
	UT_hash_handle hh; /* in the file's cache, by logical */
};

/* A block that is computed from the others of its group, as they arrive. */
struct rebuild {
	uint64_t logical, first, parity_at; /* its group: blocks from `first` on, and the parity */
	uint32_t list, n, missing;
	uint8_t *data;
	struct rebuild *prev, *next;
	bool seen[256]; /* members of the group, the parity last */
};

struct place {
	uint64_t slot;
	uint32_t server, disk;
};

/* Places of a block that is to be written. */
struct placing {
	uint64_t logical;
	size_t n;
	struct place place[COPIES_MAX];
	UT_hash_handle hh;
};

/* A block on its way to disks. */
struct writing {
	uint64_t logical;
	uint32_t servers[COPIES_MAX]; /* that have not answered yet */
	size_t n;
	bool stored;
	UT_hash_handle hh;
};

struct dpss {
	struct nw_tls_ctx *tls;
	struct channel *master;
	pthread_t master_thread;
	bool master_started, closing, write, flush;
	int master_rc;
	struct eventlog *log;
	uint64_t session, expiry;
	uint32_t set, list;
	char master_name[DPSS_NAME_BYTES];
	struct dpss_layout layout;
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct server servers[DPSS_SERVERS_MAX];
	/* reading */
	struct pending *pending;
	struct arrived *arrived; /* in order of arrival */
	struct rebuild *rebuilds;
	int64_t heard_mono_ns; /* when the last block came or was asked for */
	struct arrived *file;  /* blocks that dpss_read() holds */
	uint64_t file_asked;   /* blocks before were asked for */
	/* writing */
	bool answered; /* the answer to a PLACE or SEAL has come */
	int answer_rc;
	struct placing *placings;
	struct writing *writings;
	uint64_t copies_missed;
	int write_rc;    /* of a block that no server has stored */
	uint8_t *parity; /* of the group that is being written */
	uint64_t parity_group, parity_n;
	char why[DPSS_WHY_BYTES];
};

/* --- geometry --- */

struct dpss_layout
dpss_layout_of(const struct dpss *d)
{
	return d->layout;
}

uint64_t
dpss_blocks(const struct dpss *d)
{
	return (d->layout.bytes + d->layout.block_bytes - 1) / d->layout.block_bytes;
}

uint32_t
dpss_block_len(const struct dpss *d, uint64_t logical)
{
	uint64_t from = logical * d->layout.block_bytes;

	if (logical >= dpss_blocks(d)) /* parity is as long as the longest of its group */
		return d->layout.block_bytes;
	return d->layout.bytes - from < d->layout.block_bytes ? (uint32_t)(d->layout.bytes - from)
							      : d->layout.block_bytes;
}

const char *
dpss_why(const struct dpss *d)
{
	return d->why;
}

uint64_t
dpss_copies_missed(const struct dpss *d)
{
	return d->copies_missed;
}

size_t
dpss_servers(const struct dpss *d)
{
	size_t i, n = 0;

	for (i = 0; i < DPSS_SERVERS_MAX; i++)
		n += d->servers[i].alive;
	return n;
}

static int
fail(struct dpss *d, int rc, const char *why)
{
	snprintf(d->why, sizeof(d->why), "%s", why);
	return rc;
}

/* --- requests --- */

/* Servers to which there is no connection are left out. Called with the lock. */
static void
request_begin(struct dpss *d, struct packer *p, uint32_t list, uint32_t n)
{
	uint64_t left_out[MASK_WORDS] = { 0 };
	size_t i;

	for (i = 0; i < DPSS_SERVERS_MAX; i++)
		if (!d->servers[i].alive)
			left_out[i / 64] |= UINT64_C(1) << i % 64;
	pack_u32(p, list);
	pack_u64(p, (uint64_t)nw_wall_ns());
	for (i = 0; i < MASK_WORDS; i++)
		pack_u64(p, left_out[i]);
	pack_u32(p, n);
	d->heard_mono_ns = nw_mono_ns();
}

/* The members of a group that have not come. Called with the lock. */
static uint32_t
members_pack(const struct rebuild *r, struct packer *p)
{
	uint32_t i;

	for (i = 0; i < r->n; i++)
		if (!r->seen[i])
			pack_u64(p, i + 1 == r->n ? r->parity_at : r->first + i);
	return r->missing;
}

static int
request_send(struct dpss *d, struct packer *blocks, uint32_t n)
{
	struct packer p = { 0 };

	pthread_mutex_lock(&d->lock);
	request_begin(d, &p, d->list, n);
	pthread_mutex_unlock(&d->lock);
	pack_bytes(&p, blocks->bytes, blocks->len);
	p.failed = p.failed || blocks->failed;
	pack_free(blocks);
	return channel_send(d->master, DPSS_REQUEST, &p);
}

/* Everything that is waited for, once more: after the death of a server, or of a message. */
static int
request_again(struct dpss *d)
{
	struct packer blocks = { 0 };
	struct pending *one, *next;
	struct rebuild *r;
	uint32_t n = 0;

	pthread_mutex_lock(&d->lock);
	HASH_ITER (hh, d->pending, one, next) {
		if (!one->rebuilding) {
			pack_u64(&blocks, one->logical);
			n++;
		}
	}
	DL_FOREACH (d->rebuilds, r) {
		n += members_pack(r, &blocks);
	}
	pthread_mutex_unlock(&d->lock);
	return request_send(d, &blocks, n);
}

static int
pending_add(struct dpss *d, uint64_t logical, uint32_t list)
{
	struct pending *one;

	HASH_FIND(hh, d->pending, &logical, sizeof(logical), one);
	if (one != NULL) {
		one->list = list;
		one->wanted++;
		return NW_OK;
	}
	if ((one = calloc(1, sizeof(*one))) == NULL)
		return NW_ENOMEM;
	one->logical = logical;
	one->list = list;
	one->wanted = 1;
	HASH_ADD(hh, d->pending, logical, sizeof(one->logical), one);
	if (one->hh.tbl != NULL)
		return NW_OK;
	free(one);
	return NW_ENOMEM;
}

static void
pending_clear(struct dpss *d)
{
	struct pending *one, *next;

	HASH_ITER (hh, d->pending, one, next) {
		HASH_DEL(d->pending, one);
		free(one);
	}
}

int
dpss_request(struct dpss *d, const uint64_t *logical, size_t n, uint32_t *list)
{
	struct packer p = { 0 };
	size_t i;
	int rc = n <= DPSS_LIST_MAX ? NW_OK : NW_ETOOBIG;

	for (i = 0; i < n && rc == NW_OK; i++)
		if (logical[i] >= dpss_blocks(d))
			rc = NW_EINVAL;
	if (rc != NW_OK)
		return fail(d, rc, "the set has no such blocks, or the list is too long");
	pthread_mutex_lock(&d->lock);
	if (d->flush)
		pending_clear(d);
	d->list++;
	if (list != NULL)
		*list = d->list;
	for (i = 0; i < n && rc == NW_OK; i++)
		rc = pending_add(d, logical[i], d->list);
	request_begin(d, &p, d->list, (uint32_t)n);
	for (i = 0; i < n; i++)
		pack_u64(&p, logical[i]);
	pthread_mutex_unlock(&d->lock);
	if (rc == NW_OK)
		rc = channel_send(d->master, DPSS_REQUEST, &p);
	pack_free(&p);
	return rc == NW_OK ? NW_OK : fail(d, rc, "the master is away");
}

size_t
dpss_pending(struct dpss *d)
{
	size_t n;

	pthread_mutex_lock(&d->lock);
	n = HASH_COUNT(d->pending);
	pthread_mutex_unlock(&d->lock);
	return n;
}

/* --- blocks that arrive --- */

/* Called with the lock. Takes the data. */
static void
deliver(struct dpss *d, const struct dpss_block *b)
{
	struct arrived *a = calloc(1, sizeof(*a));
	struct pending *one;

	HASH_FIND(hh, d->pending, &b->logical, sizeof(b->logical), one);
	if (one == NULL || a == NULL) {
		free(b->data);
		free(a);
		return;
	}
	HASH_DEL(d->pending, one);
	a->block = *b;
	a->block.list = one->list;
	a->block.wanted = one->wanted;
	free(one);
	DL_APPEND(d->arrived, a);
	d->heard_mono_ns = nw_mono_ns();
	pthread_cond_signal(&d->change);
}

static void
rebuild_end(struct dpss *d, struct rebuild *r, int rc)
{
	struct dpss_block b = { .logical = r->logical,
		.list = r->list,
		.len = dpss_block_len(d, r->logical),
		.rc = rc,
		.rebuilt = rc == NW_OK,
		.data = rc == NW_OK ? r->data : NULL };

	if (rc != NW_OK)
		free(r->data);
	DL_DELETE(d->rebuilds, r);
	free(r);
	deliver(d, &b);
}

/* Which member of the group a block is; r->n for none. */
static uint32_t
member_of(const struct rebuild *r, uint64_t logical)
{
	if (logical == r->parity_at)
		return r->n - 1;
	return logical >= r->first && logical < r->first + r->n - 1 ? (uint32_t)(logical - r->first)
								    : r->n;
}

/* Called with the lock. data NULL: the member is lost, too. */
static void
rebuilds_feed(struct dpss *d, uint64_t logical, const uint8_t *data, size_t len)
{
	struct rebuild *r, *next;
	uint32_t m;
	size_t i;

	DL_FOREACH_SAFE(d->rebuilds, r, next)
	{
		m = member_of(r, logical);
		if (m == r->n || r->seen[m])
			continue;
		r->seen[m] = true;
		r->missing--;
		for (i = 0; data != NULL && i < len; i++)
			r->data[i] ^= data[i];
		if (data == NULL)
			rebuild_end(d, r, NW_ENOTFOUND);
		else if (r->missing == 0)
			rebuild_end(d, r, NW_OK);
	}
}

/* Begins to compute a lost block; NULL if the set has no parity for it. Called with the lock. */
static struct rebuild *
rebuild_begin(struct dpss *d, uint64_t logical, uint32_t list)
{
	uint64_t k = d->layout.parity, blocks = dpss_blocks(d), g;
	struct rebuild *r;

	if (k == 0 || logical >= blocks || (r = calloc(1, sizeof(*r))) == NULL)
		return NULL;
	if ((r->data = calloc(1, d->layout.block_bytes)) == NULL) {
		free(r);
		return NULL;
	}
	g = logical / k;
	r->logical = logical;
	r->list = list;
	r->first = g * k;
	r->parity_at = blocks + g;
	r->n = (uint32_t)((r->first + k <= blocks ? k : blocks - r->first) + 1);
	r->missing = r->n - 1;
	r->seen[logical - r->first] = true;
	DL_APPEND(d->rebuilds, r);
	return r;
}

static void
block_log(struct dpss *d, const struct server *s, const struct dpss_block *b)
{
	uint64_t data[] = { b->logical, d->set, d->session, b->list, s->id };
	int i;

	for (i = 0; i < DPSS_POINTS && d->log != NULL; i++)
		if (b->times[i] != 0)
			eventlog_put(d->log, dpss_point_words[i],
			    i >= DPSS_SERV_IN && i < DPSS_TIMES ? s->host : NULL, b->times[i], data,
			    sizeof(data) / sizeof(data[0]));
}

static int
on_block(struct server *s, struct unpacker *u)
{
	struct dpss *d = s->d;
	struct dpss_block b = { .logical = unpack_u64(u), .list = unpack_u32(u), .server = s->id };
	uint32_t crc = unpack_u32(u);
	int i;

	for (i = 0; i < DPSS_TIMES; i++)
		b.times[i] = (int64_t)unpack_u64(u);
	b.times[DPSS_APP_RECEIVE] = nw_wall_ns();
	if (u->failed || u->left != dpss_block_len(d, b.logical) ||
	    (uint32_t)crc32_z(0, u->at, u->left) != crc)
		return NW_EPROTO;
	b.len = (uint32_t)u->left;
	if ((b.data = malloc(b.len + 1U)) == NULL)
		return NW_ENOMEM;
	memcpy(b.data, u->at, b.len);
	block_log(d, s, &b);
	pthread_mutex_lock(&d->lock);
	rebuilds_feed(d, b.logical, b.data, b.len);
	deliver(d, &b);
	pthread_mutex_unlock(&d->lock);
	return NW_OK;
}

/* One block that nobody has: computed where that is possible, else delivered as lost. Returns how
 * many blocks were packed to be asked for. Called with the lock. */
static uint32_t
absent_one(struct dpss *d, uint64_t logical, uint32_t list, struct packer *ask)
{
	struct dpss_block b = { .logical = logical, .list = list, .rc = NW_ENOTFOUND };
	struct pending *one;
	struct rebuild *r;

	rebuilds_feed(d, logical, NULL, 0);
	HASH_FIND(hh, d->pending, &logical, sizeof(logical), one);
	if (one == NULL || one->rebuilding)
		return 0;
	if ((r = rebuild_begin(d, logical, list)) == NULL) {
		deliver(d, &b);
		return 0;
	}
	one->rebuilding = true;
	return members_pack(r, ask);
}

static int
on_absent(struct dpss *d, struct unpacker *u)
{
	uint32_t list = unpack_u32(u), n = unpack_u32(u), asked = 0;
	struct packer ask = { 0 };

	if (!unpack_has(u, n, 8))
		return NW_EPROTO;
	pthread_mutex_lock(&d->lock);
	while (n-- > 0)
		asked += absent_one(d, unpack_u64(u), list, &ask);
	pthread_mutex_unlock(&d->lock);
	return asked > 0 ? request_send(d, &ask, asked) : NW_OK;
}

/* --- words about what was written --- */

/* One copy is stored, or will never be. Called with the lock. */
static void
copy_end(struct dpss *d, struct writing *w, uint32_t server, int rc)
{
	size_t i;

	for (i = 0; i < w->n && w->servers[i] != server; i++)
		;
	if (i == w->n)
		return;
	w->servers[i] = w->servers[--w->n];
	w->stored = w->stored || rc == NW_OK;
	d->copies_missed += rc != NW_OK;
	if (w->n > 0)
		return;
	if (!w->stored && d->write_rc == NW_OK) {
		d->write_rc = rc;
		snprintf(d->why, sizeof(d->why), "block %" PRIu64 ": no server stored it: %s",
		    w->logical, nw_strerror(rc));
	}
	HASH_DEL(d->writings, w);
	free(w);
	pthread_cond_broadcast(&d->change);
}

static int
on_written(struct server *s, struct unpacker *u)
{
	uint64_t logical = unpack_u64(u);
	struct dpss *d = s->d;
	struct writing *w;
	int rc;

	unpack_u32(u);
	unpack_u64(u);
	rc = -(int)unpack_u16(u);
	if (unpack_end(u) != NW_OK)
		return NW_EPROTO;
	pthread_mutex_lock(&d->lock);
	HASH_FIND(hh, d->writings, &logical, sizeof(logical), w);
	if (w != NULL)
		copy_end(d, w, s->id, rc);
	pthread_mutex_unlock(&d->lock);
	return NW_OK;
}

/* --- the threads that read --- */

static void
server_dead(struct server *s)
{
	struct dpss *d = s->d;
	struct writing *w, *next;
	bool again;

	pthread_mutex_lock(&d->lock);
	s->alive = false;
	HASH_ITER (hh, d->writings, w, next) {
		copy_end(d, w, s->id, NW_ECLOSED);
	}
	again = !d->closing && (d->pending != NULL || d->rebuilds != NULL);
	pthread_mutex_unlock(&d->lock);
	if (again)
		request_again(d);
}

static int server_connect(struct server *s);

static bool
is_closing(struct dpss *d)
{
	bool closing;

	pthread_mutex_lock(&d->lock);
	closing = d->closing;
	pthread_mutex_unlock(&d->lock);
	return closing;
}

static void
server_listen(struct server *s)
{
	struct channel_message m;
	int rc = NW_OK;

	while (rc == NW_OK && (rc = channel_read(s->wire, &m)) == NW_OK)
		if (m.type == DPSS_BLOCK)
			rc = on_block(s, &m.contents);
		else if (m.type == DPSS_WRITTEN)
			rc = on_written(s, &m.contents);
		else if (m.type != DPSS_PING && m.type != DPSS_LACKING && m.type != DPSS_DONE)
			rc = NW_EPROTO;
	channel_shut(s->wire);
	server_dead(s);
}

/* A server that died may come again. */
static void *
server_run(void *arg)
{
	struct server *s = arg;
	int64_t next;

	for (;;) {
		server_listen(s);
		do {
			next = nw_mono_ns() + AGAIN_MS / 2 * NS_PER_MS;
			while (nw_mono_ns() < next)
				if (is_closing(s->d))
					return NULL;
				else
					usleep(20000);
		} while (server_connect(s) != NW_OK);
	}
}

static int
on_placed(struct dpss *d, struct unpacker *u)
{
	uint32_t n = unpack_u32(u);
	struct placing *p;
	uint64_t logical;

	for (unpack_has(u, n, 24); n > 0 && !u->failed; n--) {
		logical = unpack_u64(u);
		HASH_FIND(hh, d->placings, &logical, sizeof(logical), p);
		if (p == NULL && (p = calloc(1, sizeof(*p))) != NULL) {
			p->logical = logical;
			HASH_ADD(hh, d->placings, logical, sizeof(p->logical), p);
		}
		if (p == NULL || p->hh.tbl == NULL || p->n == COPIES_MAX)
			return NW_ENOMEM;
		p->place[p->n].server = unpack_u32(u);
		p->place[p->n].disk = unpack_u32(u);
		p->place[p->n].slot = unpack_u64(u);
		p->n += p->place[p->n].server < DPSS_SERVERS_MAX;
	}
	return unpack_end(u);
}

static void
answered(struct dpss *d, int rc)
{
	d->answered = true;
	d->answer_rc = rc;
	pthread_cond_broadcast(&d->change);
}

static int
on_master(struct dpss *d, struct channel_message *m)
{
	int rc = NW_OK;

	if (m->type == DPSS_PING)
		return NW_OK;
	if (m->type == DPSS_ABSENT)
		return on_absent(d, &m->contents);
	pthread_mutex_lock(&d->lock);
	if (m->type == DPSS_PLACED) {
		rc = on_placed(d, &m->contents);
		answered(d, rc);
	} else if (m->type == DPSS_DONE) {
		answered(d, NW_OK);
	} else if (m->type == DPSS_FAILED) {
		rc = -(int)unpack_u16(&m->contents);
		unpack_text(&m->contents, d->why, sizeof(d->why));
		answered(d, rc < 0 ? rc : NW_EPROTO);
		rc = NW_OK;
	} else {
		rc = NW_EPROTO;
	}
	pthread_mutex_unlock(&d->lock);
	return rc;
}

static void *
master_run(void *arg)
{
	struct dpss *d = arg;
	struct channel_message m;
	int rc;

	while ((rc = channel_read(d->master, &m)) == NW_OK && (rc = on_master(d, &m)) == NW_OK)
		;
	channel_shut(d->master);
	pthread_mutex_lock(&d->lock);
	d->master_rc = rc;
	answered(d, rc);
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* --- taking blocks --- */

/* Waits for one block, for at most ms. Called with the lock. */
static struct arrived *
arrived_wait(struct dpss *d, int ms)
{
	int64_t until_mono_ns = nw_mono_ns() + ms * NS_PER_MS;

	while (d->arrived == NULL && d->master_rc == NW_OK &&
	    nw_cond_wait_until(&d->change, &d->lock, until_mono_ns))
		continue;
	return d->arrived;
}

static bool
is_stuck(struct dpss *d)
{
	return !d->flush && d->pending != NULL &&
	    nw_mono_ns() - d->heard_mono_ns > AGAIN_MS * NS_PER_MS;
}

int
dpss_next(struct dpss *d, int wait_ms, struct dpss_block *out)
{
	int64_t end = nw_mono_ns() + wait_ms * NS_PER_MS, left;
	struct arrived *a;
	bool stuck;

	for (;;) {
		left = (end - nw_mono_ns()) / NS_PER_MS;
		pthread_mutex_lock(&d->lock);
		a = arrived_wait(d, left < 0 ? 0 : left < AGAIN_MS / 4 ? (int)left : AGAIN_MS / 4);
		if (a != NULL)
			DL_DELETE(d->arrived, a);
		stuck = a == NULL && is_stuck(d);
		pthread_mutex_unlock(&d->lock);
		if (a != NULL) {
			*out = a->block;
			free(a);
			return NW_OK;
		}
		if (d->master_rc != NW_OK)
			return fail(d, NW_ECLOSED, "the master is away");
		if (stuck)
			request_again(d);
		if (nw_mono_ns() >= end)
			return NW_EAGAIN;
	}
}

void
dpss_block_free(struct dpss_block *b)
{
	free(b->data);
	b->data = NULL;
}

/* --- the set as a file --- */

static int
file_take(struct dpss *d, uint64_t logical, struct arrived **out)
{
	struct arrived *a;
	struct dpss_block b;
	int rc;

	for (;;) {
		HASH_FIND(hh, d->file, &logical, sizeof(logical), a);
		if (a != NULL) {
			*out = a;
			return a->block.rc;
		}
		if ((rc = dpss_next(d, 30000, &b)) != NW_OK)
			return rc;
		if ((a = calloc(1, sizeof(*a))) == NULL)
			return NW_ENOMEM;
		a->block = b;
		HASH_ADD(hh, d->file, block.logical, sizeof(b.logical), a);
	}
}

/* Blocks behind the reader go. */
static void
file_forget(struct dpss *d, uint64_t before)
{
	struct arrived *a, *next;

	HASH_ITER (hh, d->file, a, next) {
		if (a->block.logical < before) {
			HASH_DEL(d->file, a);
			free(a->block.data);
			free(a);
		}
	}
}

/* A reader who goes on has the next blocks asked for; one who jumped begins anew. */
static int
file_ask(struct dpss *d, uint64_t logical)
{
	uint64_t ahead = AHEAD_BYTES / d->layout.block_bytes + 2, list[DPSS_LIST_MAX], to;
	struct arrived *a;
	size_t n = 0;

	HASH_FIND(hh, d->file, &logical, sizeof(logical), a);
	if (a == NULL && (logical >= d->file_asked || dpss_pending(d) == 0))
		d->file_asked = logical;
	to = logical + ahead < dpss_blocks(d) ? logical + ahead : dpss_blocks(d);
	if (d->file_asked + ahead / 2 > to && d->file_asked > logical && to < dpss_blocks(d))
		return NW_OK;
	for (; d->file_asked < to && n < DPSS_LIST_MAX; d->file_asked++)
		list[n++] = d->file_asked;
	return n > 0 ? dpss_request(d, list, n, NULL) : NW_OK;
}

int
dpss_read(struct dpss *d, uint64_t offset, void *buf, size_t len, size_t *n)
{
	uint32_t block = d->layout.block_bytes, from, part;
	struct arrived *a;
	int rc;

	for (*n = 0; *n < len && offset < d->layout.bytes; *n += part, offset += part) {
		file_forget(d, offset / block);
		if ((rc = file_ask(d, offset / block)) != NW_OK ||
		    (rc = file_take(d, offset / block, &a)) != NW_OK)
			return rc == NW_ENOTFOUND ? fail(d, rc, "a block is lost") : rc;
		from = (uint32_t)(offset % block);
		part = a->block.len - from < len - *n ? a->block.len - from : (uint32_t)(len - *n);
		memcpy((char *)buf + *n, a->block.data + from, part);
	}
	return NW_OK;
}

/* --- writing --- */

/* Sends a request to the master and waits for the answer. */
static int
ask(struct dpss *d, uint16_t type, struct packer *p)
{
	int rc;

	pthread_mutex_lock(&d->lock);
	d->answered = d->master_rc != NW_OK;
	pthread_mutex_unlock(&d->lock);
	rc = channel_send(d->master, type, p);
	pthread_mutex_lock(&d->lock);
	while (rc == NW_OK && !d->answered)
		pthread_cond_wait(&d->change, &d->lock);
	if (rc == NW_OK)
		rc = d->answer_rc;
	pthread_mutex_unlock(&d->lock);
	return rc;
}

/* Places of a block's neighbours, too, as they will be written next. */
static int
placing_ask(struct dpss *d, uint64_t logical)
{
	uint64_t from = logical, blocks = dpss_blocks(d), to = from + PLACE_BLOCKS, i;
	struct packer p = { 0 };

	if (logical >= blocks)
		to = from + 1;
	else if (to > blocks)
		to = blocks;
	pack_u32(&p, (uint32_t)(to - from));
	for (i = from; i < to; i++)
		pack_u64(&p, i);
	return ask(d, DPSS_PLACE, &p);
}

static int
placing_take(struct dpss *d, uint64_t logical, struct placing *out)
{
	struct placing *p;
	int rc = NW_OK, tries;

	for (tries = 0; tries < 2; tries++) {
		pthread_mutex_lock(&d->lock);
		HASH_FIND(hh, d->placings, &logical, sizeof(logical), p);
		if (p != NULL) {
			HASH_DEL(d->placings, p);
			*out = *p;
			free(p);
		}
		pthread_mutex_unlock(&d->lock);
		if (p != NULL)
			return NW_OK;
		if ((rc = placing_ask(d, logical)) != NW_OK)
			return rc;
	}
	return NW_EPROTO;
}

static int
writing_begin(struct dpss *d, const struct placing *p)
{
	size_t most = UNDERWAY_BYTES / d->layout.block_bytes + 1, i;
	struct writing *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return NW_ENOMEM;
	w->logical = p->logical;
	for (i = 0; i < p->n; i++)
		w->servers[w->n++] = p->place[i].server;
	pthread_mutex_lock(&d->lock);
	while (HASH_COUNT(d->writings) >= most && d->write_rc == NW_OK)
		pthread_cond_wait(&d->change, &d->lock);
	if ((rc = d->write_rc) == NW_OK)
		HASH_ADD(hh, d->writings, logical, sizeof(w->logical), w);
	pthread_mutex_unlock(&d->lock);
	if (rc != NW_OK)
		free(w);
	return rc;
}

static void
copy_send(struct dpss *d, uint64_t logical, const struct place *at, const void *data, uint32_t len)
{
	struct server *s = &d->servers[at->server];
	struct packer p = { 0 };
	struct writing *w;
	int rc = NW_ECLOSED;

	pack_u64(&p, logical);
	pack_u32(&p, at->disk);
	pack_u64(&p, at->slot);
	pack_u32(&p, (uint32_t)crc32_z(0, data, len));
	pthread_mutex_lock(&s->sending);
	if (s->wire != NULL)
		rc = channel_send_with(s->wire, DPSS_WRITE, &p, data, len);
	pthread_mutex_unlock(&s->sending);
	pack_free(&p);
	pthread_mutex_lock(&d->lock);
	if (rc == NW_OK && s->alive) {
		pthread_mutex_unlock(&d->lock);
		return;
	}
	HASH_FIND(hh, d->writings, &logical, sizeof(logical), w);
	if (w != NULL)
		copy_end(d, w, at->server, NW_ECLOSED);
	pthread_mutex_unlock(&d->lock);
}

static int
write_block(struct dpss *d, uint64_t logical, const void *data, uint32_t len)
{
	struct placing p;
	size_t i;
	int rc;

	if ((rc = placing_take(d, logical, &p)) != NW_OK || (rc = writing_begin(d, &p)) != NW_OK)
		return rc;
	for (i = 0; i < p.n; i++)
		copy_send(d, logical, &p.place[i], data, len);
	return d->write_rc;
}

static int
parity_end(struct dpss *d)
{
	int rc = NW_OK;

	if (d->parity_n > 0)
		rc = write_block(
		    d, dpss_blocks(d) + d->parity_group, d->parity, d->layout.block_bytes);
	memset(d->parity, 0, d->layout.block_bytes);
	d->parity_n = 0;
	return rc;
}

static int
parity_feed(struct dpss *d, uint64_t logical, const uint8_t *data, uint32_t len)
{
	uint64_t k = d->layout.parity, in_group = dpss_blocks(d) - logical / k * k;
	uint32_t i;

	if (d->parity_n > 0 && d->parity_group != logical / k)
		return fail(
		    d, NW_EINVAL, "a set with parity is written in the order of its blocks");
	d->parity_group = logical / k;
	for (i = 0; i < len; i++)
		d->parity[i] ^= data[i];
	d->parity_n++;
	return d->parity_n == (in_group < k ? in_group : k) ? parity_end(d) : NW_OK;
}

int
dpss_write(struct dpss *d, uint64_t logical, const void *data)
{
	uint32_t len = dpss_block_len(d, logical);
	int rc;

	if (logical >= dpss_blocks(d))
		return fail(d, NW_EINVAL, "the set has no such block");
	if ((rc = write_block(d, logical, data, len)) != NW_OK || d->layout.parity == 0)
		return rc;
	return parity_feed(d, logical, data, len);
}

int
dpss_finish(struct dpss *d)
{
	struct packer nothing = { 0 };
	int rc;

	if (d->parity_n > 0)
		return fail(d, NW_EINVAL, "the last group of a set with parity is not complete");
	pthread_mutex_lock(&d->lock);
	while (d->writings != NULL && d->write_rc == NW_OK)
		pthread_cond_wait(&d->change, &d->lock);
	rc = d->write_rc;
	pthread_mutex_unlock(&d->lock);
	return rc == NW_OK ? ask(d, DPSS_SEAL, &nothing) : rc;
}

/* --- beginning and end --- */

static int
ticket_show(const struct server *s, struct channel *w)
{
	const struct dpss *d = s->d;
	struct packer hello = { 0 }, ticket = { 0 };
	char why[DPSS_WHY_BYTES];
	struct channel_message m;
	int rc;

	channel_limits(w, d->layout.block_bytes + 256U, CONNECT_MS);
	pack_u16(&hello, DPSS_VERSION);
	pack_u8(&hello, DPSS_CLIENT);
	pack_text(&ticket, d->master_name);
	pack_u64(&ticket, d->session);
	pack_u32(&ticket, d->set);
	pack_u64(&ticket, d->expiry);
	pack_bytes(&ticket, s->mac, sizeof(s->mac));
	if ((rc = channel_send(w, DPSS_HELLO, &hello)) == NW_OK)
		rc = client_ask(w, DPSS_TICKET, &ticket, DPSS_DONE, &m, why);
	pack_free(&ticket);
	channel_limits(w, d->layout.block_bytes + 256U, DPSS_SILENCE_MS);
	return rc;
}

static int
server_connect(struct server *s)
{
	struct dpss *d = s->d;
	char why[CHANNEL_WHY_BYTES];
	struct channel *w = NULL, *old;
	int rc;

	if ((rc = channel_connect(s->host, s->port, d->tls, CONNECT_MS, &w, why)) != NW_OK)
		return rc;
	if ((rc = ticket_show(s, w)) != NW_OK) {
		channel_free(w);
		return rc;
	}
	pthread_mutex_lock(&s->sending);
	old = s->wire;
	s->wire = w;
	pthread_mutex_unlock(&s->sending);
	channel_free(old);
	pthread_mutex_lock(&d->lock);
	s->alive = true;
	if (d->closing) /* threads_end() has shut the connection before */
		channel_shut(w);
	pthread_mutex_unlock(&d->lock);
	return NW_OK;
}

static int
server_start(struct server *s)
{
	int rc = server_connect(s);

	if (rc == NW_OK && pthread_create(&s->thread, NULL, server_run, s) != 0) {
		s->alive = false;
		rc = NW_ENOMEM;
	}
	s->started = rc == NW_OK;
	return rc;
}

/* A server that cannot be reached is one of those that are away. */
static int
servers_connect(struct dpss *d, struct unpacker *u)
{
	uint32_t n = unpack_u32(u), id, reached = 0;
	char host[DPSS_NAME_BYTES];
	const uint8_t *mac;
	uint16_t port;

	while (n-- > 0 && !u->failed) {
		id = unpack_u32(u);
		unpack_text(u, host, sizeof(host));
		port = unpack_u16(u);
		mac = unpack_bytes(u, sizeof(d->servers[0].mac));
		if (u->failed || id >= DPSS_SERVERS_MAX || d->servers[id].started)
			return NW_EPROTO;
		d->servers[id].d = d;
		d->servers[id].id = id;
		d->servers[id].port = port;
		memcpy(d->servers[id].mac, mac, sizeof(d->servers[id].mac));
		strcpy(d->servers[id].host, host);
		reached += server_start(&d->servers[id]) == NW_OK;
	}
	if (unpack_end(u) != NW_OK)
		return NW_EPROTO;
	return reached > 0 ? NW_OK : fail(d, NW_ENOTFOUND, "no server of the set can be reached");
}

static int
opened(struct dpss *d, struct unpacker *u)
{
	d->session = unpack_u64(u);
	d->set = unpack_u32(u);
	d->layout.block_bytes = unpack_u32(u);
	d->layout.bytes = unpack_u64(u);
	d->layout.copies = unpack_u8(u);
	d->layout.parity = unpack_u8(u);
	d->expiry = unpack_u64(u);
	unpack_text(u, d->master_name, sizeof(d->master_name));
	if (u->failed || d->layout.block_bytes == 0 || d->layout.block_bytes > DPSS_BLOCK_MAX)
		return fail(d, NW_EPROTO, "the master's answer is malformed");
	if (d->layout.parity > 0 && (d->parity = calloc(1, d->layout.block_bytes)) == NULL)
		return NW_ENOMEM;
	return servers_connect(d, u);
}

static int
start(struct dpss *d, const struct dpss_opts *opts, uint16_t type, struct packer *p)
{
	struct channel_message m;
	int rc;

	if ((rc = eventlog_open(opts->log, NULL, &d->log, d->why)) != NW_OK ||
	    (rc = serve_tls(opts->tls_dir, false, &d->tls, d->why)) != NW_OK ||
	    (rc = client_connect(opts, d->tls, &d->master, d->why)) != NW_OK) {
		d->master = NULL;
		return rc;
	}
	if ((rc = client_ask(d->master, type, p, DPSS_OPENED, &m, d->why)) != NW_OK ||
	    (rc = opened(d, &m.contents)) != NW_OK)
		return rc;
	channel_limits(d->master, DPSS_MESSAGE_MAX, 0);
	if (pthread_create(&d->master_thread, NULL, master_run, d) != 0)
		return NW_ENOMEM;
	d->master_started = true;
	return NW_OK;
}

static int
begin(const struct dpss_opts *opts, uint16_t type, struct packer *p, bool write, struct dpss **out,
    char *why)
{
	struct dpss *d = calloc(1, sizeof(*d));
	size_t i;
	int rc;

	if (d == NULL) {
		pack_free(p);
		return NW_ENOMEM;
	}
	d->write = write;
	d->flush = opts->flush;
	for (i = 0; i < DPSS_SERVERS_MAX; i++)
		pthread_mutex_init(&d->servers[i].sending, NULL);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->change, NULL);
	rc = start(d, opts, type, p);
	pack_free(p);
	if (rc != NW_OK) {
		snprintf(why, DPSS_WHY_BYTES, "%s", d->why[0] != '\0' ? d->why : nw_strerror(rc));
		dpss_close(d);
		return rc;
	}
	*out = d;
	return NW_OK;
}

int
dpss_open(
    const struct dpss_opts *opts, const char *name, struct dpss **out, char why[DPSS_WHY_BYTES])
{
	struct packer p = { 0 };

	pack_text(&p, name);
	pack_u8(&p,
	    (uint8_t)((opts->write ? DPSS_OPEN_WRITE : 0) | (opts->flush ? DPSS_OPEN_FLUSH : 0)));
	return begin(opts, DPSS_OPEN, &p, opts->write, out, why);
}

int
dpss_create(const struct dpss_opts *opts, const char *name, const struct dpss_layout *layout,
    struct dpss **out, char why[DPSS_WHY_BYTES])
{
	struct packer p = { 0 };

	pack_text(&p, name);
	pack_u32(&p, layout->block_bytes);
	pack_u64(&p, layout->bytes);
	pack_u8(&p, layout->copies);
	pack_u8(&p, layout->parity);
	return begin(opts, DPSS_CREATE, &p, true, out, why);
}

static void
threads_end(struct dpss *d)
{
	size_t i;

	pthread_mutex_lock(&d->lock);
	d->closing = true;
	pthread_mutex_unlock(&d->lock);
	for (i = 0; i < DPSS_SERVERS_MAX; i++) {
		if (d->servers[i].started) {
			pthread_mutex_lock(&d->servers[i].sending);
			channel_shut(d->servers[i].wire);
			pthread_mutex_unlock(&d->servers[i].sending);
			pthread_join(d->servers[i].thread, NULL);
		}
	}
	if (d->master_started) {
		channel_shut(d->master);
		pthread_join(d->master_thread, NULL);
	}
	for (i = 0; i < DPSS_SERVERS_MAX; i++) {
		channel_free(d->servers[i].wire);
		pthread_mutex_destroy(&d->servers[i].sending);
	}
	channel_free(d->master);
}

static void
memory_free(struct dpss *d)
{
	struct arrived *a, *next_a;
	struct rebuild *r, *next_r;
	struct placing *p, *next_p;
	struct writing *w, *next_w;

	pending_clear(d);
	file_forget(d, UINT64_MAX);
	DL_FOREACH_SAFE(d->arrived, a, next_a)
	{
		free(a->block.data);
		free(a);
	}
	DL_FOREACH_SAFE(d->rebuilds, r, next_r)
	{
		free(r->data);
		free(r);
	}
	HASH_ITER (hh, d->placings, p, next_p) {
		HASH_DEL(d->placings, p);
		free(p);
	}
	HASH_ITER (hh, d->writings, w, next_w) {
		HASH_DEL(d->writings, w);
		free(w);
	}
	free(d->parity);
}

int
dpss_close(struct dpss *d)
{
	int rc;

	if (d == NULL)
		return NW_OK;
	threads_end(d);
	memory_free(d);
	rc = eventlog_close(d->log);
	nw_tls_ctx_release(d->tls);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->change);
	free(d);
	return rc;
}
