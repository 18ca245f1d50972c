/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/writes.h"

#include <string.h>

#include "dpss/checksum.h"
#include "dpss/server/held.h"
#include "narrows/clock.h"
#include "narrows/condwait.h"
#include "narrows/err.h"

enum { PLACE_WAIT_S = 2 };

/* --- from the master --- */

int
writes_allow(struct sessions *all, struct grant *g, struct unpacker *u)
{
	struct session *s = session_find(all, g, unpack_u64(u));
	uint32_t set = unpack_u32(u), n = unpack_u32(u), i;
	struct place_key key;
	int rc;

	if (s == NULL)
		return NW_OK;
	unpack_has(u, n, 20);
	pthread_mutex_lock(&s->lock);
	for (i = 0; i < n && !u->failed; i++) {
		memset(&key, 0, sizeof(key));
		key.set = set;
		key.logical = unpack_u64(u);
		key.disk = unpack_u32(u);
		key.slot = unpack_u64(u);
		if (key.disk >= all->opts.n_disks || key.slot >= g->slots || set != s->set)
			u->failed = true;
		else if (places_add(&s->places, &key) != NW_OK)
			break;
	}
	rc = u->failed ? NW_EPROTO : NW_OK;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
	session_drop(s);
	return rc;
}

int
writes_forbid(struct sessions *all, struct grant *g, struct unpacker *u)
{
	struct session *s = session_find(all, g, unpack_u64(u));

	if (s == NULL)
		return NW_OK;
	pthread_mutex_lock(&s->lock);
	places_clear(&s->places);
	pthread_mutex_unlock(&s->lock);
	session_drop(s);
	return NW_OK;
}

/* --- from the client --- */

/* A block may be written once for each word of the master. The client may have heard the place
 * before this server did: the block waits for the master's word. */
static bool
place_use(struct session *s, const struct place_key *key)
{
	int64_t until_mono_ns = nw_mono_ns() + PLACE_WAIT_S * INT64_C(1000000000);
	bool in_time = true, used;

	pthread_mutex_lock(&s->lock);
	while (!(used = places_take(&s->places, key)) && in_time)
		in_time = nw_cond_wait_until(&s->change, &s->lock, until_mono_ns);
	pthread_mutex_unlock(&s->lock);
	return used;
}

static int
write_refuse(struct session *s, const struct place_key *key, int rc)
{
	struct packer p = { 0 };

	pack_u64(&p, key->logical);
	pack_u32(&p, key->disk);
	pack_u64(&p, key->slot);
	pack_u16(&p, (uint16_t)-rc);
	return outbox_put_packed(s->out, DPSS_WRITTEN, &p);
}

int
writes_block(struct session *s, struct unpacker *u)
{
	struct place_key key;
	struct task *t;
	uint64_t stamp;
	uint32_t sum;

	memset(&key, 0, sizeof(key));
	key.set = s->set;
	key.logical = unpack_u64(u);
	key.disk = unpack_u32(u);
	key.slot = unpack_u64(u);
	sum = unpack_u32(u);
	stamp = unpack_u64(u);
	if (u->failed || u->left > s->grant->block_bytes)
		return NW_EPROTO;
	if (checksum(u->at, u->left) != sum)
		return write_refuse(s, &key, NW_ECORRUPT);
	if (!place_use(s, &key))
		return write_refuse(s, &key, NW_ENOTFOUND);
	if ((t = task_new(s)) == NULL)
		return NW_ENOMEM;
	if ((t->buffer = buffer_new(u->left)) == NULL) {
		task_free(t);
		return NW_ENOMEM;
	}
	memcpy(t->buffer->data, u->at, u->left);
	t->buffer->len = (uint32_t)u->left;
	t->buffer->sum = sum;
	t->buffer->stamp_wall_ns = stamp;
	t->write = true;
	t->set = key.set;
	t->disk = key.disk;
	t->logical = key.logical;
	t->slot = key.slot;
	held_enter(s);
	disk_put(s->all->disks[t->disk], t);
	return NW_OK;
}

void
writes_done(struct task *t, int rc)
{
	struct packer client = { 0 }, master = { 0 };

	pack_u64(&client, t->logical);
	pack_u32(&client, t->disk);
	pack_u64(&client, t->slot);
	pack_u16(&client, (uint16_t)-rc);
	if (rc == NW_OK) {
		pack_u32(&master, 1);
		pack_u32(&master, t->set);
		pack_u64(&master, t->logical);
		pack_u32(&master, t->disk);
		pack_u64(&master, t->slot);
		pack_u32(&master, t->buffer->sum);
		pack_u32(&master, t->buffer->len);
		grant_tell(t->session->grant, DPSS_STORED, &master);
	}
	outbox_put_packed(t->session->out, DPSS_WRITTEN, &client);
	task_end(t);
}
