/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report over real HTTP: every address, every refusal, hostile names, slow and vanishing
 * clients.
 *
 *	test_web --serve FILE    makes a store with a session of every kind and serves it
 */
#include "narrows/web.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include <jansson.h>

#include "narrows/clock.h"
#include "tests/filled.h"
#include "web/answer/session_filter.h"

#define T0 INT64_C(1795162331250000000)
enum { STEPS = 240, BIG_ROWS = 200000, SESSIONS = 60, BIG = 8 };

static const char evil[] =
    "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)> \xe2\x80\xaegnp.exe \a\n=1+1";

/* The page of the route that an add_routes() names by `evil`. */
#define EVIL                                                                                    \
	"%3Cscript%3Ealert(1)%3C%2Fscript%3E%22'%26%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%20" \
	"%E2%80%AEgnp.exe%20%07%0A%3D1%2B1"
#define EVIL_ROUTE "/route?route=" EVIL "&program=" EVIL

/* --- documents --- */

static json_t *
load_example(void)
{
	json_error_t error;
	json_t *doc = json_load_file("tests/data/result_example.json", 0, &error);

	if (doc == NULL) {
		fprintf(stderr, "tests/data/result_example.json:%d: %s\n", error.line, error.text);
		exit(1);
	}
	return doc;
}

static json_t *
wander(double base, double spread)
{
	json_t *list = json_array();
	double x = 0;
	int i;

	for (i = 0; i < STEPS; i++) {
		x = 0.9 * x + spread * ((double)rand() / RAND_MAX - 0.5);
		json_array_append_new(
		    list, rand() % 60 == 0 ? json_null() : json_real(base * exp(x)));
	}
	return list;
}

/* Three segments of a long session, one with a wait that is hidden. */
static json_t *
make_segments(void)
{
	static const struct {
		int64_t from_s, to_s;
		const char *stage, *words;
		double rate;
		bool hidden;
	} segments[] = {
		{ 0, 328, "network",
		    "the network path from dtn-a.site-a.example.net to dtn-b.site-b.example.net",
		    2.1e9, false },
		{ 328, 700, "network",
		    "the network path from dtn-a.site-a.example.net to dtn-b.site-b.example.net, "
		    "by waits outside its calls",
		    9e8, true },
		{ 700, 1050, NULL, "cannot tell", 1.8e9, false },
	};
	json_t *list = json_array(), *one;
	size_t i;

	for (i = 0; i < sizeof(segments) / sizeof(segments[0]); i++) {
		one = json_pack("{s:o s:o s:s? s:s s:f s:f}", "start_ns",
		    json_sprintf("%" PRId64, T0 + segments[i].from_s * 1000000000), "end_ns",
		    json_sprintf("%" PRId64, T0 + segments[i].to_s * 1000000000), "stage",
		    segments[i].stage, "words", segments[i].words, "bytes_per_s", segments[i].rate,
		    "p_holm", 1e-5);
		if (segments[i].hidden)
			json_object_set_new(one, "hidden_wait",
			    json_pack("[s s]",
				"single operations became faster while less was delivered",
				"most of the time is no longer inside its operations"));
		json_array_append_new(list, one);
	}
	return list;
}

static void
add_held(json_t *timeline)
{
	json_object_set_new(timeline, "held",
	    json_pack("[{s:s s:s s:o}{s:s s:s s:o}]", "stage", "disk.read", "host",
		"dtn-a.site-a.example.net", "held", wander(0.05, 0.3), "stage", "network", "host",
		"dtn-a.site-a.example.net", "held", wander(0.8, 0.1)));
}

/* Five connections and a trickle; nothing was sent again. */
static void
add_connections(json_t *timeline)
{
	json_t *list = json_array();
	int i;

	for (i = 0; i < 6; i++)
		json_array_append_new(list,
		    json_pack("{s:s s:s s:i s:s s:i s:o s:o s:o s:o s:o s:o s:o}", "host",
			"dtn-a.site-a.example.net", "src", "192.0.2.1", "sport", 40000 + i, "dst",
			"198.51.100.7", "dport", 5001, "bytes_per_s",
			wander(i < 5 ? 3e8 : 1e3, 0.2), "rtt_s", wander(0.02, 0.1), "cwnd_bytes",
			wander(6e6, 0.1), "retrans_per_s", wander(0, 0), "busy", wander(0.9, 0.05),
			"rwnd_limited", wander(0.1, 0.3), "sndbuf_limited", wander(0.01, 0.3)));
	json_object_set_new(timeline, "connections", list);
}

/* Twelve sizes of operations, slower than in eleven earlier sessions. */
static void
add_operations(json_t *doc)
{
	json_t *list = json_object_get(doc, "density"), *counts, *low = json_array(),
	       *high = json_array();
	int k, i;

	for (k = 0; k < 12; k++) {
		counts = json_array();
		for (i = 0; i < 96; i++)
			json_array_append_new(counts,
			    json_integer((json_int_t)(2e4 * exp(-pow((i - 50 - 2 * k) / 6.0, 2)))));
		json_array_append_new(list,
		    json_pack("{s:s s:s s:i s:f s:f s:o}", "op", "disk.read", "host",
			"dtn-a.site-a.example.net", "size_class", k, "size_from_bytes", pow(4, k),
			"size_to_bytes", pow(4, k + 1), "counts", counts));
	}
	for (i = 0; i < 80; i++) {
		json_array_append_new(low, json_real(0.5 + 0.5 * tanh((i - 54) / 8.0)));
		json_array_append_new(high, json_real(0.5 + 0.5 * tanh((i - 44) / 8.0)));
	}
	json_object_set_new(doc, "usual",
	    json_pack("{s:[{s:s s:s s:i s:o s:O s:o}]}", "operations", "op", "disk.read", "host",
		"dtn-a.site-a.example.net", "n", 11, "low", low, "median", high, "high", high));
}

/* The session beside others of its route, and what changed meanwhile. */
static void
add_usual(json_t *doc)
{
	json_t *usual = json_object_get(doc, "usual");

	json_object_update_new(usual,
	    json_pack("{s:s s:s s:i s:i s:f s:f s:f s:f s:f}", "said", "slower", "sentence",
		"1.23 times slower than usual, slower than 96 % of 214 earlier sessions.", "n", 214,
		"n_needed", 8, "median", 2.16e9, "low", 1.89e9, "high", 2.43e9, "best", 2.61e9,
		"worst", 0.9e9));
	json_object_set_new(usual, "incident",
	    json_pack("{s:i s:s s:s s:i s:s s:s s:s s:f s:f s:f s:s}", "id", 3, "kind", "step",
		"state", "open", "session", 2, "at_ns", "1763625600000000000", "from_ns",
		"1763539200000000000", "to_ns", "1763712000000000000", "before", 2.16e9, "since",
		1.75e9, "ratio", 1.23, "sentence", "1.23 times slower since session 2."));
	json_object_set_new(doc, "changed",
	    json_pack("{s:s s:i s:i s:[{s:s s:s s:s s:s s:s s:f s:b s:s}]}", "sentence",
		"Mount option allocsize went from 1g to absent.", "n_before", 200, "n_after", 14,
		"differences", "kind", "setting", "host", "dtn-b.site-b.example.net", "name",
		"mount./data.options", "before", "allocsize=1g", "after", "rw", "q", 0.004,
		"beyond_chance", 1, "sentence",
		"Mount options of /data: allocsize=1g before, rw since."));
	json_object_set_new(doc, "advice",
	    json_pack("[{s:s s:s s:s s:s s:s s:f s:s s:s}]", "rule", "mount-allocsize", "title",
		"Restore allocsize=1g", "evidence", "Writes became smaller.", "check",
		"mount | grep /data", "change", "mount -o remount,allocsize=1g /data", "gain", 1.2,
		"undo", "mount -o remount,allocsize=64k /data", "reference", "xfs(5)"));
}

