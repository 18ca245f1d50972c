/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/held.h"

#include <stdlib.h>

#include "narrows/clock.h"

struct task *
task_new(struct session *s)
{
	struct task *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->session = s;
	t->grant = s->grant;
	atomic_fetch_add(&s->holders, 1);
	return t;
}

void
task_free(struct task *t)
{
	struct session *s = t->session;

	buffer_drop(t->buffer);
	free(t);
	session_drop(s);
}

bool
task_is_flushed(const struct task *t)
{
	return t->flush && t->list < atomic_load(&t->session->latest_list);
}

/* The way of the block's bytes through the kernels of both hosts begins here (magnet(1)). */
static void
stream_log(const struct task *t)
{
	uint64_t data[] = { t->logical, t->set, t->session->key.id, t->list, t->cookie, t->first,
		t->behind };

	if (t->first < t->behind)
		blocklog_put(t->session->all->opts.log, "DPSS_STREAM", NULL,
		    (int64_t)t->times[DPSS_START_WRITE], data, sizeof(data) / sizeof(data[0]));
}

static void
event(const struct task *t, const char *keyword, uint64_t t_wall_ns)
{
	uint64_t data[] = { t->logical, t->set, t->session->key.id, t->list };

	blocklog_put(t->session->all->opts.log, keyword, NULL, (int64_t)t_wall_ns, data,
	    sizeof(data) / sizeof(data[0]));
}

void
task_log(const struct task *t, bool flushed)
{
	int i;

	if (t->session->all->opts.log == NULL)
		return;
	for (i = DPSS_SERV_IN; i < DPSS_TIMES; i++)
		if (t->times[i] != 0)
			event(t, dpss_point_words[i], t->times[i]);
	stream_log(t);
	if (t->from_memory)
		event(t, "DPSS_FROM_MEMORY", t->times[DPSS_END_READ]);
	if (flushed)
		event(t, "DPSS_FLUSH", (uint64_t)nw_wall_ns());
}

/* --- under way --- */

/* The next request that may enter; NULL ends the pumping. */
static struct task *
held_take(struct session *s)
{
	struct task *t;

	pthread_mutex_lock(&s->lock);
	t = s->underway < s->underway_max && !atomic_load(&s->over) ? s->held : NULL;
	if (t != NULL) {
		if ((s->held = t->next) == NULL)
			s->held_last = &s->held;
		s->underway++;
	} else {
		s->pumping = false;
	}
	pthread_mutex_unlock(&s->lock);
	return t;
}

/* Lets held requests enter as far as there is room. One thread does at a time: a block that cannot
 * be sent ends at once and would pump again, ever deeper. Called without the lock. */
static void
pump(struct session *s)
{
	struct task *t;
	bool mine;

	pthread_mutex_lock(&s->lock);
	mine = !s->pumping;
	s->pumping = true;
	pthread_mutex_unlock(&s->lock);
	while (mine && (t = held_take(s)) != NULL)
		disk_begin(s->all->disks[t->disk], t, s->from_file);
}

void
task_end(struct task *t)
{
	struct session *s = t->session;

	atomic_fetch_add(&s->holders, 1);
	task_free(t);
	pthread_mutex_lock(&s->lock);
	s->underway--;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
	pump(s);
	session_drop(s);
}

bool
held_wanted(struct task *t)
{
	bool flushed = task_is_flushed(t);

	if (!flushed && (t->write || !atomic_load(&t->session->over)))
		return true;
	task_log(t, flushed);
	task_end(t);
	return false;
}

/* Requests of older lists, taken out. Called with the lock. */
static struct task *
held_flush(struct session *s)
{
	struct task *flushed = NULL, **at = &s->held, *t;

	while ((t = *at) != NULL) {
		if (task_is_flushed(t)) {
			*at = t->next;
			t->next = flushed;
			flushed = t;
		} else {
			at = &t->next;
		}
	}
	s->held_last = at;
	return flushed;
}

void
held_add(struct session *s, struct task *first, uint32_t list, bool flush)
{
	struct task *flushed = NULL, *t;

	pthread_mutex_lock(&s->lock);
	if (flush && list > atomic_load(&s->latest_list)) {
		atomic_store(&s->latest_list, list);
		flushed = held_flush(s);
	}
	*s->held_last = first;
	while (*s->held_last != NULL)
		s->held_last = &(*s->held_last)->next;
	pthread_mutex_unlock(&s->lock);
	while ((t = flushed) != NULL) {
		flushed = t->next;
		task_log(t, true);
		task_free(t);
	}
	pump(s);
}

void
held_enter(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->underway >= s->underway_max)
		pthread_cond_wait(&s->change, &s->lock);
	s->underway++;
	pthread_mutex_unlock(&s->lock);
}

void
held_end(struct session *s)
{
	struct task *held, *t;

	pthread_mutex_lock(&s->lock);
	held = s->held;
	s->held = NULL;
	s->held_last = &s->held;
	pthread_mutex_unlock(&s->lock);
	while ((t = held) != NULL) {
		held = t->next;
		task_free(t);
	}
	pthread_mutex_lock(&s->lock);
	while (s->underway > 0)
		pthread_cond_wait(&s->change, &s->lock);
	pthread_mutex_unlock(&s->lock);
}
