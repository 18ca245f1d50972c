/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store's front: a bounded queue into the writer thread, completions and one eventfd out of the
 * writer.
 *
 *	any thread --submit--> queue --writer thread: commit--> done list
 *	done list --eventfd--> one thread: callbacks
 *
 * One lock guards queue, done list and numbers; held for a few instructions and never while
 * SQLite works. The struct writer belongs to the writer thread alone between start and join.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/condwait.h"
#include "narrows/err.h"
#include "store/write/writer.h"

enum {
	GROUP_MAX_BYTES = 64 << 20, /* of one transaction */
	/* at a smaller ceiling a quarter for the WAL has room for no transaction */
	CEILING_MIN_BYTES = 4 << 20
};
static const int64_t idle_after_ns = 2000000000;  /* without a batch: time to shrink the file */
static const int64_t retry_after_ns = 1000000000; /* after trouble */
/* An idle store wakes up so often if rows may get too old. */
static const int64_t expire_every_ns = 60000000000;
/* Maintenance at the end lasts so long at most; rows that stay in the tail cost space only. */
static const int64_t close_maintain_ns = 3000000000;

struct batch_queue {
	struct nw_batch *first, **end;
};

struct store {
	struct store_opts opts;
	struct store_ids next_ids;
	struct writer *writer;
	char *path;
	struct opened_file file;
	pthread_t thread;
	int done_fd;
	int64_t opened_mono_ns;
	uint64_t opened_bytes; /* size of all tiers at that time */

	pthread_mutex_t lock;   /* everything below */
	pthread_cond_t wake;    /* the writer thread: a batch came, or stop */
	pthread_cond_t drained; /* store_sync(): nothing is queued any more */
	struct batch_queue queue, done;
	bool stop;
	int64_t waiting_since_mono_ns; /* of what is queued: the last commit, or the first batch */
	bool stuck;                    /* the last group went back into the queue */
	struct store_stats stats;      /* queued_bytes counts batches until the commit */
};

const struct store_opts store_opts_default = {
	.queue_max_bytes = 64 << 20,
	.commit_interval_ns = 100000000,
	.sync_full = true,
};

static void
queue_init(struct batch_queue *q)
{
	q->first = NULL;
	q->end = &q->first;
}

static void
queue_append(struct batch_queue *q, struct nw_batch *b)
{
	b->next = NULL;
	*q->end = b;
	q->end = &b->next;
}

/* --- the writer thread --- */

/* Holding the lock: sleeps until the queue changes or the moment has come; INT64_MAX means for
 * ever. */
static void
sleep_until(struct store *st, int64_t t_mono_ns)
{
	if (t_mono_ns == INT64_MAX)
		pthread_cond_wait(&st->wake, &st->lock);
	else
		(void)nw_cond_wait_until(&st->wake, &st->lock, t_mono_ns);
}

/* When the writer thread wakes for a group. */
struct wake_rule {
	int64_t not_before_mono_ns; /* until then a batch waits for company */
	size_t unless_bytes;        /* a longer queue does not wait */
	int64_t give_up_mono_ns;    /* until then an empty queue waits for a batch */
};

/* Holding the lock: takes the batches of the next transaction, NULL if no batch came. Closing ends
 * all waiting. */
static struct nw_batch *
group_take(struct store *st, const struct wake_rule *rule)
{
	struct nw_batch *first, *b;
	size_t bytes = 0, max = GROUP_MAX_BYTES;

	if (st->opts.max_bytes > 0 && st->writer->ceiling.group_max_bytes < max)
		max = st->writer->ceiling.group_max_bytes;
	while (st->queue.first == NULL && !st->stop && nw_mono_ns() < rule->give_up_mono_ns)
		sleep_until(st, rule->give_up_mono_ns);
	while (st->queue.first != NULL && !st->stop &&
	    st->stats.queued_bytes < rule->unless_bytes && nw_mono_ns() < rule->not_before_mono_ns)
		sleep_until(st, rule->not_before_mono_ns);
	if ((first = st->queue.first) == NULL)
		return NULL;
	for (b = first, bytes = nw_batch_bytes(b);
	     b->next != NULL && bytes + nw_batch_bytes(b->next) < max; b = b->next)
		bytes += nw_batch_bytes(b->next);
	if ((st->queue.first = b->next) == NULL)
		st->queue.end = &st->queue.first;
	b->next = NULL;
	return first;
}