/* A long transfer with all five stages and two hosts with long names. */
static json_t *
make_full(void)
{
	static const struct {
		const char *stage, *words, *host;
		double rate, busy;
	} stages[] = {
		{ "disk.read", "disk read", "dtn-a.site-a.example.net", 2.1e9, 0.02 },
		{ "net.write", "network send", "dtn-a.site-a.example.net", 1.2e9, 0.03 },
		{ "network", "network path", "dtn-a.site-a.example.net -> dtn-b.site-b.example.net",
		    4.4e7, 0.94 },
		{ "net.read", "network receive", "dtn-b.site-b.example.net", 9e8, 0.05 },
		{ "disk.write", "disk write", "dtn-b.site-b.example.net", 5.8e8, 0.07 },
	};
	json_t *doc = load_example(), *timeline = json_object_get(doc, "timeline"),
	       *of_time = json_array(), *table = json_array();
	json_t *hosts = json_array();
	size_t i;

	srand(4);
	for (i = 0; i < 5; i++) {
		json_array_append_new(of_time,
		    json_pack("{s:s s:s s:o s:o}", "stage", stages[i].stage, "host", stages[i].host,
			"bytes_per_s", wander(4.1e7, 0.15), "tput_i", wander(stages[i].rate, 0.3)));
		json_array_append_new(table,
		    json_pack("{s:s s:s s:s s:f s:f s:f s:i s:f s:f s:f s:b s:f}", "stage",
			stages[i].stage, "host", stages[i].host, "words", stages[i].words,
			"bytes_per_s", stages[i].rate, "low", stages[i].rate * 0.9, "high",
			stages[i].rate * 1.08, "windows", STEPS, "n_eff", 61.7, "busy_share",
			stages[i].busy, "wait_share", 0.01, "lowest", (int)(i == 2), "p_holm",
			i == 4 ? 0.0123 : 1e-20));
	}
	for (i = 0; i < 5; i++) {
		json_t *stage = json_array_get(table, i);

		json_object_set_new(stage, "free_share", json_real(i == 2 ? 0.25 : 0.9));
		json_object_set_new(
		    stage, "could_low", json_real(i == 2 || i == 0 ? 4.4e7 : 6.6e7));
		json_object_set_new(stage, "could_high",
		    i == 2       ? json_real(4.4e7)
			: i == 4 ? json_real(9.9e7)
				 : json_null());
	}
	for (i = 0; i < 2; i++)
		json_array_append_new(hosts,
		    json_pack("{s:s s:o s:o s:o s:o}", "host", stages[4 * i].host, "cpu_busy",
			wander(0.2 + 0.2 * (double)i, 0.2), "cpu_iowait", wander(0.05, 0.3),
			"disk_busy", wander(0.3, 0.4), "disk_bytes_per_s", wander(6e7, 0.6)));
	add_held(timeline);
	add_connections(timeline);
	add_operations(doc);
	add_usual(doc);
	json_object_set_new(timeline, "stages", of_time);
	json_object_set_new(timeline, "hosts", hosts);
	json_object_set_new(json_object_get(doc, "changes"), "segments", make_segments());
	json_object_set_new(timeline, "n", json_integer(STEPS));
	json_object_set_new(timeline, "step_s", json_real(4.375));
	json_object_set_new(json_object_get(doc, "bottleneck"), "stages", table);
	json_object_set_new(json_object_get(doc, "session"), "route",
	    json_string("dtn-a.site-a.example.net -> dtn-b.site-b.example.net"));
	json_object_set_new(json_object_get(doc, "session"), "duration_s", json_real(1050));
	json_object_set_new(json_object_get(doc, "session"), "bytes", json_real(1.84e12));
	json_object_set_new(json_object_get(doc, "session"), "bytes_per_s", json_real(1.752e9));
	return doc;
}

static json_t *
make_undecided(void)
{
	json_t *doc = load_example(), *verdict = json_object_get(doc, "verdict");

	/* the transfer begins 1.1 s after its programs: two of 13 steps are before */
	json_object_set_new(
	    json_object_get(doc, "session"), "start_ns", json_string("1795162332350000000"));

	json_object_set_new(verdict, "stage", json_null());
	json_object_set_new(verdict, "words", json_null());
	json_object_set_new(verdict, "confidence", json_null());
	json_object_set_new(verdict, "sentence",
	    json_string("It cannot be told whether disk read on dtn-a or the network path "
			"limited this transfer: their rates differ by less than 10 %."));
	json_object_set_new(verdict, "candidates", json_pack("[s s]", "disk.read", "network"));
	json_object_set_new(verdict, "reasons",
	    json_pack("[s s]",
		"disk read: 41.3 MB/s (39.8 to 42.9), network path: 42.9 MB/s "
		"(40.1 to 45.2).",
		"Only 14 windows were long enough to compare; 30 would tell a difference of 10 "
		"%."));
	json_object_set_new(verdict, "witnesses",
	    json_pack("[{s:s s:n s:n s:s} {s:s s:s s:b s:s}]", "name", "calipers", "says", "agrees",
		"detail", "two candidates", "name", "tcp", "says", "network", "agrees", 0, "detail",
		"busy 98 %"));
	return doc;
}

/* Every text somebody could choose, chosen badly; or everything null. */
static void
spoil(json_t *v, bool nulls)
{
	const char *key;
	json_t *child;
	size_t i;
	void *next;
	char longer[512];

	memset(longer, 'a', sizeof(longer));
	memcpy(longer, evil, sizeof(evil) - 1);
	longer[400] = '\0';
	json_object_foreach_safe(v, next, key, child)
	{
		if (json_is_object(child) ||
		    (json_is_array(child) && json_array_size(child) > 0 &&
			json_is_object(json_array_get(child, 0))))
			spoil(child, nulls);
		else if (nulls && strcmp(key, "stage") != 0)
			json_object_set_new(v, key, json_null());
		else if (!nulls && json_is_string(child) && strcmp(key, "stage") != 0)
			json_object_set_new(v, key, json_string(longer));
	}
	json_array_foreach(v, i, child) spoil(child, nulls);
}

/* --- the store --- */

static void
add_session(struct nw_batch *b, int64_t id, const char *program, json_t *doc, bool open)
{
	json_t *s = json_object_get(doc, "session"), *verdict = json_object_get(doc, "verdict");
	int64_t t = T0 + (id - 1) * INT64_C(3600000000000);
	char *json = doc != NULL ? json_dumps(doc, JSON_INDENT(1)) : NULL;
	json_t *bytes = json_object_get(s, "bytes"), *rate = json_object_get(s, "bytes_per_s");

	CHECK_INT(nw_batch_session(b,
		      &(struct nw_session_rec){ .id = id,
			  .task_id = "task",
			  .program = program,
			  .opened_wall_ns = t,
			  .closed_wall_ns = open ? 0 : t + INT64_C(6500000000),
			  .last_data_wall_ns = t + INT64_C(6000000000) }),
	    NW_OK);
	if (doc != NULL) {
		CHECK_INT(nw_batch_run(b,
			      &(struct nw_run_rec){ .id = id,
				  .session_id = id,
				  .kind = "verdict",
				  .started_wall_ns = t,
				  .version = "0.1.0",
				  .outcome = "ok" }),
		    NW_OK);
		CHECK_INT(
		    nw_batch_result(b,
			&(struct nw_result_rec){ .session_id = id,
			    .run_id = id,
			    .json = json,
			    .program = program,
			    .route = json_string_value(json_object_get(s, "route")),
			    .stage = json_string_value(json_object_get(verdict, "stage")),
			    .sentence = json_string_value(json_object_get(verdict, "sentence")),
			    .bytes = json_is_number(bytes) ? json_number_value(bytes) : NAN,
			    .bytes_per_s = json_is_number(rate) ? json_number_value(rate) : NAN,
			    .start_wall_ns = t,
			    .duration_ns = INT64_C(6500000000) }),
		    NW_OK);
	}
	free(json);
	json_decref(doc);
}

static void
add_samples(struct nw_batch *b)
{
	static const char *const fields[] = { "value" };
	int64_t *t = calloc(BIG_ROWS, sizeof(*t));
	double *v = calloc(BIG_ROWS, sizeof(*v));
	int i;

	CHECK_INT(nw_batch_host(
		      b, &(struct nw_host_rec){ .id = 1, .name = evil, .first_seen_wall_ns = T0 }),
	    NW_OK);
	CHECK_INT(nw_batch_xsp(b,
		      &(struct nw_xsp_rec){ .id = 1,
			  .host_id = 1,
			  .session_id = BIG,
			  .sess_id_hex = "00000000000000000000000000000001",
			  .opened_wall_ns = T0 }),
	    NW_OK);
	CHECK_INT(nw_batch_meta(b,
		      &(struct nw_meta_rec){ .id = 1,
			  .session_id = BIG,
			  .host_id = 1,
			  .xsp_id = 1,
			  .mid = "m",
			  .event_type = "test:big",
			  .subject_json = "{}",
			  .params_json = "{}",
			  .first_wall_ns = T0 }),
	    NW_OK);
	CHECK_INT(
	    nw_batch_layout(b,
		&(struct nw_layout_rec){ .id = 1, .meta_id = 1, .n_fields = 1, .fields = fields }),
	    NW_OK);
	for (i = 0; i < BIG_ROWS; i++) {
		t[i] = T0 + (int64_t)i * 1000;
		v[i] = sqrt(i);
	}
	CHECK_INT(nw_batch_rows(b, 1, 1, BIG_ROWS, t, v, NULL, 0), NW_OK);
	free(t);
	free(v);
}

#define ROUTE "dtn-a.site-a.example.net -> dtn-b.site-b.example.net"

