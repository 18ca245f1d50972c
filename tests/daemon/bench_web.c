/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All pages of a box that has a session of an hour, whose hosts have 500 series, and 100,000 other
 * sessions; each page is made in one thread as the web thread does. usage: bench_web [SESSIONS].
 * tests/web/page/bench_pages.c measures lists further.
 *
 * Prints milliseconds: of the first page after the store was opened, of the best of 20 further, and
 * the page's bytes, raw and compressed. `ratio` is the best over the time that reading the
 * session's result document takes in the same run.
 */
#include <stdio.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "narrows/analysis.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/resultdoc.h"
#include "narrows/splitmix.h"
#include "tests/transfer.h"
#include "web/answer/api.h"
#include "web/answer/hosts.h"
#include "web/page/page.h"
#include "web/query/gzip.h"

enum { WINDOWS = 3600, HOST_GROUPS = 23, HOST_FIELDS = 20, TIMES = 20, SESSION = 1 };
enum { SESSIONS = 100000, BATCH = 2000 };

/* Metrics that the page of a host shows, of devices; the other groups are of no type that pages
 * know. */
static const struct {
	const char *event, *fields[2];
} shown[] = {
	{ "ps:tools:blipp:linux:cpu:load", { "onemin", "fivemin" } },
	{ "ps:tools:blipp:linux:cpu:activity", { "share_running", "share_new" } },
	{ "ps:tools:blipp:linux:memory:utilization", { "free", "used" } },
	{ "ps:tools:blipp:linux:filesystem", { "available_bytes", "bytes" } },
	{ "ps:tools:blipp:linux:disk:partition", { "read_bytes", "written_bytes" } },
	{ "ps:tools:blipp:linux:disk:partition:sdb", { "read_bytes", "written_bytes" } },
	{ "ps:tools:blipp:linux:network:utilization", { "bytes_in", "bytes_out" } },
	{ "ps:tools:blipp:linux:network:utilization:eth1", { "bytes_in", "bytes_out" } },
};
enum { SHOWN = sizeof(shown) / sizeof(shown[0]) };

static char dir[] = "/tmp/nw-bench-web-XXXXXX", path[64];
static struct store *store;
static uint64_t rng = 1;

static double
uniform(void)
{
	return (double)(nw_splitmix(&rng) >> 11) * 0x1p-53;
}

/* --- what is in the store --- */

static void
stage_row(void *arg, int window, struct transfer_row *out)
{
	double busy = *(double *)arg * (0.8 + 0.2 * uniform()) * (window < WINDOWS / 2 ? 1 : 0.7);

	*out = (struct transfer_row){ .bytes = 4e7 * (0.8 + 0.4 * uniform()),
		.size = 65536,
		.count = 600,
		.threads = 1,
		.busy = busy,
		.rate = 4e7 / busy,
		.rate_sd = 1e6 };
}

static void
submit(struct nw_batch *b)
{
	int rc;

	while ((rc = store_submit(store, b)) == NW_EFULL) {
		store_sync(store);
		store_run_completions(store);
	}
	CHECK_INT(rc, NW_OK);
}

static void
hour_make(void)
{
	static const char *const ops[] = { "read", "write", "read", "write" };
	static const char *const types[] = { "disk", "network", "network", "disk" };
	static double busy[] = { 0.3, 0.1, 0.2, 0.9 };
	static double rows[WINDOWS * HOST_FIELDS];
	static const char *fields[HOST_FIELDS];
	static char names[HOST_FIELDS][16];
	struct nw_batch *b = nw_batch_new();
	char event[64];
	int i;

	transfer_init();
	transfer_session(b, SESSION, WINDOWS);
	for (i = 0; i < 4; i++)
		transfer_stage(
		    b, 10 + i, SESSION, 1 + i / 2, ops[i], types[i], WINDOWS, stage_row, &busy[i]);
	submit(b);
	for (i = 0; i < HOST_FIELDS; i++) {
		snprintf(names[i], sizeof(names[i]), "metric_%d", i);
		fields[i] = names[i];
	}
	for (i = 0; i < HOST_GROUPS; i++) {
		size_t k;

		for (k = 0; k < WINDOWS * HOST_FIELDS; k++)
			rows[k] = uniform();
		b = nw_batch_new();
		for (k = 0; k < 2; k++)
			fields[k] = i / 2 < SHOWN ? shown[i / 2].fields[k] : names[k];
		snprintf(event, sizeof(event), "ps:host:group%d", i);
		if (i / 2 < SHOWN)
			snprintf(event, sizeof(event), "%s", shown[i / 2].event);
		transfer_host_series(b, 100 + i, 1 + i % 2, event, "{\"collectionInterval\":1}",
		    fields, HOST_FIELDS, rows, 0, WINDOWS);
		submit(b);
	}
	CHECK_INT(store_sync(store), NW_OK);
}

