/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions in the form of esmond: routes as metadata, points page by page for a client like
 * esmond's own, means, filters, refusals. */
#include "web/answer/esmond.h"

#include <math.h>

#include "tests/filled.h"

static const int64_t T0_S = 1780000000, S = INT64_C(1000000000);

static struct store *store;
static struct store_reader *reader;

static void
session_put(struct nw_batch *b, int64_t id, const char *route, const char *program, int64_t end_s,
    double rate, double status)
{
	char task[32];

	snprintf(task, sizeof(task), "task-%d", (int)id);
	nw_batch_session(b,
	    &(struct nw_session_rec){ .id = id,
		.task_id = task,
		.program = program,
		.opened_wall_ns = (end_s - 10) * S,
		.closed_wall_ns = end_s * S });
	nw_batch_result(b,
	    &(struct nw_result_rec){ .session_id = id,
		.route = route,
		.program = program,
		.stage = rate > 0 ? "network" : NULL,
		.confidence = "high",
		.sentence = "x",
		.bytes = 10 * rate,
		.bytes_per_s = rate,
		.effect = NAN,
		.usual = NAN,
		.start_wall_ns = (end_s - 10) * S,
		.duration_ns = 10 * S,
		.exit_status = status });
}

static void
route_put(struct nw_batch *b, const char *route, const char *program, int64_t n, int64_t newest)
{
	nw_batch_route(b,
	    &(struct nw_route_rec){ .route = route,
		.program = program,
		.made_wall_ns = T0_S * S,
		.n_sessions = n,
		.newest_session_id = newest,
		.bytes_per_s = 1e6,
		.json = "{}" });
}

/* 2,600 sessions of rsync, five with an end in the same second, the thousandth among the five; two
 * of scp, one of the two failed; one within a host. */
enum { SESSIONS = 2600, SAME = 998 };

static int64_t
end_of(int64_t id)
{
	return T0_S + 60 * (id >= SAME && id < SAME + 5 ? SAME : id);
}

static void
store_fill(void)
{
	struct nw_batch *b = nw_batch_new();
	int64_t id;

	for (id = 1; id <= SESSIONS; id++)
		session_put(b, id, "dtn1 -> dtn2", "rsync", end_of(id), 1e6 * (double)id, 0);
	session_put(b, SESSIONS + 1, "dtn1 -> 192.0.2.7", "scp", T0_S + 100, 5e6, 0);
	session_put(b, SESSIONS + 2, "dtn1 -> 192.0.2.7", "scp", T0_S + 200, NAN, 12);
	session_put(b, SESSIONS + 3, "dtn1 (local)", "cp", T0_S + 300, 5e6, 0);
	route_put(b, "dtn1 -> dtn2", "rsync", SESSIONS, SESSIONS);
	route_put(b, "dtn1 -> 192.0.2.7", "scp", 2, SESSIONS + 2);
	route_put(b, "dtn1 (local)", "cp", 1, SESSIONS + 3);
	filled_commit(store, b);
}

static int
ask(const char *path, const char *query, json_t **doc)
{
	char why[200];

	return esmond_document(reader, path, query, why, sizeof(why), doc);
}

static json_t *
have(const char *path, const char *query)
{
	json_t *doc;

	CHECK_INT(ask(path, query, &doc), NW_OK);
	return doc;
}

static const char *
text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text != NULL ? text : "";
}

static json_int_t
int_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static size_t
count(const char *query)
{
	json_t *list = have("", query);
	size_t n = json_array_size(list);

	json_decref(list);
	return n;
}

/* The path of an event type. */
static void
path_of(const char *query, size_t type, char *path, size_t size)
{
	json_t *list = have("", query);
	const char *uri =
	    text_of(json_array_get(json_object_get(json_array_get(list, 0), "event-types"), type),
		"base-uri");

	CHECK(strncmp(uri, ESMOND_BASE, strlen(ESMOND_BASE)) == 0);
	snprintf(path, size, "%s", uri + strlen(ESMOND_BASE));
	json_decref(list);
}