/* Puts a group back in front of the queue. */
static void
group_return(struct store *st, struct nw_batch *group)
{
	struct nw_batch *last = group;

	while (last->next != NULL)
		last = last->next;
	pthread_mutex_lock(&st->lock);
	if ((last->next = st->queue.first) == NULL)
		st->queue.end = &last->next;
	st->queue.first = group;
	st->stuck = true;
	pthread_cond_broadcast(&st->drained);
	pthread_mutex_unlock(&st->lock);
}

static uint64_t
file_size(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 ? (uint64_t)sb.st_size : 0;
}

static void
stats_update_tiers(struct store *st)
{
	const struct writer *w = st->writer;
	int t;

	st->stats.max_bytes = st->opts.max_bytes;
	for (t = 0; t < STORE_TIERS; t++) {
		st->stats.tier_bytes[t] =
		    w->c.sizes.bytes[t] > 0 ? (uint64_t)w->c.sizes.bytes[t] : 0;
		st->stats.rolled_rows[t] = w->c.total.rolled_rows[t];
		st->stats.expired_rows[t] = w->c.total.expired_rows[t];
	}
	st->stats.forgotten_sessions = w->c.total.forgotten_sessions;
	st->stats.late_rows = w->late_rows;
	st->stats.lost_chunks = w->c.total.lost_chunks;
	st->stats.lost_hists = w->c.total.lost_hists;
}

static uint64_t
tiers_bytes(const struct store_stats *s)
{
	uint64_t n = 0;
	int t;

	for (t = 0; t < STORE_TIERS; t++)
		n += s->tier_bytes[t];
	return n;
}

/* Copies the numbers of the writer for other threads. */
static void
stats_update(struct store *st)
{
	const struct writer *w = st->writer;

	pthread_mutex_lock(&st->lock);
	st->stats.commits = w->commits;
	st->stats.batches = w->batches;
	st->stats.rows = w->rows;
	st->stats.samples = w->samples;
	st->stats.events = w->event_count;
	st->stats.event_bytes = (uint64_t)w->c.sizes.bytes[SIZE_EVENTS];
	st->stats.failed_batches = w->failed_batches;
	stats_update_tiers(st);
	memcpy(st->stats.trouble, w->c.trouble, sizeof(st->stats.trouble));
	pthread_mutex_unlock(&st->lock);
}

/* Hands the batches of a group back to their submitters. */
static void
group_done(struct store *st, struct nw_batch *group)
{
	struct nw_batch *b, *next, *silent = NULL;

	pthread_mutex_lock(&st->lock);
	st->waiting_since_mono_ns = nw_mono_ns();
	for (b = group; b != NULL; b = next) {
		next = b->next;
		st->stats.queued_batches--;
		st->stats.queued_bytes -= nw_batch_bytes(b);
		if (b->done != NULL) {
			queue_append(&st->done, b);
		} else {
			b->next = silent;
			silent = b;
		}
	}
	if (st->stats.queued_batches == 0)
		pthread_cond_broadcast(&st->drained);
	pthread_mutex_unlock(&st->lock);
	/* Also without completions: submitters that got NW_EFULL have room now. */
	eventfd_write(st->done_fd, 1);
	for (b = silent; b != NULL; b = next) {
		next = b->next;
		nw_batch_free(b);
	}
}

/* Commits a group and hands the batches back. Returns false, with the group back in the
 * queue, if disk or memory are short or the file is damaged. Submitters notice a queue that fills
 * up, and nothing is lost while the process lives. */
static bool
group_commit(struct store *st, struct nw_batch *group, bool last_chance)
{
	int64_t begin = nw_mono_ns();
	struct nw_batch *b;
	int rc = writer_commit(st->writer, group);

	if (!last_chance && (rc == NW_EIO || rc == NW_ENOMEM || rc == NW_ECORRUPT)) {
		group_return(st, group);
		stats_update(st);
		return false;
	}
	for (b = group; rc != NW_OK && b != NULL; b = b->next)
		st->writer->failed_batches++;
	stats_update(st);
	if (rc == NW_OK) {
		pthread_mutex_lock(&st->lock);
		st->stuck = false;
		st->stats.last_commit_wall_ns = nw_wall_ns();
		st->stats.last_commit_took_ns = nw_mono_ns() - begin;
		pthread_mutex_unlock(&st->lock);
	}
	group_done(st, group);
	return true;
}

