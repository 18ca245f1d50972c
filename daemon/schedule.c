/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/schedule.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uthash.h>
#include <utlist.h>

#include "daemon/chrony.h"
#include "daemon/imported.h"
#include "narrows/log.h"
#include "narrows/resultdoc.h"
#include "narrows/routehist.h"
#include "narrows/clock.h"
#include "narrows/condwait.h"
#include "narrows/err.h"

enum {
	QUEUE_MAX = 100000,
	OUTCOMES_MAX = 256,
	CLOCK_EVERY_S = 16,
	AGAIN_S = 1, /* pause after an analysis failed for lack of disk or memory */
	TRIES_MAX = 60,
	ROUTES_MAX = 2000,
	ROUTE_TRIES_MAX = 10, /* looks for a result on its way to the file */
	REST_FACTOR = 4       /* open sessions take at most a fifth of the thread's time */
};

/* A session in a queue. */
struct waiting {
	int64_t session_id; /* hash key */
	bool is_over;       /* in the queue `over`, else in `open` */
	struct waiting *prev, *next;
	UT_hash_handle hh;
};

/* A route with a history to be made anew. */
struct stale_route {
	char *route, *program; /* program may be NULL */
	int64_t session_id;    /* the newest result of the route; 0: unknown */
	int64_t due_mono_ns;
	unsigned tries;
	struct stale_route *prev, *next;
};

struct queue {
	struct waiting *first;
	size_t n;
};

struct schedule {
	struct store *store;
	struct store_reader *reader; /* of the analysis thread */
	struct analysis_params params;
	int64_t next_run_id;
	struct {
		int64_t session_id, run_id;
	} last;
	unsigned tries;             /* of failed analyses in a row */
	struct stale_route *routes; /* oldest first; of the analysis thread alone */
	size_t n_routes;
	pthread_t thread;

	/* The lock guards the fields below; no other lock is taken and no work done under it. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct waiting *waiting;    /* hash by session id of both queues */
	struct queue over, open;    /* complete sessions; open sessions */
	int64_t rest_until_mono_ns; /* open sessions wait until then */
	/* sessions without an answer, and where the next goes; 0: no session */
	int64_t undecided[SCHEDULE_UNDECIDED_MAX];
	size_t next_undecided;
	bool stopping;
	struct schedule_stats stats;
	int64_t busy_since_mono_ns; /* 0: the thread waits */
	int64_t begun_mono_ns;      /* of the thread */
	int64_t clock_seen_mono_ns; /* when the clock was synchronised last; 0: never */
	struct session_outcome outcomes[OUTCOMES_MAX]; /* a ring */
	uint64_t n_outcomes, n_taken;
};

