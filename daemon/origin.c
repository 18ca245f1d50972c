/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/box.h"
#include "daemon/conf.h"
#include "daemon/numbers.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum { IDLE_MAX = 1000 }; /* providers without connection, but with remembered series */
#define PROVIDER_KEEP_NS   (10 * 60 * (int64_t)1000000000)
#define MAKE_ROOM_EVERY_NS ((int64_t)1000000000)

void
origin_count(struct origin *o)
{
	o->box->memory_bytes += o->catalog.bytes;
	o->box->memory_bytes -= o->counted_bytes;
	o->counted_bytes = o->catalog.bytes;
}

static void
series_forget(struct origin *o)
{
	counter_add(&o->box->counters.data_without_metadata, o->catalog.n_held);
	catalog_clear(&o->catalog);
	origin_count(o);
}

static void
origin_free(struct origin *o)
{
	if (o->key != NULL)
		HASH_DEL(o->box->origins, o);
	series_forget(o);
	free(o->key);
	free(o);
}

/* --- origins without connection --- */

static void
idle_append(struct origin *o)
{
	struct origin_idle *idle = &o->box->idle;

	o->older = idle->newest;
	o->newer = NULL;
	if (idle->newest != NULL)
		idle->newest->newer = o;
	else
		idle->oldest = o;
	idle->newest = o;
	idle->count++;
}

static void
idle_remove(struct origin *o)
{
	struct origin_idle *idle = &o->box->idle;

	if (o->older != NULL)
		o->older->newer = o->newer;
	else
		idle->oldest = o->newer;
	if (o->newer != NULL)
		o->newer->older = o->older;
	else
		idle->newest = o->older;
	idle->count--;
}

/* Only the number of the provider stays. */
static void
origin_retire(struct origin *o)
{
	idle_remove(o);
	numbers_put(o->box->numbers, o->owner, o->provider_id, o->stored_seq);
	origin_free(o);
}

/*
 * The series of an idle provider go after a while, or when very many providers are idle: a provider
 * that returns describes the series again, and the series begin anew in the store. The numbers
 * stay, or a document repeated after a long absence would be stored twice.
 */
unsigned
origin_expire(struct box *box, int64_t now_mono_ns)
{
	struct origin *o;
	unsigned steps = 1;

	for (; (o = box->idle.oldest) != NULL; steps++) {
		if (box->idle.count <= IDLE_MAX &&
		    now_mono_ns - o->idle_since_mono_ns <= PROVIDER_KEEP_NS)
			break;
		origin_retire(o);
	}
	return steps;
}

bool
origin_forget_oldest(struct box *box)
{
	if (box->idle.oldest == NULL)
		return false;
	origin_retire(box->idle.oldest);
	return true;
}

/* --- life --- */

static struct origin *
origin_new(struct box *box, char *key, const char *owner, const char *provider_id)
{
	struct origin *o = xcalloc(1, sizeof(*o));

	o->box = box;
	catalog_init(&o->catalog, box->conf->max_series_per_session, box->on_series_forget);
	if (key == NULL)
		return o;
	o->key = key;
	o->owner = memcpy(key + strlen(key) + 1, owner, strlen(owner) + 1);
	o->provider_id = key + strlen(owner) + 1;
	if (numbers_take(box->numbers, owner, provider_id, &o->stored_seq) ||
	    (strncmp(owner, "user:", 5) == 0 &&
		(numbers_take(box->numbers, "loopback", provider_id, &o->stored_seq) ||
		    numbers_take(box->numbers, "import", provider_id, &o->stored_seq))))
		o->accepted_seq = o->stored_seq;
	HASH_ADD_KEYPTR(hh, box->origins, o->key, strlen(o->key), o);
	return o;
}

/* Owner, line feed and id, with room for a copy of the owner behind. */
static char *
key_make(const char *owner, const char *provider_id)
{
	size_t len = strlen(owner);
	char *key = xmalloc(2 * len + strlen(provider_id) + 3);

	sprintf(key, "%s\n%s", owner, provider_id);
	return key;
}

struct origin *
origin_get(struct box *box, const char *owner, const char *provider_id)
{
	struct origin *o = NULL;
	char *key;

	if (provider_id == NULL)
		return origin_hold(origin_new(box, NULL, NULL, NULL));
	key = key_make(owner, provider_id);
	HASH_FIND_STR(box->origins, key, o);
	if (o == NULL)
		return origin_hold(origin_new(box, key, owner, provider_id));
	free(key);
	if (o->refs == 0)
		idle_remove(o);
	return origin_hold(o);
}

struct origin *
origin_hold(struct origin *o)
{
	o->refs++;
	return o;
}

void
origin_release(struct origin *o)
{
	if (o == NULL || --o->refs > 0)
		return;
	if (o->key == NULL) {
		origin_free(o);
		return;
	}
	o->idle_since_mono_ns = nw_mono_ns();
	idle_append(o);
}

void
origin_restore(struct box *box, const char *owner, const char *provider_id, uint64_t stored_seq)
{
	numbers_put(box->numbers, owner, provider_id, stored_seq);
}

void
origin_free_all(struct box *box)
{
	struct origin *o, *tmp;

	HASH_ITER (hh, box->origins, o, tmp)
		origin_free(o);
	box->idle = (struct origin_idle){ 0 };
}

void
origin_attach(struct origin *o, const struct origin_ops *ops, void *arg)
{
	if (o->ops != NULL && o->ops_arg != arg)
		o->ops->end(o->ops_arg, "the same provider connected again");
	o->ops = ops;
	o->ops_arg = arg;
}

void
origin_detach(struct origin *o, const void *arg)
{
	if (o->ops_arg != arg)
		return;
	o->ops = NULL;
	o->ops_arg = NULL;
}

void
origin_stored(struct origin *o, uint64_t seq)
{
	if (seq > o->stored_seq)
		o->stored_seq = seq;
	if (o->ops != NULL)
		o->ops->stored(o->ops_arg, o->stored_seq);
}

void
origin_lost(struct origin *o)
{
	o->accepted_seq = o->stored_seq;
	if (o->ops != NULL)
		o->ops->end(o->ops_arg, "the store refused its data");
}

bool
origin_make_room(struct origin *o, const struct series *keep)
{
	int64_t now_mono_ns = nw_mono_ns();

	if (o->made_room_mono_ns != 0 && now_mono_ns - o->made_room_mono_ns < MAKE_ROOM_EVERY_NS)
		return false;
	o->made_room_mono_ns = now_mono_ns;
	return catalog_prune(&o->catalog, keep, o->box->is_series_over, nw_wall_ns()) > 0;
}

int
origin_series_add(struct origin *o, const struct nw_meta *m, struct series **out, bool *is_new)
{
	int rc = catalog_add(&o->catalog, m, out, is_new);

	if (rc == NW_ETOOBIG && origin_make_room(o, NULL))
		rc = catalog_add(&o->catalog, m, out, is_new);
	return rc;
}
