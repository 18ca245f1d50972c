/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/session.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/conf.h"
#include "narrows/log.h"
#include "narrows/catalog.h"
#include "narrows/clock.h"

enum { CLOSED_KEEP = 10000 }; /* remembered closed sessions, for XSP sessions that come late */
#define WITNESS_KEEP_NS   (60 * (int64_t)1000000000)
#define RESTORE_LINGER_NS (30 * (int64_t)1000000000)

static void
session_write(struct session *s)
{
	struct nw_session_rec rec = {
		.id = s->id,
		.task_id = s->key,
		.program = s->program,
		.opened_wall_ns = s->opened_wall_ns,
		.closed_wall_ns = s->state == SESSION_CLOSED ? s->closed_wall_ns : 0,
		.last_data_wall_ns = s->last_data_wall_ns,
	};

	if (nw_batch_session(commit_batch(s->box->commit), &rec) < 0)
		fatalx("out of memory");
}

/* Changes the state, drawn in session.h; no other function does. */
static void
session_set_state(struct session *s, enum session_state next)
{
	if (s->state == next)
		return;
	if (next == SESSION_CLOSED)
		counter_sub(&s->box->counters.sessions_open, 1);
	else if (s->state == SESSION_CLOSED)
		counter_add(&s->box->counters.sessions_open, 1);
	s->state = next;
}

static void
session_close(struct session *s)
{
	event_del(s->linger);
	session_set_state(s, SESSION_CLOSED);
	s->closed_wall_ns = s->last_data_wall_ns ? s->last_data_wall_ns : nw_wall_ns();
	session_write(s);
	if (nw_batch_seal(commit_batch(s->box->commit), s->id) < 0)
		fatalx("out of memory");
	commit_note_session(s->box->commit, s->id, true);
	log_info("session.close id=%lld", (long long)s->id);
}

static void
on_linger(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	session_close(arg);
}

static void
session_linger(struct session *s, int64_t linger_ns)
{
	struct timeval tv = { (time_t)(linger_ns / 1000000000),
		(suseconds_t)(linger_ns % 1000000000 / 1000) };

	session_set_state(s, SESSION_LINGERING);
	event_add(s->linger, &tv);
}

static struct session *
session_new(struct box *box, int64_t id, const char *key)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->box = box;
	s->id = id;
	s->key = xstrdup(key);
	s->state = SESSION_CLOSED;
	if ((s->linger = event_new(box->base, -1, 0, on_linger, s)) == NULL)
		fatalx("session.timer: libevent refuses");
	HASH_ADD_KEYPTR(hh, box->sessions, s->key, strlen(s->key), s);
	return s;
}

static void
session_free(struct session *s)
{
	HASH_DEL(s->box->sessions, s);
	event_free(s->linger);
	if (s->join != NULL)
		s->join_free(s->join);
	session_release(s->merged_into);
	free(s->key);
	free(s->program);
	free(s);
}

struct session *
session_join(struct box *box, const char *key)
{
	struct session *s;

	HASH_FIND_STR(box->sessions, key, s);
	while (s != NULL && s->merged_into != NULL)
		s = s->merged_into;
	if (s == NULL) {
		s = session_new(box, box->next.session++, key);
		s->opened_wall_ns = nw_wall_ns();
		counter_add(&box->counters.sessions_total, 1);
	}
	if (s->state == SESSION_CLOSED) {
		session_set_state(s, SESSION_OPEN);
		session_write(s);
		log_info("session.open id=%lld", (long long)s->id);
	}
	s->refs++;
	return s;
}

struct session *
session_find(struct box *box, const char *key)
{
	struct session *s;

	HASH_FIND_STR(box->sessions, key, s);
	if (s != NULL)
		s->refs++;
	return session_now(s);
}

struct session *
session_now(struct session *s)
{
	struct session *next;

	while (s != NULL && (next = s->merged_into) != NULL) {
		next->refs++;
		session_release(s);
		s = next;
	}
	return s;
}

void
session_merge(struct session *from, struct session *into)
{
	event_del(from->linger);
	session_set_state(from, SESSION_CLOSED);
	from->merged_into = into;
	into->refs++;
	into->live += from->live;
	if (from->opened_wall_ns < into->opened_wall_ns)
		into->opened_wall_ns = from->opened_wall_ns;
	if (from->last_data_wall_ns > into->last_data_wall_ns)
		into->last_data_wall_ns = from->last_data_wall_ns;
	into->fresh = true;
	session_name(into, from->program);
	session_write(into);
	if (nw_batch_merge(commit_batch(into->box->commit), from->id, into->id) < 0)
		fatalx("out of memory");
	log_info("session.merge id=%lld into=%lld", (long long)from->id, (long long)into->id);
}

