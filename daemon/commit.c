/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/commit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <event2/event.h>
#include <uthash.h>

#include "daemon/box.h"
#include "daemon/conf.h"
#include "narrows/log.h"
#include "daemon/origin.h"
#include "narrows/err.h"

enum { BATCH_TARGET_BYTES = 1 << 20, OWNER_COST_MAX = 1 << 20 };

/* What an owner has on the way to the store. */
struct part {
	size_t cost, refs; /* refs: entries in completions */
	UT_hash_handle hh;
	char owner[];
};

struct acceptance {
	struct origin *origin;
	uint64_t seq;
};

/* Work to do when a batch is stored. */
struct completion {
	struct commit *commit;
	struct acceptance *accepted;
	size_t n_accepted, cap_accepted;
	struct {
		struct part *part;
		size_t cost;
	} * charged;
	size_t n_charged, cap_charged;
	struct {
		int64_t session_id;
		char *owner;
		bool is_over;
	} * judge;
	size_t n_judge, cap_judge;
};

struct commit {
	struct box *box;
	struct commit_ops ops;
	struct nw_batch *batch;        /* batch being filled, NULL while empty */
	struct completion *completion; /* work to do when the batch is stored */
	struct event *flush_timer, *completions;
	struct part *parts; /* hash by owner */
	bool blocked;       /* the store's queue is full */
	bool failing;       /* the last commit failed, and the log says so */
};

/* Returns true if an owner was full, and is not any more. */
static bool
parts_lower(struct completion *t)
{
	struct part *p;
	bool room = false;
	size_t i;

	for (i = 0; i < t->n_charged; i++) {
		p = t->charged[i].part;
		p->cost -= t->charged[i].cost;
		room |= p->cost < OWNER_COST_MAX && p->cost + t->charged[i].cost >= OWNER_COST_MAX;
		if (--p->refs == 0) {
			HASH_DEL(t->commit->parts, p);
			free(p);
		}
	}
	t->n_charged = 0;
	return room;
}

static void
completion_free(struct completion *t)
{
	size_t i;

	(void)parts_lower(t);
	free(t->charged);

	for (i = 0; i < t->n_accepted; i++)
		origin_release(t->accepted[i].origin);
	free(t->accepted);
	for (i = 0; i < t->n_judge; i++)
		free(t->judge[i].owner);
	free(t->judge);
	free(t);
}

static void
on_batch_done(void *arg, int rc)
{
	struct completion *t = arg;
	struct commit *c = t->commit;
	size_t i;

	/*
	 * The store itself repeats a commit that failed for lack of disk or memory, or by damage.
	 * After any other error, rows that this process believes to be stored are not, and later
	 * rows that refer to them would fail, too. The box begins anew from the file; providers
	 * send again.
	 */
	if (rc < 0 && !c->box->stopping)
		fatalx("batch.conflict why=\"%s\"", nw_strerror(rc));
	if (rc < 0) {
		counter_add(&c->box->counters.failed_commits, 1);
		if (!c->failing)
			log_warnx("batch.fail why=\"%s\"", nw_strerror(rc));
	} else if (c->failing)
		log_info("batch.recover");
	c->failing = rc < 0;
	for (i = 0; i < t->n_accepted; i++) {
		if (rc < 0)
			origin_lost(t->accepted[i].origin);
		else
			origin_stored(t->accepted[i].origin, t->accepted[i].seq);
	}
	for (i = 0; i < t->n_judge && rc >= 0; i++)
		c->ops.judge(
		    c->ops.arg, t->judge[i].session_id, t->judge[i].owner, t->judge[i].is_over);
	if (parts_lower(t) && !c->blocked)
		c->ops.room(c->ops.arg);
	completion_free(t);
}

static void
on_completions(evutil_socket_t fd, short what, void *arg)
{
	struct commit *c = arg;

	(void)fd;
	(void)what;
	store_run_completions(c->box->store);
	if (c->blocked) {
		c->blocked = false;
		commit_flush(c);
		if (!c->blocked)
			c->ops.room(c->ops.arg);
	}
}

static void
on_flush(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	commit_flush(arg);
}

struct commit *
commit_new(struct box *box, const struct commit_ops *ops)
{
	struct commit *c = xcalloc(1, sizeof(*c));

	c->box = box;
	c->ops = *ops;
	c->flush_timer = event_new(box->base, -1, 0, on_flush, c);
	c->completions = event_new(
	    box->base, store_completion_fd(box->store), EV_READ | EV_PERSIST, on_completions, c);
	if (c->flush_timer == NULL || c->completions == NULL ||
	    event_add(c->completions, NULL) != 0)
		fatalx("commit.events: libevent refuses");
	return c;
}

void
commit_free(struct commit *c)
{
	if (c == NULL)
		return;
	event_free(c->flush_timer);
	event_free(c->completions);
	nw_batch_free(c->batch);
	if (c->completion != NULL)
		completion_free(c->completion);
	free(c);
}

