/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks, in the order of taking: of all sessions, of a session, of a disk's or an outbox's queue. A
 * session is held by its tasks, and by the table while its connection lives.
 */
#include "dpss/server/session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dpss/checksum.h"
#include "dpss/hash.h"
#include "dpss/server/datagrams.h"
#include "dpss/server/slot.h"
#include "narrows/clock.h"
#include "narrows/condwait.h"
#include "narrows/err.h"

/* Blocks of one session on their way through disks and connection. */
enum { UNDERWAY_BYTES = 16 << 20, UNDERWAY_MIN = 8, BLOCK_TIMES_AT = 24, PLACE_WAIT_S = 2 };

/* A block open to the session's writes. */
struct place {
	struct place_key {
		uint64_t logical, slot;
		uint32_t disk, set;
	} key;
	UT_hash_handle hh;
};

struct session_key {
	uint64_t id;
	uint32_t grant, unused; /* unused: 0 */
};

struct session {
	struct session_key key;
	struct sessions *all;
	struct grant *grant;
	uint32_t set;
	struct outbox *out;
	struct datagrams *packets; /* NULL: blocks go on the connection */
	bool from_file;            /* blocks may go from the file to the connection */
	atomic_uint holders;
	atomic_uint latest_list;
	atomic_bool over;
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct task *held, **held_last;
	size_t underway, underway_max;
	bool pumping; /* a thread lets held requests enter */
	struct place *places;
	UT_hash_handle hh;
};

struct sessions {
	struct sessions_opts opts;
	struct blockcache *cache;
	struct disk *disks[DISKS_MAX];
	pthread_mutex_t lock;
	struct session *by_key;
};

struct grant *
session_grant(const struct session *s)
{
	return s->grant;
}

/* --- events --- */

static void
event(const struct task *t, const char *keyword, uint64_t t_wall_ns)
{
	uint64_t data[] = { t->logical, t->set, t->session->key.id, t->list };

	eventlog_put(t->session->all->opts.log, keyword, NULL, (int64_t)t_wall_ns, data,
	    sizeof(data) / sizeof(data[0]));
}

/* This server's times of a read block. */
static void
events_put(const struct task *t, bool flushed)
{
	int i;

	if (t->session->all->opts.log == NULL)
		return;
	for (i = DPSS_SERV_IN; i < DPSS_TIMES; i++)
		if (t->times[i] != 0)
			event(t, dpss_point_words[i], t->times[i]);
	if (flushed)
		event(t, "DPSS_FLUSH", (uint64_t)nw_wall_ns());
}

/* --- life --- */

static void
places_clear(struct session *s)
{
	struct place *p, *next;

	HASH_ITER (hh, s->places, p, next) {
		HASH_DEL(s->places, p);
		free(p);
	}
}

static void
session_drop(struct session *s)
{
	if (atomic_fetch_sub(&s->holders, 1) > 1)
		return;
	places_clear(s);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->change);
	free(s);
}

static struct session *
session_find(struct sessions *all, const struct grant *g, uint64_t id)
{
	struct session_key key = { .id = id, .grant = g->index };
	struct session *s;

	pthread_mutex_lock(&all->lock);
	HASH_FIND(hh, all->by_key, &key, sizeof(key), s);
	if (s != NULL)
		atomic_fetch_add(&s->holders, 1);
	pthread_mutex_unlock(&all->lock);
	return s;
}

static void
task_free(struct task *t)
{
	struct session *s = t->session;

	buffer_drop(t->buffer);
	free(t);
	session_drop(s);
}

/* --- requests under way --- */

static bool
is_flushed(const struct task *t)
{
	return t->flush && t->list < atomic_load(&t->session->latest_list);
}

static void block_send(struct task *t);

/* The next request that may enter; NULL ends the pumping. */
static struct task *
held_take(struct session *s)
{
	struct task *t;

	pthread_mutex_lock(&s->lock);
	t = s->underway < s->underway_max && !atomic_load(&s->over) ? s->held : NULL;
	if (t != NULL) {
		if ((s->held = t->next) == NULL)
			s->held_last = &s->held;
		s->underway++;
	} else {
		s->pumping = false;
	}
	pthread_mutex_unlock(&s->lock);
	return t;
}

/* Lets held requests enter as far as there is room. One thread does at a time: a block that cannot
 * be sent ends at once and would pump again, ever deeper. Called without the lock. */
static void
pump(struct session *s)
{
	struct task *t;
	bool mine;

	pthread_mutex_lock(&s->lock);
	mine = !s->pumping;
	s->pumping = true;
	pthread_mutex_unlock(&s->lock);
	while (mine && (t = held_take(s)) != NULL)
		if (disk_ready(s->all->cache, t, s->from_file))
			block_send(t);
		else
			disk_put(s->all->disks[t->disk], t);
}

