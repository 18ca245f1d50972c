/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include <uthash.h>

#include "host/outside/flow_list.h"

#include <string.h>

struct entry {
	struct flow flow; /* first: flows_refuse() gets the flow */
	uint64_t cookie;
	UT_hash_handle hh;
};

struct flows {
	const struct flows_limits *limits;
	struct entry *entries;
	uint64_t look;
	int64_t now_mono_ns;
	bool all; /* the look is at all connections */
};

struct flows *
flows_new(const struct flows_limits *limits)
{
	struct flows *f = xcalloc(1, sizeof(*f));

	f->limits = limits;
	return f;
}

static void
entry_free(struct flows *f, struct entry *e)
{
	HASH_DEL(f->entries, e);
	free(e->flow.claim);
	free(e);
}

void
flows_free(struct flows *f)
{
	struct entry *e, *tmp;

	if (f == NULL)
		return;
	HASH_ITER (hh, f->entries, e, tmp)
		entry_free(f, e);
	free(f);
}

void
flows_begin(struct flows *f, int64_t now_mono_ns, bool all)
{
	f->look++;
	f->all = all;
	f->now_mono_ns = now_mono_ns;
}

static void
count_anew(const struct flows *f, struct flow *flow)
{
	flow->state = FLOW_SEEN;
	flow->from_mono_ns = f->now_mono_ns;
	flow->from_bytes = flow->last.moved_bytes;
}

/* Bytes of a connection that is older than the first look were moved before the watch. */
static struct flow *
flow_new(struct flows *f, const struct flow_sample *s)
{
	struct entry *e = xcalloc(1, sizeof(*e));

	e->cookie = s->cookie;
	e->flow.last = *s;
	e->flow.worker = -1;
	e->flow.moved_mono_ns = f->now_mono_ns;
	count_anew(f, &e->flow);
	if (f->look > 1)
		e->flow.from_bytes = 0;
	HASH_ADD(hh, f->entries, cookie, sizeof(e->cookie), e);
	return &e->flow;
}

static bool
is_transfer(const struct flows *f, const struct flow *flow)
{
	uint64_t moved = flow->last.moved_bytes - flow->from_bytes;
	int64_t age_ns = f->now_mono_ns - flow->from_mono_ns;

	if (flow->claim != NULL)
		return moved > 0;
	if (moved >= f->limits->bytes)
		return true;
	return age_ns >= f->limits->after_ns &&
	    (double)moved >= (double)f->limits->rate_bytes_per_s * ((double)age_ns * 1e-9);
}

/* A connection that was slow for a while may become fast. */
static void
judge(struct flows *f, struct flow *flow)
{
	if (flow->state == FLOW_TAKEN &&
	    f->now_mono_ns - flow->moved_mono_ns >= f->limits->quiet_ns)
		count_anew(f, flow);
	if (flow->state != FLOW_SEEN)
		return;
	if (is_transfer(f, flow))
		flow->state = FLOW_DUE;
	else if (f->now_mono_ns - flow->moved_mono_ns >= f->limits->quiet_ns)
		count_anew(f, flow);
}

void
flows_note(struct flows *f, const struct flow_sample *s)
{
	struct entry *e;
	struct flow *flow;

	HASH_FIND(hh, f->entries, &s->cookie, sizeof(s->cookie), e);
	flow = e != NULL ? &e->flow : flow_new(f, s);
	if (s->moved_bytes != flow->last.moved_bytes)
		flow->moved_mono_ns = f->now_mono_ns;
	flow->last = *s;
	flow->look = f->look;
	if (flow->last.moved_bytes < flow->from_bytes)
		flow->from_bytes = flow->last.moved_bytes;
	judge(f, flow);
}

void
flows_end(struct flows *f)
{
	struct entry *e, *tmp;

	HASH_ITER (hh, f->entries, e, tmp)
		if (e->flow.look != f->look && (f->all || e->flow.state == FLOW_TAKEN))
			entry_free(f, e);
}

void
flows_each(struct flows *f, void (*fn)(void *arg, struct flow *flow), void *arg)
{
	struct entry *e, *tmp;

	HASH_ITER (hh, f->entries, e, tmp)
		if (e->flow.state == FLOW_DUE || e->flow.state == FLOW_TAKEN)
			fn(arg, &e->flow);
}

void
flows_take(struct flow *flow, int worker)
{
	flow->state = FLOW_TAKEN;
	flow->worker = worker;
}

static bool
is_at(const struct net_addr *known, const struct net_addr *wanted)
{
	return known->port == wanted->port &&
	    (wanted->family == 0 ||
		(known->family == wanted->family &&
		    memcmp(known->ip, wanted->ip, sizeof(known->ip)) == 0));
}

struct flow *
flows_find(
    struct flows *f, const struct net_addr *local, const struct net_addr *peer, bool *is_ambiguous)
{
	struct entry *e, *tmp;
	struct flow *found = NULL;

	*is_ambiguous = false;
	HASH_ITER (hh, f->entries, e, tmp) {
		if (!is_at(&e->flow.last.local, local) || !is_at(&e->flow.last.peer, peer))
			continue;
		if (found != NULL) {
			*is_ambiguous = true;
			return NULL;
		}
		found = &e->flow;
	}
	return found;
}

void
flows_claim(struct flow *flow, uint32_t pid, const char *task)
{
	size_t len = strlen(task);

	free(flow->claim);
	flow->claim = xcalloc(1, sizeof(*flow->claim) + len + 1);
	flow->claim->pid = pid;
	memcpy(flow->claim->task, task, len);
	if (flow->state == FLOW_SEEN)
		flow->state = FLOW_DUE;
}

void
flows_refuse(struct flow *flow)
{
	flow->state = FLOW_REFUSED;
}

void
flows_put_off(struct flows *f, struct flow *flow)
{
	count_anew(f, flow);
}