static void
result_make(void)
{
	struct result_run run = {
		.id = 1, .started_wall_ns = TRANSFER_T0, .params = transfer_params
	};
	struct nw_run_rec rec = { .id = 1,
		.session_id = SESSION,
		.kind = "verdict",
		.started_wall_ns = TRANSFER_T0,
		.version = "bench",
		.outcome = "ok" };
	struct nw_batch *b = nw_batch_new();
	struct analysis_outcome o;
	struct store_reader *r = NULL;
	struct analysis *a = NULL;
	char why[STORE_WHY_BYTES], *json;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(analysis_new(r, SESSION, &transfer_params, &a), NW_OK);
	analysis_outcome(a, &o);
	json = resultdoc_build(a, &run);
	CHECK_INT(nw_batch_run(b, &rec), NW_OK);
	CHECK_INT(nw_batch_result(b,
		      &(struct nw_result_rec){ .session_id = SESSION,
			  .run_id = 1,
			  .json = json,
			  .route = o.route,
			  .program = o.program,
			  .stage = o.stage,
			  .confidence = o.confidence,
			  .sentence = o.sentence,
			  .effect = o.effect,
			  .bytes = o.bytes,
			  .bytes_per_s = o.bytes_per_s,
			  .start_wall_ns = o.start_wall_ns,
			  .duration_ns = (int64_t)(o.duration_s * 1e9) }),
	    NW_OK);
	submit(b);
	CHECK_INT(store_sync(store), NW_OK);
	free(json);
	analysis_free(a);
	store_reader_close(r);
}

/* Other sessions, on 40 routes. */
static void
session_put(struct nw_batch *b, int64_t id)
{
	static const char *const stages[] = { "network", "disk.write", "disk.read", NULL };
	const int64_t minute = INT64_C(60000000000), begin = TRANSFER_T0 - id * minute;
	uint64_t z = nw_splitmix(&rng);
	char route[64], task[32], sentence[160];

	snprintf(route, sizeof(route), "dtn-%d -> dtn-%d", (int)(z % 8), (int)(z / 8 % 5));
	snprintf(task, sizeof(task), "task-%d", (int)id);
	snprintf(sentence, sizeof(sentence), "Limited by what it waited for in %d of %d windows.",
	    (int)(z / 16 % 600), (int)(z / 32 % 900));
	CHECK_INT(nw_batch_session(b,
		      &(struct nw_session_rec){ .id = id,
			  .task_id = task,
			  .program = "rsync",
			  .opened_wall_ns = begin,
			  .closed_wall_ns = begin + minute }),
	    NW_OK);
	CHECK_INT(nw_batch_result(b,
		      &(struct nw_result_rec){ .session_id = id,
			  .route = route,
			  .program = "rsync",
			  .stage = stages[z / 64 % 4],
			  .confidence = "high",
			  .sentence = sentence,
			  .bytes = 1e9,
			  .bytes_per_s = 1e7 + (double)(z % 1000000),
			  .effect = 2,
			  .start_wall_ns = begin,
			  .duration_ns = minute,
			  .usual = 1,
			  .exit_status = 0 }),
	    NW_OK);
}

static void
sessions_make(int64_t n)
{
	struct nw_batch *b = nw_batch_new();
	struct nw_route_rec route = { .program = "rsync",
		.n_sessions = 500,
		.newest_session_id = SESSION + 1,
		.bytes_per_s = 1e7,
		.stage = "network",
		.sentence = "Usually 10 MB/s in 500 sessions.",
		.json = "{\"sentence\":\"Usually 10 MB/s in 500 sessions.\"}" };
	char name[64];
	int64_t i;

	for (i = 1; i <= n; i++) {
		session_put(b, SESSION + i);
		if (i % BATCH == 0) {
			submit(b);
			b = nw_batch_new();
		}
	}
	for (i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "dtn-%d -> dtn-%d", (int)i % 8, (int)i / 8);
		route.route = name;
		CHECK_INT(nw_batch_route(b, &route), NW_OK);
	}
	submit(b);
	CHECK_INT(store_sync(store), NW_OK);
}

/* --- pages --- */

enum what {
	JSON,
	HOUR,
	HOUR_OPEN,
	HOUR_FILE,
	LIST,
	LIST_SORTED,
	LIST_ROUTE,
	LIST_TEXT,
	COMPARE,
	ROUTES,
	ROUTE,
	HOSTS,
	HOST,
	HEALTH,
	WHATS
};
static const char *const whats[WHATS] = { [JSON] = "result document",
	[HOUR] = "session of an hour",
	[HOUR_OPEN] = "the same, unfolded",
	[HOUR_FILE] = "as one file",
	[LIST] = "sessions",
	[LIST_SORTED] = "sessions, slowest first",
	[LIST_ROUTE] = "sessions of a route",
	[LIST_TEXT] = "sessions with a text",
	[COMPARE] = "compared sessions",
	[ROUTES] = "routes",
	[ROUTE] = "route",
	[HOSTS] = "hosts",
	[HOST] = "host",
	[HEALTH] = "health" };

