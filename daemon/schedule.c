/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/schedule.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/chrony.h"
#include "daemon/log.h"
#include "daemon/verdict/resultdoc.h"
#include "daemon/xmalloc.h"
#include "narrows/caliper.h"
#include "narrows/err.h"

enum { QUEUE_MAX = 100000, CLOCK_EVERY_S = 16 };

struct schedule {
	struct store *store;
	struct store_reader *reader;         /* the thread's */
	struct analysis_params params;
	int64_t next_run_id;
	pthread_t thread;

	pthread_mutex_t lock;                /* guards what follows; never held across other locks or work */
	pthread_cond_t wake;
	int64_t *queue;
	size_t n, cap;
	bool stopping;
	struct schedule_stats stats;
};

/* A full queue of the store empties by itself; analysis may wait for it. */
static int
batch_submit(struct schedule *s, struct nw_batch *b)
{
	static const struct timespec pause = { 0, 10000000 };
	int rc, tries;

	for (tries = 0; (rc = store_submit(s->store, b)) == NW_EFULL && tries < 1000; tries++)
		nanosleep(&pause, NULL);
	if (rc == NW_EFULL)
		nw_batch_free(b);
	return rc;
}

static int
result_write(struct schedule *s, const struct analysis *a, const struct result_run *run, const char *json)
{
	const struct evidence *e = &a->evidence;
	const struct judgement *j = &a->judgement;
	struct nw_run_rec r = { .id = run->id, .session_id = e->session_id, .kind = "verdict",
		.started_wall_ns = run->started_wall_ns, .took_ns = run->took_ns, .version = NW_VERSION, .outcome = "ok" };
	struct nw_result_rec res = { .session_id = e->session_id, .run_id = run->id, .json = json, .route = j->route,
		.program = e->program != NULL ? e->program : e->n_flows > 0 ? e->flows[0].program : NULL,
		.stage = j->limit.known ? nw_place_name(j->path.stage[j->limit.stage].place) : NULL, .sentence = j->sentence,
		.bytes = j->bytes, .bytes_per_s = j->bytes_per_s,
		.start_wall_ns = e->first_wall_ns ? e->first_wall_ns : e->opened_wall_ns,
		.duration_ns = (int64_t)(j->duration_s * 1e9) };
	struct nw_batch *b = nw_batch_new();

	if (b == NULL)
		return NW_ENOMEM;
	if (nw_batch_run(b, &r) < 0 || nw_batch_result(b, &res) < 0) {
		nw_batch_free(b);
		return NW_ENOMEM;
	}
	return batch_submit(s, b);
}