void
session_release(struct session *s)
{
	if (s != NULL)
		s->refs--;
}

void
session_attach(struct session *s)
{
	s->live++;
	event_del(s->linger);
	if (s->state != SESSION_OPEN) {
		bool was_closed = s->state == SESSION_CLOSED;

		session_set_state(s, SESSION_OPEN);
		if (was_closed)
			session_write(s);
	}
}

void
session_detach(struct session *s)
{
	if (--s->live == 0 && s->state == SESSION_OPEN)
		session_linger(s, s->box->conf->session_linger_ns);
}

void
session_end(struct session *s)
{
	if (s->state == SESSION_OPEN)
		session_linger(s, s->box->conf->session_linger_ns);
}

void
session_touch(struct session *s, int64_t now_wall_ns)
{
	if (s->state != SESSION_OPEN && s->live > 0) {
		bool was_closed = s->state == SESSION_CLOSED;

		event_del(s->linger); /* the transfer goes on after its end */
		session_set_state(s, SESSION_OPEN);
		if (was_closed)
			session_write(s);
	}
	s->last_data_wall_ns = now_wall_ns;
	s->fresh = true;
}

void
session_name(struct session *s, const char *program)
{
	if (program == NULL || s->program != NULL)
		return;
	s->program = xstrdup(program);
	session_write(s);
}

void
session_series_forget(struct series *gone)
{
	session_release(gone->session);
}

bool
session_series_is_over(struct series *s, int64_t now_wall_ns)
{
	if (!s->witness || (s->session = session_now(s->session)) == NULL)
		return false;
	return s->session->state == SESSION_CLOSED &&
	    now_wall_ns - s->session->closed_wall_ns > WITNESS_KEEP_NS;
}

void
session_restore(struct box *box, int64_t id, const char *task_id, const char *program,
    int64_t opened_wall_ns, int64_t closed_wall_ns, int64_t last_data_wall_ns)
{
	struct session *s;

	if (task_id == NULL)
		return;
	HASH_FIND_STR(box->sessions, task_id, s);
	if (s != NULL)
		return;
	s = session_new(box, id, task_id);
	s->program = xstrdup(program);
	s->opened_wall_ns = opened_wall_ns;
	s->closed_wall_ns = closed_wall_ns;
	s->last_data_wall_ns = last_data_wall_ns;
	if (closed_wall_ns == 0)
		session_linger(s, RESTORE_LINGER_NS);
}

static int
older_first(const struct session *a, const struct session *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

void
session_restored(struct box *box)
{
	HASH_SORT(box->sessions, older_first);
}

void
session_tick(struct box *box, int64_t now_mono_ns)
{
	unsigned spare =
	    HASH_COUNT(box->sessions) > CLOSED_KEEP ? HASH_COUNT(box->sessions) - CLOSED_KEEP : 0;
	struct session *s, *tmp;

	HASH_ITER (hh, box->sessions, s, tmp) {
		if (s->state != SESSION_CLOSED && s->fresh &&
		    now_mono_ns - s->analysed_mono_ns >= box->conf->analysis_interval_ns) {
			/* The first analysis waits one interval: a short session is judged when it
			 * ends. */
			if (s->analysed_mono_ns != 0) {
				s->fresh = false;
				session_write(s);
				commit_note_session(box->commit, s->id, false);
			}
			s->analysed_mono_ns = now_mono_ns;
		} else if (spare > 0 && s->state == SESSION_CLOSED && s->refs == 0) {
			session_free(s); /* the hash keeps the order of insertion: oldest first */
			spare--;
		}
	}
}

void
session_close_all(struct box *box)
{
	struct session *s, *tmp;

	HASH_ITER (hh, box->sessions, s, tmp)
		if (s->state != SESSION_CLOSED)
			session_close(s);
}

void
session_free_all(struct box *box)
{
	struct session *s, *tmp;

	HASH_ITER (hh, box->sessions, s, tmp)
		s->merged_into = NULL; /* a session that may be freed first */
	HASH_ITER (hh, box->sessions, s, tmp)
		session_free(s);
}