static struct session_index *sessions;

/* The report as one file, of the session's document. */
static int
file_make(struct html *h, struct store_reader *r)
{
	struct evbuffer *doc = evbuffer_new();
	int rc = api_session(doc, r, SESSION);

	if (rc == NW_OK && evbuffer_add(doc, "", 1) != 0)
		rc = NW_ENOMEM;
	if (rc == NW_OK)
		rc = page_session_file(h, (const char *)evbuffer_pullup(doc, -1));
	evbuffer_free(doc);
	return rc;
}

static int
list_make(struct html *h, struct store_reader *r, const struct session_filter *f)
{
	return page_sessions(h, r, sessions, f, NULL, NULL);
}

static int
page_make(enum what what, struct store_reader *r, struct evbuffer *out)
{
	const struct hosts_now now = { 1, TRANSFER_T0, sessions };
	struct hosts_query all = { .limit = HOSTS_PAGE };
	struct html h = { .out = out };
	int status;

	switch (what) {
	case HOUR: return page_session(&h, r, SESSION, &(struct session_query){ .all = false });
	case HOUR_OPEN: return page_session(&h, r, SESSION, &(struct session_query){ .all = true });
	case HOUR_FILE: return file_make(&h, r);
	case JSON: return api_session(out, r, SESSION);
	case LIST: return list_make(&h, r, &(struct session_filter){ .limit = 0 });
	case LIST_SORTED: return list_make(&h, r, &(struct session_filter){ .sort = SORT_SLOWEST });
	case LIST_ROUTE:
		return list_make(&h, r, &(struct session_filter){ .route = "dtn-3 -> dtn-2" });
	case LIST_TEXT: return list_make(&h, r, &(struct session_filter){ .text = "in 77 of" });
	case COMPARE: return page_compare(&h, r, sessions, "ids=1,2,3", &status);
	case ROUTES: return page_routes(&h, r);
	case ROUTE: return page_route_history(&h, r, "dtn-3 -> dtn-2", "rsync");
	case HOSTS: return page_hosts(&h, r, &now, &all);
	case HOST: return page_host(&h, r, &now, "dtn-a");
	case HEALTH: page_health(&h, r, NULL, NULL, NULL, NULL); return NW_OK;
	default: return NW_EINVAL;
	}
}

static double
page_ms(enum what what, struct store_reader *r, struct evbuffer *out)
{
	int64_t begin = nw_mono_ns();

	evbuffer_drain(out, evbuffer_get_length(out));
	CHECK_INT(page_make(what, r, out), NW_OK);
	return (double)(nw_mono_ns() - begin) * 1e-6;
}

static size_t
packed_bytes(struct evbuffer *page)
{
	struct evbuffer *packed = evbuffer_new();
	struct gzip *z = gzip_new();
	size_t len;

	CHECK_INT(gzip_add(z, page, packed, true), NW_OK);
	len = evbuffer_get_length(packed);
	gzip_free(z);
	evbuffer_free(packed);
	return len;
}

/* Returns the best time. */
static double
page_measure(enum what what, double unit_ms)
{
	struct evbuffer *out = evbuffer_new();
	char why[STORE_WHY_BYTES];
	struct store_reader *r;
	double first, best, ms;
	size_t bytes;
	int i;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	first = best = page_ms(what, r, out);
	for (i = 0; i < TIMES; i++)
		best = (ms = page_ms(what, r, out)) < best ? ms : best;
	bytes = evbuffer_get_length(out);
	printf("%-24s first %7.2f ms  best %7.2f ms  ratio %6.2f  %8zu bytes  %7zu packed\n",
	    whats[what], first, best, unit_ms > 0 ? best / unit_ms : 1, bytes, packed_bytes(out));
	store_reader_close(r);
	evbuffer_free(out);
	return best;
}

/* The web thread follows the store before it is asked. */
static void
sessions_follow(void)
{
	char why[STORE_WHY_BYTES];
	struct store_reader *r;
	bool done = false;
	int64_t begin;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	sessions = session_index_new();
	begin = nw_mono_ns();
	while (!done)
		CHECK_INT(session_index_follow(sessions, r, SESSION_FOLLOW, &done), NW_OK);
	printf("%-24s once  %7.2f ms\n", "index of sessions", (double)(nw_mono_ns() - begin) / 1e6);
	store_reader_close(r);
}

int
main(int argc, char **argv)
{
	char why[STORE_WHY_BYTES], command[80];
	double unit_ms;
	int what;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	CHECK_INT(store_open(path, NULL, &store, why), NW_OK);
	hour_make();
	result_make();
	sessions_make(argc > 1 ? atoll(argv[1]) : SESSIONS);
	sessions_follow();
	unit_ms = page_measure(JSON, 0);
	for (what = HOUR; what < WHATS; what++)
		page_measure((enum what)what, unit_ms);
	session_index_free(sessions);
	store_close(store);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) != 0 || check_failed > 0;
}