static bool
rows_get_old(const struct store_opts *o)
{
	int t;

	for (t = 0; t < STORE_TIERS; t++)
		if (o->keep_ns[t] != 0)
			return true;
	return o->keep_sessions_ns != 0;
}

/* Does a step of maintenance, then says when to wake up if no batch comes. */
static void
maintain(struct store *st, int64_t quiet_since_mono_ns, struct wake_rule *rule)
{
	bool idle = nw_mono_ns() - quiet_since_mono_ns >= idle_after_ns;
	int work = writer_maintain(st->writer, idle);

	stats_update(st);
	if (work == WRITER_MORE)
		rule->give_up_mono_ns = 0;
	else if (work < 0)
		rule->give_up_mono_ns = nw_mono_ns() + retry_after_ns;
	else
		rule->give_up_mono_ns = !idle ? quiet_since_mono_ns + idle_after_ns
		    : rows_get_old(&st->opts) ? nw_mono_ns() + expire_every_ns
					      : INT64_MAX;
}

static void *
writer_main(void *arg)
{
	struct store *st = arg;
	struct wake_rule rule = { 0, 0, 0 };
	struct nw_batch *group;
	int64_t began, quiet_since = nw_mono_ns();
	bool stop;

	(void)pthread_setname_np(pthread_self(), "writer");
	for (;;) {
		pthread_mutex_lock(&st->lock);
		group = group_take(st, &rule);
		stop = st->stop;
		pthread_mutex_unlock(&st->lock);
		if (group == NULL && stop)
			return NULL;
		if (group != NULL) {
			began = nw_mono_ns();
			if (!group_commit(st, group, stop)) {
				rule.not_before_mono_ns = began + retry_after_ns;
				rule.unless_bytes = SIZE_MAX;
				continue;
			}
			rule.not_before_mono_ns = began + st->opts.commit_interval_ns;
			rule.unless_bytes = st->opts.queue_max_bytes / 2;
			quiet_since = nw_mono_ns();
		}
		if (!stop)
			maintain(st, quiet_since, &rule);
	}
}

/* --- open and close --- */

static int
thread_start(struct store *st)
{
	sigset_t all, old;
	int err;

	pthread_mutex_init(&st->lock, NULL);
	pthread_cond_init(&st->wake, NULL);
	pthread_cond_init(&st->drained, NULL);
	sigfillset(&all); /* the thread with the event loop takes signals */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&st->thread, NULL, writer_main, st);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err == 0)
		return NW_OK;
	pthread_cond_destroy(&st->drained);
	pthread_cond_destroy(&st->wake);
	pthread_mutex_destroy(&st->lock);
	return NW_ENOMEM;
}

int
store_open(
    const char *path, const struct store_opts *opts, struct store **out, char why[STORE_WHY_BYTES])
{
	struct store *st = calloc(1, sizeof(*st));
	int rc = NW_ENOMEM;

	*out = NULL;
	snprintf(why, STORE_WHY_BYTES, "out of memory");
	if (st == NULL)
		return rc;
	st->opts = opts == NULL ? store_opts_default : *opts;
	if (st->opts.max_bytes > 0 && st->opts.max_bytes < CEILING_MIN_BYTES) {
		snprintf(why, STORE_WHY_BYTES, "a size ceiling below %d bytes", CEILING_MIN_BYTES);
		free(st);
		return NW_EINVAL;
	}
	queue_init(&st->queue);
	queue_init(&st->done);
	if ((st->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) == -1) {
		snprintf(why, STORE_WHY_BYTES, "eventfd: %s", strerror(errno));
		rc = NW_EIO;
		goto fail;
	}
	if ((st->path = strdup(path)) == NULL)
		goto fail;
	if ((rc = writer_open(st->path, &st->opts, NULL, &st->writer, why)) != NW_OK)
		goto fail;
	if ((rc = writer_next_ids(st->writer, &st->next_ids)) != NW_OK) {
		db_why(st->writer->c.db, why, STORE_WHY_BYTES);
		goto fail;
	}
	st->file = st->writer->c.file;
	st->opened_mono_ns = nw_mono_ns();
	stats_update_tiers(st);
	st->opened_bytes = tiers_bytes(&st->stats);
	st->stats.lost_commits = (uint64_t)st->writer->lost_commits;
	if ((rc = thread_start(st)) != NW_OK) {
		snprintf(why, STORE_WHY_BYTES, "cannot start a thread");
		goto fail;
	}
	why[0] = '\0';
	*out = st;
	return NW_OK;
fail:
	writer_close(st->writer);
	if (st->done_fd != -1)
		close(st->done_fd);
	free(st->path);
	free(st);
	return rc;
}

