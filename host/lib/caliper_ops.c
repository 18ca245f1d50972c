/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/caliper_ops.h"

#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventlog.h"
#include "narrows/frame.h"
#include "narrows/hist.h"

/* --- several threads as one --- */

void
nw_caliper_merge(struct nw_caliper_window *sum, uint64_t *hist, const struct nw_caliper_window *w)
{
	unsigned i;

	nw_caliper_sum_merge(&sum->v, sum->n, &w->v, w->n);
	nw_caliper_sum_merge(&sum->d, sum->n, &w->d, w->n);
	nw_caliper_sum_merge(&sum->r, sum->n_rate, &w->r, w->n_rate);
	nw_caliper_sum_merge(&sum->g, sum->n_rate, &w->g, w->n_rate);
	if (w->n > 0 && (sum->n == 0 || w->first_begin_mono_ns < sum->first_begin_mono_ns))
		sum->first_begin_mono_ns = w->first_begin_mono_ns;
	if (w->n > 0 && (sum->n == 0 || w->last_end_mono_ns > sum->last_end_mono_ns))
		sum->last_end_mono_ns = w->last_end_mono_ns;
	sum->n += w->n;
	sum->n_rate += w->n_rate;
	sum->clamped += w->clamped;
	sum->busy_ns += w->busy_ns;
	sum->wait_ns += w->wait_ns;
	sum->threads += w->n > 0 ? w->threads : 0;
	if (w->busy_max_ns > sum->busy_max_ns)
		sum->busy_max_ns = w->busy_max_ns;
	if (w->window_ns > sum->window_ns)
		sum->window_ns = w->window_ns;
	for (i = 0; w->hist != NULL && i < NW_HIST_BUCKETS; i++)
		hist[i] += w->hist[i];
	sum->hist = hist;
}

/* --- single operations --- */

int
nw_caliper_ops(struct nw_caliper *c, struct nw_eventlog *log, const char *name, uint32_t one_in)
{
	static const char *const keys[] = { "bytes", "dur_ns" };
	struct caliper_ops *o = caliper_ops_of(c);

	if (one_in == 0 || name[0] == '\0' ||
	    snprintf(o->name, sizeof(o->name), "op.%s", name) >= (int)sizeof(o->name))
		return NW_EINVAL;
	if ((o->point = nw_event_point(log, o->name, keys, 2)) < 0)
		return o->point;
	o->log = log;
	o->one_in = one_in;
	return NW_OK;
}

void
caliper_ops_note(struct caliper_ops *o, const struct nw_caliper_hot *hot)
{
	int64_t until_mono_ns = atomic_load_explicit(&o->until_mono_ns, memory_order_acquire);
	int64_t from_mono_ns = atomic_load_explicit(&o->from_mono_ns, memory_order_relaxed);
	int64_t now_mono_ns = nw_mono_ns(), to_wall_ns = nw_wall_ns() - now_mono_ns, begin, d;
	uint32_t i;

	for (i = 0; o->log != NULL && i < hot->n_waiting; i++) {
		begin = hot->waiting[i].begin_mono_ns;
		d = (int64_t)hot->waiting[i].d;
		if (begin < from_mono_ns || begin + d > until_mono_ns || ++o->skipped < o->one_in)
			continue;
		o->skipped = 0;
		nw_event_at(o->log, o->point, begin + to_wall_ns,
		    (int64_t[]){ (int64_t)hot->waiting[i].v, d });
	}
	if (now_mono_ns > until_mono_ns)
		atomic_compare_exchange_strong(&o->until_mono_ns, &until_mono_ns, 0);
}

void
nw_caliper_ops_until(struct nw_caliper *c, int64_t now_mono_ns, int64_t until_mono_ns)
{
	struct caliper_ops *o = caliper_ops_of(c);
	bool goes_on = atomic_load(&o->until_mono_ns) >= now_mono_ns;

	if (until_mono_ns > now_mono_ns && !goes_on)
		atomic_store(&o->from_mono_ns, now_mono_ns);
	atomic_store_explicit(&o->until_mono_ns, until_mono_ns, memory_order_release);
}

/* An order without an event type is for whatever the provider has, but not for single
 * operations: these are many. */
int
nw_caliper_ops_order(
    struct nw_caliper *c, uint16_t opt, const uint8_t *doc, size_t len, int64_t now_mono_ns)
{
	struct caliper_ops *o = caliper_ops_of(c);
	struct nw_order order;
	const char *why;
	size_t n;

	if (o->log == NULL || nw_order_decode(&order, opt, doc, len, &why) != NW_OK)
		return 0;
	if (opt == NW_OPT_STOP) {
		if (strcmp(order.id, o->order_id) != 0)
			return 0;
		nw_caliper_ops_until(c, now_mono_ns, now_mono_ns);
		return 1;
	}
	n = strlen(order.event_type);
	if (opt != NW_OPT_START || n < strlen("op") || strncmp(o->name, order.event_type, n) != 0)
		return 0;
	memcpy(o->order_id, order.id, sizeof(o->order_id));
	nw_caliper_ops_until(c, now_mono_ns, now_mono_ns + order.lease_ns);
	return 1;
}