static void
test_list(void)
{
	json_t *list = have("", NULL), *first = json_array_get(list, 0), *one;
	char path[100];

	CHECK_INT(json_array_size(list), 2);
	CHECK_INT(int_of(first, "metadata-count-total"), 2);
	CHECK(json_is_null(json_object_get(first, "metadata-next-page")));
	CHECK_STR(text_of(first, "source"), "dtn1");
	CHECK_STR(text_of(first, "destination"), "192.0.2.7");
	CHECK_STR(text_of(first, "tool-name"), "narrows/scp");
	snprintf(path, sizeof(path), "%s/", text_of(first, "metadata-key"));
	one = have(path, NULL);
	CHECK_STR(text_of(one, "uri"), text_of(first, "uri"));
	json_decref(one);
	json_decref(list);
	list = have("", "limit=1&source=dtn1");
	CHECK_INT(json_array_size(list), 1);
	CHECK_INT(int_of(json_array_get(list, 0), "metadata-count-total"), 2);
	CHECK_STR(text_of(json_array_get(list, 0), "metadata-next-page"),
	    ESMOND_BASE "?limit=1&offset=1&source=dtn1");
	json_decref(list);
	list = have("", "limit=1&offset=1&source=dtn1");
	CHECK_STR(text_of(json_array_get(list, 0), "destination"), "dtn2");
	CHECK_STR(text_of(json_array_get(list, 0), "metadata-previous-page"),
	    ESMOND_BASE "?limit=1&offset=0&source=dtn1");
	json_decref(list);
}

static void
test_filters(void)
{
	char query[80];

	CHECK_INT(count("destination=dtn2"), 1);
	CHECK_INT(count("destination=dtn"), 0);
	CHECK_INT(count("tool-name=narrows%2Fscp&dns-match-rule=only-v4&format=json"), 1);
	CHECK_INT(count("event-type=throughput"), 2);
	CHECK_INT(count("event-type=packet-trace"), 0);
	CHECK_INT(count("summary-type=average&summary-window=86400"), 2);
	CHECK_INT(count("summary-window=7"), 0);
	CHECK_INT(count("ip-transport-protocol=tcp"), 0);
	CHECK_INT(count("trace-first-ttl=1"), 0);
	CHECK_INT(count("pscheduler-test-type=throughput"), 0);
	snprintf(query, sizeof(query), "time-start=%d", (int)T0_S + 201);
	CHECK_INT(count(query), 1);
	CHECK_INT(count("time-range=3600"), 0);
}

/* As esmond's client asks: from the second behind the last point, until a page is short. */
static void
test_pages(void)
{
	char path[100], query[80];
	json_int_t from = 0, last = 0;
	size_t n = 0, n_wrong = 0, i, pages = 0, here;
	json_t *list;

	path_of("destination=dtn2", 0, path, sizeof(path));
	do {
		snprintf(query, sizeof(query), "limit=1000&time-start=%d", (int)from);
		list = have(path, query);
		here = json_array_size(list);
		for (i = 0; i < here; i++, n++) {
			last = int_of(json_array_get(list, i), "ts");
			n_wrong += last != end_of((int64_t)n + 1) ||
			    int_of(json_array_get(list, i), "val") != 8000000 * (int64_t)(n + 1);
		}
		from = last + 1;
		json_decref(list);
		pages++;
	} while (here >= 1000);
	CHECK_INT(n_wrong, 0);
	CHECK_INT(n, SESSIONS);
	CHECK_INT(pages, 3);
}

static void
test_times(void)
{
	static const struct {
		const char *form;
		int a, b; /* seconds behind T0 */
		size_t n;
	} cases[] = {
		{ "time-start=%d&time-end=%d", 60, 180, 3 },
		{ "time-start=%d&time-range=%d", 61, 119, 2 },
		{ "time-end=%d&time-start=%d", 119, 60, 1 },
		{ "time=%d&limit=%d", 120, 5, 1 },
		{ "time=%d&limit=%d", 121, 5, 0 },
	};
	char path[100], query[80];
	json_t *list;
	size_t i;

	path_of("destination=dtn2", 0, path, sizeof(path));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const bool is_span = strstr(cases[i].form, "range") != NULL ||
		    strstr(cases[i].form, "limit") != NULL;

		snprintf(query, sizeof(query), cases[i].form, (int)T0_S + cases[i].a,
		    is_span ? cases[i].b : (int)T0_S + cases[i].b);
		list = have(path, query);
		CHECK_INT(json_array_size(list), cases[i].n);
		json_decref(list);
	}
}

static void
test_values(void)
{
	char path[100], means[120];
	json_t *list;
	double sum = 0;
	int64_t id;
	size_t n = 0;

	path_of("destination=192.0.2.7", 1, path, sizeof(path));
	list = have(path, NULL);
	CHECK_INT(json_array_size(list), 1);
	CHECK_INT(int_of(json_array_get(list, 0), "ts"), T0_S + 200);
	CHECK(strstr(text_of(json_object_get(json_array_get(list, 0), "val"), "error"),
		  "status 12") != NULL);
	json_decref(list);
	path_of("destination=192.0.2.7", 2, path, sizeof(path));
	list = have(path, NULL);
	CHECK_INT(json_array_size(list), 2);
	CHECK_STR(text_of(json_object_get(json_array_get(list, 0), "val"), "stage"), "network");
	json_decref(list);
	/* means */
	path_of("destination=dtn2", 0, path, sizeof(path));
	*strrchr(path, '/') = '\0';
	snprintf(means, sizeof(means), "%s/averages/3600", path);
	list = have(means, NULL);
	for (id = 1; id <= SESSIONS && end_of(id) / 3600 == end_of(1) / 3600; id++, n++)
		sum += 8e6 * (double)id;
	CHECK_INT(int_of(json_array_get(list, 0), "ts"), end_of(1) / 3600 * 3600);
	CHECK(fabs(json_number_value(json_object_get(json_array_get(list, 0), "val")) -
		  sum / (double)n) < 1);
	json_decref(list);
}

