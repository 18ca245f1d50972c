/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffer is a ring of cells with numbers of turns (Vyukov's bounded queue): a writer takes a
 * cell by raising `head`, fills it, and publishes the turn; the reader frees it for the next turn.
 * A writer interrupted between the two delays only the reader.
 */
#include "narrows/eventlog.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/provider.h"

enum { EVENTS_DEFAULT = 65536, EVENTS_MAX = 1 << 26 };

struct cell {
	_Atomic uint64_t turn;
	int64_t t_wall_ns;
	int64_t values[NW_EVENTLOG_KEYS_MAX];
	int32_t point;
};

struct point {
	char *name;
	char *keys[NW_EVENTLOG_KEYS_MAX];
	bool is_id[NW_EVENTLOG_KEYS_MAX];
	uint32_t n_keys;
};

struct nw_eventlog {
	struct cell *cells;
	uint64_t mask;
	char *program;
	struct point points[NW_EVENTLOG_POINTS_MAX];
	_Atomic int n_points;
	pthread_mutex_t lock; /* of new points */
	struct nw_events *block;
	_Alignas(64) _Atomic uint64_t head;
	_Alignas(64) uint64_t tail; /* the reader's */
	_Alignas(64) _Atomic uint64_t dropped;
};

/* --- life --- */

int
nw_eventlog_new(const char *program, size_t n_events, struct nw_eventlog **out)
{
	struct nw_eventlog *l;
	size_t n = 64, i;

	*out = NULL;
	if (n_events > EVENTS_MAX)
		return NW_EINVAL;
	while (n < (n_events > 0 ? n_events : EVENTS_DEFAULT))
		n *= 2;
	if ((l = aligned_alloc(64, (sizeof(*l) + 63) / 64 * 64)) == NULL)
		return NW_ENOMEM;
	memset(l, 0, sizeof(*l));
	pthread_mutex_init(&l->lock, NULL);
	l->mask = n - 1;
	l->cells = calloc(n, sizeof(*l->cells));
	l->block = nw_events_new(NW_EVENT_SENT_BYTES);
	if (l->cells == NULL || l->block == NULL ||
	    (program != NULL && (l->program = strdup(program)) == NULL)) {
		nw_eventlog_free(l);
		return NW_ENOMEM;
	}
	for (i = 0; i < n; i++)
		atomic_init(&l->cells[i].turn, i);
	*out = l;
	return NW_OK;
}

static void
point_clear(struct point *p)
{
	size_t k;

	free(p->name);
	for (k = 0; k < NW_EVENTLOG_KEYS_MAX; k++)
		free(p->keys[k]);
	*p = (struct point){ .n_keys = 0 };
}

void
nw_eventlog_free(struct nw_eventlog *l)
{
	int i;

	if (l == NULL)
		return;
	for (i = 0; i < l->n_points; i++)
		point_clear(&l->points[i]);
	pthread_mutex_destroy(&l->lock);
	nw_events_free(l->block);
	free(l->cells);
	free(l->program);
	free(l);
}

uint64_t
nw_eventlog_dropped(const struct nw_eventlog *l)
{
	return atomic_load_explicit(&l->dropped, memory_order_relaxed);
}

/* --- points --- */

static bool
point_is(const struct point *p, const char *name, const char *const *keys, size_t n_keys)
{
	size_t k;

	if (p->n_keys != n_keys || strcmp(p->name, name) != 0)
		return false;
	for (k = 0; k < n_keys; k++)
		if (strcmp(p->keys[k], keys[k]) != 0)
			return false;
	return true;
}

static int
point_fill(struct point *p, const char *name, const char *const *keys, size_t n_keys)
{
	size_t k;

	if ((p->name = strdup(name)) == NULL)
		return NW_ENOMEM;
	for (k = 0; k < n_keys; k++) {
		if ((p->keys[k] = strdup(keys[k])) == NULL) {
			point_clear(p);
			return NW_ENOMEM;
		}
		p->is_id[k] = nw_event_key_is_id(keys[k]);
	}
	p->n_keys = (uint32_t)n_keys;
	return NW_OK;
}

static int
point_add(struct nw_eventlog *l, const char *name, const char *const *keys, size_t n_keys)
{
	int n = l->n_points, i, rc;

	for (i = 0; i < n; i++)
		if (point_is(&l->points[i], name, keys, n_keys))
			return i;
	if (n == NW_EVENTLOG_POINTS_MAX)
		return NW_ETOOBIG;
	if ((rc = point_fill(&l->points[n], name, keys, n_keys)) != NW_OK)
		return rc;
	atomic_store_explicit(&l->n_points, n + 1, memory_order_release);
	return n;
}

int
nw_event_point(struct nw_eventlog *l, const char *name, const char *const *keys, size_t n_keys)
{
	int rc;

	if (name == NULL || name[0] == '\0' || n_keys > NW_EVENTLOG_KEYS_MAX)
		return NW_EINVAL;
	pthread_mutex_lock(&l->lock);
	rc = point_add(l, name, keys, n_keys);
	pthread_mutex_unlock(&l->lock);
	return rc;
}

/* --- the measured path --- */

void
nw_event_at(struct nw_eventlog *l, int point, int64_t t_wall_ns, const int64_t *values)
{
	uint64_t head = atomic_load_explicit(&l->head, memory_order_relaxed), turn;
	struct cell *c;
	uint32_t k, n;

	if (point < 0 || point >= atomic_load_explicit(&l->n_points, memory_order_acquire))
		return;
	for (;;) {
		c = &l->cells[head & l->mask];
		turn = atomic_load_explicit(&c->turn, memory_order_acquire);
		if (turn == head) {
			if (atomic_compare_exchange_weak_explicit(&l->head, &head, head + 1,
				memory_order_relaxed, memory_order_relaxed))
				break;
		} else if ((int64_t)(turn - head) < 0) {
			atomic_fetch_add_explicit(&l->dropped, 1, memory_order_relaxed);
			return;
		} else {
			head = atomic_load_explicit(&l->head, memory_order_relaxed);
		}
	}
	c->t_wall_ns = t_wall_ns;
	c->point = point;
	for (k = 0, n = l->points[point].n_keys; k < n; k++)
		c->values[k] = values[k];
	atomic_store_explicit(&c->turn, head + 1, memory_order_release);
}

void
nw_event(struct nw_eventlog *l, int point, const int64_t *values)
{
	nw_event_at(l, point, nw_wall_ns(), values);
}

/* --- to the provider --- */

static int
cell_add(const struct nw_eventlog *l, const struct cell *c, struct nw_events *b)
{
	const struct point *p = &l->points[c->point];
	struct nw_attr attrs[NW_EVENTLOG_KEYS_MAX];
	const struct nw_event e = { .t_wall_ns = c->t_wall_ns,
		.program = l->program,
		.name = p->name,
		.n_attrs = p->n_keys,
		.attrs = attrs };
	uint32_t k;

	for (k = 0; k < p->n_keys; k++)
		attrs[k] = (struct nw_attr){ .key = p->keys[k],
			.type = NW_ATTR_INT,
			.is_id = p->is_id[k],
			.v.i = c->values[k] };
	return nw_events_add(b, &e);
}

int
nw_eventlog_take(struct nw_eventlog *l, struct nw_events *b)
{
	struct cell *c;
	int rc;

	for (;; l->tail++) {
		c = &l->cells[l->tail & l->mask];
		if (atomic_load_explicit(&c->turn, memory_order_acquire) != l->tail + 1)
			return NW_OK;
		if ((rc = cell_add(l, c, b)) == NW_ETOOBIG || rc == NW_ENOMEM)
			return rc;
		atomic_store_explicit(&c->turn, l->tail + l->mask + 1, memory_order_release);
	}
}

int
nw_eventlog_flush(struct nw_eventlog *l, struct nw_provider *p)
{
	int taken, rc;

	do {
		if ((taken = nw_eventlog_take(l, l->block)) == NW_ENOMEM)
			return taken;
		if (nw_events_count(l->block) == 0)
			return NW_OK;
		if ((rc = nw_provider_events(p, l->block)) < 0)
			return rc;
		nw_events_clear(l->block);
	} while (taken == NW_ETOOBIG);
	return NW_OK;
}