/* One history as the box makes it, and one whose every text somebody chose badly. */
static void
add_routes(struct nw_batch *b)
{
	static const char history[] =
	    "{\"schema\":\"narrows-route/1\",\"sentence\":\"Usually 41 MB/s in 63 sessions.\","
	    "\"n_sessions\":63,\"n_failed\":2,\"first_ns\":\"1795162331250000000\",\"last_ns\":"
	    "\"1795262331250000000\",\"median\":41e6,\"low\":30e6,\"high\":44e6,\"best\":47e6,"
	    "\"best_session\":9,\"worst\":1e6,\"worst_session\":11,\"incidents\":[{\"id\":13,"
	    "\"kind\":\"step\",\"state\":\"open\",\"session\":12,"
	    "\"at_ns\":\"1795202331250000000\",\"from_ns\":\"1795201331250000000\",\"to_ns\":"
	    "\"1795203331250000000\",\"before\":41e6,\"since\":20e6,\"ratio\":2.05,\"p\":0.001,"
	    "\"sentence\":\"2.05 times slower since session 12.\"}],\"verdicts\":[{\"stage\":"
	    "\"network\",\"n\":40,\"n_late\":10},{\"stage\":null,\"n\":23,\"n_late\":20}],"
	    "\"hours\":{\"sentence\":\"Slowest from 20:00 to 24:00.\",\"p\":0.002},\"weekdays\":"
	    "null}";
	struct nw_route_rec r = { .route = ROUTE,
		.program = "rsync",
		.made_wall_ns = T0,
		.n_sessions = 63,
		.newest_session_id = 60,
		.bytes_per_s = 41e6,
		.stage = "network",
		.sentence = "Usually 41 MB/s in 63 sessions.",
		.json = history };

	CHECK_INT(nw_batch_route(b, &r), NW_OK);
	r = (struct nw_route_rec){ .route = evil,
		.program = evil,
		.newest_session_id = 5,
		.bytes_per_s = NAN,
		.sentence = evil,
		.json =
		    "{\"sentence\":7,\"changes\":[4,null],\"verdicts\":\"x\",\"median\":null}" };
	CHECK_INT(nw_batch_route(b, &r), NW_OK);
}

/* Events of 40 blocks with a hostile id, some unfinished, and of a host alone. */
static void
add_events(struct nw_batch *b, int64_t session_id)
{
	static const char *const names[] = { "app.ask", "server.take", "server.give", "app.get" };
	struct nw_attr attrs[2] = {
		{ .key = "block.id", .type = NW_ATTR_INT, .is_id = true },
		{ .key = "guid", .type = NW_ATTR_TEXT, .is_id = true, .v.text = evil },
	};
	struct nw_event e = { .n_attrs = 2, .attrs = attrs };
	int i, p;

	for (i = 0; i < 40; i++)
		for (p = 0; p < (i % 10 == 0 ? 2 : 4); p++) {
			attrs[0].v.i = i;
			e.name = names[p];
			e.host = p == 0 || p == 3 ? evil : i % 2 ? "server1" : "server2";
			e.t_wall_ns = T0 + INT64_C(1000000) * (i * 20 + p * (3 + i % 5));
			CHECK_INT(nw_batch_event(b, session_id, 1, &e), NW_OK);
		}
	e = (struct nw_event){ .name = "NETSTAT_RETRANSSEGS", .t_wall_ns = T0 + 5000000 };
	CHECK_INT(nw_batch_event(b, session_id, 1, &e), NW_OK);
}

static void
add_clock(struct nw_batch *b)
{
	static const char *const fields[] = { "offset_s", "bound_s" };
	double v[2];
	int64_t t;
	int i;

	CHECK_INT(nw_batch_meta(b,
		      &(struct nw_meta_rec){ .id = 2,
			  .host_id = 2,
			  .xsp_id = 2,
			  .mid = "c",
			  .event_type = "nw:clock",
			  .subject_json = "{}",
			  .params_json = "{}",
			  .first_wall_ns = T0 }),
	    NW_OK);
	CHECK_INT(
	    nw_batch_layout(b,
		&(struct nw_layout_rec){ .id = 2, .meta_id = 2, .n_fields = 2, .fields = fields }),
	    NW_OK);
	for (i = 0; i < 480; i++) {
		t = T0 + i * INT64_C(1080000000000);
		v[0] = i < 360 ? 2e-4 * sin(i / 40.0) : 0.004;
		v[1] = 3e-4 + 1e-4 * (i % 7);
		CHECK_INT(nw_batch_rows(b, 2, 2, 1, &t, v, NULL, 0), NW_OK);
	}
}

/* The latest of two rows counts, and what a collector does not say is unknown. */
static void
add_cost(struct nw_batch *b)
{
	static const char *const fields[] = { "resident_bytes", "cpu_share", "slowed", "dropped" };
	static const double rows[2][4] = { { 1e6, 0.5, 1, 0 }, { 3700000, 0.0123, 4, 21 } };
	const int64_t at[2] = { T0, T0 + 1000000000 };

	CHECK_INT(nw_batch_meta(b,
		      &(struct nw_meta_rec){ .id = 4000,
			  .host_id = 2,
			  .xsp_id = 2,
			  .mid = "cost",
			  .event_type = "nw:collector",
			  .subject_json = "{\"collector\":\"blipp\"}",
			  .params_json = "{}",
			  .first_wall_ns = T0 }),
	    NW_OK);
	CHECK_INT(nw_batch_layout(b,
		      &(struct nw_layout_rec){
			  .id = 4000, .meta_id = 4000, .n_fields = 4, .fields = fields }),
	    NW_OK);
	CHECK_INT(nw_batch_rows(b, 4000, 4, 2, at, &rows[0][0], NULL, 0), NW_OK);
}

#define HOST "dtn-a.site-a.example.net"

/* A host of six days: its clock, its collectors, and the list that names it. */
static void
add_host(struct nw_batch *b)
{
	static const char list[] =
	    "{\"program\":\"rsync\",\"route\":\"" ROUTE
	    "\",\"sentence\":\"Two of them.\",\"hosts\":["
	    "{\"role\":\"sender\",\"name\":\"" HOST "\"},{\"role\":null},7],\"metrics\":["
	    "{\"name\":\"sender: cpu iowait\",\"unit\":\"1\",\"worth_keeping\":true,"
	    "\"share\":0.94,\"r\":-0.81},{\"name\":\"sender: disk sda busy\",\"unit\":\"1\","
	    "\"worth_keeping\":false,\"share\":0.2,\"r\":0.3},{\"name\":\"receiver: drops\","
	    "\"worth_keeping\":true},{\"name\":\"senders: x\"},4]}";
	struct nw_xsp_rec x = { .id = 2,
		.host_id = 2,
		.sess_id_hex = "00000000000000000000000000000002",
		.software = "blipp/0.1.0",
		.opened_wall_ns = T0,
		.samples = 86001,
		.dropped = 17 };

	CHECK_INT(nw_batch_host(b,
		      &(struct nw_host_rec){ .id = 2,
			  .name = HOST,
			  .info_json = "{\"software\":\"blipp/0.1.0\"}",
			  .first_seen_wall_ns = T0,
			  .last_seen_wall_ns = T0 + INT64_C(518400000000000) }),
	    NW_OK);
	CHECK_INT(nw_batch_xsp(b, &x), NW_OK);
	x = (struct nw_xsp_rec){ .id = 3,
		.host_id = 2,
		.session_id = 1,
		.sess_id_hex = "00000000000000000000000000000003",
		.software = evil,
		.opened_wall_ns = T0,
		.closed_wall_ns = T0 + 1,
		.end_reason = evil,
		.rejected = 3 };
	CHECK_INT(nw_batch_xsp(b, &x), NW_OK);
	add_clock(b);
	add_cost(b);
	CHECK_INT(nw_batch_keeplist(b,
		      &(struct nw_keeplist_rec){ .route = ROUTE,
			  .program = "rsync",
			  .response = "delivered rate",
			  .made_wall_ns = T0,
			  .sentence = "Two of them.",
			  .json = list }),
	    NW_OK);
}

static void
fill(struct store *st, int sessions)
{
	struct nw_batch *b = nw_batch_new();
	json_t *doc;
	int i;

	add_session(b, 1, "rsync", load_example(), false);
	add_session(b, 2, "rsync", json_object(), false);
	add_session(b, 3, "rsync", make_full(), true);
	add_session(b, 4, "rsync", make_undecided(), false);
	doc = make_full();
	spoil(doc, false);
	/* a time that the events' own can stand beside */
	json_object_set_new(
	    json_object_get(doc, "timeline"), "t0_ns", json_sprintf("%" PRId64, T0));
	add_session(b, 5, evil, doc, false);
	doc = load_example();
	spoil(doc, true);
	add_session(b, 6, NULL, doc, false);
	add_session(b, 7, "curl", NULL, true);
	add_session(b, BIG, "globus-url-copy", NULL, false);
	add_samples(b);
	add_events(b, 5);
	add_routes(b);
	add_host(b);
	for (i = BIG + 1; i <= sessions; i++)
		add_session(b, i, i % 3 == 0 ? "curl" : "rsync",
		    i % 2 == 0 ? load_example() : make_full(), false);
	filled_commit(st, b);
}