static void
test_refused(void)
{
	static const char *const values[] = { "time-start=x", "limit=-1", "time-range=1e300",
		"time-end=", "offset=nan", "sorce=dtn1", "source=dtn1&limits=1", "trac-x=1",
		"source-x=1" };
	static const char *const paths[] = { "none/", "%s//", "%s/none",
		"%s/failures/averages/3600", "%s/throughput/averages/7", "%s/throughput/base/1",
		"%s/throughput/averages/3600/1" };
	json_t *list = have("", NULL), *doc;
	char path[120], key[40];
	size_t i;

	snprintf(key, sizeof(key), "%s", text_of(json_array_get(list, 0), "metadata-key"));
	json_decref(list);
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		CHECK_INT(ask("", values[i], &doc), NW_EINVAL);
	/* esmond's client repeats the page, the form and the times, but no filter, for points */
	snprintf(path, sizeof(path), "%s/throughput/base", key);
	CHECK_INT(ask(path, "source=dtn1", &doc), NW_EINVAL);
	json_decref(have(path, "format=json&limit=1000&offset=0&time-start=0"));
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(path, sizeof(path), paths[i], key);
		CHECK_INT(ask(path, NULL, &doc), NW_ENOTFOUND);
		CHECK(doc == NULL);
	}
}

/* --- active tests --- */

static char tests_text[60000];

static void
test_doc(int n, const char *kind, const char *tool, int end_s, const char *result)
{
	const size_t len = strlen(tests_text);

	snprintf(tests_text + len, sizeof(tests_text) - len,
	    "{\"id\":\"7d0f8a1e-4f6f-4f0e-9c55-%012d\",\"test\":{\"type\":\"%s\",\"spec\":{"
	    "\"source\":\"a\",\"dest\":\"b\"}},\"tool\":{\"name\":\"%s\"},\"run\":{"
	    "\"start-time\":\"2026-05-04T10:00:00Z\",\"end-time\":\"2026-05-04T10:%02d:%02dZ\"},"
	    "\"result\":{\"succeeded\":%s}}\n",
	    n, kind, tool, end_s / 60, end_s % 60, result);
}

static void
tests_fill(void)
{
	struct nw_active_tests tests;
	char why[STORE_WHY_BYTES], result[400];
	const char *fault;
	size_t added;
	int i;

	for (i = 0; i < 30; i++) { /* two a second */
		snprintf(result, sizeof(result),
		    "true,\"intervals\":[{\"summary\":{\"start\":0,\"end\":2,\"throughput-bits\":%"
		    "d,"
		    "\"retransmits\":7}}],\"summary\":{\"summary\":{\"throughput-bits\":%d.4,"
		    "\"retransmits\":%d},\"streams\":[{\"throughput-bits\":5},{\"throughput-bits\":"
		    "6}]}",
		    i, 1000 + i, i);
		test_doc(i, "throughput", "iperf3", 100 + i / 2, result);
	}
	test_doc(40, "throughput", "iperf3", 900, "false,\"error\":\"no route\"");
	test_doc(50, "latency", "owping", 200,
	    "true,\"packets-sent\":600,\"packets-lost\":6,\"max-clock-error\":0.5,\"histogram-"
	    "latency"
	    "\":{\"2.5\":594},\"histogram-ttl\":{\"57\":594}");
	test_doc(60, "rtt", "ping", 200,
	    "true,\"sent\":5,\"lost\":1,\"loss\":0.2,\"roundtrips\":[{\"rtt\":\"PT0.0125S\"}]");
	test_doc(70, "trace", "traceroute", 200,
	    "true,\"paths\":[[{\"ip\":\"10.0.0.1\",\"rtt\":\"PT0.001S\",\"mtu\":9000},{}]]");
	CHECK_INT(nw_pscheduler_read(tests_text, strlen(tests_text), &tests, &fault), NW_OK);
	CHECK_INT(store_tests_add(filled_path, tests.list, tests.n, &added, why), NW_OK);
	CHECK_INT(added, 34);
	nw_active_tests_clear(&tests);
}

