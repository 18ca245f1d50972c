/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/flows.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/lib/tcpinfo.h"
#include "host/magnet/magnet_kernel.h"
#include "narrows/eventtype.h"
#include "narrows/frame.h"
#include "narrows/provider.h"

void
flows_init(struct flows *f)
{
	memset(f, 0, sizeof(*f));
	f->fd = tcpinfo_open();
}

void
flows_clear(struct flows *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	f->n = 0;
}

static bool
same_connection(const struct nw_order *a, const struct nw_order *b)
{
	return strcmp(a->id, b->id) == 0 && strcmp(a->src, b->src) == 0 &&
	    strcmp(a->dst, b->dst) == 0 && a->sport == b->sport && a->dport == b->dport &&
	    strcmp(a->task_id, b->task_id) == 0;
}

static bool
order_is_flow(const struct nw_order *o)
{
	return o->opt == NW_OPT_START && nw_order_has_connection(o) &&
	    nw_type_begins(o->event_type, NW_TYPE_KERNEL);
}

static void
flow_end(struct flow *w, struct kernel *k, struct nw_provider *p)
{
	char id[FLOW_ID_BYTES + 32];
	const struct wait_name *n;

	if (w->cookie != 0)
		kernel_flow_remove(k, w->cookie);
	for (n = wait_names; n->name != NULL; n++) {
		snprintf(id, sizeof(id), "%s/%s", w->id, n->name);
		if (w->announced >> (n->id - MAGNET_POINTS_MAX) & 1)
			nw_provider_meta_end(p, id);
	}
}

static const struct nw_order *
order_of(const struct leases *l, const struct flow *w)
{
	const struct lease *s = leases_find(l, w->order.id);

	return s != NULL && order_is_flow(&s->order) && same_connection(&s->order, &w->order)
	    ? &s->order
	    : NULL;
}

static bool
flow_start(struct flows *f, const struct nw_order *o, const char *host)
{
	struct flow *w;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (same_connection(&f->list[i].order, o))
			return true;
	if (f->n == FLOWS_MAX)
		return false;
	w = &f->list[f->n];
	memset(w, 0, sizeof(*w));
	if (!net_addr_parse(&w->local, o->src, o->sport) ||
	    !net_addr_parse(&w->peer, o->dst, o->dport) || w->local.family != w->peer.family)
		return false;
	w->order = *o;
	snprintf(w->id, sizeof(w->id), "%.150s/kernel/%s/%s/%u-%s/%u", host, o->id, o->src,
	    o->sport, o->dst, o->dport);
	f->n++;
	return true;
}

void
flows_sync(struct flows *f, const struct leases *l, struct kernel *k, struct nw_provider *p,
    const char *host)
{
	size_t i, kept = 0;

	for (i = 0; i < f->n; i++) {
		if (order_of(l, &f->list[i]) == NULL) {
			flow_end(&f->list[i], k, p);
			continue;
		}
		if (kept != i)
			f->list[kept] = f->list[i];
		kept++;
	}
	f->n = kept;
	f->n_refused = 0;
	for (i = 0; i < l->n; i++)
		if (order_is_flow(&l->list[i].order) && !flow_start(f, &l->list[i].order, host))
			f->n_refused++;
	flows_find(f, k);
}

void
flows_find(struct flows *f, struct kernel *k)
{
	struct flow *w;

	for (w = f->list; w < f->list + f->n; w++) {
		if (w->cookie != 0)
			continue;
		w->cookie = tcpinfo_cookie(f->fd, &w->local, &w->peer);
		if (w->cookie != 0)
			(void)kernel_flow_add(k, w->cookie);
	}
}

struct flow *
flows_of(struct flows *f, uint64_t cookie)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->list[i].cookie == cookie && cookie != 0)
			return &f->list[i];
	return NULL;
}