/* Waits while the store's queue is full: the queue empties by itself. */
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
result_write(struct schedule *s, int64_t session_id, const struct analysis_outcome *o,
    const struct result_run *run, const char *kind, const char *json)
{
	struct nw_run_rec r = { .id = run->id,
		.session_id = session_id,
		.kind = kind,
		.started_wall_ns = run->started_wall_ns,
		.took_ns = run->took_ns,
		.version = NW_VERSION,
		.outcome = "ok" };
	struct nw_result_rec res = { .session_id = session_id,
		.run_id = run->id,
		.json = json,
		.route = o->route,
		.program = o->program,
		.stage = o->stage,
		.confidence = o->confidence,
		.sentence = o->sentence,
		.effect = o->effect,
		.usual = o->usual,
		.label = o->label,
		.exit_status = o->exit_status,
		.bytes = o->bytes,
		.bytes_per_s = o->bytes_per_s,
		.start_wall_ns = o->start_wall_ns,
		.duration_ns = (int64_t)(o->duration_s * 1e9) };
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
on_result_before(void *arg, const struct nw_session_rec *rec, const struct nw_result_rec *result)
{
	int64_t *run_id = arg;

	(void)rec;
	*run_id = result != NULL ? result->run_id : 0;
	return 1;
}

struct runs {
	int64_t id; /* of the present result, 0 once that run turns out to be replaced */
	struct result_before *before;
	size_t n_before;
};

static int
on_run(void *arg, const struct nw_run_rec *rec)
{
	struct runs *runs = arg;
	struct result_before *b;

	if (rec->replaced_wall_ns == 0)
		return 0;
	if (rec->id == runs->id)
		runs->id = 0;
	runs->before = xreallocarray(runs->before, runs->n_before + 1, sizeof(*runs->before));
	b = &runs->before[runs->n_before++];
	*b = (struct result_before){ .run_id = rec->id,
		.replaced_wall_ns = rec->replaced_wall_ns,
		.why = xstrdup(rec->why),
		.stage = xstrdup(rec->stage),
		.sentence = xstrdup(rec->sentence),
		.bytes_per_s = rec->bytes_per_s };
	return 0;
}

static void
runs_clear(struct runs *runs)
{
	struct result_before *b;

	for (b = runs->before; b < runs->before + runs->n_before; b++) {
		free(b->why);
		free(b->stage);
		free(b->sentence);
	}
	free(runs->before);
}

/*
 * The analyses of an open session share a run id, or runs would pile up. If a session opened again,
 * the run of the replaced verdict keeps its id for itself.
 */
static void
runs_read(struct schedule *s, int64_t session_id, struct runs *runs)
{
	*runs = (struct runs){ 0 };
	if (session_id == s->last.session_id)
		runs->id = s->last.run_id; /* the run may still be on its way to the file */
	else if (store_session_get(s->reader, session_id, on_result_before, &runs->id) < 0)
		runs->id = 0;
	if (store_runs(s->reader, session_id, on_run, runs) < 0 || runs->id == 0)
		runs->id = s->next_run_id++;
	s->last.session_id = session_id;
	s->last.run_id = runs->id;
}

/* --- routes --- */

static bool
is_same(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* Waits a second: many results in a row cost a single history. */
static void
route_touch(struct schedule *s, const char *route, const char *program, int64_t session_id)
{
	struct stale_route *t;

	DL_FOREACH (s->routes, t)
		if (is_same(t->route, route) && is_same(t->program, program)) {
			t->session_id = session_id;
			return;
		}
	if (route == NULL || s->n_routes == ROUTES_MAX)
		return;
	t = xcalloc(1, sizeof(*t));
	t->route = xstrdup(route);
	t->program = xstrdup(program);
	t->session_id = session_id;
	t->due_mono_ns = nw_mono_ns() + INT64_C(1000000000);
	DL_APPEND(s->routes, t);
	s->n_routes++;
}

static void
route_drop(struct schedule *s, struct stale_route *t)
{
	DL_DELETE(s->routes, t);
	s->n_routes--;
	free(t->route);
	free(t->program);
	free(t);
}

static int
route_write(struct schedule *s, const struct nw_route_rec *rec)
{
	struct nw_batch *b = nw_batch_new();

	if (b == NULL)
		return NW_ENOMEM;
	if (nw_batch_route(b, rec) < 0) {
		nw_batch_free(b);
		return NW_ENOMEM;
	}
	return batch_submit(s, b);
}

static bool
result_has_come(struct schedule *s, const struct stale_route *t)
{
	int64_t run_id = 0;

	if (t->session_id == 0 || t->tries >= ROUTE_TRIES_MAX)
		return true;
	return store_session_get(s->reader, t->session_id, on_result_before, &run_id) < 0 ||
	    run_id != 0;
}

/* Makes the history of the route with the longest wait. */
static void
route_work(struct schedule *s)
{
	struct stale_route *t = s->routes;
	struct nw_route_rec rec;
	int rc;

	if (!result_has_come(s, t)) {
		t->tries++;
		t->due_mono_ns = nw_mono_ns() + INT64_C(1000000000);
		DL_DELETE(s->routes, t);
		DL_APPEND(s->routes, t);
		return;
	}
	rc = routehist_make(s->reader, t->route, t->program, nw_wall_ns(), &rec);
	if (rc == NW_OK) {
		rc = route_write(s, &rec);
		routehist_clear(&rec);
	}
	if (rc < 0 && rc != NW_ENOTFOUND)
		log_warnx("route.fail why=\"%s\"", nw_strerror(rc));
	route_drop(s, t);
}

static int
on_lacking(void *arg, const struct nw_route_rec *rec)
{
	route_touch(arg, rec->route, rec->program, 0);
	return 0;
}

static void
undecided_note(struct schedule *s, int64_t session_id, bool undecided)
{
	size_t i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < SCHEDULE_UNDECIDED_MAX && s->undecided[i] != session_id; i++)
		continue;
	if (i < SCHEDULE_UNDECIDED_MAX && !undecided) {
		s->undecided[i] = 0;
	} else if (i == SCHEDULE_UNDECIDED_MAX && undecided) {
		s->undecided[s->next_undecided] = session_id;
		s->next_undecided = (s->next_undecided + 1) % SCHEDULE_UNDECIDED_MAX;
	}
	pthread_mutex_unlock(&s->lock);
}

static void
outcome_note(struct schedule *s, int64_t session_id, const struct analysis_outcome *o)
{
	struct session_outcome *out;

	pthread_mutex_lock(&s->lock);
	out = &s->outcomes[s->n_outcomes++ % OUTCOMES_MAX];
	*out = (struct session_outcome){ .session_id = session_id,
		.bytes = o->bytes,
		.duration_s = o->duration_s,
		.usual_bytes_per_s = o->usual * o->bytes_per_s };
	snprintf(out->stage, sizeof(out->stage), "%s", o->stage != NULL ? o->stage : "");
	pthread_mutex_unlock(&s->lock);
}

void
schedule_outcomes(
    struct schedule *s, void (*fn)(void *arg, const struct session_outcome *o), void *arg)
{
	struct session_outcome one;

	for (;;) {
		pthread_mutex_lock(&s->lock);
		if (s->n_outcomes - s->n_taken > OUTCOMES_MAX)
			s->n_taken = s->n_outcomes - OUTCOMES_MAX;
		if (s->n_taken == s->n_outcomes) {
			pthread_mutex_unlock(&s->lock);
			return;
		}
		one = s->outcomes[s->n_taken++ % OUTCOMES_MAX];
		pthread_mutex_unlock(&s->lock);
		fn(arg, &one);
	}
}

/* Keeps a verdict as another box made it. NW_ENOTFOUND: the session is no imported report. */
static int
session_take_imported(struct schedule *s, int64_t session_id, struct result_run *run)
{
	struct analysis_outcome outcome;
	char *json;
	json_t *doc;
	int rc = imported_read(s->reader, session_id, run->started_wall_ns, &doc);

	if (rc < 0)
		return rc;
	imported_outcome(doc, &outcome);
	json = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));
	rc =
	    json != NULL ? result_write(s, session_id, &outcome, run, "imported", json) : NW_ENOMEM;
	if (rc == NW_OK)
		log_info("imported.done session=%lld", (long long)session_id);
	else
		log_warnx("imported.fail session=%lld why=\"%s\"", (long long)session_id,
		    nw_strerror(rc));
	free(json);
	json_decref(doc);
	return rc;
}