/* A task is over: its place is free for the next. */
static void
task_end(struct task *t)
{
	struct session *s = t->session;

	atomic_fetch_add(&s->holders, 1);
	task_free(t);
	pthread_mutex_lock(&s->lock);
	s->underway--;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
	pump(s);
	session_drop(s);
}

static bool
on_wanted(struct task *t)
{
	bool flushed = is_flushed(t);

	if (!flushed && (t->write || !atomic_load(&t->session->over)))
		return true;
	events_put(t, flushed);
	task_end(t);
	return false;
}

/* --- outgoing blocks --- */

static void
packets_send(const struct task *t)
{
	struct rtp_packet block = { .source = (uint32_t)t->session->key.id,
		.logical = t->logical,
		.stamp_wall_ns = t->buffer->stamp_wall_ns,
		.list = t->list,
		.sum = t->buffer->sum,
		.len = t->buffer->len,
		.data = t->buffer->data };

	memcpy(block.times, t->times, sizeof(block.times));
	datagrams_send(t->session->packets, &block);
}

/* Stamps the moment in which the block begins to be written to the socket. */
static bool
on_block_begin(void *arg, struct packer *p)
{
	struct task *t = arg;
	struct packer stamp = { 0 };

	if (is_flushed(t))
		return false;
	t->times[DPSS_START_WRITE] = (uint64_t)nw_wall_ns();
	pack_u64(&stamp, t->times[DPSS_START_WRITE]);
	if (!stamp.failed)
		memcpy(p->bytes + BLOCK_TIMES_AT + 8 * DPSS_START_WRITE, stamp.bytes, 8);
	pack_free(&stamp);
	if (t->session->packets == NULL)
		return true;
	packets_send(t);
	return false;
}

static void
on_block_end(void *arg, bool sent)
{
	struct task *t = arg;

	events_put(t, !sent && is_flushed(t));
	task_end(t);
}

static void
block_send(struct task *t)
{
	struct outbox_item item = {
		.type = DPSS_BLOCK, .begin = on_block_begin, .end = on_block_end, .arg = t
	};
	int i;

	if (t->buffer != NULL) {
		item.bytes = t->buffer->data;
		item.len = t->buffer->len;
	} else {
		item.fd = t->session->grant->fd[t->disk];
		item.offset = t->file.offset;
		item.len = t->file.len;
	}

	pack_u64(&item.packed, t->logical);
	pack_u32(&item.packed, t->list);
	pack_u32(&item.packed, t->buffer != NULL ? t->buffer->sum : t->file.sum);
	pack_u64(
	    &item.packed, t->buffer != NULL ? t->buffer->stamp_wall_ns : t->file.stamp_wall_ns);
	for (i = 0; i < DPSS_TIMES; i++)
		pack_u64(&item.packed, t->times[i]);
	outbox_put(t->session->out, &item);
}

/* The client hears of the lost copy; so does the master, with other copies to offer. */
static void
block_lacking(struct task *t, int rc)
{
	struct packer client = { 0 }, master = { 0 };

	pack_u64(&client, t->logical);
	pack_u32(&client, t->list);
	pack_u16(&client, (uint16_t)-rc);
	outbox_put_packed(t->session->out, DPSS_LACKING, &client);
	pack_u32(&master, t->set);
	pack_u64(&master, t->logical);
	pack_u32(&master, t->disk);
	pack_u64(&master, t->slot);
	pack_u64(&master, t->session->key.id);
	pack_u32(&master, t->list);
	grant_tell(t->session->grant, DPSS_DAMAGED, &master);
	events_put(t, false);
	task_end(t);
}

/* --- incoming blocks --- */

static void
block_written(struct task *t, int rc)
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

static void
on_done(struct task *t, int rc)
{
	if (t->write)
		block_written(t, rc);
	else if (rc == NW_OK)
		block_send(t);
	else
		block_lacking(t, rc);
}

/* --- the master's words --- */

static struct task *
task_unpack(struct session *s, struct unpacker *u)
{
	struct task *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->logical = unpack_u64(u);
	t->disk = unpack_u32(u);
	t->slot = unpack_u64(u);
	t->session = s;
	atomic_fetch_add(&s->holders, 1);
	if (t->disk >= s->all->opts.n_disks || t->slot >= s->grant->slots)
		u->failed = true;
	return t;
}

/* Requests of older lists, taken out. Called with the lock. */
static struct task *
held_flush(struct session *s)
{
	struct task *flushed = NULL, **at = &s->held, *t;

	while ((t = *at) != NULL) {
		if (is_flushed(t)) {
			*at = t->next;
			t->next = flushed;
			flushed = t;
		} else {
			at = &t->next;
		}
	}
	s->held_last = at;
	return flushed;
}

