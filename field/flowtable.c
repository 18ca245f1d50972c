/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "narrows/announce.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>
#include <utlist.h>

#include "narrows/fairq.h"

enum { KEY_BYTES = 240, SOURCE_BYTES = 64, SOURCES_MAX = 1024 };
enum { ENDED_MAX = 4096 }; /* remembered, so that a late repetition begins no flow */
/* New flows cost a session each: a part of the announcements. */
enum { NEW_OF = 20 };
#define S_NS      INT64_C(1000000000)
#define FAR_NS    (600 * S_NS) /* most distance of an announcer's clock */
#define SILENT_NS (600 * S_NS)
#define ROW_NS    S_NS

struct flow {
	char key[KEY_BYTES]; /* hash key */
	void *user;          /* the owner's record; NULL after the end */
	bool is_live;
	int64_t t_wall_ns; /* newest time that the announcer said */
	int64_t heard_mono_ns, row_mono_ns;
	struct fairq_item place;
	struct flow *prev, *next; /* neighbours in the row of live or of ended flows */
	UT_hash_handle hh;
};

/* Flows by age: the flow silent longest is the first. */
struct row {
	struct flow *first;
	size_t n;
};

struct nw_flows {
	struct nw_flows_ops ops;
	struct fairq *places;
	struct fairrate *rate, *new_rate;
	struct flow *by_key;
	struct row live, ended;
};

struct nw_flows *
nw_flows_new(const struct nw_flows_ops *ops, unsigned per_s)
{
	const struct fairq_limits limits = { .items_max = NW_FLOWS_MAX,
		.owner_items_max = NW_FLOWS_OF_SOURCE_MAX,
		.owners_max = SOURCES_MAX };
	struct nw_flows *f = xcalloc(1, sizeof(*f));

	f->ops = *ops;
	f->places = fairq_new(&limits);
	f->rate = fairrate_new(per_s, SOURCES_MAX);
	f->new_rate = fairrate_new(per_s / NEW_OF + 1, SOURCES_MAX);
	if (f->places != NULL && f->rate != NULL && f->new_rate != NULL)
		return f;
	nw_flows_free(f);
	return NULL;
}

/* --- rows --- */

static void
row_append(struct row *r, struct flow *w)
{
	DL_APPEND(r->first, w);
	r->n++;
}

static void
row_remove(struct row *r, struct flow *w)
{
	DL_DELETE(r->first, w);
	r->n--;
}

static void
heard(struct nw_flows *f, struct flow *w, int64_t now_mono_ns)
{
	row_remove(&f->live, w);
	w->heard_mono_ns = now_mono_ns;
	row_append(&f->live, w);
}

/* --- flows --- */

/* Forgets a flow; a live flow ends for the owner of the table. */
static void
flow_free(struct nw_flows *f, struct flow *w)
{
	if (w->user != NULL)
		f->ops.end(f->ops.arg, w->user);
	fairq_remove(f->places, &w->place);
	HASH_DEL(f->by_key, w);
	row_remove(w->is_live ? &f->live : &f->ended, w);
	free(w);
}

/* A flow is over: its place is free, and its key is remembered. */
static void
flow_end(struct nw_flows *f, struct flow *w)
{
	f->ops.end(f->ops.arg, w->user);
	w->user = NULL;
	fairq_remove(f->places, &w->place);
	row_remove(&f->live, w);
	w->is_live = false;
	row_append(&f->ended, w);
	if (f->ended.n > ENDED_MAX)
		flow_free(f, f->ended.first);
}

void
nw_flows_free(struct nw_flows *f)
{
	if (f == NULL)
		return;
	while (f->live.first != NULL)
		flow_free(f, f->live.first);
	while (f->ended.first != NULL)
		flow_free(f, f->ended.first);
	fairq_free(f->places);
	fairrate_free(f->rate);
	fairrate_free(f->new_rate);
	free(f);
}