static int
session_analyse(struct schedule *s, int64_t session_id)
{
	struct result_run run = { .started_wall_ns = nw_wall_ns(), .params = s->params };
	struct runs runs;
	int64_t begin = nw_mono_ns();
	struct analysis_outcome outcome;
	struct analysis *a = NULL;
	char *json = NULL;
	int rc;

	runs_read(s, session_id, &runs);
	run.id = runs.id;
	run.before = runs.before;
	run.n_before = runs.n_before;
	if ((rc = session_take_imported(s, session_id, &run)) != NW_ENOTFOUND)
		goto out;
	if ((rc = analysis_new(s->reader, session_id, &s->params, &a)) < 0) {
		log_warnx("analysis.fail session=%lld why=\"%s\"", (long long)session_id,
		    nw_strerror(rc));
		goto out;
	}
	analysis_outcome(a, &outcome);
	undecided_note(s, session_id, outcome.stage == NULL);
	outcome_note(s, session_id, &outcome);
	run.took_ns = nw_mono_ns() - begin;
	if ((json = resultdoc_build(a, &run)) == NULL)
		rc = NW_ENOMEM;
	else
		rc = result_write(s, session_id, &outcome, &run, "verdict", json);
	if (rc < 0)
		log_warnx("analysis.fail session=%lld why=\"%s\"", (long long)session_id,
		    nw_strerror(rc));
	else
		route_touch(s, outcome.route, outcome.program, session_id);
	if (rc == NW_OK)
		log_info("analysis.done session=%lld stage=%s took_ms=%.1f", (long long)session_id,
		    outcome.stage != NULL ? outcome.stage : "-", (double)run.took_ns * 1e-6);
out:
	analysis_free(a);
	runs_clear(&runs);
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
	if (known && t.synchronised)
		s->clock_seen_mono_ns = nw_mono_ns();
	s->stats.clock_known = known;
	s->stats.clock_synchronised = known && t.synchronised;
	s->stats.clock_offset_s = known ? t.offset_s : 0;
	s->stats.clock_bound_s = known ? t.bound_s : 0;
	pthread_mutex_unlock(&s->lock);
}