static void
requests_hold(struct session *s, struct task *first, uint32_t list, bool flush)
{
	struct task *flushed = NULL, *t;

	pthread_mutex_lock(&s->lock);
	if (flush && list > atomic_load(&s->latest_list)) {
		atomic_store(&s->latest_list, list);
		flushed = held_flush(s);
	}
	*s->held_last = first;
	while (*s->held_last != NULL)
		s->held_last = &(*s->held_last)->next;
	pthread_mutex_unlock(&s->lock);
	while ((t = flushed) != NULL) {
		flushed = t->next;
		events_put(t, true);
		task_free(t);
	}
	pump(s);
}

static int
requests_unpack(struct session *s, struct unpacker *u)
{
	struct task *first = NULL, **last = &first, *t;
	uint32_t set = unpack_u32(u), list = unpack_u32(u), n, i;
	unsigned flags = unpack_u8(u);
	bool flush = (flags & DPSS_READ_FLUSH) != 0;
	uint64_t times[DPSS_TIMES] = { 0 };

	for (i = DPSS_APP_SEND; i <= DPSS_MASTER_OUT; i++)
		times[i] = unpack_u64(u);
	times[DPSS_SERV_IN] = (uint64_t)nw_wall_ns();
	n = unpack_u32(u);
	unpack_has(u, n, 20);
	for (i = 0; i < n && !u->failed; i++) {
		if ((t = task_unpack(s, u)) == NULL)
			break;
		t->set = set;
		t->list = list;
		t->flush = flush;
		t->careful = (flags & DPSS_READ_CAREFUL) != 0;
		memcpy(t->times, times, sizeof(times));
		*last = t;
		last = &t->next;
	}
	if (unpack_end(u) == NW_OK && set == s->set) {
		requests_hold(s, first, list, flush);
		return NW_OK;
	}
	while ((t = first) != NULL) {
		first = t->next;
		task_free(t);
	}
	return unpack_end(u) == NW_OK ? NW_OK : NW_EPROTO;
}

int
session_read(struct sessions *all, struct grant *g, struct unpacker *u)
{
	struct session *s = session_find(all, g, unpack_u64(u));
	int rc;

	if (s == NULL)
		return NW_OK;
	rc = requests_unpack(s, u);
	session_drop(s);
	return rc;
}

static int
place_add(struct session *s, const struct place_key *key)
{
	struct place *p = calloc(1, sizeof(*p)), *old;

	if (p == NULL)
		return NW_ENOMEM;
	p->key = *key;
	HASH_FIND(hh, s->places, key, sizeof(*key), old);
	if (old == NULL)
		HASH_ADD(hh, s->places, key, sizeof(*key), p);
	if (old != NULL || p->hh.tbl == NULL)
		free(p);
	return NW_OK;
}

int
session_take(struct sessions *all, struct grant *g, struct unpacker *u)
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
		else if (place_add(s, &key) != NW_OK)
			break;
	}
	rc = u->failed ? NW_EPROTO : NW_OK;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
	session_drop(s);
	return rc;
}

int
session_forget(struct sessions *all, struct grant *g, struct unpacker *u)
{
	struct session *s = session_find(all, g, unpack_u64(u));

	if (s == NULL)
		return NW_OK;
	pthread_mutex_lock(&s->lock);
	places_clear(s);
	pthread_mutex_unlock(&s->lock);
	session_drop(s);
	return NW_OK;
}

/* --- the client's connection --- */

/* A block may be written once for each word of the master. The client may have heard the place
 * before this server did: the block waits for the master's word. */
static bool
place_use(struct session *s, const struct place_key *key)
{
	int64_t until_mono_ns = nw_mono_ns() + PLACE_WAIT_S * INT64_C(1000000000);
	bool in_time = true;
	struct place *p;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		HASH_FIND(hh, s->places, key, sizeof(*key), p);
		if (p != NULL || !in_time)
			break;
		in_time = nw_cond_wait_until(&s->change, &s->lock, until_mono_ns);
	}
	if (p != NULL) {
		HASH_DEL(s->places, p);
		free(p);
	}
	pthread_mutex_unlock(&s->lock);
	return p != NULL;
}

static void
underway_wait(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->underway >= s->underway_max)
		pthread_cond_wait(&s->change, &s->lock);
	s->underway++;
	pthread_mutex_unlock(&s->lock);
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

static int
on_write(struct session *s, struct unpacker *u)
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
	if ((t = calloc(1, sizeof(*t))) == NULL || (t->buffer = buffer_new(u->left)) == NULL) {
		free(t);
		return NW_ENOMEM;
	}
	memcpy(t->buffer->data, u->at, u->left);
	t->buffer->len = (uint32_t)u->left;
	t->buffer->sum = sum;
	t->buffer->stamp_wall_ns = stamp;
	t->session = s;
	atomic_fetch_add(&s->holders, 1);
	t->write = true;
	t->set = key.set;
	t->disk = key.disk;
	t->logical = key.logical;
	t->slot = key.slot;
	underway_wait(s);
	disk_put(s->all->disks[t->disk], t);
	return NW_OK;
}

