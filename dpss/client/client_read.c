/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests for blocks, and the arrival of blocks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <utlist.h>

#include "dpss/checksum.h"
#include "dpss/client/client.h"
#include "narrows/clock.h"
#include "narrows/condwait.h"
#include "narrows/err.h"

enum {
	AGAIN_MS = 2000, /* blocks that do not come for so long are asked for again */
	WAKE_BLOCKS = 16,
	LATE_MS = 1000, /* for an application without a limit */
	LATE_LOOK_MS = 20,
	DAMAGED_MAX = 16 /* in a row: the way itself damages blocks */
};

/* --- requests --- */

/* Servers to which there is no connection are left out. Locked. */
static void
request_begin(struct dpss *d, struct packer *p, uint32_t list, unsigned flags, uint32_t n)
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
	pack_u8(p, (uint8_t)flags);
	pack_u32(p, n);
	d->heard_mono_ns = nw_mono_ns();
}

/* The members of a group that have not come. Locked. */
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
request_send(struct dpss *d, struct packer *blocks, uint32_t n, unsigned flags)
{
	struct packer p = { 0 };

	pthread_mutex_lock(&d->lock);
	request_begin(d, &p, d->list, flags, n);
	pthread_mutex_unlock(&d->lock);
	pack_bytes(&p, blocks->bytes, blocks->len);
	p.failed = p.failed || blocks->failed;
	pack_free(blocks);
	return client_master_send(d, DPSS_REQUEST, &p);
}

int
client_request_again(struct dpss *d)
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
	return request_send(d, &blocks, n, 0);
}

static int
pending_add(struct dpss *d, uint64_t logical, uint32_t list)
{
	struct pending *one;

	HASH_FIND(hh, d->pending, &logical, sizeof(logical), one);
	if (one != NULL) {
		one->list = list;
		one->asked_mono_ns = nw_mono_ns();
		one->wanted++;
		return NW_OK;
	}
	if ((one = calloc(1, sizeof(*one))) == NULL)
		return NW_ENOMEM;
	one->logical = logical;
	one->list = list;
	one->asked_mono_ns = nw_mono_ns();
	one->wanted = 1;
	HASH_ADD(hh, d->pending, logical, sizeof(one->logical), one);
	if (one->hh.tbl != NULL)
		return NW_OK;
	free(one);
	return NW_ENOMEM;
}

/* Locked. Returns how many requests are forgotten. */
static uint64_t
pending_clear(struct dpss *d)
{
	struct pending *one, *next;
	uint64_t n = 0;

	HASH_ITER (hh, d->pending, one, next) {
		n += one->wanted;
		HASH_DEL(d->pending, one);
		free(one);
	}
	return n;
}

static void
trace_put(struct dpss *d, const uint64_t *logical, size_t n)
{
	size_t i;

	if (d->trace == NULL)
		return;
	fprintf(d->trace, "%.3f %s", (double)(nw_mono_ns() - d->trace_mono_ns) / 1e6, d->name);
	for (i = 0; i < n; i++)
		fprintf(d->trace, " %" PRIu64, logical[i]);
	putc('\n', d->trace);
}

int
client_request(struct dpss *d, const uint64_t *logical, size_t n, uint32_t *list)
{
	struct packer p = { 0 };
	bool gone;
	size_t i;
	int rc = n <= DPSS_LIST_MAX ? NW_OK : NW_ETOOBIG;

	for (i = 0; i < n && rc == NW_OK; i++)
		if (logical[i] >= client_blocks_all(d))
			rc = NW_EINVAL;
	if (rc != NW_OK)
		return client_fail(d, rc, "the set has no such blocks, or the list is too long");
	pthread_mutex_lock(&d->lock);
	if (d->opts.flush)
		(void)pending_clear(d);
	d->list++;
	if (list != NULL)
		*list = d->list;
	for (i = 0; i < n && rc == NW_OK; i++)
		rc = pending_add(d, logical[i], d->list);
	request_begin(d, &p, d->list, 0, (uint32_t)n);
	for (i = 0; i < n; i++)
		pack_u64(&p, logical[i]);
	gone = d->master_gone;
	pthread_mutex_unlock(&d->lock);
	trace_put(d, logical, n);
	if (rc == NW_OK)
		rc = client_master_send(d, DPSS_REQUEST, &p);
	pack_free(&p);
	if (rc == NW_ECLOSED && !gone) /* asked for as soon as the master is there again */
		rc = NW_OK;
	return rc == NW_OK ? NW_OK : client_fail(d, rc, "the master is gone");
}

int
dpss_request(struct dpss *d, const uint64_t *logical, size_t n, uint32_t *list)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (logical[i] >= dpss_blocks(d))
			return client_fail(d, NW_EINVAL, "the set has no such blocks");
	return client_request(d, logical, n, list);
}