static struct queue *
queue_of(struct schedule *s, const struct waiting *w)
{
	return w->is_over ? &s->over : &s->open;
}

static void
queue_append(struct schedule *s, struct waiting *w)
{
	struct queue *q = queue_of(s, w);

	DL_APPEND(q->first, w);
	q->n++;
}

static void
queue_remove(struct schedule *s, struct waiting *w)
{
	struct queue *q = queue_of(s, w);

	DL_DELETE(q->first, w);
	q->n--;
}

/* Takes the oldest session of the queue. */
static int64_t
queue_take(struct schedule *s, struct queue *q)
{
	struct waiting *w = q->first;
	int64_t session_id = w->session_id;

	queue_remove(s, w);
	HASH_DEL(s->waiting, w);
	free(w);
	return session_id;
}

enum job { JOB_STOP, JOB_CLOCK, JOB_JUDGE, JOB_LOOK, JOB_ROUTE };

/* When a job without a new session is due. */
static int64_t
next_due(const struct schedule *s, int64_t clock_at_mono_ns)
{
	int64_t due = clock_at_mono_ns;

	if (s->open.n > 0 && s->rest_until_mono_ns < due)
		due = s->rest_until_mono_ns;
	if (s->routes != NULL && s->routes->due_mono_ns < due)
		due = s->routes->due_mono_ns;
	return due;
}

/* Waits for a job. Complete sessions come before open ones, and are still analysed when the box
 * stops. */
static enum job
job_take(struct schedule *s, int64_t clock_at_mono_ns, int64_t *session_id)
{
	enum job job = JOB_STOP;
	int64_t now;

	pthread_mutex_lock(&s->lock);
	s->busy_since_mono_ns = 0;
	for (;;) {
		now = nw_mono_ns();
		if (now >= clock_at_mono_ns && !s->stopping)
			job = JOB_CLOCK;
		else if (s->over.n > 0)
			job = JOB_JUDGE;
		else if (s->stopping)
			break;
		else if (s->open.n > 0 && now >= s->rest_until_mono_ns)
			job = JOB_LOOK;
		else if (s->routes != NULL && now >= s->routes->due_mono_ns)
			job = JOB_ROUTE;
		if (job != JOB_STOP)
			break;
		(void)nw_cond_wait_until(&s->wake, &s->lock, next_due(s, clock_at_mono_ns));
	}
	*session_id = 0;
	if (job == JOB_JUDGE || job == JOB_LOOK)
		*session_id = queue_take(s, job == JOB_JUDGE ? &s->over : &s->open);
	s->busy_since_mono_ns = job != JOB_CLOCK ? now : 0;
	s->stats.busy_session_id = *session_id;
	pthread_mutex_unlock(&s->lock);
	return job;
}

/* False if the queue is full. A session that is complete now moves to the other queue. */
static bool
waiting_put(struct schedule *s, int64_t session_id, bool is_over)
{
	struct waiting *w;

	HASH_FIND(hh, s->waiting, &session_id, sizeof(session_id), w);
	if (w != NULL && (w->is_over || !is_over))
		return true;
	if ((is_over ? &s->over : &s->open)->n == QUEUE_MAX)
		return false;
	if (w != NULL)
		queue_remove(s, w);
	else {
		w = xcalloc(1, sizeof(*w));
		w->session_id = session_id;
		HASH_ADD(hh, s->waiting, session_id, sizeof(w->session_id), w);
	}
	w->is_over = is_over;
	queue_append(s, w);
	return true;
}

