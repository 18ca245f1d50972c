/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long pages take at 100,000 sessions of 40 routes: the median and the worst of some calls in
 * the same process, cold for the first. usage: bench_pages [SESSIONS]
 */
#include <event2/buffer.h>

#include "narrows/clock.h"
#include "narrows/splitmix.h"
#include "tests/filled.h"
#include "web/page/page.h"
#include "web/answer/session_list.h"

enum { SESSIONS = 100000, BATCH = 2000, ROUTES = 40, CALLS = 11 };
static const int64_t MINUTE_NS = INT64_C(60) * 1000000000, T0 = INT64_C(1780000000000000000);

static struct store_reader *reader;
static struct session_index *sessions;
static char route[64];

static void
session_put(struct nw_batch *b, int64_t id, uint64_t *seed)
{
	static const char *const stages[] = { "network", "disk.write", "disk.read", NULL };
	uint64_t z = nw_splitmix(seed);
	char name[64], task[32], sentence[160];

	snprintf(name, sizeof(name), "dtn-%d -> dtn-%d", (int)(z % 8), (int)(z / 8 % 5));
	snprintf(sentence, sizeof(sentence),
	    "The network path from dtn-%d to dtn-%d limited this transfer: its sender waited %d of "
	    "%d milliseconds for room in the window.",
	    (int)(z % 8), (int)(z / 8 % 5), (int)(z / 16 % 60000), (int)(z / 32 % 90000));
	snprintf(task, sizeof(task), "task-%d", (int)id);
	nw_batch_session(b,
	    &(struct nw_session_rec){ .id = id,
		.task_id = task,
		.program = "rsync",
		.opened_wall_ns = T0 + id * MINUTE_NS,
		.closed_wall_ns = T0 + (id + 1) * MINUTE_NS });
	nw_batch_result(b,
	    &(struct nw_result_rec){ .session_id = id,
		.route = name,
		.program = "rsync",
		.stage = stages[z / 64 % 4],
		.confidence = "high",
		.sentence = sentence,
		.bytes = 1e9,
		.bytes_per_s = 1e7 + (double)(z % 1000000),
		.effect = 2,
		.start_wall_ns = T0 + id * MINUTE_NS,
		.duration_ns = MINUTE_NS,
		.usual = 1,
		.exit_status = 0 });
}

static void
routes_put(struct nw_batch *b)
{
	int i;

	for (i = 0; i < ROUTES; i++) {
		snprintf(route, sizeof(route), "dtn-%d -> dtn-%d", i % 8, i / 8);
		nw_batch_route(b,
		    &(struct nw_route_rec){ .route = route,
			.program = "rsync",
			.n_sessions = 500,
			.newest_session_id = i,
			.bytes_per_s = 1e7,
			.sentence = "Usually 10 MB/s in 500 sessions.",
			.json = "{\"sentence\":\"Usually 10 MB/s in 500 sessions.\"}" });
	}
}

static int
page_list(struct html *h)
{
	return page_sessions(h, reader, sessions, &(struct session_filter){ 0 }, NULL, NULL);
}

static int
page_sorted(struct html *h)
{
	return page_sessions(
	    h, reader, sessions, &(struct session_filter){ .sort = SORT_SLOWEST }, NULL, NULL);
}

static int
page_one_route(struct html *h)
{
	struct session_filter f = { .program = "rsync" };

	snprintf(f.route, sizeof(f.route), "%s", route);
	return page_sessions(h, reader, sessions, &f, NULL, NULL);
}

static int
page_nothing(struct html *h)
{
	return page_sessions(
	    h, reader, sessions, &(struct session_filter){ .label = "nobody" }, NULL, NULL);
}

static int
page_text(struct html *h)
{
	return page_sessions(
	    h, reader, sessions, &(struct session_filter){ .text = "TASK-77777" }, NULL, NULL);
}

static int
page_far(struct html *h)
{
	return page_sessions(h, reader, sessions,
	    &(struct session_filter){ .sort = SORT_SLOWEST, .before = 1000 }, NULL, NULL);
}

static int
page_all_routes(struct html *h)
{
	return page_routes(h, reader);
}

static int
page_history(struct html *h)
{
	return page_route_history(h, reader, route, "rsync");
}

static int
compare(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
	    (*(const double *)a < *(const double *)b);
}

static void
measure(const char *name, int (*page)(struct html *h))
{
	double ms[CALLS], first;
	int i;

	for (i = 0; i < CALLS; i++) {
		struct html h = { .out = evbuffer_new() };
		int64_t begin = nw_mono_ns();

		CHECK_INT(page(&h), NW_OK);
		ms[i] = (double)(nw_mono_ns() - begin) / 1e6;
		evbuffer_free(h.out);
	}
	first = ms[0];
	qsort(ms, CALLS, sizeof(ms[0]), compare);
	printf("%-28s first %7.2f ms, median %7.2f ms, worst %7.2f ms\n", name, first,
	    ms[CALLS / 2], ms[CALLS - 1]);
}

int
main(int argc, char **argv)
{
	int64_t n = argc > 1 ? atoll(argv[1]) : SESSIONS, id;
	struct store *st = filled_open(NULL);
	struct nw_batch *b = nw_batch_new();
	uint64_t seed = 17;
	char why[STORE_WHY_BYTES];

	for (id = 1; id <= n; id++) {
		session_put(b, id, &seed);
		if (id % BATCH == 0) {
			filled_commit(st, b);
			b = nw_batch_new();
		}
	}
	routes_put(b);
	filled_commit(st, b);
	CHECK_INT(store_reader_open(filled_path, &reader, why), NW_OK);
	sessions = session_index_new();
	printf("%lld sessions\n", (long long)n);
	measure("list of sessions", page_list);
	measure("list, slowest first", page_sorted);
	measure("list of one route", page_one_route);
	measure("list that finds nothing", page_nothing);
	measure("list, rare text", page_text);
	measure("list, 900th page, slowest", page_far);
	measure("routes", page_all_routes);
	measure("route", page_history);
	session_index_free(sessions);
	store_reader_close(reader);
	store_close(st);
	filled_remove();
	return check_failed > 0;
}
