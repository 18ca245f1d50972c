/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/origin.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/box.h"
#include "daemon/conf.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum {
	IDLE_MAX = 1000,       /* remembered series: of so many providers without connection */
	PROVIDERS_MAX = 100000 /* remembered numbers: of so many providers */
};
#define PROVIDER_KEEP_NS   (10 * 60 * (int64_t)1000000000)
#define MAKE_ROOM_EVERY_NS ((int64_t)1000000000)

static void
series_forget(struct origin *o)
{
	counter_add(&o->box->counters.data_without_metadata, o->catalog.n_held);
	catalog_clear(&o->catalog);
}

static void
origin_free(struct origin *o)
{
	if (o->provider_id != NULL)
		HASH_DEL(o->box->origins, o);
	series_forget(o);
	free(o->provider_id);
	free(o);
}

static struct origin *
origin_new(struct box *box, const char *provider_id)
{
	struct origin *o = xcalloc(1, sizeof(*o));

	o->box = box;
	o->provider_id = xstrdup(provider_id);
	catalog_init(&o->catalog, box->conf->max_series_per_session, box->on_series_forget);
	if (provider_id != NULL)
		HASH_ADD_KEYPTR(hh, box->origins, o->provider_id, strlen(o->provider_id), o);
	return o;
}

struct origin *
origin_get(struct box *box, const char *provider_id)
{
	struct origin *o = NULL;

	if (provider_id != NULL)
		HASH_FIND_STR(box->origins, provider_id, o);
	return origin_hold(o != NULL ? o : origin_new(box, provider_id));
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
	if (o->provider_id == NULL)
		origin_free(o);
	else
		o->idle_since_mono_ns = nw_mono_ns();
}

void
origin_restore(struct box *box, const char *provider_id, uint64_t stored_seq)
{
	struct origin *o = origin_get(box, provider_id);

	o->accepted_seq = o->stored_seq = stored_seq;
	origin_release(o);
}

static bool
is_idle_with_series(const struct origin *o)
{
	return o->refs == 0 && o->catalog.series != NULL;
}

/*
 * The series of an idle provider go after a while, or when very many providers are idle: a
 * returning provider describes the series again, and the series begin anew in the store. The
 * numbers stay, or a document repeated after a long absence would be stored twice. The hash keeps
 * the order of insertion: the oldest go first.
 */
void
origin_expire(struct box *box, int64_t now_mono_ns)
{
	unsigned spare =
	    HASH_COUNT(box->origins) > PROVIDERS_MAX ? HASH_COUNT(box->origins) - PROVIDERS_MAX : 0;
	unsigned idle = 0;
	struct origin *o, *tmp;

	HASH_ITER (hh, box->origins, o, tmp)
		idle += is_idle_with_series(o);
	HASH_ITER (hh, box->origins, o, tmp) {
		if (is_idle_with_series(o) &&
		    (idle > IDLE_MAX || now_mono_ns - o->idle_since_mono_ns > PROVIDER_KEEP_NS)) {
			series_forget(o);
			idle--;
		}
		if (o->refs == 0 && spare > 0) {
			origin_free(o);
			spare--;
		}
	}
}

void
origin_free_all(struct box *box)
{
	struct origin *o, *tmp;

	HASH_ITER (hh, box->origins, o, tmp)
		origin_free(o);
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