/* A complete session whose data could not be read, or not be judged for lack of memory, is tried
 * again: the disk may have had a bad moment. Waits, so that a disk that stays bad costs little. */
static void
judge_again(struct schedule *s, int64_t session_id, int rc)
{
	int64_t until_mono_ns = nw_mono_ns() + AGAIN_S * INT64_C(1000000000);

	if ((rc != NW_EIO && rc != NW_ENOMEM) || s->tries++ == TRIES_MAX) {
		s->tries = 0;
		return;
	}
	pthread_mutex_lock(&s->lock);
	while (!s->stopping && nw_cond_wait_until(&s->wake, &s->lock, until_mono_ns))
		continue;
	if (!s->stopping)
		(void)waiting_put(s, session_id, true);
	pthread_mutex_unlock(&s->lock);
}

static void *
schedule_thread(void *arg)
{
	struct schedule *s = arg;
	int64_t clock_at = nw_mono_ns(), session_id = 0, begin, end;
	enum job job;
	int rc;

	(void)pthread_setname_np(pthread_self(), "analysis");
	(void)store_routes_lacking(s->reader, ROUTES_MAX, on_lacking, s);
	while ((job = job_take(s, clock_at, &session_id)) != JOB_STOP) {
		begin = nw_mono_ns();
		if (job == JOB_CLOCK) {
			clock_look(s);
			clock_at = begin + CLOCK_EVERY_S * INT64_C(1000000000);
			continue;
		}
		if (job == JOB_ROUTE) {
			route_work(s);
			continue;
		}
		rc = session_analyse(s, session_id);
		end = nw_mono_ns();
		if (job == JOB_JUDGE)
			judge_again(s, session_id, rc);
		if (job == JOB_LOOK)
			/* no lock: no other thread reads the time */
			s->rest_until_mono_ns = end + REST_FACTOR * (end - begin);
	}
	return NULL;
}

int
schedule_start(struct store *st, const char *store_path, const struct analysis_params *params,
    int64_t first_run_id, struct schedule **out, char why[STORE_WHY_BYTES])
{
	struct schedule *s = xcalloc(1, sizeof(*s));
	int rc;

	s->store = st;
	s->params = *params;
	s->begun_mono_ns = nw_mono_ns();
	s->next_run_id = first_run_id;
	if ((rc = store_reader_open(store_path, &s->reader, why)) < 0) {
		free(s);
		return rc;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
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
	while (s->routes != NULL)
		route_drop(s, s->routes);
	while (s->open.n > 0)
		(void)queue_take(s, &s->open);
	free(s);
}

void
schedule_push(struct schedule *s, int64_t session_id, bool is_over)
{
	bool added;

	pthread_mutex_lock(&s->lock);
	added = waiting_put(s, session_id, is_over);
	s->stats.failures += !added;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (!added)
		log_warnx("analysis.drop session=%lld why=\"queue full\"", (long long)session_id);
}

bool
schedule_is_undecided(struct schedule *s, int64_t session_id)
{
	size_t i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < SCHEDULE_UNDECIDED_MAX && s->undecided[i] != session_id; i++)
		continue;
	pthread_mutex_unlock(&s->lock);
	return i < SCHEDULE_UNDECIDED_MAX;
}

void
schedule_get_stats(struct schedule *s, struct schedule_stats *out)
{
	int64_t now = nw_mono_ns(), since;

	pthread_mutex_lock(&s->lock);
	*out = s->stats;
	out->queued = s->over.n + s->open.n;
	out->busy_ns = s->busy_since_mono_ns != 0 ? now - s->busy_since_mono_ns : 0;
	since = s->clock_seen_mono_ns != 0 || !out->clock_known ? s->clock_seen_mono_ns
								: s->begun_mono_ns;
	out->clock_lost_ns = since != 0 && !out->clock_synchronised ? now - since : 0;
	pthread_mutex_unlock(&s->lock);
}
