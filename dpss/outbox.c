/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/outbox.h"

#include <pthread.h>
#include <stdlib.h>

#include "dpss/proto.h"
#include "narrows/clock.h"
#include "narrows/condwait.h"
#include "narrows/err.h"

struct entry {
	struct outbox_item item;
	struct entry *next;
};

struct outbox {
	struct channel *wire;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct entry *first, **last;
	bool over;
	int ping_ms;
	int64_t sent_mono_ns; /* the sender's: when the connection carried the last message */
	void (*on_idle)(void *arg);
	void *arg;
};

static void
entry_end(struct entry *e, bool sent)
{
	pack_free(&e->item.packed);
	if (e->item.end != NULL)
		e->item.end(e->item.arg, sent);
	free(e);
}

static void
entries_end(struct entry *first)
{
	struct entry *e;

	while ((e = first) != NULL) {
		first = e->next;
		entry_end(e, false);
	}
}

/* The next entry, or NULL at the end or when the connection has been silent for ping_ms. */
static struct entry *
entry_take(struct outbox *o, bool *over)
{
	int64_t until_mono_ns = o->sent_mono_ns + o->ping_ms * INT64_C(1000000);
	struct entry *e;

	pthread_mutex_lock(&o->lock);
	while (
	    o->first == NULL && !o->over && nw_cond_wait_until(&o->change, &o->lock, until_mono_ns))
		continue;
	if ((e = o->first) != NULL) {
		o->first = e->next;
		if (o->first == NULL)
			o->last = &o->first;
	}
	*over = o->over;
	pthread_mutex_unlock(&o->lock);
	return e;
}

static int
entry_send(struct outbox *o, struct entry *e)
{
	int rc = NW_OK;
	bool wanted = e->item.begin == NULL || e->item.begin(e->item.arg, &e->item.packed);

	if (wanted && e->item.bytes == NULL && e->item.len > 0)
		rc = channel_send_file(o->wire, e->item.type, &e->item.packed, e->item.fd,
		    e->item.offset, e->item.len);
	else if (wanted)
		rc = channel_send_with(
		    o->wire, e->item.type, &e->item.packed, e->item.bytes, e->item.len);
	entry_end(e, wanted && rc == NW_OK);
	if (wanted)
		o->sent_mono_ns = nw_mono_ns();
	return rc;
}

/* A sign of life, where the connection was silent for long. Entries that go another way, as blocks
 * by UDP do, are no sign on the connection. */
static int
ping_send(struct outbox *o)
{
	struct packer nothing = { 0 };

	if (nw_mono_ns() < o->sent_mono_ns + o->ping_ms * INT64_C(1000000))
		return NW_OK;
	o->sent_mono_ns = nw_mono_ns();
	return channel_send(o->wire, DPSS_PING, &nothing);
}

static void *
sender(void *arg)
{
	struct outbox *o = arg;
	struct entry *e;
	bool over = false;
	int rc = NW_OK;

	o->sent_mono_ns = nw_mono_ns();
	while (!over && rc == NW_OK) {
		if ((e = entry_take(o, &over)) != NULL)
			rc = entry_send(o, e);
		if (rc == NW_OK && !over)
			rc = ping_send(o);
		if (e == NULL && !over && o->on_idle != NULL)
			o->on_idle(o->arg);
	}
	pthread_mutex_lock(&o->lock);
	o->over = true;
	e = o->first;
	o->first = NULL;
	o->last = &o->first;
	pthread_mutex_unlock(&o->lock);
	channel_shut(o->wire);
	entries_end(e);
	return NULL;
}

int
outbox_new(
    struct channel *w, int ping_ms, void (*on_idle)(void *arg), void *arg, struct outbox **out)
{
	struct outbox *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NW_ENOMEM;
	*o = (struct outbox){ .wire = w, .ping_ms = ping_ms, .on_idle = on_idle, .arg = arg };
	o->last = &o->first;
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->change, NULL);
	if (pthread_create(&o->thread, NULL, sender, o) != 0) {
		free(o);
		return NW_ENOMEM;
	}
	*out = o;
	return NW_OK;
}

int
outbox_put(struct outbox *o, const struct outbox_item *item)
{
	struct entry *e = calloc(1, sizeof(*e));
	int rc = e == NULL || item->packed.failed ? NW_ENOMEM : NW_OK;

	pthread_mutex_lock(&o->lock);
	if (rc == NW_OK && o->over)
		rc = NW_ECLOSED;
	if (rc == NW_OK) {
		e->item = *item;
		*o->last = e;
		o->last = &e->next;
		pthread_cond_signal(&o->change);
	}
	pthread_mutex_unlock(&o->lock);
	if (rc != NW_OK) {
		struct packer packed = item->packed;

		free(e);
		pack_free(&packed);
		if (item->end != NULL)
			item->end(item->arg, false);
	}
	return rc;
}

int
outbox_put_packed(struct outbox *o, uint16_t type, struct packer *p)
{
	struct outbox_item item = { .type = type, .packed = *p };

	*p = (struct packer){ 0 };
	return outbox_put(o, &item);
}

bool
outbox_sent(struct outbox *o, uint64_t *cookie, uint64_t *n_bytes)
{
	return channel_sent(o->wire, cookie, n_bytes);
}

void
outbox_free(struct outbox *o)
{
	if (o == NULL)
		return;
	pthread_mutex_lock(&o->lock);
	o->over = true;
	pthread_cond_signal(&o->change);
	pthread_mutex_unlock(&o->lock);
	channel_shut(o->wire);
	pthread_join(o->thread, NULL);
	pthread_mutex_destroy(&o->lock);
	pthread_cond_destroy(&o->change);
	free(o);
}