static struct nw_health health = {
	.ok = true,
	.version = "0.1.0",
	.started_wall_ns = T0,
	.now_wall_ns = T0 + INT64_C(7200000000000),
	.store = { .commits = 1234,
	    .batches = 5678,
	    .rows = 480000,
	    .samples = 963541,
	    .file_bytes = 48234496,
	    .last_commit_wall_ns = T0 + INT64_C(7199000000000),
	    .last_commit_took_ns = 3400000 },
	.counts = { .connections = 4,
	    .xsp_sessions_open = 4,
	    .sessions_open = 2,
	    .sessions_total = 40,
	    .frames = 9000,
	    .documents = 8800,
	    .samples = 963541,
	    .held_documents = 77001,
	    .failed_commits = 77002,
	    .connections_total = 77003,
	    .analysis_runs = 40 },
	.last_analysis_wall_ns = T0 + INT64_C(7100000000000),
	.last_analysis_took_ns = 21000000,
	.clock_known = true,
	.clock_synchronised = true,
	.clock_offset_s = 1.2e-5,
	.clock_bound_s = 4e-4,
	.disk_free_bytes = INT64_C(81234496000),
	.listen_xsp = "127.0.0.1/5006",
	.listen_http = "127.0.0.1/8080",
};

static void
on_health(void *arg, struct nw_health *out)
{
	*out = *(const struct nw_health *)arg;
}

static struct web *
serve(const char *path)
{
	const struct web_opts opts = { .listen = "127.0.0.1/0",
		.store_path = path,
		.health = on_health,
		.health_arg = &health,
		.names = "narrows.example" };
	struct web *w = NULL;
	char why[STORE_WHY_BYTES];

	CHECK_INT(web_start(&opts, &w, why), NW_OK);
	if (w == NULL) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return w;
}

static int
serve_for_ever(const char *path)
{
	struct store *st = filled_open(path);
	struct web *w;
	sigset_t set;
	int sig;

	fill(st, SESSIONS);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	w = serve(path);
	printf("%s\n", web_address(w));
	fflush(stdout);
	sigwait(&set, &sig);
	web_stop(w);
	store_close(st);
	return check_failed != 0;
}

/* --- a client --- */

struct reply {
	char *text;
	size_t len;
	int status;
	const char *body;
	size_t body_len;
};

static struct sockaddr_in where;