struct nw_batch *
commit_batch(struct commit *c)
{
	struct timeval tv;

	if (c->batch == NULL) {
		while ((c->batch = nw_batch_new()) == NULL)
			xmalloc_spend();
		c->completion = xcalloc(1, sizeof(*c->completion));
		c->completion->commit = c;
		tv.tv_sec = (time_t)(c->box->conf->flush_interval_ns / 1000000000);
		tv.tv_usec = (suseconds_t)(c->box->conf->flush_interval_ns % 1000000000 / 1000);
		event_add(c->flush_timer, &tv);
	}
	return c->batch;
}

void
commit_charge(struct commit *c, const char *owner, size_t cost)
{
	size_t len = strlen(owner);
	struct completion *t;
	struct part *p;

	commit_batch(c);
	t = c->completion;
	HASH_FIND(hh, c->parts, owner, len, p);
	if (p == NULL) {
		p = xcalloc(1, sizeof(*p) + len + 1);
		memcpy(p->owner, owner, len);
		HASH_ADD(hh, c->parts, owner[0], len, p);
	}
	p->cost += cost;
	if (t->n_charged > 0 && t->charged[t->n_charged - 1].part == p) {
		t->charged[t->n_charged - 1].cost += cost;
		return;
	}
	if (t->n_charged == t->cap_charged) {
		t->cap_charged = t->cap_charged ? t->cap_charged * 2 : 8;
		t->charged = xreallocarray(t->charged, t->cap_charged, sizeof(*t->charged));
	}
	p->refs++;
	t->charged[t->n_charged].part = p;
	t->charged[t->n_charged++].cost = cost;
}

bool
commit_is_owner_full(const struct commit *c, const char *owner)
{
	struct part *p;

	HASH_FIND_STR(c->parts, owner, p);
	return p != NULL && p->cost >= OWNER_COST_MAX;
}

void
commit_note_origin(struct commit *c, struct origin *o)
{
	struct completion *t;

	commit_batch(c);
	t = c->completion;
	if (o->noted_in == t) {
		t->accepted[o->noted_at].seq = o->accepted_seq;
		return;
	}
	if (t->n_accepted == t->cap_accepted) {
		t->cap_accepted = t->cap_accepted ? t->cap_accepted * 2 : 8;
		t->accepted = xreallocarray(t->accepted, t->cap_accepted, sizeof(*t->accepted));
	}
	o->noted_in = t;
	o->noted_at = t->n_accepted;
	t->accepted[t->n_accepted].origin = origin_hold(o);
	t->accepted[t->n_accepted++].seq = o->accepted_seq;
}

void
commit_note_session(struct commit *c, int64_t session_id, const char *owner, bool is_over)
{
	struct completion *t;

	commit_batch(c);
	t = c->completion;
	if (t->n_judge == t->cap_judge) {
		t->cap_judge = t->cap_judge ? t->cap_judge * 2 : 8;
		t->judge = xreallocarray(t->judge, t->cap_judge, sizeof(*t->judge));
	}
	t->judge[t->n_judge].session_id = session_id;
	t->judge[t->n_judge].owner = xstrdup(owner);
	t->judge[t->n_judge++].is_over = is_over;
}

void
commit_check(struct commit *c)
{
	if (c->batch != NULL && nw_batch_bytes(c->batch) >= BATCH_TARGET_BYTES)
		commit_flush(c);
}

void
commit_flush(struct commit *c)
{
	struct completion *t = c->completion;
	size_t i;
	int rc;

	if (c->batch == NULL || c->blocked)
		return;
	c->ops.last(c->ops.arg);
	for (i = 0; i < t->n_accepted; i++)
		while (t->accepted[i].origin->provider_id != NULL &&
		    nw_batch_provider(c->batch, t->accepted[i].origin->owner,
			t->accepted[i].origin->provider_id, t->accepted[i].seq) < 0)
			xmalloc_spend();
	nw_batch_on_done(c->batch, on_batch_done, t);
	rc = store_submit(c->box->store, c->batch);
	if (rc == NW_EFULL) {
		c->blocked = true;
		c->ops.full(c->ops.arg);
		return;
	}
	event_del(c->flush_timer);
	for (i = 0; i < t->n_accepted; i++)
		if (t->accepted[i].origin->noted_in == t)
			t->accepted[i].origin->noted_in = NULL;
	c->batch = NULL;
	c->completion = NULL;
	if (rc < 0)
		fatalx("store.submit why=\"%s\"", nw_strerror(rc));
}

void
commit_drain(struct commit *c)
{
	int rc;

	do {
		c->blocked = false;
		commit_flush(c);
		rc = store_sync(c->box->store);
		store_run_completions(c->box->store);
	} while (c->batch != NULL && rc == NW_OK);
	if (rc < 0)
		log_warnx(
		    "commit.drain why=\"%s\" note=\"the store tries the queued batches once more\"",
		    nw_strerror(rc));
}
