/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prometheus' lists of a store with many series: CPU time until the first byte and until the last.
 * Every session has the same metrics on two hosts and a path of its own; the last session has a
 * metric that no other session has.
 *
 *	usage: bench_lists [SESSIONS]
 *
 * A session has 8 metadata of 11 fields: 88 series.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "tests/filled.h"
#include "web/query/prom.h"

enum { METADATA = 8, FIELDS = 11, SESSIONS = 20000, AT_ONCE = 200 };

static const char *const fields[FIELDS] = { "sum_v", "min_v", "max_v", "mean_v", "sd_v", "count",
	"busy", "window", "wait", "threads", "clamped" };
static const char *const types[METADATA] = { "nl:calipers:read", "nl:calipers:write",
	"nl:calipers:recv", "nl:calipers:send", "ps:cpu", "ps:disk", "ps:net", "ps:memory" };

static const struct {
	const char *what, *path, *form;
} lists[] = {
	{ "labels", "labels", NULL },
	{ "metrics", "label/__name__/values", NULL },
	{ "event types", "label/event_type/values", NULL },
	{ "hosts", "label/host/values", NULL },
	{ "sessions", "label/session/values", NULL },
	{ "paths", "label/path/values", NULL },
	{ "series of a metric, 10", "series", "match[]=ps:cpu:busy&limit=10" },
	{ "series of the last metric", "series", "match[]=ps:rare:busy&limit=10" },
	{ "series of the last path", "series", "match[]={path=\"/data/last\"}&limit=10" },
	{ "series of no host", "series", "match[]={host=\"nothing\"}&limit=10" },
};

static double
cpu_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
describe(struct nw_batch *b, int64_t session, int k, bool is_last)
{
	char mid[32], subject[128];
	const int64_t id = (session - 1) * METADATA + k + 1;
	const struct nw_meta_rec m = { .id = id,
		.session_id = session,
		.host_id = 1 + k % 2,
		.mid = mid,
		.event_type = is_last && k == 0 ? "ps:rare" : types[k],
		.subject_json = subject,
		.params_json = "{\"collectionInterval\":1}",
		.first_wall_ns = 1 };
	const struct nw_layout_rec l = {
		.id = id, .meta_id = id, .n_fields = FIELDS, .fields = fields
	};

	snprintf(mid, sizeof(mid), "%016" PRIx64, (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15));
	if (is_last)
		snprintf(subject, sizeof(subject), "{\"type\":\"disk\",\"path\":\"/data/last\"}");
	else
		snprintf(subject, sizeof(subject),
		    "{\"type\":\"disk\",\"pid\":%" PRId64 ",\"path\":\"/data/%" PRId64 "\"}",
		    session % 30000, session);
	CHECK_INT(nw_batch_meta(b, &m), 0);
	CHECK_INT(nw_batch_layout(b, &l), 0);
}

static void
fill(struct store *st, int64_t n)
{
	const struct nw_host_rec hosts[] = { { .id = 1, .name = "a" }, { .id = 2, .name = "b" } };
	struct nw_batch *b = nw_batch_new();
	int64_t s;
	int k;

	CHECK_INT(nw_batch_host(b, &hosts[0]), 0);
	CHECK_INT(nw_batch_host(b, &hosts[1]), 0);
	for (s = 1; s <= n; s++) {
		CHECK_INT(nw_batch_session(b, &(struct nw_session_rec){ .id = s }), 0);
		for (k = 0; k < METADATA; k++)
			describe(b, s, k, s == n);
		if (s % AT_ONCE == 0 || s == n) {
			filled_commit(st, b);
			b = nw_batch_new();
		}
	}
	nw_batch_free(b);
}

struct timing {
	double begin_s, first_s;
	size_t bytes;
};

static int
on_bytes(void *arg, const char *bytes, size_t len)
{
	struct timing *t = arg;

	(void)bytes;
	/* what stands before the first entry does not count */
	if (t->first_s == 0 && t->bytes + len > sizeof("{\"status\":\"success\",\"data\":["))
		t->first_s = cpu_s(CLOCK_THREAD_CPUTIME_ID) - t->begin_s;
	t->bytes += len;
	return 0;
}

static void
list_time(struct store_reader *r, size_t i)
{
	struct timing t = { .begin_s = cpu_s(CLOCK_THREAD_CPUTIME_ID) };
	char why[PROMQL_WHY_BYTES];
	struct stream s;
	bool done = false;

	CHECK_INT(prom_stream(r, lists[i].path, lists[i].form, 1, INFINITY, &s, why), 0);
	while (!done)
		CHECK_INT(s.next(s.state, on_bytes, &t, &done), 0);
	s.free(s.state);
	printf("%-28s first byte %9.3f ms, whole %9.3f ms, %9zu bytes\n", lists[i].what,
	    t.first_s * 1e3, (cpu_s(CLOCK_THREAD_CPUTIME_ID) - t.begin_s) * 1e3, t.bytes);
}

int
main(int argc, char **argv)
{
	int64_t n = argc > 1 ? atoll(argv[1]) : SESSIONS;
	struct store *st = filled_open(NULL);
	double cpu = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
	char why[STORE_WHY_BYTES];
	struct store_reader *r;
	size_t i;

	fill(st, n);
	printf("%" PRId64 " series: %.0f us of CPU for the descriptions of a session\n",
	    n * METADATA * FIELDS, (cpu_s(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)n * 1e6);
	CHECK_INT(store_reader_open(filled_path, &r, why), 0);
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		list_time(r, i);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("bench_lists");
}
