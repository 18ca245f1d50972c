/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool: owners share its threads by time, one owner never has all, a dropped job ends, and so
 * do all jobs when the pool stops. */
#include "web/pagepool.h"

#include <time.h>

#include <event2/event.h>

#include "narrows/clock.h"
#include "tests/filled.h"

enum { MANY = 60 };

struct job {
	struct pool_job job;
	int64_t cost_ns; /* 0: until the job is told to stop */
	int64_t took_ns;
	int64_t *spent_ns;
	bool finished;
};

static struct event_base *base;
static atomic_int n_working, n_without; /* jobs without their tools */
static int n_left;

static void
pause_ns(int64_t ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void
on_run(struct pool_job *job, const struct pool_hand *hand)
{
	struct job *j = fairq_of(job, struct job, job);
	int64_t begin = nw_mono_ns(), id = 0;

	if (hand->lines == NULL || store_meta_last(hand->reader, &id) != NW_OK)
		atomic_fetch_add(&n_without, 1);
	atomic_fetch_add(&n_working, 1);
	while (!atomic_load(&job->stop) && (j->cost_ns == 0 || nw_mono_ns() - begin < j->cost_ns))
		pause_ns(500000);
	atomic_fetch_sub(&n_working, 1);
	j->took_ns = nw_mono_ns() - begin;
}

static void
on_done(struct pool_job *job)
{
	struct job *j = fairq_of(job, struct job, job);

	CHECK(!j->finished);
	j->finished = true;
	if (j->spent_ns != NULL)
		*j->spent_ns += j->took_ns;
	if (--n_left == 0)
		event_base_loopbreak(base);
}

static void
put(struct pool *p, struct job *j, const char *owner, int64_t cost_ns, int64_t *spent_ns)
{
	*j = (struct job){ .job = { .owner = owner, .run = on_run, .done = on_done },
		.cost_ns = cost_ns,
		.spent_ns = spent_ns };
	CHECK_INT(pool_put(p, &j->job), NW_OK);
}

static struct pool *
start(void)
{
	char why[STORE_WHY_BYTES];
	struct pool *p = NULL;

	CHECK_INT(pool_new(base, filled_path, &p, why), NW_OK);
	return p;
}

static void
wait_working(int n)
{
	while (atomic_load(&n_working) < n)
		pause_ns(1000000);
}

/* A waits with many jobs, then B comes with as many longer jobs: from then on their times are
 * equal. */
static void
test_shares(void)
{
	static struct job a[MANY], b[MANY];
	struct pool *p = start();
	int64_t a_ns = 0, b_ns = 0;
	size_t i;

	for (i = 0; i < MANY; i++)
		put(p, &a[i], "a", 4000000, &a_ns);
	for (i = 0; i < MANY / 2; i++)
		put(p, &b[i], "b", 8000000, &b_ns);
	n_left = MANY;
	event_base_dispatch(base);
	if (!(a_ns < 1.35 * b_ns && b_ns < 1.35 * a_ns))
		fprintf(stderr, "a had %lld ns, b %lld ns\n", (long long)a_ns, (long long)b_ns);
	CHECK(a_ns < 1.35 * b_ns && b_ns < 1.35 * a_ns);
	n_left = -1;
	pool_free(p);
}

/* An owner's endless jobs leave a thread to others; a dropped job is done() once. */
static void
test_flood(void)
{
	static struct job a[4], b;
	struct pool *p = start();
	size_t i;

	for (i = 0; i < 4; i++)
		put(p, &a[i], "a", 0, NULL);
	wait_working(2);
	put(p, &b, "b", 1000000, NULL);
	n_left = 1;
	event_base_dispatch(base);
	CHECK(b.finished);
	CHECK_INT(atomic_load(&n_working), 2);
	CHECK(pool_drop(p, &a[3].job)); /* waits still */
	CHECK(!pool_drop(p, &a[0].job));
	n_left = 1;
	event_base_dispatch(base);
	CHECK(a[0].finished && !a[1].finished && !a[3].finished);
	wait_working(2); /* a[1] and a[2] */
	n_left = 2;
	pool_stop(p);
	event_base_dispatch(base);
	CHECK(a[1].finished && a[2].finished && !a[3].finished);
	put(p, &b, "b", 0, NULL); /* ends at once */
	n_left = 1;
	event_base_dispatch(base);
	CHECK(b.finished);
	n_left = -1;
	pool_free(p);
}

/* Jobs at work and jobs that wait are done() when the pool goes. */
static void
test_end(void)
{
	static struct job a[8];
	struct pool *p = start();
	size_t i;

	for (i = 0; i < 8; i++)
		put(p, &a[i], i % 2 != 0 ? "a" : "b", 0, NULL);
	wait_working(3);
	n_left = -1;
	pool_free(p);
	for (i = 0; i < 8; i++)
		CHECK(a[i].finished);
	pool_free(NULL);
}

static void
test_no_store(void)
{
	char why[STORE_WHY_BYTES] = "";
	struct pool *p = NULL;

	CHECK(pool_new(base, "/nonexistent/narrows.db", &p, why) < 0);
	CHECK(p == NULL && why[0] != '\0');
}

int
main(void)
{
	struct store *st = filled_open(NULL);

	base = event_base_new();
	test_shares();
	test_flood();
	test_end();
	test_no_store();
	CHECK_INT(atomic_load(&n_without), 0);
	event_base_free(base);
	store_close(st);
	filled_remove();
	return check_done("pagepool");
}
