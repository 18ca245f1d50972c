/* SPDX-License-Identifier: BSD-3-Clause */
#include "gridftp/xio/sender.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "gridftp/xio/report.h"
#include "narrows/clock.h"

#define MS_NS INT64_C(1000000)
#define S_NS  (1000 * MS_NS)

/* Without the option interval reports are short at first, for short transfers. */
static const int64_t SHORT_NS = 100 * MS_NS, SHORT_FOR_NS = 10 * S_NS, LONG_NS = S_NS;
/* A session without a chosen id waits for the id of the other stack, at least until bytes move. */
static const int64_t PATIENCE_NS = 500 * MS_NS;
/* Length of a session without flows: the next file of the same task may come. */
static const int64_t IDLE_NS = 10 * S_NS;

enum { STACK_BYTES = 1 << 20 };

struct sender {
	struct measure *m;
	const char *driver;
	pthread_t thread;
	int wake_fd;
	atomic_bool stop;
	_Atomic int64_t end_mono_ns; /* of the wait for the box, once told to stop */
};

/* The sender's part of a session, in session.sent. */
struct sent {
	struct report *report; /* NULL: not begun, or refused */
	bool refused;
	int64_t due_mono_ns;
};

static int64_t
interval_of(const struct session *s, int64_t now_mono_ns)
{
	if (s->options.interval_ns > 0)
		return s->options.interval_ns;
	return now_mono_ns - s->born_mono_ns < SHORT_FOR_NS ? SHORT_NS : LONG_NS;
}

/* The sessions at present. This thread alone frees sessions. */
static unsigned
sessions_get(struct sender *x, struct session *out[SESSIONS_MAX])
{
	struct session *s;
	unsigned n = 0;

	pthread_mutex_lock(&x->m->lock);
	for (s = x->m->sessions; s != NULL && n < SESSIONS_MAX; s = s->next)
		out[n++] = s;
	pthread_mutex_unlock(&x->m->lock);
	return n;
}

static struct sent *
sent_of(struct session *s)
{
	if (s->sent == NULL)
		s->sent = calloc(1, sizeof(struct sent));
	return s->sent;
}

static bool
has_moved(const struct session *s)
{
	unsigned i;
	uint64_t ops = 0;

	for (i = 0; i < STAGES; i++)
		ops += s->meter[i].ops;
	return ops > 0;
}

/* Whether the session may be told to the box: from then on its id stays. */
static bool
session_begin(struct sender *x, struct session *s, int64_t now_mono_ns, bool final)
{
	bool begun;

	pthread_mutex_lock(&x->m->lock);
	if (s->chosen || (has_moved(s) && (final || now_mono_ns - s->born_mono_ns >= PATIENCE_NS)))
		s->started = true;
	begun = s->started;
	pthread_mutex_unlock(&x->m->lock);
	return begun;
}

/* Frees closed flows without a report. */
static void
flows_drop(struct sender *x, const struct session *s)
{
	struct flow *f, *next;

	pthread_mutex_lock(&x->m->lock);
	for (f = x->m->flows; f != NULL; f = next) {
		next = f->next;
		if (f->closed && f->session == s)
			flow_free(x->m, f);
	}
	pthread_mutex_unlock(&x->m->lock);
}

static void
session_report(struct sender *x, struct session *s, int64_t now_mono_ns, bool final)
{
	struct sent *t = sent_of(s);

	if (t == NULL || (!final && now_mono_ns < t->due_mono_ns))
		return;
	t->due_mono_ns = now_mono_ns + SHORT_NS;
	if (!session_begin(x, s, now_mono_ns, final))
		return;
	t->due_mono_ns = now_mono_ns + interval_of(s, now_mono_ns);
	if (t->report == NULL && !t->refused) {
		t->report = report_new(s, x->driver, x->m);
		t->refused = t->report == NULL;
	}
	if (t->report != NULL)
		report_make(t->report, x->m, s, now_mono_ns);
	else
		flows_drop(x, s);
}

/* Ends a session without flows and operations. */
static void
session_end(struct sender *x, struct session *s, int64_t now_mono_ns)
{
	struct sent *t = s->sent;
	bool over;

	pthread_mutex_lock(&x->m->lock);
	over = now_mono_ns - s->used_mono_ns >= IDLE_NS && session_free(x->m, s);
	pthread_mutex_unlock(&x->m->lock);
	if (!over || t == NULL)
		return;
	report_free(t->report, S_NS);
	free(t);
}

