/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing: places from the master, blocks to their servers, answers of the servers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dpss/checksum.h"
#include "dpss/client/client.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum {
	PLACE_BLOCKS = 256, /* places are asked for in groups of neighbours */
	UNDERWAY_BYTES = 32 << 20
};

/* --- answers about written blocks --- */

/* A copy is stored, or is lost. Locked. */
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

int
client_written(struct server *s, struct unpacker *u)
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

/* Places may be told twice, as blocks are asked for in groups. */
static void
place_add(struct placing *p, const struct place *at)
{
	size_t i;

	for (i = 0; i < p->n && p->place[i].server != at->server; i++)
		;
	if (i < COPIES_MAX && at->server < DPSS_SERVERS_MAX)
		p->place[i] = *at;
	if (i == p->n && i < COPIES_MAX && at->server < DPSS_SERVERS_MAX)
		p->n++;
}

int
client_placed(struct dpss *d, struct unpacker *u)
{
	uint32_t n = unpack_u32(u);
	struct placing *p;
	struct place at;
	uint64_t logical;

	for (unpack_has(u, n, 24); n > 0 && !u->failed; n--) {
		logical = unpack_u64(u);
		HASH_FIND(hh, d->placings, &logical, sizeof(logical), p);
		if (p == NULL && (p = calloc(1, sizeof(*p))) != NULL) {
			p->logical = logical;
			HASH_ADD(hh, d->placings, logical, sizeof(p->logical), p);
		}
		if (p == NULL || p->hh.tbl == NULL)
			return NW_ENOMEM;
		at.server = unpack_u32(u);
		at.disk = unpack_u32(u);
		at.slot = unpack_u64(u);
		place_add(p, &at);
	}
	return unpack_end(u);
}

void
client_answered(struct dpss *d, int rc)
{
	d->answered = true;
	d->answer_rc = rc;
	pthread_cond_broadcast(&d->change);
}

void
client_copies_end(struct server *s)
{
	struct writing *w, *next;

	HASH_ITER (hh, s->d->writings, w, next) {
		copy_end(s->d, w, s->id, NW_ECLOSED);
	}
}

/* --- writing --- */

int
client_master_ask(struct dpss *d, uint16_t type, const struct packer *p)
{
	struct packer copy;
	int rc;

	do {
		copy = (struct packer){ 0 };
		pack_bytes(&copy, p->bytes, p->len);
		pthread_mutex_lock(&d->lock);
		d->answered = d->master_gone;
		d->answer_rc = NW_ECLOSED;
		pthread_mutex_unlock(&d->lock);
		rc = client_master_send(d, type, &copy);
		pthread_mutex_lock(&d->lock);
		while ((rc == NW_OK || rc == NW_ECLOSED || rc == NW_EIO) && !d->answered)
			pthread_cond_wait(&d->change, &d->lock);
		if (rc != NW_ENOMEM)
			rc = d->answer_rc;
		pthread_mutex_unlock(&d->lock);
	} while (rc == NW_EAGAIN); /* another master has come in between */
	return rc;
}

/* Places of a block's neighbours, too, as they will be written next. */
static int
placing_ask(struct dpss *d, uint64_t logical)
{
	uint64_t from = logical, blocks = dpss_blocks(d), to = from + PLACE_BLOCKS, i;
	struct packer p = { 0 };
	uint32_t server, disk;
	int rc;

	if (logical >= blocks)
		to = from + 1;
	else if (to > blocks)
		to = blocks;
	pack_u32(&p, (uint32_t)(to - from));
	for (i = from; i < to; i++) {
		server = disk = DPSS_ANY;
		if (d->where != NULL && i < blocks)
			d->where(d->where_arg, i, &server, &disk);
		pack_u64(&p, i);
		pack_u32(&p, server);
		pack_u32(&p, disk);
	}
	rc = client_master_ask(d, DPSS_PLACE, &p);
	pack_free(&p);
	return rc;
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
copy_send(struct dpss *d, uint64_t logical, const struct place *at, int64_t stamp_wall_ns,
    const void *data, uint32_t len)
{
	struct server *s = &d->servers[at->server];
	struct packer p = { 0 };
	struct writing *w;
	int rc = NW_ECLOSED;

	pack_u64(&p, logical);
	pack_u32(&p, at->disk);
	pack_u64(&p, at->slot);
	pack_u32(&p, checksum(data, len));
	pack_u64(&p, (uint64_t)stamp_wall_ns);
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

int
client_block_write(
    struct dpss *d, uint64_t logical, int64_t stamp_wall_ns, const void *data, uint32_t len)
{
	struct placing p;
	size_t i;
	int rc;

	if ((rc = placing_take(d, logical, &p)) != NW_OK || (rc = writing_begin(d, &p)) != NW_OK)
		return rc;
	for (i = 0; i < p.n; i++)
		copy_send(d, logical, &p.place[i], stamp_wall_ns, data, len);
	return d->write_rc;
}

static int
parity_end(struct dpss *d)
{
	int rc = NW_OK;

	if (d->parity_n > 0)
		rc = client_block_write(d, dpss_blocks(d) + d->parity_group, nw_wall_ns(),
		    d->parity, d->layout.block_bytes);
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
		return client_fail(
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
	return dpss_write_stamped(d, logical, nw_wall_ns(), data);
}

int
dpss_write_stamped(struct dpss *d, uint64_t logical, int64_t stamp_wall_ns, const void *data)
{
	uint32_t len = dpss_block_len(d, logical);
	int rc;

	if (logical >= dpss_blocks(d))
		return client_fail(d, NW_EINVAL, "the set has no such block");
	if ((rc = client_block_write(d, logical, stamp_wall_ns, data, len)) != NW_OK ||
	    d->layout.parity == 0)
		return rc;
	return parity_feed(d, logical, data, len);
}

int
client_writings_end(struct dpss *d)
{
	int rc;

	pthread_mutex_lock(&d->lock);
	while (d->writings != NULL && d->write_rc == NW_OK)
		pthread_cond_wait(&d->change, &d->lock);
	rc = d->write_rc;
	pthread_mutex_unlock(&d->lock);
	return rc;
}

int
dpss_finish(struct dpss *d)
{
	return dpss_finish_at(d, d->layout.bytes);
}

int
dpss_finish_at(struct dpss *d, uint64_t bytes)
{
	struct packer p = { 0 };
	int rc;

	if (d->parity_n > 0)
		return client_fail(
		    d, NW_EINVAL, "the last group of a set with parity is not complete");
	if ((rc = client_writings_end(d)) != NW_OK)
		return rc;
	pack_u64(&p, bytes);
	rc = client_master_ask(d, DPSS_SEAL, &p);
	pack_free(&p);
	return rc;
}

void
client_write_free(struct dpss *d)
{
	struct placing *p, *next_p;
	struct writing *w, *next_w;

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