static int
dial(int receive_bytes)
{
	const struct timeval patience = { .tv_sec = 10 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (receive_bytes > 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	CHECK_INT(connect(fd, (struct sockaddr *)&where, sizeof(where)), 0);
	return fd;
}

static void
reply_read(struct reply *r, int fd)
{
	size_t cap = 1 << 16;
	ssize_t n;

	*r = (struct reply){ .text = malloc(cap + 1) };
	while ((n = recv(fd, r->text + r->len, cap - r->len, 0)) > 0) {
		r->len += (size_t)n;
		if (r->len == cap)
			r->text = realloc(r->text, (cap *= 2) + 1);
	}
	r->text[r->len] = '\0';
	sscanf(r->text, "HTTP/1.%*c %d", &r->status);
	r->body = strstr(r->text, "\r\n\r\n");
	r->body = r->body != NULL ? r->body + 4 : r->text + r->len;
	r->body_len = r->len - (size_t)(r->body - r->text);
}

/* Joins the pieces of a chunked body; false: it did not end as it should. */
static bool
unchunk(struct reply *r)
{
	char *from = (char *)(uintptr_t)r->body, *out = from, *end;
	bool whole = false;

	for (;;) {
		size_t len = strtoul(from, &end, 16);

		if (end == from || strncmp(end, "\r\n", 2) != 0 ||
		    len > (size_t)(r->text + r->len - end))
			break;
		from = end + 2;
		if (len == 0) {
			whole = strcmp(from, "\r\n") == 0;
			break;
		}
		memmove(out, from, len);
		out += len;
		from += len + 2;
	}
	r->body_len = (size_t)(out - r->body);
	*out = '\0';
	return whole;
}

static struct reply
ask_raw(const char *request, size_t len)
{
	struct reply r;
	int fd = dial(0);

	CHECK_INT(send(fd, request, len, MSG_NOSIGNAL), len);
	reply_read(&r, fd);
	close(fd);
	return r;
}

static struct reply
ask(const char *method, const char *path, const char *headers)
{
	char request[1024];
	int len = snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n",
	    method, path, headers);

	return ask_raw(request, (size_t)len);
}

static struct reply
get(const char *path)
{
	return ask("GET", path, "");
}

static bool
has(const struct reply *r, const char *what)
{
	return strstr(r->text, what) != NULL;
}

/* --- the tests --- */

static const struct {
	const char *path;
	int status;
	const char *type, *part;
} pages[] = {
	{ "/", 200, "text/html; charset=utf-8", "<h1 class=\"page\">Sessions</h1>" },
	{ "/?before=11", 200, "text/html; charset=utf-8", "href=\"/session/10\"" },
	{ "/?before=1", 200, "text/html; charset=utf-8", "No older sessions" },
	{ "/?before=0", 400, "text/html; charset=utf-8", "one of its parts is not valid" },
	{ "/sessions.json", 200, "application/json", "\"next_before\": 11" },
	{ "/sessions.json?before=2", 200, "application/json", "\"next_before\": null" },
	{ "/sessions.json?before=q", 400, "application/json", "\"status\": 400" },
	{ "/session/1", 200, "text/html; charset=utf-8",
	    "The network path from dtn-a to dtn-b limited this transfer" },
	{ "/session/1.json", 200, "application/json", "\"narrows-result/1\"" },
	{ "/session/7", 200, "text/html; charset=utf-8", "has not been analysed yet" },
	{ "/session/7.json", 200, "application/json", "\"state\": \"open\"" },
	{ "/session/7.csv", 200, "text/csv; charset=utf-8; header=present", "session,series_id," },
	{ "/session/last", 303, "text/html; charset=utf-8", "Location: /session/60\r\n" },
	{ "/session/last.json", 303, "application/json", "Location: /session/60.json\r\n" },
	{ "/session/61", 404, "text/html; charset=utf-8", "There is nothing at this address." },
	{ "/session/61.json", 404, "application/json", "\"error\": \"Not Found\"" },
	{ "/session/61.csv", 404, "text/html; charset=utf-8", "There is nothing" },
	{ "/session/1%00", 404, "text/html; charset=utf-8", "There is nothing" },
	{ "/routes", 200, "text/html; charset=utf-8",
	    "href=\"/route?route=dtn-a.site-a.example.net+-%3E+dtn-b.site-b.example.net&amp;"
	    "program=rsync\"" },
	{ "/routes.json", 200, "application/json", "\"narrows-routes/1\"" },
	{ "/route?route=dtn-a.site-a.example.net+-%3E+dtn-b.site-b.example.net&program=rsync", 200,
	    "text/html; charset=utf-8", "Usually 41 MB/s in 63 sessions." },
	{ "/route?route=dtn-a.site-a.example.net%20-%3E%20dtn-b.site-b.example.net&program=rsync",
	    200, "text/html; charset=utf-8", "Slowest from 20:00 to 24:00." },
	{ "/route.json?route=dtn-a.site-a.example.net%20-%3E%20dtn-b.site-b.example.net&program="
	  "rsync",
	    200, "application/json", "\"narrows-route/1\"" },
	{ "/route.csv?route=dtn-a.site-a.example.net%20-%3E%20dtn-b.site-b.example.net&program="
	  "rsync",
	    200, "text/csv; charset=utf-8", "session,start,start_ns,duration_s,bytes" },
	{ "/route?route=nothing", 404, "text/html; charset=utf-8", "There is nothing" },
	{ "/route.json", 404, "application/json", "\"error\": \"Not Found\"" },
	{ "/api/v1/route?route=nothing", 200, "application/json", "\"n_sessions\": 0" },
	{ "/?since=yesterday", 400, "text/html; charset=utf-8", "one of its parts is not valid" },
	{ "/?since=2020-01-01&until=2030-01-01&rate_min=1kB&program=rsync&host=dtn-a.site-a.example"
	  ".net",
	    200, "text/html; charset=utf-8", "href=\"/session/" },
	{ "/sessions.json?host=nobody", 200, "application/json", "\"sessions\": []" },
	{ "/sessions.json?state=failed", 200, "application/json", "\"sessions\": []" },
	{ "/sessions.json?state=broken", 400, "application/json", "\"status\": 400" },
	{ "/compare?ids=1,3", 200, "text/html; charset=utf-8", "What differs" },
	{ "/compare?ids=1%2C3&by=bytes", 200, "text/html; charset=utf-8", "Per cent of the bytes" },
	{ "/compare?ids=1,3,5&by=clock", 200, "text/html; charset=utf-8", "session 5" },
	{ "/compare?ids=1%2C+3%2C+", 200, "text/html; charset=utf-8", "What differs" },
	{ "/compare", 200, "text/html; charset=utf-8", "Choose two to six." },
	{ "/compare?ids=1%2C+", 200, "text/html; charset=utf-8", "Choose one to five others." },
	{ "/compare?ids=1", 200, "text/html; charset=utf-8", "value=\"1\" checked" },
	{ "/compare?ids=1&ids=3", 200, "text/html; charset=utf-8", "What differs" },
	{ "/compare?ids=1,x", 400, "text/html; charset=utf-8", "value=\"1,x\"" },
	{ "/compare?ids=1,2,3,4,5,6,7", 400, "text/html; charset=utf-8", "At most six" },
	{ "/compare?ids=1,3&by=magic", 400, "text/html; charset=utf-8",
	    "by start, bytes or clock" },
	{ "/compare?ids=1,99999", 404, "text/html; charset=utf-8", "There is no session 99999" },
	{ "/compare.csv?ids=1,3", 200, "text/csv; charset=utf-8", "session,Mean rate,,By/s," },
	{ "/compare.csv?ids=x", 400, "text/html; charset=utf-8", "by their numbers" },
	{ "/api/v1/compare?ids=1,3&by=bytes", 200, "application/json", "narrows-compare/1" },
	{ "/api/v1/compare", 200, "application/json", "\"sessions\": []" },
	{ "/api/v1/compare?ids=1-3", 400, "application/problem+json", "by their numbers" },
	{ "/api/v1/compare?ids=1,99999", 404, "application/problem+json", "\"status\": 404" },
	{ "/hosts", 200, "text/html; charset=utf-8", "<a href=\"/host?host=" },
	{ "/hosts", 200, "text/html; charset=utf-8", "silent" },
	{ "/hosts?offset=1000", 200, "text/html; charset=utf-8", "Hosts before these" },
	{ "/hosts?offset=x", 400, "text/html; charset=utf-8", "one of its parts is not valid" },
	{ "/host", 303, "text/html; charset=utf-8", "Location: /hosts" },
	{ "/api/v1/hosts", 200, "application/json", "\"narrows-hosts/1\"" },
	{ "/api/v1/hosts/" HOST, 200, "application/json", "\"against\": \"the box's clock\"" },
	{ "/api/v1/hosts/" EVIL, 200, "application/json", "\"narrows-host/1\"" },
	{ "/api/v1/hosts/" EVIL "/settings", 200, "application/json", "\"changes\": [" },
	{ "/host?host=nobody", 404, "text/html; charset=utf-8", "There is nothing" },
	{ "/host?host=" EVIL, 200, "text/html; charset=utf-8", "Settings that changed" },
	{ "/host?host=" EVIL, 200, "text/html; charset=utf-8", "There is no record" },
	{ "/host?host=" EVIL, 200, "text/html; charset=utf-8", "No list of metrics" },
	{ "/host?host=" HOST, 200, "text/html; charset=utf-8", "the clock was -200" },
	{ "/host?host=" HOST, 200, "text/html; charset=utf-8", ">3.70" },
	{ "/api/v1/collectors", 200, "application/json", "\"cpu_share\": 0.0123" },
	{ "/api/v1/collectors", 200, "application/json", "\"samples\": null" },
	{ "/host?host=" HOST, 200, "text/html; charset=utf-8", " of 240 steps: there the clocks" },
	{ "/host?host=" HOST, 200, "text/html; charset=utf-8",
	    "href=\"/host/clock.csv?host=" HOST "\"" },
	{ "/host?host=" HOST, 200, "text/html; charset=utf-8",
	    "1 worth keeping, 1 listed and not worth it" },
	{ "/host?host=" HOST, 200, "text/html; charset=utf-8",
	    "Connections of its collectors: 2, of these 1 open now and 1 for the host alone. "
	    "Samples: 86,001. Documents lost before sending: 17; rejected by the box: 3." },
	{ "/host/clock.csv?host=" HOST, 200, "text/csv; charset=utf-8",
	    "Hours since the first,offset,bound\r\n0,2.49" },
	{ "/host/clock.csv?host=nobody", 404, "text/html; charset=utf-8", "There is nothing" },
	{ "/host/clock.csv?host=" EVIL, 404, "text/html; charset=utf-8", "There is nothing" },
	{ "/host/other.csv?host=" HOST, 404, "text/html; charset=utf-8", "There is nothing" },
	{ "/host/clock", 404, "text/html; charset=utf-8", "There is nothing" },
	{ "/health", 200, "text/html; charset=utf-8", "The box is well." },
	{ "/health", 200, "text/html; charset=utf-8",
	    "<dt>Memory for senders</dt><dd>0\xc2\xa0"
	    "B</dd>" },
	{ "/health", 200, "text/html; charset=utf-8", "href=\"/host?host=" },
	{ "/healthz", 200, "application/json", "\"ok\": true" },
	{ "/style.css", 200, "text/css; charset=utf-8", "prefers-color-scheme" },
	{ "/icon.svg", 200, "image/svg+xml", "<svg" },
	{ "/narrows.js", 200, "text/javascript; charset=utf-8", "'use strict';" },
	{ "/session/3", 200, "text/html; charset=utf-8",
	    "100\xc2\xa0%: 268\xc2\xa0MB of 268\xc2\xa0MB in the files opened so far." },
	{ "/session/3", 200, "text/html; charset=utf-8",
	    "2,552,088 operations; most often 1\xc2\xa0"
	    "B to" },
	{ "/session/3", 200, "text/html; charset=utf-8", "Slower operations than usual: " },
	{ "/session/3/p-ops-1.csv", 200, "text/csv; charset=utf-8",
	    "size_from_bytes,size_to_bytes,duration_from_s,duration_to_s,operations\r\n1,4," },
	{ "/session/3/p-took-1.csv", 200, "text/csv; charset=utf-8",
	    "no longer than,this session,lowest tenth of sessions,usual" },
	{ "/session/3?from=100&to=300", 200, "text/html; charset=utf-8",
	    "<h2>From second 100 to second 300</h2>" },
	{ "/session/3?from=100&to=300", 200, "text/html; charset=utf-8", "limited this stretch" },
	{ "/session/3?from=1e5&to=2e5", 200, "text/html; charset=utf-8",
	    "no stage was measured in the stretch" },
	{ "/session/3?from=300", 200, "text/html; charset=utf-8", "<h2>From second 300 to" },
	{ "/session/3?from=300&to=100", 400, "text/html; charset=utf-8",
	    "one of its parts is not valid" },
	{ "/session/3?from=nan&to=100", 400, "text/html; charset=utf-8",
	    "one of its parts is not valid" },
	{ "/session/3?from=-1&to=100", 400, "text/html; charset=utf-8",
	    "one of its parts is not valid" },
	{ "/session/3?from=1&to=inf", 400, "text/html; charset=utf-8",
	    "one of its parts is not valid" },
	{ "/session/3?from=%3Cscript%3E&to=2", 400, "text/html; charset=utf-8",
	    "one of its parts is not valid" },
	{ "/session/3?from=&to=", 200, "text/html; charset=utf-8", "Show this stretch" },
	{ "/session/3/stretch.csv?from=100&to=300", 200, "text/csv; charset=utf-8",
	    "series,unit,steps,mean," },
	{ "/session/3/stretch.csv", 404, "text/html; charset=utf-8", "There is nothing" },
	{ "/nothing", 404, "text/html; charset=utf-8", "There is nothing" },
};

static void
test_routes(void)
{
	static const char *const headers[] = { "Content-Security-Policy: default-src 'none'; ",
		"X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: same-origin\r\n",
		"frame-ancestors 'none'", "Cache-Control: no-" };
	size_t i, k;

	for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		struct reply r = get(pages[i].path), head = ask("HEAD", pages[i].path, "");
		char type[128];

		CHECK_INT(r.status, pages[i].status);
		snprintf(type, sizeof(type), "Content-Type: %s\r\n", pages[i].type);
		if (!has(&r, type) || !has(&r, pages[i].part))
			fprintf(stderr, "%s: %.300s\n", pages[i].path, r.text);
		CHECK(has(&r, type));
		CHECK(has(&r, pages[i].part));
		for (k = 0; k < sizeof(headers) / sizeof(headers[0]); k++)
			CHECK(has(&r, headers[k]));
		/* HEAD: the same without the body */
		CHECK_INT(head.status, pages[i].status);
		CHECK_INT(head.body_len, 0);
		CHECK(has(&head, type));
		if (strstr(r.text, "\r\nContent-Length:") != NULL) {
			CHECK_INT(strtoul(strstr(r.text, "\r\nContent-Length:") + 17, NULL, 10),
			    r.body_len);
			CHECK(strstr(head.text, "\r\nContent-Length:") != NULL);
		}
		free(r.text);
		free(head.text);
	}
}