static void
on_idle(void *arg)
{
	eventlog_flush(arg);
}

static int
session_new(struct sessions *all, struct grant *g, const struct ticket *t, struct session **out)
{
	struct session *s = calloc(1, sizeof(*s)), *old;

	if (s == NULL)
		return NW_ENOMEM;
	s->key = (struct session_key){ .id = t->session, .grant = g->index };
	s->all = all;
	s->grant = g;
	s->set = t->set;
	s->held_last = &s->held;
	s->underway_max = UNDERWAY_BYTES / g->block_bytes;
	if (s->underway_max < UNDERWAY_MIN)
		s->underway_max = UNDERWAY_MIN;
	atomic_init(&s->holders, 1);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->change, NULL);
	pthread_mutex_lock(&all->lock);
	HASH_FIND(hh, all->by_key, &s->key, sizeof(s->key), old);
	if (old == NULL)
		HASH_ADD(hh, all->by_key, key, sizeof(s->key), s);
	pthread_mutex_unlock(&all->lock);
	if (old != NULL || s->hh.tbl == NULL) {
		session_drop(s);
		return old != NULL ? NW_ECONFLICT : NW_ENOMEM;
	}
	*out = s;
	return NW_OK;
}

/* Held requests go; requests under way come back in turn and find the session over. */
static void
session_close(struct session *s)
{
	struct task *held, *t;

	atomic_store(&s->over, true);
	pthread_mutex_lock(&s->all->lock);
	HASH_DEL(s->all->by_key, s);
	pthread_mutex_unlock(&s->all->lock);
	pthread_mutex_lock(&s->lock);
	held = s->held;
	s->held = NULL;
	s->held_last = &s->held;
	pthread_mutex_unlock(&s->lock);
	while ((t = held) != NULL) {
		held = t->next;
		task_free(t);
	}
	pthread_mutex_lock(&s->lock);
	while (s->underway > 0)
		pthread_cond_wait(&s->change, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

int
session_serve(struct sessions *all, struct grant *g, const struct ticket *t, struct channel *w,
    uint16_t udp_port, uint64_t udp_key)
{
	struct packer nothing = { 0 };
	struct channel_message m;
	struct session *s;
	int rc;

	if (udp_port != 0 && !channel_is_clear(w))
		return NW_EUNSUPPORTED;
	if ((rc = session_new(all, g, t, &s)) != NW_OK)
		return rc;
	s->from_file = channel_is_clear(w) && udp_port == 0;
	if (udp_port != 0)
		rc = datagrams_new(w, udp_port, udp_key, all->opts.pace_bytes_per_s, &s->packets);
	if (all->opts.pace_bytes_per_s > 0)
		channel_pace(w, all->opts.pace_bytes_per_s);
	channel_limits(w, g->block_bytes + 64, 0);
	if (rc == NW_OK &&
	    (rc = outbox_new(w, DPSS_PING_MS, on_idle, all->opts.log, &s->out)) == NW_OK)
		rc = outbox_put_packed(s->out, DPSS_DONE, &nothing);
	while (rc == NW_OK && (rc = channel_read(w, &m)) == NW_OK)
		if (m.type == DPSS_WRITE)
			rc = on_write(s, &m.contents);
		else if (m.type != DPSS_PING)
			rc = NW_EPROTO;
	channel_shut(w);
	session_close(s);
	outbox_free(s->out);
	datagrams_free(s->packets);
	session_drop(s);
	return rc == NW_ECLOSED ? NW_OK : rc;
}

/* --- all sessions --- */

int
sessions_new(const struct sessions_opts *opts, struct sessions **out)
{
	static const struct disk_calls calls = { on_wanted, on_done };
	struct sessions *all = calloc(1, sizeof(*all));
	uint32_t i;
	int rc = NW_OK;

	if (all == NULL)
		return NW_ENOMEM;
	all->opts = *opts;
	pthread_mutex_init(&all->lock, NULL);
	if ((all->cache = blockcache_new(opts->cache_bytes)) == NULL)
		rc = NW_ENOMEM;
	for (i = 0; i < opts->n_disks && rc == NW_OK; i++)
		rc = disk_new(i, all->cache, &calls, &all->disks[i]);
	if (rc != NW_OK) {
		sessions_free(all);
		return rc;
	}
	*out = all;
	return NW_OK;
}

void
sessions_free(struct sessions *all)
{
	size_t i;

	if (all == NULL)
		return;
	for (i = 0; i < all->opts.n_disks; i++)
		disk_free(all->disks[i]);
	if (all->cache != NULL)
		blockcache_free(all->cache);
	pthread_mutex_destroy(&all->lock);
	free(all);
}
