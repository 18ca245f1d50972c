/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits end at their moment, or by a signal before it. */
#include "narrows/condwait.h"

#include "narrows/clock.h"
#include "tests/check.h"

struct bell {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool rung;
};

static void *
ring(void *arg)
{
	struct bell *b = arg;

	pthread_mutex_lock(&b->lock);
	b->rung = true;
	pthread_cond_signal(&b->cond);
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void
moment_comes(void)
{
	struct bell b = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };
	int64_t until = nw_mono_ns() + 20 * 1000000;

	pthread_mutex_lock(&b.lock);
	while (nw_cond_wait_until(&b.cond, &b.lock, until))
		continue;
	CHECK(nw_mono_ns() >= until);
	CHECK(!nw_cond_wait_until(&b.cond, &b.lock, 0));
	pthread_mutex_unlock(&b.lock);
}

static void
signal_comes(void)
{
	struct bell b = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };
	int64_t until = nw_mono_ns() + INT64_C(600) * 1000000000;
	pthread_t thread;

	pthread_mutex_lock(&b.lock);
	CHECK_INT(pthread_create(&thread, NULL, ring, &b), 0);
	while (!b.rung && nw_cond_wait_until(&b.cond, &b.lock, until))
		continue;
	CHECK(b.rung);
	pthread_mutex_unlock(&b.lock);
	pthread_join(thread, NULL);
}

int
main(void)
{
	moment_comes();
	signal_comes();
	return check_done("condwait");
}
