/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/keepjob.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/diets.h"
#include "narrows/clock.h"
#include "narrows/condwait.h"
#include "narrows/err.h"
#include "narrows/diet.h"
#include "narrows/experiments.h"
#include "narrows/keeplist.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"

enum { NICE = 10, FULL_TRIES = 1000 };
static const int64_t SECOND_NS = 1000000000;
/* A box has other work right after its start. */
static const int64_t START_MAX_NS = INT64_C(300) * 1000000000;
static const int64_t PROGRESS_EVERY_NS = INT64_C(60) * 1000000000;

struct keepjob {
	struct store *store;
	struct store_reader *reader;
	struct reduction_params params;
	struct keepjob_opts opts;
	int64_t next_progress_mono_ns;
	pthread_t thread;

	/* The lock guards `stopping` alone. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping;
};

static bool
is_stopping(struct keepjob *j)
{
	bool stopping;

	pthread_mutex_lock(&j->lock);
	stopping = j->stopping;
	pthread_mutex_unlock(&j->lock);
	return stopping;
}

/* Waits; false if the job is to end. */
static bool
pause_for(struct keepjob *j, int64_t ns)
{
	int64_t end = nw_mono_ns() + ns;
	bool stopping;

	pthread_mutex_lock(&j->lock);
	while (!j->stopping && nw_mono_ns() < end)
		(void)nw_cond_wait_until(&j->wake, &j->lock, end);
	stopping = j->stopping;
	pthread_mutex_unlock(&j->lock);
	return !stopping;
}

static bool
on_progress(void *arg, size_t done, size_t all)
{
	struct keepjob *j = arg;
	int64_t now = nw_mono_ns();

	if (now >= j->next_progress_mono_ns) {
		j->next_progress_mono_ns = now + PROGRESS_EVERY_NS;
		log_info("keep.progress done=%zu of=%zu", done, all);
	}
	return !is_stopping(j);
}

/* Waits while the store's queue is full. The batch is the store's, or gone. */
static int
batch_write(struct keepjob *j, struct nw_batch *b)
{
	int rc = NW_EFULL, tries;

	for (tries = 0; tries < FULL_TRIES; tries++) {
		if ((rc = store_submit(j->store, b)) != NW_EFULL)
			return rc;
		if (!pause_for(j, SECOND_NS / 100))
			break;
	}
	nw_batch_free(b);
	return rc;
}

static int
list_write(struct keepjob *j, const struct nw_keeplist_rec *rec)
{
	struct nw_batch *b = nw_batch_new();
	int rc;

	if (b == NULL)
		return NW_ENOMEM;
	if ((rc = nw_batch_keeplist(b, rec)) == NW_OK)
		return batch_write(j, b);
	nw_batch_free(b);
	return rc;
}

/* The consequences of a run's lists for diets: proposals, and diets no longer harmless. */
static int
diets_make(struct keepjob *j, struct diet_book *book)
{
	struct nw_batch *b = nw_batch_new();
	int rc = b != NULL ? diet_book_finish(book, j->reader, b) : NW_ENOMEM;

	if (rc < 0)
		nw_batch_free(b);
	else
		rc = batch_write(j, b);
	if (rc == NW_OK)
		rc = store_sync(j->store);
	return rc == NW_OK ? diets_load(j->opts.diets, j->reader, nw_wall_ns()) : rc;
}

static int
list_make(
    struct keepjob *j, const struct keeplist_groups *groups, size_t which, struct diet_book *book)
{
	const struct nw_progress_hook hook = { on_progress, j };
	const char *program = groups->group[which].program;
	struct nw_keeplist_rec rec;
	int rc;

