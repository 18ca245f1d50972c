/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/reads.h"

#include <string.h>

#include "dpss/server/held.h"
#include "narrows/clock.h"
#include "narrows/err.h"

/* Where the times stand in a message DPSS_BLOCK. */
enum { BLOCK_TIMES_AT = 24 };

/* --- to the client --- */

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

	if (task_is_flushed(t))
		return false;
	t->times[DPSS_START_WRITE] = (uint64_t)nw_wall_ns();
	pack_u64(&stamp, t->times[DPSS_START_WRITE]);
	if (!stamp.failed)
		memcpy(p->bytes + BLOCK_TIMES_AT + 8 * DPSS_START_WRITE, stamp.bytes, 8);
	pack_free(&stamp);
	if (t->session->packets == NULL) {
		if (t->session->all->opts.log != NULL)
			outbox_sent(t->session->out, &t->cookie, &t->first);
		return true;
	}
	packets_send(t);
	return false;
}

static void
on_block_end(void *arg, bool sent)
{
	struct task *t = arg;

	if (sent && t->cookie != 0)
		outbox_sent(t->session->out, &t->cookie, &t->behind);
	task_log(t, !sent && task_is_flushed(t));
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
	task_log(t, false);
	task_end(t);
}

void
reads_done(struct task *t, int rc)
{
	if (rc == NW_OK)
		block_send(t);
	else
		block_lacking(t, rc);
}

/* --- from the master --- */

static struct task *
task_unpack(struct session *s, struct unpacker *u)
{
	struct task *t = task_new(s);

	if (t == NULL)
		return NULL;
	t->logical = unpack_u64(u);
	t->disk = unpack_u32(u);
	t->slot = unpack_u64(u);
	if (t->disk >= s->all->opts.n_disks || t->slot >= s->grant->slots)
		u->failed = true;
	return t;
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
		held_add(s, first, list, flush);
		return NW_OK;
	}
	while ((t = first) != NULL) {
		first = t->next;
		task_free(t);
	}
	return unpack_end(u) == NW_OK ? NW_OK : NW_EPROTO;
}

int
reads_request(struct sessions *all, struct grant *g, struct unpacker *u)
{
	struct session *s = session_find(all, g, unpack_u64(u));
	int rc;

	if (s == NULL)
		return NW_OK;
	rc = requests_unpack(s, u);
	session_drop(s);
	return rc;
}
