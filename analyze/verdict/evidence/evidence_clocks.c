/* SPDX-License-Identifier: BSD-3-Clause */
/* The clocks behind the times of a session: one for each host, and one for each sender whose clock
 * is another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/evidence/evidence_in.h"
#include "analyze/verdict/evidence/hosttime.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/xmalloc.h"

/* Exchanges up to 10 minutes before and after a session still speak for its clocks. */
static const int64_t EXCHANGE_LEAD_NS = 600000000000;
/* The times of a lone host need no other clock, unless that clock is plainly wrong. */
static const double WRONG_S = 1;
enum { APART_LOOKS = 64 }; /* the newest senders of a host with clocks of their own */

static int
on_xsp(void *arg, const struct nw_xsp_rec *x)
{
	char **provider = arg;

	*provider = x->provider != NULL
	    ? xasprintf("%s %s", x->owner != NULL ? x->owner : "", x->provider)
	    : NULL;
	return 1;
}

/* The provider of an XSP session, with its owner; free() it. NULL: not known. */
static char *
provider_of(struct loader *l, int64_t xsp_id)
{
	char *provider = NULL;

	(void)store_xsp_get(l->reader, xsp_id, on_xsp, &provider);
	return provider;
}

int64_t
clocks_ahead_ns(struct loader *l, const struct source *s)
{
	int64_t ahead_ns = l->e->hosts[s->host].ahead_ns;
	char *provider;
	size_t i;

	if (s->kind == SOURCE_EXCHANGE)
		return 0; /* the time of the box */
	if (l->n_apart == 0 || (provider = provider_of(l, s->xsp_id)) == NULL)
		return ahead_ns;
	for (i = 0; i < l->n_apart; i++)
		if (l->apart[i].host == s->host && strcmp(l->apart[i].provider, provider) == 0)
			ahead_ns = l->apart[i].ahead_ns;
	free(provider);
	return ahead_ns;
}

void
clocks_clear(struct loader *l)
{
	size_t i;

	for (i = 0; i < l->n_apart; i++)
		free(l->apart[i].provider);
	free(l->apart);
}

/* The lead of a clock over the box's. A lead within the bound of the boxes' clocks may be the
 * box's own error, and the other site's box would move other times. */
static int64_t
lead_ns(const struct evidence *e, double offset_s, double bound_s)
{
	return hosttime_ahead_ns(offset_s, fmax(bound_s, e->boxes_bound_s));
}

/* The clock of a sender that differs from the host's. A series by the same sender may continue an
 * earlier one: the newest counts. */
static void
apart_add(struct loader *l, const struct source *s, double offset_s, double bound_s)
{
	struct evidence_host *h = &l->e->hosts[s->host];
	char *provider = provider_of(l, s->xsp_id);

	if (provider == NULL)
		return;
	l->apart = xreallocarray(l->apart, l->n_apart + 1, sizeof(*l->apart));
	l->apart[l->n_apart] =
	    (struct apart){ s->host, provider, lead_ns(l->e, offset_s, bound_s) };
	if (l->apart[l->n_apart++].ahead_ns != 0)
		h->apart_ns = l->apart[l->n_apart - 1].ahead_ns;
}

/* The exchanges of a host, from `first` on among the sources. */
static int
host_clocks_load(struct loader *l, size_t host, size_t first, int64_t t0, int64_t t1)
{
	struct evidence_host *h = &l->e->hosts[host];
	const int64_t from = t0 - EXCHANGE_LEAD_NS, to = t1 + EXCHANGE_LEAD_NS;
	double offset_s, bound_s;
	unsigned looks = 0;
	size_t k;
	int rc = NW_OK;

	for (k = first; k < l->n_sources && rc == NW_OK; k++)
		if (!l->sources[k].of_sender)
			rc = source_read(l, &l->sources[k], from, to);
	(void)nw_clock_span(&l->exchanges, t0, t1, &h->exchange_offset_s, &h->exchange_bound_s);
	nw_clock_rows_clear(&l->exchanges);
	for (k = l->n_sources; k-- > first && rc == NW_OK && looks < APART_LOOKS;) {
		if (!l->sources[k].of_sender || l->sources[k].last_wall_ns > to)
			continue;
		looks++;
		rc = source_read(l, &l->sources[k], from, to);
		if (nw_clock_span(&l->exchanges, t0, t1, &offset_s, &bound_s))
			apart_add(l, &l->sources[k], offset_s, bound_s);
		nw_clock_rows_clear(&l->exchanges);
	}
	return rc;
}

/* Reads the bound of the boxes' clocks, which counts for the hosts of both sites. */
static int
boxes_load(struct loader *l, int64_t t0, int64_t t1)
{
	size_t i, n = l->n_sources;
	int rc = NW_OK;

	for (i = 0; i < l->e->n_hosts && rc == NW_OK; i++) {
		struct host_metas hm = { .l = l, .host = i };

		if (l->e->hosts[i].name != NULL && strchr(l->e->hosts[i].name, '@') != NULL)
			rc = store_metas(
			    l->reader, 0, l->e->hosts[i].id, NW_TYPE_BOXES, on_host_meta, &hm);
	}
	for (i = n; i < l->n_sources && rc == NW_OK; i++)
		rc = source_read(l, &l->sources[i], t0 - EXCHANGE_LEAD_NS, t1 + EXCHANGE_LEAD_NS);
	l->n_sources = n;
	return rc;
}

int
clocks_load(struct loader *l)
{
	struct evidence *e = l->e;
	/* A session opens by the clock of the box and ends by the clocks of its hosts. */
	int64_t t0 = e->opened_wall_ns, t1 = e->open ? INT64_MAX / 2 : e->closed_wall_ns;
	size_t i, n = l->n_sources, n_apart;
	struct evidence_host *h;
	int rc = boxes_load(l, t0 < t1 ? t0 : t1, t0 < t1 ? t1 : t0);

	for (i = 0; i < e->n_hosts && rc == NW_OK; i++) {
		struct host_metas hm = { .l = l, .host = i };

		h = &e->hosts[i];
		n_apart = l->n_apart;
		if ((rc = store_metas(l->reader, 0, h->id, NW_TYPE_EXCHANGE, on_host_meta, &hm)) ==
		    NW_OK)
			rc = host_clocks_load(l, i, n, t0 < t1 ? t0 : t1, t0 < t1 ? t1 : t0);
		l->n_sources = n;
		if (e->n_hosts > 1 || l->n_apart > n_apart || fabs(h->exchange_offset_s) >= WRONG_S)
			h->ahead_ns = lead_ns(e, h->exchange_offset_s, h->exchange_bound_s);
	}
	return rc;
}
