/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/sessions.h"

#include <stdlib.h>

#include "narrows/err.h"

/* Blocks of one session on their way through disks and connection. */
enum { UNDERWAY_BYTES = 16 << 20, UNDERWAY_MIN = 8 };

void
session_drop(struct session *s)
{
	if (atomic_fetch_sub(&s->holders, 1) > 1)
		return;
	places_clear(&s->places);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->change);
	free(s);
}

struct session *
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

int
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

void
session_leave(struct session *s)
{
	pthread_mutex_lock(&s->all->lock);
	HASH_DEL(s->all->by_key, s);
	pthread_mutex_unlock(&s->all->lock);
}

int
sessions_new(
    const struct sessions_opts *opts, const struct disk_calls *calls, struct sessions **out)
{
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
		rc = disk_new(i, all->cache, calls, &all->disks[i]);
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
