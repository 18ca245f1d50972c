/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/lease.h"

#include <string.h>

#include "narrows/err.h"
#include "narrows/frame.h"

static size_t
index_of(const struct leases *l, const char *id)
{
	size_t i;

	for (i = 0; i < l->n && strcmp(l->list[i].order.id, id) != 0; i++)
		continue;
	return i;
}

const struct lease *
leases_find(const struct leases *l, const char *id)
{
	size_t i = index_of(l, id);

	return i < l->n ? &l->list[i] : NULL;
}

/* "s4" is meant by STOP "s4", and so is "s4/1". */
static bool
id_is_below(const char *id, const char *stop)
{
	size_t len = strlen(stop);

	return strncmp(id, stop, len) == 0 && (id[len] == '\0' || id[len] == '/');
}

static bool
is_over(const struct lease *s, const char *stop, int64_t now_mono_ns)
{
	return stop != NULL ? id_is_below(s->order.id, stop) : now_mono_ns >= s->until_mono_ns;
}

/* Ends the leases below an id or, without an id, the leases whose time is up. */
static bool
leases_end(struct leases *l, const char *stop, int64_t now_mono_ns)
{
	size_t i, kept = 0;
	bool any;

	for (i = 0; i < l->n; i++) {
		if (is_over(&l->list[i], stop, now_mono_ns))
			continue;
		if (kept != i)
			l->list[kept] = l->list[i];
		kept++;
	}
	any = kept != l->n;
	l->n = kept;
	return any;
}

static bool
replays_differ(const struct nw_replay *a, const struct nw_replay *b)
{
	return a->way != b->way || strcmp(a->target, b->target) != 0 ||
	    a->op_bytes != b->op_bytes || a->random_share != b->random_share ||
	    a->pause_ns != b->pause_ns || a->bytes != b->bytes || a->time_ns != b->time_ns;
}

static bool
orders_differ(const struct nw_order *a, const struct nw_order *b)
{
	return a->opt != b->opt || strcmp(a->event_type, b->event_type) != 0 ||
	    strcmp(a->task_id, b->task_id) != 0 || strcmp(a->src, b->src) != 0 ||
	    strcmp(a->dst, b->dst) != 0 || a->sport != b->sport || a->dport != b->dport ||
	    a->collection_ns != b->collection_ns || a->report_ns != b->report_ns ||
	    a->keep_ns != b->keep_ns || replays_differ(&a->replay, &b->replay);
}

int
leases_take(struct leases *l, const struct nw_order *o, int64_t now_mono_ns, bool *changed)
{
	size_t i = index_of(l, o->id);

	*changed = false;
	if (o->opt == NW_OPT_STOP) {
		*changed = leases_end(l, o->id, now_mono_ns);
		return NW_OK;
	}
	if (i == LEASES_MAX)
		return NW_EFULL;
	*changed = i == l->n || orders_differ(&l->list[i].order, o);
	if (i == l->n)
		l->n++;
	l->list[i] = (struct lease){ *o, now_mono_ns + o->lease_ns };
	return NW_OK;
}

bool
leases_expire(struct leases *l, int64_t now_mono_ns)
{
	return leases_end(l, NULL, now_mono_ns);
}

int64_t
leases_deadline(const struct leases *l)
{
	int64_t first = INT64_MAX;
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->list[i].until_mono_ns < first)
			first = l->list[i].until_mono_ns;
	return first;
}

/* Either text may be longer: "ps:tools" orders every type below, "ps:tools:blipp:linux:cpu:load"
 * a single type. */
static bool
type_matches(const char *ordered, const char *event_type)
{
	size_t a = strlen(ordered), b = strlen(event_type);

	return strncmp(ordered, event_type, a < b ? a : b) == 0;
}

int64_t
leases_interval_ns(const struct leases *l, const char *event_type, int64_t base_ns)
{
	const struct nw_order *o;
	int64_t shortest = 0;
	size_t i;

	for (i = 0; i < l->n; i++) {
		o = &l->list[i].order;
		if (o->collection_ns != 0 && o->keep_ns == 0 && !nw_order_has_connection(o) &&
		    type_matches(o->event_type, event_type) &&
		    (shortest == 0 || o->collection_ns < shortest))
			shortest = o->collection_ns;
	}
	return shortest != 0 ? shortest : base_ns;
}

int64_t
leases_keep_ns(const struct leases *l, const char *event_type, int64_t *keep_ns)
{
	const struct nw_order *o;
	int64_t shortest = 0;
	size_t i;

	*keep_ns = 0;
	for (i = 0; i < l->n; i++) {
		o = &l->list[i].order;
		if (o->keep_ns == 0 || !type_matches(o->event_type, event_type))
			continue;
		if (shortest == 0 || o->collection_ns < shortest)
			shortest = o->collection_ns;
		if (o->keep_ns > *keep_ns)
			*keep_ns = o->keep_ns;
	}
	return shortest;
}

int64_t
leases_report_ns(const struct leases *l, int64_t base_ns)
{
	int64_t shortest = 0, ns;
	size_t i;

	for (i = 0; i < l->n; i++) {
		ns = l->list[i].order.report_ns;
		if (ns != 0 && (shortest == 0 || ns < shortest))
			shortest = ns;
	}
	return shortest != 0 ? shortest : base_ns;
}

bool
leases_started(const struct leases *l, const char *event_type)
{
	const struct nw_order *o;
	size_t i;

	for (i = 0; i < l->n; i++) {
		o = &l->list[i].order;
		if (o->opt == NW_OPT_START && !nw_order_has_connection(o) &&
		    type_matches(o->event_type, event_type))
			return true;
	}
	return false;
}