static struct flow *
flow_find(struct nw_flows *f, const struct nw_announcement *a, char key[KEY_BYTES])
{
	struct flow *w;

	snprintf(key, KEY_BYTES, "%s/%u %s/%u %s %" PRId64, a->src, a->sport, a->dst, a->dport,
	    a->id, a->start_wall_ns);
	HASH_FIND_STR(f->by_key, key, w);
	return w;
}

/* NULL: no place for the source's flow, or the owner refuses. */
static struct flow *
flow_new(struct nw_flows *f, const char *source, const struct nw_announcement *a,
    const char key[KEY_BYTES], int64_t now_mono_ns)
{
	struct flow *w = xcalloc(1, sizeof(*w));
	struct fairq_item *displaced = NULL;

	if (fairq_put(f->places, source, &w->place, &displaced) < 0) {
		free(w);
		return NULL;
	}
	if (displaced != NULL)
		flow_free(f, fairq_of(displaced, struct flow, place));
	memcpy(w->key, key, KEY_BYTES);
	HASH_ADD_STR(f->by_key, key, w);
	w->heard_mono_ns = now_mono_ns;
	w->t_wall_ns = INT64_MIN;
	w->is_live = true;
	row_append(&f->live, w);
	if ((w->user = f->ops.begin(f->ops.arg, source, a)) == NULL) {
		flow_free(f, w);
		return NULL;
	}
	return w;
}

static bool
is_near(int64_t t_wall_ns, int64_t now_wall_ns)
{
	return t_wall_ns > now_wall_ns - FAR_NS && t_wall_ns < now_wall_ns + FAR_NS;
}

bool
nw_flows_may(struct nw_flows *f, const char *source, int64_t now_mono_ns)
{
	uint64_t refused;

	return fairrate_allows(f->rate, source, now_mono_ns, &refused);
}

bool
nw_flows_may_begin(struct nw_flows *f, const char *source, int64_t now_mono_ns)
{
	uint64_t refused;

	return fairrate_allows(f->new_rate, source, now_mono_ns, &refused);
}

enum nw_flows_answer
nw_flows_take(struct nw_flows *f, const char *source, const struct nw_announcement *a,
    int64_t now_wall_ns, int64_t now_mono_ns)
{
	bool is_end = a->state == NW_ANNOUNCE_END;
	char key[KEY_BYTES];
	struct flow *w;

	if (!is_near(a->t_wall_ns, now_wall_ns))
		return NW_FLOWS_CLOCK;
	w = flow_find(f, a, key);
	if (w != NULL &&
	    (!w->is_live || a->t_wall_ns < w->t_wall_ns ||
		(a->t_wall_ns == w->t_wall_ns && !is_end)))
		return NW_FLOWS_REPEATED;
	if (w == NULL &&
	    (!nw_flows_may_begin(f, source, now_mono_ns) ||
		(w = flow_new(f, source, a, key, now_mono_ns)) == NULL))
		return NW_FLOWS_LIMIT;
	w->t_wall_ns = a->t_wall_ns;
	heard(f, w, now_mono_ns);
	if (!is_end && w->row_mono_ns != 0 && now_mono_ns - w->row_mono_ns < ROW_NS)
		return NW_FLOWS_TAKEN;
	w->row_mono_ns = now_mono_ns;
	f->ops.row(f->ops.arg, w->user, a);
	if (is_end)
		flow_end(f, w);
	return NW_FLOWS_TAKEN;
}

void
nw_flows_tick(struct nw_flows *f, int64_t now_mono_ns)
{
	while (f->live.first != NULL && now_mono_ns - f->live.first->heard_mono_ns > SILENT_NS)
		flow_free(f, f->live.first);
	while (f->ended.first != NULL && now_mono_ns - f->ended.first->heard_mono_ns > SILENT_NS)
		flow_free(f, f->ended.first);
}

size_t
nw_flows_count(const struct nw_flows *f)
{
	return f->live.n;
}