/* Waits for the box, the next report or the end. */
static void
sender_wait(struct sender *x, struct session *const *s, unsigned n, int64_t now_mono_ns)
{
	struct pollfd fds[SESSIONS_MAX + 1] = { { .fd = x->wake_fd, .events = POLLIN } };
	int64_t due_mono_ns = now_mono_ns + LONG_NS;
	unsigned i, n_fds = 1;

	for (i = 0; i < n; i++) {
		const struct sent *t = s[i]->sent;

		if (t == NULL)
			continue;
		if (t->due_mono_ns < due_mono_ns)
			due_mono_ns = t->due_mono_ns;
		if (t->report == NULL)
			continue;
		fds[n_fds].fd = nw_provider_fd(report_provider(t->report), &fds[n_fds].events);
		n_fds += fds[n_fds].fd >= 0;
	}
	if (due_mono_ns > now_mono_ns)
		(void)poll(fds, n_fds, (int)((due_mono_ns - now_mono_ns) / MS_NS) + 1);
}

static void
sender_turn(struct sender *x)
{
	struct session *s[SESSIONS_MAX];
	unsigned n = sessions_get(x, s), i;
	struct sent *t;

	for (i = 0; i < n; i++) {
		session_report(x, s[i], nw_mono_ns(), false);
		t = s[i]->sent;
		if (t != NULL && t->report != NULL)
			(void)nw_provider_run(report_provider(t->report), 0);
	}
	sender_wait(x, s, n, nw_mono_ns());
	for (i = 0; i < n; i++)
		session_end(x, s[i], nw_mono_ns());
}

/* Waits for a connection to the box: a tenth of the wait, if the box refuses. Returns the rest of
 * the wait. */
static int64_t
box_wait(struct sender *x, struct report *r)
{
	struct nw_provider *p = report_provider(r);
	int64_t left_ns = x->end_mono_ns - nw_mono_ns(), enough_ns = left_ns - left_ns / 10;
	struct nw_provider_stats stats;

	while (left_ns > 0) {
		nw_provider_get_stats(p, &stats);
		if (stats.connects > 0)
			return left_ns;
		if (stats.connect_failures > 0 && left_ns <= enough_ns)
			return 0;
		(void)nw_provider_run(p, left_ns < 20 * MS_NS ? left_ns : 20 * MS_NS);
		left_ns = x->end_mono_ns - nw_mono_ns();
	}
	return 0;
}

/* A later sender of the process names the flows anew. */
static void
flows_forget(struct sender *x)
{
	struct flow *f;

	pthread_mutex_lock(&x->m->lock);
	for (f = x->m->flows; f != NULL; f = f->next)
		f->said_in = 0;
	pthread_mutex_unlock(&x->m->lock);
}

static void
sender_last(struct sender *x)
{
	struct session *s[SESSIONS_MAX];
	unsigned n = sessions_get(x, s), i;
	struct sent *t;

	for (i = 0; i < n; i++)
		session_report(x, s[i], nw_mono_ns(), true);
	for (i = 0; i < n; i++) {
		if ((t = s[i]->sent) == NULL)
			continue;
		if (t->report != NULL)
			report_free(t->report, box_wait(x, t->report));
		t->report = NULL;
	}
	flows_forget(x);
}

static void *
sender_main(void *arg)
{
	struct sender *x = arg;

	while (!atomic_load(&x->stop))
		sender_turn(x);
	sender_last(x);
	return NULL;
}

static int
thread_start(struct sender *x)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int rc;

	if (pthread_attr_init(&attr) != 0)
		return -1;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&x->thread, &attr, sender_main, x);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return rc == 0 ? 0 : -1;
}

struct sender *
sender_start(struct measure *m, const char *driver)
{
	struct sender *x = calloc(1, sizeof(*x));

	if (x == NULL)
		goto out;
	x->m = m;
	x->driver = driver;
	x->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (x->wake_fd >= 0 && thread_start(x) == 0)
		return x;
	if (x->wake_fd >= 0)
		close(x->wake_fd);
	free(x);
out:
	pthread_mutex_lock(&m->lock);
	m->no_sender = true;
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

void
sender_finish(struct sender *x, int64_t wait_ns)
{
	struct timespec until;
	int64_t until_ns = nw_wall_ns() + wait_ns + S_NS / 2;
	ssize_t told;

	if (x == NULL)
		return;
	x->end_mono_ns = nw_mono_ns() + wait_ns;
	atomic_store(&x->stop, true);
	told = write(x->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
	(void)told;
	until = (struct timespec){ .tv_sec = until_ns / S_NS, .tv_nsec = until_ns % S_NS };
	if (pthread_timedjoin_np(x->thread, NULL, &until) != 0) {
		pthread_detach(x->thread);
		return;
	}
	close(x->wake_fd);
	free(x);
}