/* The points of an event type of the metadata that the query finds, as text; free() the text. */
static char *
points_of(const char *find, const char *type, const char *query)
{
	json_t *list = have("", find), *points;
	char path[120], *text;

	CHECK_INT(json_array_size(list), 1);
	snprintf(path, sizeof(path), "%s/%s/base", text_of(json_array_get(list, 0), "metadata-key"),
	    type);
	points = have(path, query);
	text = json_dumps(points, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(points);
	json_decref(list);
	return text;
}

static void
test_active(void)
{
	static const struct {
		const char *find, *type, *points;
	} cases[] = {
		{ "tool-name=pscheduler/owping", "histogram-owdelay",
		    "[{\"ts\":1777889000,\"val\":{\"2.5\":594}}]" },
		{ "tool-name=pscheduler/owping", "histogram-ttl",
		    "[{\"ts\":1777889000,\"val\":{\"57\":594}}]" },
		{ "tool-name=pscheduler/owping", "packet-loss-rate",
		    "[{\"ts\":1777889000,\"val\":0.01}]" },
		{ "tool-name=pscheduler/owping", "packet-count-lost",
		    "[{\"ts\":1777889000,\"val\":6}]" },
		{ "tool-name=pscheduler/owping", "time-error-estimates",
		    "[{\"ts\":1777889000,\"val\":0.5}]" },
		{ "pscheduler-test-type=rtt", "packet-loss-rate-bidir",
		    "[{\"ts\":1777889000,\"val\":0.20000000000000001}]" },
		{ "pscheduler-test-type=rtt", "histogram-rtt",
		    "[{\"ts\":1777889000,\"val\":{\"12.50\":1}}]" },
		{ "event-type=packet-trace", "packet-trace",
		    "[{\"ts\":1777889000,\"val\":[{\"ip\":\"10.0.0.1\",\"query\":1,\"rtt\":1.0,"
		    "\"success\":1,\"ttl\":1},{\"ip\":null,\"query\":1,\"success\":0,\"ttl\":2}]}"
		    "]" },
		{ "event-type=packet-trace", "path-mtu", "[{\"ts\":1777889000,\"val\":9000}]" },
		{ "tool-name=pscheduler/iperf3", "failures",
		    "[{\"ts\":1777889700,\"val\":{\"error\":\"no route\"}}]" },
	};
	static const char iperf3[] = "source=a&destination=b&tool-name=pscheduler/iperf3";
	char *text;
	json_t *doc;
	size_t i;

	CHECK_INT(count("source=a"), 0);
	tests_fill();
	CHECK_INT(count("source=a"), 4);
	CHECK_INT(count("event-type=packet-retransmits"), 1);
	CHECK_INT(count("pscheduler-test-type=throughput&summary-window=86400"), 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = points_of(cases[i].find, cases[i].type, NULL);
		CHECK_STR(text, cases[i].points);
		free(text);
	}
	/* a page ends behind the second of its last point */
	text = points_of(iperf3, "throughput", "limit=3");
	CHECK_STR(text,
	    "[{\"ts\":1777888900,\"val\":1000},{\"ts\":1777888900,\"val\":1001},{\"ts\":1777888901,"
	    "\"val\":1002},{\"ts\":1777888901,\"val\":1003}]");
	free(text);
	text = points_of(iperf3, "packet-retransmits", "time-start=1777888914&time-end=1777888914");
	CHECK_STR(text, "[{\"ts\":1777888914,\"val\":28},{\"ts\":1777888914,\"val\":29}]");
	free(text);
	text = points_of(iperf3, "throughput-subintervals", "limit=1&time-start=1777888914");
	CHECK_STR(text,
	    "[{\"ts\":1777888914,\"val\":[{\"duration\":2.0,\"start\":0.0,\"val\":28}]},{\"ts\":"
	    "1777888914,\"val\":[{\"duration\":2.0,\"start\":0.0,\"val\":29}]}]");
	free(text);
	text = points_of(iperf3, "streams-throughput", "limit=1");
	CHECK(strstr(text, "{\"ts\":1777888900,\"val\":[5,6]}") != NULL);
	free(text);
	CHECK_INT(ask("0123456789abcdef/throughput/base", NULL, &doc), NW_ENOTFOUND);
}

int
main(void)
{
	char why[STORE_WHY_BYTES];

	store = filled_open(NULL);
	store_fill();
	CHECK_INT(store_reader_open(filled_path, &reader, why), NW_OK);
	test_list();
	test_filters();
	test_pages();
	test_times();
	test_values();
	test_refused();
	test_active();
	store_reader_close(reader);
	store_close(store);
	filled_remove();
	return check_done("test_esmond");
}