bool
client_is_pending(struct dpss *d, uint64_t logical)
{
	struct pending *one;

	pthread_mutex_lock(&d->lock);
	HASH_FIND(hh, d->pending, &logical, sizeof(logical), one);
	pthread_mutex_unlock(&d->lock);
	return one != NULL;
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

uint64_t
dpss_forget(struct dpss *d)
{
	uint64_t n;

	pthread_mutex_lock(&d->lock);
	n = pending_clear(d);
	pthread_mutex_unlock(&d->lock);
	return n;
}

/* --- blocks that arrive --- */

/* Locked. Takes the data. */
static void
deliver(struct dpss *d, const struct dpss_block *b)
{
	struct arrived *a = calloc(1, sizeof(*a));
	struct pending *one;

	HASH_FIND(hh, d->pending, &b->logical, sizeof(b->logical), one);
	if (one == NULL && d->opts.accepts && a != NULL) {
		a->block = *b;
		DL_APPEND(d->arrived, a);
		pthread_cond_signal(&d->change);
		return;
	}
	if (one == NULL || a == NULL) {
		pool_put(b->data);
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
	if (d->awaited == AWAITED_ANY || d->awaited == b->logical || ++d->n_arrived >= WAKE_BLOCKS)
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
		pool_put(r->data);
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

/* Locked. data NULL: the member is lost, too. */
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

/* Begins to compute a lost block; NULL if the set has no parity for it. Locked. */
static struct rebuild *
rebuild_begin(struct dpss *d, uint64_t logical, uint32_t list)
{
	uint64_t k = d->layout.parity, blocks = dpss_blocks(d), g;
	struct rebuild *r;

	if (k == 0 || logical >= client_blocks_all(d) || (r = calloc(1, sizeof(*r))) == NULL)
		return NULL;
	if ((r->data = pool_get(d->pool)) == NULL) {
		free(r);
		return NULL;
	}
	memset(r->data, 0, d->layout.block_bytes);
	g = logical < blocks ? logical / k : logical - blocks;
	r->logical = logical;
	r->list = list;
	r->first = g * k;
	r->parity_at = blocks + g;
	r->n = (uint32_t)((r->first + k <= blocks ? k : blocks - r->first) + 1);
	r->missing = r->n - 1;
	r->seen[member_of(r, logical)] = true;
	DL_APPEND(d->rebuilds, r);
	return r;
}

/* The host of a point's clock; NULL: this host. */
static const char *
point_host(const struct dpss *d, const struct server *s, int point)
{
	if (point == DPSS_MASTER_IN || point == DPSS_MASTER_OUT)
		return d->master_host[0] != '\0' ? d->master_host : NULL;
	return point >= DPSS_SERV_IN && point < DPSS_TIMES ? s->host : NULL;
}

static void
block_log(struct dpss *d, const struct server *s, const struct dpss_block *b)
{
	uint64_t data[] = { b->logical, d->set, d->session, b->list, s->id };
	int i;

	for (i = 0; i < DPSS_POINTS && d->log != NULL; i++)
		if (b->times[i] != 0)
			blocklog_put(d->log, dpss_point_words[i], point_host(d, s, i), b->times[i],
			    data, sizeof(data) / sizeof(data[0]));
}

/* The bytes do not fit their checksum. The server looks at its disk and tells the fault; a block
 * without fault comes once more. */
static int
block_doubt(struct server *s, const struct dpss_block *b)
{
	struct packer p = { 0 };
	int rc;

	pool_put(b->data);
	if (++s->damaged > DAMAGED_MAX)
		return NW_EPROTO;
	pack_u64(&p, b->logical);
	rc = request_send(s->d, &p, 1, DPSS_REQUEST_CAREFUL);
	return rc == NW_ECLOSED ? NW_OK : rc;
}

int
client_block(struct server *s, struct channel_message *m)
{
	struct unpacker *u = &m->contents;
	struct dpss *d = s->d;
	struct dpss_block b = { .logical = unpack_u64(u),
		.list = unpack_u32(u),
		.server = s->id,
		.len = (uint32_t)m->data_len,
		.data = m->data };
	uint32_t sum = unpack_u32(u);
	int i;

	b.recorded_wall_ns = (int64_t)unpack_u64(u);
	for (i = 0; i < DPSS_TIMES; i++)
		b.times[i] = (int64_t)unpack_u64(u);
	if (unpack_end(u) != NW_OK || b.data == NULL || b.len != dpss_block_len(d, b.logical)) {
		pool_put(b.data);
		return NW_EPROTO;
	}
	return client_block_take(s, &b, sum);
}

int
client_block_take(struct server *s, struct dpss_block *b, uint32_t sum)
{
	struct dpss *d = s->d;

	b->times[DPSS_APP_RECEIVE] = nw_wall_ns();
	if (checksum(b->data, b->len) != sum)
		return block_doubt(s, b);
	s->damaged = 0;
	block_log(d, s, b);
	pthread_mutex_lock(&d->lock);
	rebuilds_feed(d, b->logical, b->data, b->len);
	deliver(d, b);
	pthread_mutex_unlock(&d->lock);
	return NW_OK;
}

int64_t
client_late_ns(const struct dpss *d)
{
	return (d->opts.late_ms > 0 ? d->opts.late_ms : LATE_MS) * NS_PER_MS;
}

/* Late blocks by UDP are over. Locked. */
static void
late_end(struct dpss *d)
{
	int64_t before = nw_mono_ns() - client_late_ns(d);
	struct pending *one, *next;
	struct dpss_block b = { .rc = NW_ENOTFOUND, .late = true };

	HASH_ITER (hh, d->pending, one, next) {
		b.logical = one->logical;
		b.list = one->list;
		if (one->asked_mono_ns < before)
			deliver(d, &b);
	}
}

static bool
is_any_silent(const struct dpss *d)
{
	size_t i;

	for (i = 0; i < DPSS_SERVERS_MAX; i++)
		if (d->servers[i].silent)
			return true;
	return false;
}

/* A missing block is computed if its group allows; else awaited as long as a silent server
 * may have the block; else delivered as lost. Returns the number of blocks packed into requests.
 * Locked. */
static uint32_t
absent_one(struct dpss *d, uint64_t logical, uint32_t list, struct packer *ask)
{
	struct dpss_block b = { .logical = logical, .list = list, .rc = NW_ENOTFOUND };
	struct pending *one;
	struct rebuild *r;

	if (!is_any_silent(d))
		rebuilds_feed(d, logical, NULL, 0);
	HASH_FIND(hh, d->pending, &logical, sizeof(logical), one);
	if (one == NULL || one->rebuilding)
		return 0;
	if ((r = rebuild_begin(d, logical, list)) == NULL) {
		if (!is_any_silent(d))
			deliver(d, &b);
		return 0;
	}
	one->rebuilding = true;
	return members_pack(r, ask);
}

int
client_absent(struct dpss *d, struct unpacker *u)
{
	uint32_t list = unpack_u32(u), n = unpack_u32(u), asked = 0;
	struct packer ask = { 0 };

	if (!unpack_has(u, n, 8))
		return NW_EPROTO;
	pthread_mutex_lock(&d->lock);
	while (n-- > 0)
		asked += absent_one(d, unpack_u64(u), list, &ask);
	pthread_mutex_unlock(&d->lock);
	if (asked == 0)
		return NW_OK;
	return request_send(d, &ask, asked, 0) == NW_ENOMEM ? NW_ENOMEM : NW_OK;
}

/* --- taking blocks --- */

/* Waits for one block, for at most ms. Locked. */
static struct arrived *
arrived_wait(struct dpss *d, int ms)
{
	int64_t until_mono_ns = nw_mono_ns() + ms * NS_PER_MS;

	while (d->arrived == NULL && !d->master_gone &&
	    nw_cond_wait_until(&d->change, &d->lock, until_mono_ns))
		continue;
	return d->arrived;
}

static bool
is_stuck(struct dpss *d)
{
	return !d->opts.flush && !d->opts.udp && d->pending != NULL &&
	    nw_mono_ns() - d->heard_mono_ns > AGAIN_MS * NS_PER_MS;
}

int
dpss_next(struct dpss *d, int wait_ms, struct dpss_block *out)
{
	return client_next(d, wait_ms, AWAITED_ANY, out);
}

int
client_next(struct dpss *d, int wait_ms, uint64_t awaited, struct dpss_block *out)
{
	int64_t end = nw_mono_ns() + wait_ms * NS_PER_MS, left;
	struct arrived *a;
	bool stuck, gone;
	int most;

	for (;;) {
		left = (end - nw_mono_ns()) / NS_PER_MS;
		pthread_mutex_lock(&d->lock);
		d->awaited = awaited;
		d->n_arrived = 0;
		if (d->opts.udp)
			late_end(d);
		most = d->opts.udp ? LATE_LOOK_MS : AGAIN_MS / 4;
		a = arrived_wait(d, left < 0 ? 0 : left < most ? (int)left : most);
		if (a != NULL)
			DL_DELETE(d->arrived, a);
		stuck = a == NULL && is_stuck(d);
		gone = d->master_gone;
		pthread_mutex_unlock(&d->lock);
		if (a != NULL) {
			*out = a->block;
			free(a);
			return NW_OK;
		}
		if (gone)
			return client_fail(d, NW_ECLOSED, "the master is gone");
		if (stuck)
			client_request_again(d);
		if (nw_mono_ns() >= end)
			return NW_EAGAIN;
	}
}

void
dpss_block_free(struct dpss_block *b)
{
	pool_put(b->data);
	b->data = NULL;
}

void
client_read_free(struct dpss *d)
{
	struct arrived *a, *next_a;
	struct rebuild *r, *next_r;

	pending_clear(d);
	DL_FOREACH_SAFE(d->arrived, a, next_a)
	{
		pool_put(a->block.data);
		free(a);
	}
	DL_FOREACH_SAFE(d->rebuilds, r, next_r)
	{
		pool_put(r->data);
		free(r);
	}
}