void
store_close(struct store *st)
{
	int64_t end;

	if (st == NULL)
		return;
	pthread_mutex_lock(&st->lock);
	st->stop = true;
	pthread_cond_signal(&st->wake);
	pthread_mutex_unlock(&st->lock);
	pthread_join(st->thread, NULL);
	store_run_completions(st);
	end = nw_mono_ns() + close_maintain_ns;
	while (writer_maintain(st->writer, true) == WRITER_MORE && nw_mono_ns() < end)
		;
	writer_close(st->writer);
	pthread_cond_destroy(&st->drained);
	pthread_cond_destroy(&st->wake);
	pthread_mutex_destroy(&st->lock);
	close(st->done_fd);
	free(st->path);
	free(st);
}

/* --- calls of other threads --- */

void
store_next_ids(const struct store *st, struct store_ids *out)
{
	*out = st->next_ids;
}

int
store_submit(struct store *st, struct nw_batch *b)
{
	size_t bytes = nw_batch_bytes(b);
	int rc = NW_OK;

	pthread_mutex_lock(&st->lock);
	/* A batch bigger than the whole queue may pass alone. */
	if (st->stats.queued_batches > 0 &&
	    st->stats.queued_bytes + bytes > st->opts.queue_max_bytes) {
		rc = NW_EFULL;
	} else {
		queue_append(&st->queue, b);
		if (st->stats.queued_batches++ == 0)
			st->waiting_since_mono_ns = nw_mono_ns();
		st->stats.queued_bytes += bytes;
		pthread_cond_signal(&st->wake);
	}
	pthread_mutex_unlock(&st->lock);
	return rc;
}

int
store_sync(struct store *st)
{
	int rc;

	pthread_mutex_lock(&st->lock);
	while (st->stats.queued_batches > 0 && !st->stuck)
		pthread_cond_wait(&st->drained, &st->lock);
	rc = st->stats.queued_batches > 0 ? NW_EIO : NW_OK;
	pthread_mutex_unlock(&st->lock);
	return rc;
}

int
store_completion_fd(const struct store *st)
{
	return st->done_fd;
}

void
store_run_completions(struct store *st)
{
	struct nw_batch *b, *next;
	eventfd_t count;

	eventfd_read(
	    st->done_fd, &count); /* before the look at the list: a later batch wakes again */
	pthread_mutex_lock(&st->lock);
	b = st->done.first;
	queue_init(&st->done);
	pthread_mutex_unlock(&st->lock);
	for (; b != NULL; b = next) {
		next = b->next;
		b->done(b->arg, b->rc);
		nw_batch_free(b);
	}
}

/*
 * Days until the oldest data goes, at the speed at which the tiers grew since the start. A full
 * store fills about five eighths of its ceiling: the rest is for the log and for transactions
 * (ceiling.c).
 */
static double
days_left(const struct store *st, const struct store_stats *s)
{
	double days = (double)(nw_mono_ns() - st->opened_mono_ns) / 86400e9;
	double grown = (double)tiers_bytes(s) - (double)st->opened_bytes, room;

	if (s->max_bytes == 0 || grown <= 0)
		return NAN;
	room = (double)s->max_bytes * 5 / 8 - (double)s->file_bytes;
	return room <= 0 ? 0 : room / (grown / days);
}

void
store_get_stats(struct store *st, struct store_stats *out)
{
	char *wal = sqlite3_mprintf("%s-wal", st->path);
	const char *lost;

	pthread_mutex_lock(&st->lock);
	*out = st->stats;
	if (out->queued_batches > 0)
		out->stalled_ns = nw_mono_ns() - st->waiting_since_mono_ns;
	pthread_mutex_unlock(&st->lock);
	/* an idle writer does not find out by itself */
	if (out->trouble[0] == '\0' && (lost = opened_file_lost(&st->file)) != NULL)
		snprintf(out->trouble, sizeof(out->trouble), "%s", lost);
	out->file_bytes = file_size(st->path) + (wal == NULL ? 0 : file_size(wal));
	sqlite3_free(wal);
	out->days_left = days_left(st, out);
}
