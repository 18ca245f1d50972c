/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/analysis/schedule.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uthash.h>
#include <utlist.h>

#include "daemon/analysis/chrony.h"
#include "daemon/analysis/imported.h"
#include "narrows/provoked.h"
#include "narrows/log.h"
#include "narrows/resultdoc.h"
#include "narrows/routehist.h"
#include "narrows/clock.h"
#include "narrows/condwait.h"
#include "narrows/err.h"
#include "narrows/fairq.h"

enum {
	QUEUE_MAX = 100000,
	OWNERS_MAX = 1000,
	STOP_S = 2,    /* complete sessions are judged for so long after a stop */
	ABANDON_S = 4, /* a stop waits so long for the session in hand */
	OUTCOMES_MAX = 256,
	CLOCK_EVERY_S = 16,
	AGAIN_S = 1, /* pause after an analysis failed for lack of disk or memory */
	TRIES_MAX = 60,
	ROUTES_MAX = 2000,
	ROUTE_TRIES_MAX = 10, /* looks for a result on its way to the file */
	TESTS_MAX = 200,      /* new active tests of a look */
	OF_TEST_MAX = 64,     /* sessions that a test has judged anew */
	REST_FACTOR = 4       /* open sessions take at most a fifth of the thread's time */
};

/* A session in a queue. */
struct waiting {
	int64_t session_id; /* hash key */
	char *owner;
	bool is_over; /* in the queue `over`, else in `open` */
	struct fairq_item item;
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

/* Work of the thread. */
struct job {
	enum { JOB_STOP, JOB_CLOCK, JOB_JUDGE, JOB_LOOK, JOB_ROUTE } kind;
	int64_t session_id; /* of JOB_JUDGE and JOB_LOOK, like the owner, which is the job's */
	char *owner;
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
	struct fairrate *log_rate;  /* of lines that hosts provoke */
	struct stale_route *routes; /* oldest first; of the analysis thread alone */
	size_t n_routes;
	int64_t test_id; /* of the newest active test seen; of the analysis thread alone */
	bool test_id_read;
	pthread_t thread;