static void
test_words(void)
{
	static const struct {
		const char *path;
		const char *parts[6];
	} cases[] = {
		{ "/session/1",
		    { "41.3\xc2\xa0MB/s", "330\xc2\xa0Mbit/s",
			"<b>high</b>, inferred from intervals worth 26 independent ones.",
			"within 400\xc2\xa0\xc2\xb5s", "clock not reported",
			"128 of 130 (98\xc2\xa0%)" } },
		{ "/session/2",
		    { "has not been analysed yet", "unknown route", "Without content: Over time, ",
			"Methods</li>" } },
		{ "/session/3",
		    { "still running.", "http-equiv=\"refresh\"",
			"2026-11-20\xc2\xa0"
			"08:12:19\xc2\xa0UTC",
			"narrowest", "Host CPU", "<bdi>network path, dtn-a" } },
		{ "/session/3",
		    { "slower than 96 % of 214 earlier sessions.</b>",
			"aria-describedby=\"p-usual\"",
			"<li>Mount options of /data: allocsize=1g before, rw since.</li>",
			"<code>mount | grep /data</code>", "Expected: 2.10\xc2\xa0GB/s" } },
		{ "/session/1",
		    { "<span class=\"soft\">1</span> Was it slow?</h2>",
			"<span class=\"soft\">5</span> What to do?</h2>", "No rule has a proposal",
			NULL } },
		{ "/session/4",
		    { "The box cannot tell.", "It may have been disk read or network path.",
			"Only 14 windows", "disagrees", "neutral", NULL } },
		{ "/session/6",
		    { "The network path limited this transfer.", "not stated", "not measured",
			"duration unknown", "No witness confirms it", "not reported" } },
		{ "/session/7", { "still running.", "http-equiv=\"refresh\"", "curl", NULL } },
		{ "/session/8", { "has not been analysed yet", "/session/8.csv", NULL } },
	};
	size_t i, k;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct reply r = get(cases[i].path);

		for (k = 0; k < 6 && cases[i].parts[k] != NULL; k++) {
			CHECK(has(&r, cases[i].parts[k]));
			if (!has(&r, cases[i].parts[k]))
				fprintf(stderr, "%s lacks: %s\n", cases[i].path, cases[i].parts[k]);
		}
		CHECK(has(&r, "refresh") ==
		    (strcmp(cases[i].path, "/session/3") == 0 ||
			strcmp(cases[i].path, "/session/7") == 0));
		free(r.text);
	}
}

/* The table of stages has the time that each held the bytes, with the interval of the mean. */
static void
test_held(void)
{
	struct reply r = get("/session/3");

	CHECK(has(&r, "data-label=\"Held\">75\xc2\xa0%"));
	CHECK(has(&r, "69\xc2\xa0% to 83\xc2\xa0%"));
	CHECK(!has(&r, "data-label=\"Rate\""));
	free(r.text);
}

/* Figures over time: what the test uses, TCP by connection, and the numbers behind. */
static void
test_figures(void)
{
	static const char *const ids[] = { "p-held", "p-tput", "p-cpu", "p-tcp-time-1",
		"p-tcp-time-3", "p-tcp-rate", "p-tcp-rtt", "p-tcp-cwnd" };
	struct reply page = get("/session/3"), file = get("/session/3.html"), r;
	char text[96];
	size_t i;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(text, sizeof(text), "<desc id=\"%s\">", ids[i]);
		CHECK(has(&page, text) && has(&file, text));
		snprintf(text, sizeof(text), "href=\"/session/3/%s.csv\"", ids[i]);
		CHECK(has(&page, text) && !has(&file, text));
		snprintf(text, sizeof(text), "/session/3/%s.csv", ids[i]);
		r = get(text);
		CHECK_INT(r.status, 200);
		CHECK(has(&r, "Content-Type: text/csv") && has(&r, "\r\n\r\nfrom_s,"));
		free(r.text);
	}
	CHECK(!has(&page, "Throughput per stage") && !has(&page, "p-tcp-time-4"));
	CHECK(has(&page,
	    "Held more of the time than the other stages: network path, dtn-a.site-a.example.net, "
	    "in 9"));
	CHECK(has(&page, "No segment was sent again.") && !has(&page, "port 40005"));
	CHECK(has(&page, "The kernel had data in flight for "));
	CHECK(has(&page, "connections, the fullest carried ") &&
	    has(&page, "data-label=\"Mean rate\""));
	/* the pipe says bounds where the rate by calls says too much */
	CHECK(has(&page, "<span class=\"fig\">usually "));
	CHECK(has(&page, "<span class=\"fig\">at least 66\xc2\xa0MB/s</span>") &&
	    has(&page, "<span class=\"fig\">44\xc2\xa0MB/s</span>") &&
	    has(&page, "<span class=\"fig\">66\xc2\xa0MB/s to 99\xc2\xa0MB/s</span>"));
	r = get("/session/3/p-nothing.csv");
	CHECK_INT(r.status, 404);
	free(r.text);
	free(page.text);
	free(file.text);
}

/* Filters of the list: text in any name, and stages; words that are not parameters are refused. */
static void
test_filter(void)
{
	static const struct {
		const char *query;
		size_t n; /* rows, 99: as many as without a filter */
	} cases[] = { { "", 99 }, { "?q=", 99 }, { "?search=&verdict=", 99 },
		{ "?q=no-such-thing", 0 }, { "?stage=network&q=DTN-A", 99 }, { "?stage=none", 1 },
		{ "?stage=disk.read", 0 } };
	char path[128];
	struct reply r;
	json_t *doc;
	size_t i, all = 0, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(path, sizeof(path), "/sessions.json%s", cases[i].query);
		r = get(path);
		CHECK((doc = json_loads(r.body, 0, NULL)) != NULL);
		n = json_array_size(json_object_get(doc, "sessions"));
		all = i == 0 ? n : all;
		CHECK(cases[i].n == 99 ? n == all : cases[i].n == 0 ? n == 0 : n > 0 && n < all);
		json_decref(doc);
		free(r.text);
	}
	r = get("/?other=%3Cscript&x");
	CHECK_INT(r.status, 400);
	CHECK(has(&r, "other: there is no such parameter") && !has(&r, "<script>"));
	free(r.text);
	r = get("/?q=%22%3E%3Cscript&stage=network");
	CHECK(has(&r, "No such session.") && has(&r, "&quot;&gt;&lt;script"));
	free(r.text);
	r = get("/");
	CHECK(has(&r, "class=\"day\""));
	free(r.text);
	CHECK(session_is_idle(&(struct nw_session_rec){ .closed_wall_ns = 1 },
	    &(struct nw_result_rec){ .bytes = 0 }));
	CHECK(!session_is_idle(&(struct nw_session_rec){ .closed_wall_ns = 1 },
	    &(struct nw_result_rec){ .bytes = 1 }));
	CHECK(!session_is_idle(&(struct nw_session_rec){ .closed_wall_ns = 1 }, NULL));
	CHECK(!session_is_idle(&(struct nw_session_rec){ .closed_wall_ns = 0 },
	    &(struct nw_result_rec){ .bytes = 0 }));
}

/* By a number: in order, each session once, and none without the number. */
static void
test_sorts(void)
{
	static const struct {
		const char *sort, *key;
		int sign; /* of the steps from one session to the next */
	} cases[] = { { "slowest", "bytes_per_s", 1 }, { "fastest", "bytes_per_s", -1 },
		{ "longest", "duration_s", -1 }, { "largest", "bytes", -1 } };
	char path[64], chosen[64];
	struct reply r;
	size_t i, k;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *doc, *list, *one;
		double before = NAN, v;

		snprintf(path, sizeof(path), "/sessions.json?sort=%s", cases[i].sort);
		r = get(path);
		doc = json_loads(r.body, 0, NULL);
		list = json_object_get(doc, "sessions");
		CHECK(json_array_size(list) > 3);
		json_array_foreach(list, k, one)
		{
			v = json_number_value(json_object_get(one, cases[i].key));
			CHECK(v > 0 && (isnan(before) || (v - before) * cases[i].sign >= 0));
			before = v;
		}
		json_decref(doc);
		free(r.text);
		snprintf(path, sizeof(path), "/?sort=%s", cases[i].sort);
		snprintf(chosen, sizeof(chosen), "value=\"%s\" selected", cases[i].sort);
		r = get(path);
		CHECK(has(&r, chosen) && has(&r, "&amp;sort="));
		free(r.text);
	}
	r = get("/?sort=x");
	CHECK_INT(r.status, 400);
	free(r.text);
}

/* A report as one file asks for nothing, and has its document inside. */
static void
test_file(void)
{
	static const char *const paths[] = { "/session/1.html", "/session/3.html",
		"/session/5.html", "/session/2.html" };
	static const char begin[] = "<script type=\"application/json\" id=\"narrows-result\">";
	static const char *const never[] = { "href=\"/", "src=\"", "url(", "@import",
		"http-equiv=\"refresh", "javascript:" };
	struct reply r;
	json_t *doc;
	char *data, *end;
	size_t i, k;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		r = get(paths[i]);
		CHECK_INT(r.status, 200);
		CHECK(has(&r, "Content-Disposition: attachment") && has(&r, "<style>"));
		CHECK((data = strstr(r.body, begin)) != NULL);
		if (data != NULL && (end = strstr(data, "</script>")) != NULL) {
			CHECK(strstr(end + 1, "<script") == NULL);
			*end = '\0';
			data += sizeof(begin) - 1;
			CHECK((doc = json_loads(data, 0, NULL)) != NULL);
			json_decref(doc);
			*data = '\0';
		}
		for (k = 0; k < sizeof(never) / sizeof(never[0]); k++)
			CHECK(strstr(r.body, never[k]) == NULL);
		free(r.text);
	}
	CHECK(web_report_file("[]") == NULL && web_report_file("no JSON") == NULL);
}