static int
session_analyse(struct schedule *s, int64_t session_id)
{
	struct result_run run = { .id = s->next_run_id++, .started_wall_ns = nw_wall_ns(), .params = s->params };
	int64_t begin = nw_mono_ns();
	const struct judgement *j;
	struct analysis a;
	char *json = NULL;
	int rc;

	if ((rc = analysis_run(s->reader, session_id, &s->params, &a)) < 0) {
		log_warnx("analysis.fail session=%lld why=\"%s\"", (long long)session_id, nw_strerror(rc));
		goto out;
	}
	j = &a.judgement;
	run.took_ns = nw_mono_ns() - begin;
	if ((json = resultdoc_build(&a, &run)) == NULL)
		rc = NW_ENOMEM;
	else
		rc = result_write(s, &a, &run, json);
	if (rc < 0)
		log_warnx("analysis.fail session=%lld why=\"%s\"", (long long)session_id, nw_strerror(rc));
	else
		log_info("analysis.done session=%lld stage=%s took_ms=%.1f", (long long)session_id,
		    j->limit.known ? nw_place_name(j->path.stage[j->limit.stage].place) : "-", (double)run.took_ns * 1e-6);
	analysis_clear(&a);
out:
	free(json);
	pthread_mutex_lock(&s->lock);
	s->stats.runs++;
	s->stats.failures += rc < 0;
	s->stats.last_wall_ns = run.started_wall_ns;
	s->stats.last_took_ns = nw_mono_ns() - begin;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static void
clock_look(struct schedule *s)
{
	struct chrony_tracking t;
	bool known = chrony_tracking_get(&t) == NW_OK;

	pthread_mutex_lock(&s->lock);
	s->stats.clock_known = known;
	s->stats.clock_synchronised = known && t.synchronised;
	s->stats.clock_offset_s = known ? t.offset_s : 0;
	s->stats.clock_bound_s = known ? t.bound_s : 0;
	pthread_mutex_unlock(&s->lock);
}

/* Waits for a session. False: stop, the queue is empty. *clock_due: time to look at the clock instead. */
static bool
queue_take(struct schedule *s, const struct timespec *clock_at, int64_t *session_id, bool *clock_due)
{
	bool have;

	*clock_due = false;
	pthread_mutex_lock(&s->lock);
	while (s->n == 0 && !s->stopping && !*clock_due)
		*clock_due = pthread_cond_timedwait(&s->wake, &s->lock, clock_at) == ETIMEDOUT;
	have = s->n > 0;
	if (have) {
		*session_id = s->queue[0];
		memmove(s->queue, s->queue + 1, --s->n * sizeof(*s->queue));
		*clock_due = false;
	}
	have = have || !s->stopping;
	pthread_mutex_unlock(&s->lock);
	return have;
}

static void *
schedule_thread(void *arg)
{
	struct schedule *s = arg;
	struct timespec clock_at;
	int64_t session_id = 0;
	bool clock_due;

	clock_look(s);
	clock_gettime(CLOCK_MONOTONIC, &clock_at);
	clock_at.tv_sec += CLOCK_EVERY_S;
	while (queue_take(s, &clock_at, &session_id, &clock_due)) {
		if (clock_due) {
			clock_look(s);
			clock_gettime(CLOCK_MONOTONIC, &clock_at);
			clock_at.tv_sec += CLOCK_EVERY_S;
		} else if (session_id != 0) {
			session_analyse(s, session_id);
			session_id = 0;
		}
	}
	return NULL;
}

int
schedule_start(struct store *st, const char *store_path, const struct analysis_params *params, int64_t first_run_id,
    struct schedule **out, char why[STORE_WHY_BYTES])
{
	struct schedule *s = xcalloc(1, sizeof(*s));
	pthread_condattr_t attr;
	int rc;

	s->store = st;
	s->params = *params;
	s->next_run_id = first_run_id;
	if ((rc = store_reader_open(store_path, &s->reader, why)) < 0) {
		free(s);
		return rc;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&s->thread, NULL, schedule_thread, s) != 0)
		fatal("analysis.thread");
	*out = s;
	return NW_OK;
}

void
schedule_stop(struct schedule *s)
{
	if (s == NULL)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	store_reader_close(s->reader);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s->queue);
	free(s);
}

void
schedule_push(struct schedule *s, int64_t session_id)
{
	bool full = false;
	size_t i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < s->n; i++)
		if (s->queue[i] == session_id)
			break;
	if (i == s->n) {
		full = s->n == QUEUE_MAX;
		if (!full && s->n == s->cap) {
			s->cap = s->cap ? s->cap * 2 : 64;
			s->queue = xreallocarray(s->queue, s->cap, sizeof(*s->queue));
		}
		if (!full)
			s->queue[s->n++] = session_id;
		s->stats.failures += full;
	}
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (full)
		log_warnx("analysis.drop session=%lld why=\"queue full\"", (long long)session_id);
}

void
schedule_get_stats(struct schedule *s, struct schedule_stats *out)
{
	pthread_mutex_lock(&s->lock);
	*out = s->stats;
	out->queued = s->n;
	pthread_mutex_unlock(&s->lock);
}