	/* The lock guards the fields below; no other lock is taken and no work done under it. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct waiting *waiting;    /* hash by session id of both queues */
	struct fairq *over, *open;  /* complete sessions; open sessions; cost in seconds */
	int64_t rest_until_mono_ns; /* open sessions wait until then */
	/* sessions without an answer, and where the next goes; 0: no session */
	int64_t undecided[SCHEDULE_UNDECIDED_MAX];
	size_t next_undecided;
	int64_t stop_by_mono_ns; /* 0 until the box stops */
	bool ended;              /* the thread is at its end */
	struct schedule_stats stats;
	int64_t busy_since_mono_ns; /* 0: the thread waits */
	int64_t begun_mono_ns;      /* of the thread */
	int64_t clock_seen_mono_ns; /* when the clock was synchronised last; 0: never */
	struct session_outcome outcomes[OUTCOMES_MAX]; /* a ring */
	uint64_t n_outcomes, n_taken;
	struct nw_active_test *tests; /* new ones, TESTS_MAX at most; without details */
	size_t n_tests;
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
			t->session_id = session_id != 0 ? session_id : t->session_id;
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

static const char *
or_empty(const char *text)
{
	return text != NULL ? text : "";
}

/* Cuts between characters. */
static void
sentence_copy(char out[BEHAVIOUR_SENTENCE_BYTES], const char *sentence)
{
	size_t len = strlen(sentence);

	if (len >= BEHAVIOUR_SENTENCE_BYTES)
		for (len = BEHAVIOUR_SENTENCE_BYTES - 1;
		     len > 0 && ((unsigned char)sentence[len] & 0xC0) == 0x80; len--)
			continue;
	memcpy(out, sentence, len);
	out[len] = '\0';
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
		.usual_bytes_per_s = o->usual * o->bytes_per_s,
		.is_final = o->is_final };
	if (o->is_final && o->question != NULL)
		out->question = *o->question;
	snprintf(out->confidence, sizeof(out->confidence), "%s", or_empty(o->confidence));
	sentence_copy(out->sentence, or_empty(o->sentence));
	snprintf(out->stage, sizeof(out->stage), "%s", or_empty(o->stage));
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
session_analyse(struct schedule *s, int64_t session_id, const char *owner)
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
		provoked_warnx(&s->log_rate, owner, "analysis.fail session=%lld why=\"%s\"",
		    (long long)session_id, nw_strerror(rc));
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
		provoked_warnx(&s->log_rate, owner, "analysis.fail session=%lld why=\"%s\"",
		    (long long)session_id, nw_strerror(rc));
	else
		route_touch(s, outcome.route, outcome.program, session_id);
	if (rc == NW_OK)
		provoked_info(&s->log_rate, owner,
		    "analysis.done session=%lld stage=%s took_ms=%.1f", (long long)session_id,
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

/* --- active tests that came --- */

static int
on_provider(void *arg, const char *owner, const char *provider, uint64_t stored_seq)
{
	struct schedule *s = arg;

	if (strcmp(owner, TESTS_OWNER) == 0 && strcmp(provider, TESTS_PROVIDER) == 0)
		s->test_id = (int64_t)stored_seq;
	return 0;
}

/* A session is judged anew, with a test that its analysis did not have. */
static int
on_session_of_test(void *arg, int64_t session_id, const char *owner)
{
	struct schedule *s = arg;
	struct nw_batch *b = nw_batch_new();
	int rc = b == NULL ? NW_ENOMEM
			   : nw_batch_keep_result(b, session_id, nw_wall_ns(),
				 "an active test of the path came after the verdict");

	if (rc < 0)
		nw_batch_free(b);
	else if ((rc = batch_submit(s, b)) == NW_OK)
		schedule_push(s, session_id, owner, true);
	return rc;
}

struct new_tests {
	struct nw_active_test *list;
	size_t n;
};

static int
on_new_test(void *arg, const struct nw_active_test *t)
{
	struct new_tests *to = arg;

	if (to->n == 0)
		to->list = xcalloc(TESTS_MAX, sizeof(*to->list));
	to->list[to->n] = *t;
	to->list[to->n++].details = NULL; /* on loan */
	return 0;
}

/* Reads what came since the last look, and leaves the tests to schedule_tests(). */
static void
tests_look(struct schedule *s)
{
	struct new_tests new = { 0 };
	bool waits;
	size_t i;

	pthread_mutex_lock(&s->lock);
	waits = s->n_tests > 0;
	pthread_mutex_unlock(&s->lock);
	if (!s->test_id_read)
		s->test_id_read = store_providers(s->reader, on_provider, s) == NW_OK;
	if (waits || !s->test_id_read) /* without the number, tests would be handed over again */
		return;
	if (store_tests_after(s->reader, s->test_id, TESTS_MAX, on_new_test, &new) < 0)
		new.n = 0;
	for (i = 0; i < new.n; i++) {
		(void)analysis_sessions_of_test(
		    s->reader, &new.list[i], OF_TEST_MAX, on_session_of_test, s);
		s->test_id = new.list[i].id;
	}
	if (new.n == 0) {
		free(new.list);
		return;
	}
	pthread_mutex_lock(&s->lock);
	s->tests = new.list;
	s->n_tests = new.n;
	pthread_mutex_unlock(&s->lock);
}

void
schedule_tests(struct schedule *s, void (*fn)(void *arg, const struct nw_active_test *t), void *arg)
{
	struct new_tests new;
	size_t i;

	pthread_mutex_lock(&s->lock);
	new = (struct new_tests){ s->tests, s->n_tests };
	s->tests = NULL;
	s->n_tests = 0;
	pthread_mutex_unlock(&s->lock);
	for (i = 0; i < new.n; i++)
		fn(arg, &new.list[i]);
	free(new.list);
}

/* --- the queues --- */

static struct fairq *
queue_of(struct schedule *s, const struct waiting *w)
{
	return w->is_over ? s->over : s->open;
}

/* Frees a session that is in no queue any more. */
static void
waiting_free(struct schedule *s, struct waiting *w)
{
	HASH_DEL(s->waiting, w);
	free(w->owner);
	free(w);
}

/* Takes the session whose owner has had the least of the thread's time. */
static void
queue_take(struct schedule *s, struct fairq *q, struct job *job)
{
	struct waiting *w = fairq_of(fairq_take(q), struct waiting, item);

	job->session_id = w->session_id;
	job->owner = xstrdup(w->owner);
	waiting_free(s, w);
}

/* When a job without a new session is due. */
static int64_t
next_due(const struct schedule *s, int64_t clock_at_mono_ns)
{
	int64_t due = clock_at_mono_ns;

	if (fairq_count(s->open) > 0 && s->rest_until_mono_ns < due)
		due = s->rest_until_mono_ns;
	if (s->routes != NULL && s->routes->due_mono_ns < due)
		due = s->routes->due_mono_ns;
	return due;
}

/* Whether the thread ends now: at a stop, complete sessions have some seconds. The rest is judged
 * at the next start. */
static bool
is_end(const struct schedule *s, int64_t now_mono_ns)
{
	return s->stop_by_mono_ns != 0 &&
	    (fairq_count(s->over) == 0 || now_mono_ns >= s->stop_by_mono_ns);
}

/* Waits for a job. Complete sessions come before open ones. */
static void
job_take(struct schedule *s, int64_t clock_at_mono_ns, struct job *job)
{
	int64_t now;

	*job = (struct job){ .kind = JOB_STOP };
	pthread_mutex_lock(&s->lock);
	s->busy_since_mono_ns = 0;
	for (;;) {
		now = nw_mono_ns();
		if (is_end(s, now))
			break;
		if (now >= clock_at_mono_ns && s->stop_by_mono_ns == 0)
			job->kind = JOB_CLOCK;
		else if (fairq_count(s->over) > 0)
			job->kind = JOB_JUDGE;
		else if (fairq_count(s->open) > 0 && now >= s->rest_until_mono_ns)
			job->kind = JOB_LOOK;
		else if (s->routes != NULL && now >= s->routes->due_mono_ns)
			job->kind = JOB_ROUTE;
		if (job->kind != JOB_STOP)
			break;
		(void)nw_cond_wait_until(&s->wake, &s->lock, next_due(s, clock_at_mono_ns));
	}
	if (job->kind == JOB_JUDGE || job->kind == JOB_LOOK)
		queue_take(s, job->kind == JOB_JUDGE ? s->over : s->open, job);
	s->busy_since_mono_ns = job->kind != JOB_CLOCK ? now : 0;
	s->stats.busy_session_id = job->session_id;
	pthread_mutex_unlock(&s->lock);
}

/*
 * Returns NW_EFULL if the owner's share of the queue is full: the session is judged at the box's
 * next start. So is a session of another owner that loses its place: *displaced_id, else 0. A
 * session that is complete now moves to the other queue.
 */
static int
waiting_put(
    struct schedule *s, int64_t session_id, const char *owner, bool is_over, int64_t *displaced_id)
{
	struct fairq_item *displaced;
	struct waiting *w;
	int rc;

	*displaced_id = 0;
	HASH_FIND(hh, s->waiting, &session_id, sizeof(session_id), w);
	if (w != NULL && (w->is_over || !is_over))
		return NW_OK;
	if (w != NULL) {
		fairq_remove(s->open, &w->item);
	} else {
		w = xcalloc(1, sizeof(*w));
		w->session_id = session_id;
		w->owner = xstrdup(owner);
		HASH_ADD(hh, s->waiting, session_id, sizeof(w->session_id), w);
	}
	w->is_over = is_over;
	if ((rc = fairq_put(queue_of(s, w), owner, &w->item, &displaced)) < 0) {
		waiting_free(s, w);
	} else if (displaced != NULL) {
		w = fairq_of(displaced, struct waiting, item);
		*displaced_id = w->session_id;
		waiting_free(s, w);
	}
	return rc;
}

/* A complete session whose data could not be read, or not be judged for lack of memory, is tried
 * again: the disk may have had a bad moment. Waits, so that a disk that stays bad costs little. */
static void
judge_again(struct schedule *s, const struct job *job, int rc)
{
	int64_t until_mono_ns = nw_mono_ns() + AGAIN_S * INT64_C(1000000000), displaced_id;

	if ((rc != NW_EIO && rc != NW_ENOMEM) || s->tries++ == TRIES_MAX) {
		s->tries = 0;
		return;
	}
	pthread_mutex_lock(&s->lock);
	while (s->stop_by_mono_ns == 0 && nw_cond_wait_until(&s->wake, &s->lock, until_mono_ns))
		continue;
	if (s->stop_by_mono_ns == 0)
		(void)waiting_put(s, job->session_id, job->owner, true, &displaced_id);
	pthread_mutex_unlock(&s->lock);
}

static void
job_charge(struct schedule *s, const struct job *job, int64_t took_ns)
{
	pthread_mutex_lock(&s->lock);
	fairq_charge(
	    job->kind == JOB_JUDGE ? s->over : s->open, job->owner, (double)took_ns * 1e-9);
	if (job->kind == JOB_LOOK)
		s->rest_until_mono_ns = nw_mono_ns() + REST_FACTOR * took_ns;
	pthread_mutex_unlock(&s->lock);
}

static int
on_unjudged(void *arg, int64_t session_id, const char *owner)
{
	schedule_push(arg, session_id, owner, true);
	return 0;
}

static void *
schedule_thread(void *arg)
{
	struct schedule *s = arg;
	int64_t clock_at = nw_mono_ns(), begin;
	struct job job;
	int rc;

	(void)pthread_setname_np(pthread_self(), "analysis");
	(void)store_routes_lacking(s->reader, ROUTES_MAX, on_lacking, s);
	for (job_take(s, clock_at, &job); job.kind != JOB_STOP; job_take(s, clock_at, &job)) {
		begin = nw_mono_ns();
		if (job.kind == JOB_CLOCK) {
			clock_look(s);
			(void)store_routes_stale(s->reader, ROUTES_MAX, on_lacking, s);
			tests_look(s);
			clock_at = begin + CLOCK_EVERY_S * INT64_C(1000000000);
			continue;
		}
		if (job.kind == JOB_ROUTE) {
			route_work(s);
			continue;
		}
		rc = session_analyse(s, job.session_id, job.owner);
		job_charge(s, &job, nw_mono_ns() - begin);
		if (job.kind == JOB_JUDGE)
			judge_again(s, &job, rc);
		free(job.owner);
	}
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int
schedule_start(struct store *st, const char *store_path, const struct analysis_params *params,
    int64_t first_run_id, int64_t linger_ns, struct schedule **out, char why[STORE_WHY_BYTES])
{
	static const struct fairq_limits limits = { QUEUE_MAX, QUEUE_MAX, OWNERS_MAX };
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
	s->params.memo = analysis_memo_new();
	if ((s->over = fairq_new(&limits)) == NULL || (s->open = fairq_new(&limits)) == NULL)
		fatalx("analysis.queue why=\"out of memory\"");
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	(void)store_sessions_unjudged(s->reader, linger_ns, QUEUE_MAX, on_unjudged, s);
	if (pthread_create(&s->thread, NULL, schedule_thread, s) != 0)
		fatal("analysis.thread");
	*out = s;
	return NW_OK;
}

/* Waits for the end of the thread, and returns false if the thread is still busy with a session. */
static bool
thread_await(struct schedule *s)
{
	int64_t until_mono_ns;
	bool ended;

	pthread_mutex_lock(&s->lock);
	s->stop_by_mono_ns = nw_mono_ns() + STOP_S * INT64_C(1000000000);
	until_mono_ns = nw_mono_ns() + ABANDON_S * INT64_C(1000000000);
	pthread_cond_broadcast(&s->wake);
	while (!s->ended && nw_cond_wait_until(&s->wake, &s->lock, until_mono_ns))
		continue;
	ended = s->ended;
	pthread_mutex_unlock(&s->lock);
	return ended;
}

int
schedule_stop(struct schedule *s)
{
	struct waiting *w, *tmp;

	if (s == NULL)
		return NW_OK;
	if (!thread_await(s)) {
		log_warnx("analysis.abandon session=%lld note=\"judged at the next start\"",
		    (long long)s->stats.busy_session_id);
		return NW_EFULL;
	}
	pthread_join(s->thread, NULL);
	if (fairq_count(s->over) > 0)
		log_info("analysis.leave sessions=%zu note=\"judged at the next start\"",
		    fairq_count(s->over));
	store_reader_close(s->reader);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	while (s->routes != NULL)
		route_drop(s, s->routes);
	analysis_memo_free(s->params.memo);
	fairrate_free(s->log_rate);
	free(s->tests);
	fairq_free(s->over);
	fairq_free(s->open);
	HASH_ITER (hh, s->waiting, w, tmp)
		waiting_free(s, w);
	free(s);
	return NW_OK;
}

void
schedule_push(struct schedule *s, int64_t session_id, const char *owner, bool is_over)
{
	int64_t displaced_id;
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = waiting_put(s, session_id, owner, is_over, &displaced_id);
	s->stats.failures += rc < 0 || displaced_id != 0;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (rc < 0 || displaced_id != 0)
		log_warnx("analysis.wait session=%lld why=\"queue full\" note=\"judged at the next "
			  "start\"",
		    (long long)(rc < 0 ? session_id : displaced_id));
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
	out->queued = fairq_count(s->over) + fairq_count(s->open);
	out->busy_ns = s->busy_since_mono_ns != 0 ? now - s->busy_since_mono_ns : 0;
	since = s->clock_seen_mono_ns != 0 || !out->clock_known ? s->clock_seen_mono_ns
								: s->begun_mono_ns;
	out->clock_lost_ns = since != 0 && !out->clock_synchronised ? now - since : 0;
	pthread_mutex_unlock(&s->lock);
}