/* No page says a name as markup, runs anything or fetches anything from elsewhere. */
static void
test_hostile(void)
{
	static const char *const paths[] = { "/", "/?before=11", "/session/1", "/session/3",
		"/session/5", "/session/6", "/health", "/routes", EVIL_ROUTE, "/compare?ids=3,5,6",
		"/hosts", "/host?host=" EVIL, "/host?host=" HOST };
	static const char *const never[] = { "<script>", "<img", "javascript:", "style=\"",
		"http://", "https://", "\"//", "\xe2\x80\xae", "url(", "@import", "<iframe", "\a" };
	struct reply r;
	size_t i, k;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *s, *end;

		r = get(paths[i]);
		CHECK_INT(r.status, 200);
		for (k = 0; k < sizeof(never) / sizeof(never[0]); k++)
			if (strstr(r.body, never[k]) != NULL) {
				fprintf(stderr, "%s has %s\n", paths[i], never[k]);
				CHECK(strstr(r.body, never[k]) == NULL);
			}
		/* the box's own script, and no other */
		s = strstr(r.body, "<script");
		CHECK(s != NULL &&
		    strncmp(s, "<script src=\"/narrows.js\" defer></script>", 41) == 0);
		CHECK(s != NULL && strstr(s + 1, "<script") == NULL);
		/* onerror= and the like only ever follow escaped text, never a quote that ends an
		 * attribute */
		for (s = r.body; (s = strstr(s, " on")) != NULL; s++) {
			end = s + 1 + strspn(s + 1, "abcdefghijklmnopqrstuvwxyz");
			CHECK(*end != '=' || strncmp(s, " onerror=alert(1)&gt;", 21) == 0);
		}
		free(r.text);
	}
	r = get("/session/5");
	CHECK(has(&r, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;&lt;img"));
	CHECK(has(&r, "\xe2\x90\x87\xe2\x90\x8a=1+1"));
	free(r.text);
	r = get("/style.css");
	CHECK(!has(&r, "url(") && !has(&r, "@import") && !has(&r, "http:"));
	free(r.text);
}

/* The axis of the figures begins with the transfer. */
static void
test_begin(void)
{
	struct reply r = get("/session/4"), whole = get("/session/1/p-cpu.csv"),
		     part = get("/session/4/p-cpu.csv");
	const char *line = strchr(whole.body, '\n');
	int i;

	CHECK(has(&r,
	    "Time runs from 2026-11-20\xc2\xa0"
	    "08:12:12"));
	for (i = 0; i < 2 && line != NULL; i++)
		line = strchr(line + 1, '\n');
	CHECK(line != NULL && (line = strchr(line, ',')) != NULL);
	if (line != NULL) {
		char *begin = strchr(part.body, '\n');

		CHECK(begin != NULL && strncmp(begin, "\n0,", 3) == 0 &&
		    strncmp(begin + 2, line, strcspn(line, "\r")) == 0);
	}
	free(r.text);
	free(whole.text);
	free(part.text);
}

static void
test_size(void)
{
	struct reply page = get("/session/3"), list = get("/"), css = get("/style.css"),
		     script = get("/narrows.js");

	/* before compression, which takes four fifths of it away */
	CHECK(page.body_len < 210000); /* with eleven figures of five stages and five connections */
	CHECK(list.body_len < 60000);
	CHECK(css.body_len < 19500);
	CHECK(script.body_len > 1000 && script.body_len < 20000);
	CHECK(memchr(script.body, 0, script.body_len) == NULL);
	free(script.text);
	free(page.text);
	free(list.text);
	free(css.text);
}

static void
test_refusals(void)
{
	static const char *const methods[] = { "POST", "PUT", "DELETE", "OPTIONS", "PATCH",
		"TRACE" };
	static const char *const wrong[] = { "BREW / HTTP/1.1\r\n\r\n", "GET\r\n\r\n",
		"GET / HTTP/1.1 x\r\n\r\n", "\x16\x03\x01\x02\x01\r\n\r\n", "GET / SMTP\r\n\r\n",
		"GET /%zz HTTP/1.1\r\n\r\n", "GET ../../etc/passwd HTTP/1.1\r\n\r\n" };
	char *big = malloc(200000);
	struct reply r;
	size_t i, n;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		r = ask(methods[i], "/session/1", "Content-Length: 0\r\n");
		CHECK_INT(r.status, 405);
		CHECK(has(&r, "Allow: GET, HEAD\r\n") && has(&r, "Use GET or HEAD."));
		CHECK(has(&r, "Content-Security-Policy"));
		free(r.text);
	}
	r = ask("GET", "/session/1/note", "");
	CHECK_INT(r.status, 405);
	CHECK(has(&r, "Allow: POST\r\n") && has(&r, "Use POST."));
	free(r.text);
	r = ask("PUT", "/api/v1/sessions/1/notes", "Content-Length: 0\r\n");
	CHECK_INT(r.status, 405);
	CHECK(has(&r, "Use GET, HEAD or POST."));
	free(r.text);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		r = ask_raw(wrong[i], strlen(wrong[i]));
		CHECK(r.status == 0 || r.status >= 400);
		if (r.status != 0 && r.status < 400)
			fprintf(stderr, "%.60s: %d\n", wrong[i], r.status);
		CHECK(
		    r.status == 0 || has(&r, "\r\nContent-Security-Policy: default-src 'none'; "));
		CHECK(!has(&r, "root:"));
		free(r.text);
	}
	/* a path, a header and a body that are too long */
	n = (size_t)sprintf(big, "GET /");
	memset(big + n, 'a', 7000);
	n += 7000 + (size_t)sprintf(big + n + 7000, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
	r = ask_raw(big, n);
	CHECK_INT(r.status, 404);
	CHECK(r.body_len < 2000); /* it is not repeated */
	free(r.text);
	n = (size_t)sprintf(big, "GET / HTTP/1.1\r\nX: ");
	memset(big + n, 'a', 100000);
	n += 100000 + (size_t)sprintf(big + n + 100000, "\r\n\r\n");
	r = ask_raw(big, n);
	CHECK(r.status == 0 || r.status >= 400);
	free(r.text);
	n = (size_t)sprintf(big, "POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n");
	r = ask_raw(big, n);
	CHECK(r.status == 0 || r.status >= 400);
	free(r.text);
	free(big);
	/* and the server is still there */
	r = get("/");
	CHECK_INT(r.status, 200);
	free(r.text);
}

