/* SPDX-License-Identifier: BSD-3-Clause */
/* Four threads note events while one takes them: each event comes once, in its thread's order, or
 * is counted as dropped. */
#include "narrows/eventlog.h"

#include <pthread.h>
#include <stdatomic.h>

#include "narrows/err.h"
#include "tests/check.h"

enum { THREADS = 4, EVENTS = 50000 };

static struct nw_eventlog *l;
static atomic_int running;

static void *
writer(void *arg)
{
	static const char *const keys[] = { "thread.id", "n" };
	int64_t values[2] = { (int64_t)(intptr_t)arg, 0 };
	int point = nw_event_point(l, "step", keys, 2);

	for (; values[1] < EVENTS; values[1]++)
		nw_event(l, point, values);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

/* Checks the events of a builder, and empties it. */
static size_t
look(struct nw_events *b, int64_t last[THREADS])
{
	struct nw_event_block *r = nw_event_block_new();
	size_t n = nw_events_count(b), i, len;
	const uint8_t *bytes;
	struct nw_event e;
	const char *why;

	if (n > 0) {
		CHECK_INT(nw_events_finish(b, &bytes, &len), NW_OK);
		CHECK_INT(nw_event_block_read(r, bytes, len, &why), NW_OK);
	}
	for (i = 0; i < n; i++) {
		nw_event_block_get(r, i, &e);
		check_failed += e.n_attrs != 2 || !e.attrs[0].is_id || e.attrs[1].is_id ||
		    strcmp(e.name, "step") != 0 || strcmp(e.program, "test") != 0 ||
		    e.attrs[1].v.i <= last[e.attrs[0].v.i];
		last[e.attrs[0].v.i] = e.attrs[1].v.i;
	}
	nw_events_clear(b);
	nw_event_block_free(r);
	return n;
}

static void
test_threads(size_t room)
{
	struct nw_events *b = nw_events_new(NW_EVENT_KEPT_BYTES);
	int64_t last[THREADS] = { -1, -1, -1, -1 };
	pthread_t t[THREADS];
	size_t n = 0;
	intptr_t i;

	CHECK_INT(nw_eventlog_new("test", room, &l), NW_OK);
	atomic_store(&running, THREADS);
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, writer, (void *)i);
	while (atomic_load(&running) > 0) {
		nw_eventlog_take(l, b);
		n += look(b, last);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	while (nw_eventlog_take(l, b) == NW_ETOOBIG || nw_events_count(b) > 0)
		n += look(b, last);
	CHECK_INT(n + nw_eventlog_dropped(l), THREADS * EVENTS);
	CHECK(n > 0);
	nw_events_free(b);
	nw_eventlog_free(l);
}

static void
test_points(void)
{
	static const char *const keys[] = { "a", "b" }, *const other[] = { "a", "c" };
	int first;

	CHECK_INT(nw_eventlog_new(NULL, 1, &l), NW_OK);
	first = nw_event_point(l, "p", keys, 2);
	CHECK(first >= 0);
	CHECK_INT(nw_event_point(l, "p", keys, 2), first);
	CHECK(nw_event_point(l, "p", other, 2) != first);
	CHECK(nw_event_point(l, "p", keys, 1) != first);
	CHECK_INT(nw_event_point(l, "", keys, 1), NW_EINVAL);
	CHECK_INT(nw_event_point(l, "p", keys, NW_EVENTLOG_KEYS_MAX + 1), NW_EINVAL);
	nw_event(l, -1, NULL);
	nw_event(l, 99, NULL);
	CHECK_INT(nw_eventlog_dropped(l), 0);
	nw_eventlog_free(l);
	nw_eventlog_free(NULL);
}

int
main(void)
{
	test_points();
	test_threads(64);
	test_threads(0);
	return check_done("eventlog");
}