	j->next_progress_mono_ns = nw_mono_ns() + PROGRESS_EVERY_NS;
	rc = keeplist_make(j->reader, groups, which, &j->params, &hook, book, &rec);
	if (rc == NW_OK) {
		log_info("keep.list route=\"%s\" program=\"%s\" headline=%d took_ms=%" PRId64,
		    rec.route, rec.program, rec.headline, rec.took_ns / 1000000);
		rc = list_write(j, &rec);
		keeplist_clear(&rec);
	}
	if (rc < 0 && rc != NW_ENOTFOUND && rc != NW_ECLOSED)
		log_warnx("keep.fail route=\"%s\" program=\"%s\" why=\"%s\"",
		    groups->group[which].route, program != NULL ? program : "", nw_strerror(rc));
	return rc;
}

static void
lists_make(struct keepjob *j)
{
	const struct diet_params dp = { j->opts.diet_after_ns, j->opts.diet_interval_ns,
		nw_wall_ns() };
	struct keeplist_groups groups;
	struct diet_book *book;
	size_t i;
	int rc = keeplist_groups_find(j->reader, nw_wall_ns() - j->params.history_ns, &groups);

	if (rc < 0) {
		log_warnx("keep.fail why=\"%s\"", nw_strerror(rc));
		return;
	}
	if (groups.n_more > 0)
		log_warnx("keep.left_out sessions=%zu note=\"of routes beyond the first %d\"",
		    groups.n_more, KEEPLIST_GROUPS_MAX);
	book = diet_book_new(j->reader, &dp);
	for (i = 0; i < groups.n && !is_stopping(j); i++)
		(void)list_make(j, &groups, i, book);
	if (book != NULL && !is_stopping(j) && (rc = diets_make(j, book)) < 0)
		log_warnx("keep.diet why=\"%s\"", nw_strerror(rc));
	diet_book_free(book);
	keeplist_groups_clear(&groups);
}

/* The natural experiments of the fleet. */
static void
fleet_write(struct keepjob *j)
{
	const int64_t now = nw_wall_ns();
	struct nw_batch *b = NULL;
	char *json = NULL;
	int rc = experiments_make(j->reader, now, &json);

	if (rc == NW_OK &&
	    ((b = nw_batch_new()) == NULL || nw_batch_experiments(b, now, json) < 0)) {
		nw_batch_free(b);
		rc = NW_ENOMEM;
	}
	if (rc == NW_OK)
		rc = batch_write(j, b);
	if (rc < 0 && rc != NW_ECLOSED)
		log_warnx("keep.experiments why=\"%s\"", nw_strerror(rc));
	free(json);
}

/* --- when --- */

static int
on_newest(void *arg, const struct nw_keeplist_rec *rec)
{
	*(int64_t *)arg = rec->made_wall_ns;
	return 1;
}

/* The first run comes a while after the start, or when the newest list is old. */
static int64_t
first_pause(struct keepjob *j)
{
	int64_t made = 0, due, soon = j->opts.every_ns / 10;

	soon = soon < START_MAX_NS ? soon : START_MAX_NS;
	if (store_keeplists(j->reader, on_newest, &made) < 0 || made == 0)
		return soon;
	due = made + j->opts.every_ns - nw_wall_ns();
	return due > j->opts.every_ns ? soon : due > soon ? due : soon;
}

static void *
keepjob_thread(void *arg)
{
	struct keepjob *j = arg;
	int64_t pause_ns = first_pause(j);

	/* Linux gives every thread a priority of its own. */
	if (setpriority(PRIO_PROCESS, (id_t)gettid(), NICE) != 0)
		log_warn("keep.nice");
	while (pause_for(j, pause_ns)) {
		lists_make(j);
		if (!is_stopping(j))
			fleet_write(j);
		pause_ns = j->opts.every_ns;
	}
	return NULL;
}

int
keepjob_start(struct store *st, const char *store_path, const struct keepjob_opts *opts,
    struct keepjob **out, char why[STORE_WHY_BYTES])
{
	struct keepjob *j;
	int rc;

	*out = NULL;
	if (opts->every_ns == 0)
		return NW_OK;
	j = xcalloc(1, sizeof(*j));
	j->store = st;
	j->params = *opts->params;
	j->opts = *opts;
	if ((rc = store_reader_open(store_path, &j->reader, why)) < 0) {
		free(j);
		return rc;
	}
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->wake, NULL);
	if (pthread_create(&j->thread, NULL, keepjob_thread, j) != 0)
		fatal("keep.thread");
	*out = j;
	return NW_OK;
}

void
keepjob_stop(struct keepjob *j)
{
	if (j == NULL)
		return;
	pthread_mutex_lock(&j->lock);
	j->stopping = true;
	pthread_cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
	pthread_join(j->thread, NULL);
	store_reader_close(j->reader);
	pthread_cond_destroy(&j->wake);
	pthread_mutex_destroy(&j->lock);
	free(j);
}
