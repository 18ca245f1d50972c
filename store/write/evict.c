/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/evict.h"

#include <stdlib.h>

#include "narrows/err.h"
#include "store/write/eventwriter.h"
#include "store/write/writesql.h"

enum {
	SHARES = 16,
	EVENT_VALUES = 4096,
	RESULT_VALUES = 4096 /* the work of dropping a part of a result, in values */
};

static const struct {
	int kind, share;
} order[] = {
	{ STORE_ROWS, 6 },
	{ SIZE_EVENTS, 2 },
	{ SIZE_TIMELINES, 1 },
	{ STORE_10S, 3 },
	{ STORE_1MIN, 2 },
	{ STORE_1H, 1 },
	{ SIZE_DOCUMENTS, 3 },
};
enum { N_KINDS = sizeof(order) / sizeof(order[0]) };
_Static_assert((int)N_KINDS + 1 == (int)SIZE_KINDS, "every kind but descriptions has its place");

void
evictor_clear(struct evictor *e)
{
	free(e->cursors);
}

static int
cursors_room(struct evictor *e, size_t n_hosts)
{
	struct host_cursor *grown;
	int t;

	if (n_hosts <= e->n_cursors)
		return NW_OK;
	if ((grown = reallocarray(e->cursors, n_hosts, sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	e->cursors = grown;
	for (; e->n_cursors < n_hosts; e->n_cursors++)
		for (t = 0; t < STORE_TIERS; t++)
			e->cursors[e->n_cursors].at[t] = age_cursor_first;
	return NW_OK;
}

/* The host's oldest chunk of a tier. Looks from the cursor on, then from the start, because rows
 * may have come late, or a session have been unpinned. */
static int
chunk_find(struct evictor *e, size_t host, struct victim *v)
{
	const struct aged_search search = { v->kind, INT64_MAX,
		e->k->c->sizes.hosts[host].host_id };
	struct age_cursor *at = &e->cursors[host].at[v->kind];
	bool again = at->t1 == age_cursor_first.t1;
	int rc;

	for (;;) {
		if ((rc = rollup_oldest(e->k->c, &search, at, &v->chunk)) != NW_OK)
			return rc;
		v->found = v->chunk.id != AGED_NONE;
		if (v->found || (!v->chunk.more && again))
			return NW_OK;
		if (!v->chunk.more) {
			*at = age_cursor_first;
			again = true;
		}
	}
}

static int
result_find(struct evictor *e, size_t host, struct victim *v)
{
	int which = v->kind == SIZE_TIMELINES ? W_TIMELINE_OLDEST : W_DOCUMENT_OLDEST;
	int rc =
	    db_get_int(&e->k->c->stmts, which, e->k->c->sizes.hosts[host].host_id, &v->session_id);

	v->found = rc == NW_OK;
	return rc == NW_ENOTFOUND ? NW_OK : rc;
}

/* Pinned events are no victim, but count. */
static int
events_find(struct evictor *e, size_t host, struct victim *v)
{
	int rc =
	    event_writer_oldest(e->k->c, e->k->c->sizes.hosts[host].host_id, INT64_MAX, &v->events);

	v->found = v->events.found;
	return rc;
}

int64_t
evict_host_bytes(const struct host_size *h)
{
	int64_t total = 0;
	int k;

	for (k = 0; k < SIZE_KINDS; k++)
		total += h->bytes[k];
	return total;
}

/* The first kind of a host with removable data over its share, or else any kind with removable
 * data. */
static int
host_find(struct evictor *e, size_t host, struct victim *v)
{
	const struct host_size *h = &e->k->c->sizes.hosts[host];
	int64_t total = evict_host_bytes(h);
	size_t i;
	int rc;

	for (i = 0; i < 2 * N_KINDS; i++) {
		v->kind = order[i % N_KINDS].kind;
		if (h->bytes[v->kind] <= 0 ||
		    (i < N_KINDS && h->bytes[v->kind] <= total / SHARES * order[i % N_KINDS].share))
			continue;
		rc = v->kind < STORE_TIERS   ? chunk_find(e, host, v)
		    : v->kind == SIZE_EVENTS ? events_find(e, host, v)
					     : result_find(e, host, v);
		if (rc != NW_OK || v->found)
			return rc;
	}
	return NW_OK;
}

/* The host with the most bytes behind another one, by size and then by index; false at the end. */
static bool
host_next(const struct sizes *s, int64_t *total, size_t *host)
{
	int64_t best = -1, t;
	size_t i, found = 0;

	for (i = 0; i < s->n_hosts; i++) {
		t = evict_host_bytes(&s->hosts[i]);
		if (t > best && (t < *total || (t == *total && i > *host))) {
			best = t;
			found = i;
		}
	}
	*total = best;
	*host = found;
	return best > 0;
}

int
evict_find(struct evictor *e, struct victim *v)
{
	const struct sizes *s = &e->k->c->sizes;
	int64_t total = INT64_MAX;
	size_t host = 0, i;
	int rc;

	v->found = v->of_most = false;
	if ((rc = cursors_room(e, s->n_hosts)) != NW_OK)
		return rc;
	for (i = 0; !v->found && host_next(s, &total, &host); i++) {
		v->of_most = i == 0;
		if ((rc = host_find(e, host, v)) != NW_OK)
			return rc;
	}
	return NW_OK;
}

static int
result_evict(struct evictor *e, const struct victim *v)
{
	struct connection *c = e->k->c;
	int rc;

	e->k->values_encoded += RESULT_VALUES;
	if ((rc = connection_count_result(c, v->session_id, -1)) == NW_OK &&
	    (rc = db_run(&c->stmts, v->kind == SIZE_TIMELINES ? W_TIMELINE_DROP : W_DOCUMENT_DROP,
		 "i", v->session_id)) == NW_OK)
		rc = connection_count_result(c, v->session_id, 1);
	return rc;
}

int
evict(struct evictor *e, const struct victim *v)
{
	int rc;

	if (v->kind == SIZE_EVENTS) {
		e->k->values_encoded += EVENT_VALUES;
		return event_writer_drop(e->k->c, &v->events);
	}
	if (v->kind >= STORE_TIERS)
		return result_evict(e, v);
	if ((rc = rollup_demote(e->k, &v->chunk, true)) == NW_ECORRUPT)
		rc =
		    rollup_discard(e->k, &v->chunk); /* an unreadable chunk goes before good data */
	return rc;
}
