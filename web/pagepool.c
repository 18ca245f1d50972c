/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/pagepool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <event2/event.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "web/lines/lines.h"

/* An owner has all threads but one, so that another owner finds a thread. */
enum { THREADS = 3, OWNER_THREADS = THREADS - 1, OWNERS_MAX = 1024, NICE = 5 };

struct worker {
	struct pool *pool;
	pthread_t thread;
	bool started;
	struct pool_hand hand;
	struct pool_job *job; /* at work, or NULL */
};

struct pool {
	pthread_mutex_t lock; /* covers all below */
	pthread_cond_t wake;
	struct fairq *waiting;
	struct pool_job *finished;
	struct worker worker[THREADS];
	bool stopping; /* jobs end without being run */
	bool ending;   /* threads end */
	int done_fd;
	struct event *on_done;
};

/* --- a thread --- */

/* The lock is held. */
static bool
owner_has_enough(void *arg, const char *owner)
{
	const struct pool *p = arg;
	size_t i, n = 0;

	for (i = 0; i < THREADS; i++)
		n += p->worker[i].job != NULL && strcmp(p->worker[i].job->owner, owner) == 0;
	return n >= OWNER_THREADS;
}

static void
job_finish(struct pool *p, struct pool_job *job)
{
	static const uint64_t one = 1;

	job->next = p->finished;
	p->finished = job;
	if (write(p->done_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		abort(); /* the count of an eventfd with few writers stays small */
}

/* Waits for a job; NULL: the thread ends. The lock is held. */
static struct pool_job *
job_take(struct worker *w)
{
	struct pool *p = w->pool;
	struct fairq_item *item;

	while ((item = fairq_take_unless(p->waiting, owner_has_enough, p)) == NULL && !p->ending)
		pthread_cond_wait(&p->wake, &p->lock);
	w->job = item != NULL ? fairq_of(item, struct pool_job, item) : NULL;
	return w->job;
}

static void *
worker_main(void *arg)
{
	struct worker *w = arg;
	struct pool *p = w->pool;
	struct pool_job *job;
	int64_t begin;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	(void)pthread_setname_np(pthread_self(), "pages");
	/* Linux gives every thread a priority of its own: the other threads go first */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	pthread_mutex_lock(&p->lock);
	while ((job = job_take(w)) != NULL) {
		if (p->stopping)
			atomic_store(&job->stop, true);
		pthread_mutex_unlock(&p->lock);
		begin = nw_mono_ns();
		if (!atomic_load(&job->stop))
			job->run(job, &w->hand);
		pthread_mutex_lock(&p->lock);
		fairq_charge(p->waiting, job->owner, (double)(nw_mono_ns() - begin));
		w->job = NULL;
		job_finish(p, job);
		pthread_cond_broadcast(&p->wake); /* the owner may have another thread */
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* --- the web thread --- */

static void
finished_run(struct pool *p)
{
	struct pool_job *job, *next;

	pthread_mutex_lock(&p->lock);
	job = p->finished;
	p->finished = NULL;
	pthread_mutex_unlock(&p->lock);
	for (; job != NULL; job = next) {
		next = job->next;
		job->done(job);
	}
}

static void
on_done(evutil_socket_t fd, short what, void *arg)
{
	uint64_t n;

	(void)what;
	if (read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n))
		finished_run(arg);
}

int
pool_put(struct pool *p, struct pool_job *job)
{
	struct fairq_item *displaced;
	int rc;

	pthread_mutex_lock(&p->lock);
	if ((rc = fairq_put(p->waiting, job->owner, &job->item, &displaced)) == NW_OK)
		pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

bool
pool_drop(struct pool *p, struct pool_job *job)
{
	bool waited;

	pthread_mutex_lock(&p->lock);
	waited = job->item.owner != NULL;
	fairq_remove(p->waiting, &job->item);
	pthread_mutex_unlock(&p->lock);
	atomic_store(&job->stop, true);
	return waited;
}

void
pool_stop(struct pool *p)
{
	size_t i;

	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	for (i = 0; i < THREADS; i++)
		if (p->worker[i].job != NULL)
			atomic_store(&p->worker[i].job->stop, true);
	pthread_mutex_unlock(&p->lock);
}

/* --- start and end --- */

static int
worker_start(struct pool *p, struct worker *w, const char *store_path, char why[STORE_WHY_BYTES])
{
	int rc;

	w->pool = p;
	w->hand.lines = lines_cache_new();
	if ((rc = store_reader_open(store_path, &w->hand.reader, why)) < 0)
		return rc;
	if ((errno = pthread_create(&w->thread, NULL, worker_main, w)) != 0) {
		snprintf(why, STORE_WHY_BYTES, "web thread: %s", strerror(errno));
		return NW_EIO;
	}
	w->started = true;
	return NW_OK;
}

int
pool_new(
    struct event_base *base, const char *store_path, struct pool **out, char why[STORE_WHY_BYTES])
{
	/* connections bound the number of jobs */
	const struct fairq_limits limits = { SIZE_MAX, SIZE_MAX, OWNERS_MAX };
	struct pool *p = calloc(1, sizeof(*p));
	int rc = NW_OK;
	size_t i;

	if (p == NULL)
		return NW_ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	if ((p->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0 ||
	    (p->waiting = fairq_new(&limits)) == NULL ||
	    (p->on_done = event_new(base, p->done_fd, EV_READ | EV_PERSIST, on_done, p)) == NULL ||
	    event_add(p->on_done, NULL) != 0)
		rc = NW_ENOMEM;
	for (i = 0; i < THREADS && rc == NW_OK; i++)
		rc = worker_start(p, &p->worker[i], store_path, why);
	if (rc == NW_OK)
		*out = p;
	else
		pool_free(p);
	return rc;
}

void
pool_free(struct pool *p)
{
	struct worker *w;

	if (p == NULL)
		return;
	pool_stop(p);
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (w = p->worker; w < p->worker + THREADS; w++) {
		if (w->started)
			pthread_join(w->thread, NULL);
		store_reader_close(w->hand.reader);
		lines_cache_free(w->hand.lines);
	}
	finished_run(p);
	if (p->on_done != NULL)
		event_free(p->on_done);
	if (p->done_fd >= 0)
		close(p->done_fd);
	fairq_free(p->waiting);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