/* Another site's name that leads here is not answered, whatever form it comes in. */
static void
test_hosts(void)
{
	static const struct {
		const char *request;
		int status;
	} cases[] = {
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", 200 },
		{ "GET / HTTP/1.1\r\nhost: [::1]\r\n\r\n", 200 },
		{ "GET / HTTP/1.1\r\nHost: narrows.example:8080\r\n\r\n", 200 },
		{ "GET / HTTP/1.0\r\n\r\n", 200 },
		{ "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 200 },
		{ "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421 },
		{ "GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n", 421 },
		{ "GET /healthz HTTP/1.1\r\nHost: narrows.example.evil.example\r\n\r\n", 421 },
		{ "GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 421 },
		{ "HEAD / HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", 421 },
		{ "POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: \r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: evil.example, localhost\r\n\r\n", 400 },
	};
	struct reply r;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r = ask_raw(cases[i].request, strlen(cases[i].request));
		CHECK_INT(r.status, cases[i].status);
		if (r.status != cases[i].status)
			fprintf(stderr, "%s", cases[i].request);
		CHECK(r.status == 200 ||
		    (!has(&r, "Sessions</h1>") && !has(&r, "evil.example") &&
			has(&r, "Content-Security-Policy: ")));
		free(r.text);
	}
	r = get("/healthz");
	CHECK(has(&r, "\"http_misdirected\": 6") && !has(&r, "\"http_malformed\": 0"));
	free(r.text);
}

/* Hundreds that say nothing, then somebody who wants a page. */
static void
test_flood(void)
{
	enum { IDLE = 257 };
	int fd[IDLE], i;
	int64_t begin;
	struct reply r;

	for (i = 0; i < IDLE; i++)
		fd[i] = dial(0);
	for (i = 0; i < IDLE; i++)
		(void)send(fd[i], "GET / HTTP/1.1\r\nX-Drip: ", 24, MSG_NOSIGNAL);
	begin = nw_mono_ns();
	r = get("/");
	CHECK_INT(r.status, 200);
	/* and not when they time out, after ten */
	CHECK(nw_mono_ns() - begin < INT64_C(5000000000) * check_patience());
	free(r.text);
	r = get("/healthz");
	CHECK(has(&r, "\"http_connections\": 32"));
	CHECK(!has(&r, "\"http_refused\": 0"));
	free(r.text);
	r = get("/health");
	CHECK(has(&r, "class=\"fault\"><dt>Connections refused"));
	free(r.text);
	for (i = 0; i < IDLE; i++)
		close(fd[i]);
}

static void
test_cache(void)
{
	struct reply r = get("/style.css");
	char *tag = strstr(r.text, "ETag: "), headers[256];

	CHECK(tag != NULL);
	if (tag != NULL) {
		snprintf(headers, sizeof(headers), "If-None-Match: %.*s\r\n",
		    (int)strcspn(tag + 6, "\r"), tag + 6);
		free(r.text);
		r = ask("GET", "/style.css", headers);
		CHECK_INT(r.status, 304);
		CHECK_INT(r.body_len, 0);
	}
	free(r.text);
}

/* Descriptors and connections come and go without losing one. */
static void
test_many(void)
{
	int i, idle[200], answered = 0;
	struct reply r;

	for (i = 0; i < 1000; i++) {
		r = get("/icon.svg");
		answered += r.status == 200;
		free(r.text);
	}
	CHECK_INT(answered, 1000);
	/* more silent ones than there may be: they leave, and the next is served */
	for (i = 0; i < 200; i++)
		idle[i] = dial(0);
	for (i = 0; i < 200; i++)
		close(idle[i]);
	r = get("/icon.svg");
	CHECK_INT(r.status, 200);
	free(r.text);
}

static void
test_health(void)
{
	struct reply r;

	health.ok = false;
	health.counts.rejected_documents = 3;
	strcpy(health.problem, "Nothing has been committed for 14 s: the disk is <full>.");
	r = get("/healthz");
	CHECK_INT(r.status, 503);
	CHECK(has(&r, "\"ok\": false") && has(&r, "the disk is <full>") &&
	    has(&r, "\"rejected_documents\": 3"));
	CHECK(has(&r, "\"held_documents\": 77001") && has(&r, "\"failed_commits\": 77002") &&
	    has(&r, "\"connections_total\": 77003"));
	free(r.text);
	r = get("/health");
	CHECK_INT(r.status, 200);
	CHECK(has(&r, "the disk is &lt;full&gt;") &&
	    has(&r, "class=\"fault\"><dt>Documents rejected"));
	CHECK(has(&r, "77,001") && has(&r, "77,002") && has(&r, "77,003"));
	free(r.text);
	health.ok = true;
	health.counts.rejected_documents = 0;
}

struct text {
	char *s;
	size_t len, cap;
};

static int
append(void *arg, const char *s, size_t len)
{
	struct text *t = arg;

	if (t->len + len > t->cap)
		t->s = realloc(t->s, t->cap = 2 * (t->len + len));
	memcpy(t->s + t->len, s, len);
	t->len += len;
	return 0;
}

static size_t
in_use(void)
{
	struct mallinfo2 now = mallinfo2();

	return now.uordblks + now.hblkhd;
}

/* Clients that do not read their export cost little memory and hold up nobody; one that leaves is
 * forgotten. */
static void
test_slow(void)
{
	static const char request[] = "GET /session/8.csv HTTP/1.1\r\nHost: localhost\r\n\r\n";
	enum { SLOW = 6 };
	struct text whole = { 0 };
	struct store_reader *reader = NULL;
	char why[STORE_WHY_BYTES];
	size_t before, most = 0;
	int fd[SLOW], wide = 1 << 20, i, status;
	int64_t start;
	struct reply r;

	CHECK_INT(store_reader_open(filled_path, &reader, why), NW_OK);
	CHECK_INT(web_answer(reader, "/session/8.csv", append, &whole, &status), NW_OK);
	store_reader_close(reader);
	CHECK(whole.len > 10000000);

	before = in_use();
	for (i = 0; i < SLOW; i++) {
		fd[i] = dial(4096);
		CHECK_INT(send(fd[i], request, sizeof(request) - 1, 0), sizeof(request) - 1);
	}
	start = nw_mono_ns();
	for (i = 0; i < 50; i++) {
		r = get(i % 2 == 0 ? "/session/1" : "/");
		CHECK_INT(r.status, 200);
		free(r.text);
		if (in_use() > most)
			most = in_use();
	}
	CHECK(nw_mono_ns() - start <
	    INT64_C(20000000000) * check_patience()); /* a slow reader takes minutes */
	CHECK(most < before + SLOW * 3000000);
	for (i = 1; i < SLOW; i++)
		close(fd[i]);
	setsockopt(fd[0], SOL_SOCKET, SO_RCVBUF, &wide, sizeof(wide));
	reply_read(&r, fd[0]); /* the patient one gets all of it */
	close(fd[0]);
	CHECK_INT(r.status, 200);
	CHECK(has(&r, "Content-Disposition: attachment; filename=\"narrows-session-8.csv\"\r\n"));
	CHECK(has(&r, "Transfer-Encoding: chunked\r\n"));
	CHECK(unchunk(&r));
	CHECK(r.body_len == whole.len && memcmp(r.body, whole.s, whole.len) == 0);
	free(r.text);
	free(whole.s);
}

/* An old client: no chunks, the end of the connection is the end. */
static void
test_http10(void)
{
	static const char request[] = "GET /session/7.csv HTTP/1.0\r\n\r\n";
	struct reply r = ask_raw(request, sizeof(request) - 1);

	CHECK_INT(r.status, 200);
	CHECK_STR(r.body, "session,series_id,host,subject,event_type,field,unit,time,t_ns,value\n");
	free(r.text);
}

/* Stopping with clients in every state. */
static void
test_stop(struct web *w)
{
	static const char csv[] = "GET /session/8.csv HTTP/1.1\r\nHost: localhost\r\n\r\n";
	int idle = dial(0), half = dial(0), streaming = dial(4096);
	int64_t start;

	CHECK(send(half, "GET / HT", 8, 0) == 8 && send(streaming, csv, sizeof(csv) - 1, 0) > 0);
	poll(NULL, 0, 100);
	start = nw_mono_ns();
	web_stop(w);
	CHECK(nw_mono_ns() - start < INT64_C(4000000000) * check_patience());
	close(idle);
	close(half);
	close(streaming);
}

static void
test_start_fails(void)
{
	static const char *const listens[] = { "", "127.0.0.1", "127.0.0.1/", "/80", "127.0.0.1/x",
		"127.0.0.1/65536", "127.0.0.1/-1" };
	struct web_opts opts = { .store_path = filled_path };
	char why[STORE_WHY_BYTES], taken[64];
	struct web *w = NULL, *first;
	size_t i;

	for (i = 0; i < sizeof(listens) / sizeof(listens[0]); i++) {
		opts.listen = listens[i];
		CHECK_INT(web_start(&opts, &w, why), NW_EINVAL);
		CHECK(strstr(why, "is not ADDRESS/PORT") != NULL);
	}
	first = serve(filled_path);
	snprintf(taken, sizeof(taken), "%s", web_address(first));
	opts.listen = taken;
	CHECK_INT(web_start(&opts, &w, why), NW_EIO);
	CHECK(strstr(why, "in use") != NULL);
	web_stop(first);
	opts.listen = "127.0.0.1/0";
	opts.store_path = "/nonexistent/store.db";
	CHECK(web_start(&opts, &w, why) < 0 && why[0] != '\0');
	web_stop(NULL);
}

static void
on_fresh_health(void *arg, struct nw_health *out)
{
	(void)arg;
	out->ok = true;
	strcpy(out->listen_xsp, "192.0.2.7/5006");
	strcpy(out->listen_xsp_tls, "0.0.0.0/5007");
}

static void
test_empty(void)
{
	struct store *st = filled_open(NULL);
	const struct web_opts opts = {
		.listen = "127.0.0.1/0", .store_path = filled_path, .health = on_fresh_health
	};
	struct web *w = NULL;
	char why[STORE_WHY_BYTES];
	struct reply r;

	CHECK_INT(web_start(&opts, &w, why), NW_OK);
	CHECK_INT(sscanf(web_address(w), "127.0.0.1/%hu", &where.sin_port), 1);
	where.sin_port = htons(where.sin_port);
	r = get("/");
	CHECK(
	    r.status == 200 && has(&r, "Nothing has been measured yet.") && has(&r, "nwrun rsync"));
	CHECK(has(&r, "NARROWS_BOX=192.0.2.7/5006 ") &&
	    has(&r, "NARROWS_BOX=tls://<var>this-box</var>/5007 "));
	free(r.text);
	r = get("/session/last");
	CHECK_INT(r.status, 404);
	free(r.text);
	r = get("/sessions.json");
	CHECK(r.status == 200 && has(&r, "\"sessions\": []"));
	free(r.text);
	r = get("/healthz"); /* nobody told this server how the box is */
	CHECK_INT(r.status, 503);
	free(r.text);
	web_stop(w);
	fill(st, SESSIONS);
	store_close(st);
}

int
main(int argc, char **argv)
{
	struct web *w;

	if (argc == 3 && strcmp(argv[1], "--serve") == 0)
		return serve_for_ever(argv[2]);
	where = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	test_empty();
	w = serve(filled_path);
	sscanf(web_address(w), "127.0.0.1/%hu", &where.sin_port);
	where.sin_port = htons(where.sin_port);
	test_routes();
	test_words();
	test_held();
	test_figures();
	test_filter();
	test_sorts();
	test_file();
	test_hostile();
	test_begin();
	test_size();
	test_refusals();
	test_hosts();
	test_flood();
	test_cache();
	test_many();
	test_health();
	test_slow();
	test_http10();
	test_stop(w);
	test_start_fails();
	filled_remove();
	return check_done("test_web");
}
