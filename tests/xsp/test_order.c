/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/order.h"

#include "narrows/err.h"
#include "narrows/frame.h"
#include "tests/check.h"

static const struct nw_order whole = { .opt = NW_OPT_START,
	.id = "s1/2",
	.event_type = "ps:host:tcp",
	.task_id = "a task",
	.src = "10.0.0.1",
	.dst = "2001:db8::1",
	.sport = 1,
	.dport = 65535,
	.collection_ns = 100000000,
	.report_ns = 500000000,
	.lease_ns = 5000000000 };

static void
test_round_trip(void)
{
	struct nw_doc_buf doc = { 0 };
	struct nw_order o, stop = { .opt = NW_OPT_STOP, .id = "s1" };
	const char *why = NULL;
	size_t len;

	CHECK_INT(nw_order_encode(&doc, &whole), NW_OK);
	CHECK_INT(nw_order_decode(&o, NW_OPT_START, doc.data, doc.len, &why), NW_OK);
	CHECK_STR(o.id, whole.id);
	CHECK_STR(o.event_type, whole.event_type);
	CHECK_STR(o.task_id, whole.task_id);
	CHECK_STR(o.src, whole.src);
	CHECK_STR(o.dst, whole.dst);
	CHECK_INT(o.sport, 1);
	CHECK_INT(o.dport, 65535);
	CHECK_INT(o.collection_ns, whole.collection_ns);
	CHECK_INT(o.report_ns, whole.report_ns);
	CHECK_INT(o.lease_ns, whole.lease_ns);
	CHECK(nw_order_has_connection(&o));
	/* no prefix of it is an order */
	for (len = 0; len < doc.len; len++) {
		why = NULL;
		CHECK(nw_order_decode(&o, NW_OPT_START, doc.data, len, &why) < 0 && why != NULL);
	}
	CHECK_INT(nw_order_encode(&doc, &stop), NW_OK);
	CHECK_INT(nw_order_decode(&o, NW_OPT_STOP, doc.data, doc.len, &why), NW_OK);
	CHECK_STR(o.id, "s1");
	CHECK(nw_order_decode(&o, NW_OPT_RATE, doc.data, doc.len, &why) < 0);
	nw_doc_buf_clear(&doc);
}

/* Each is the whole order with one thing wrong. */
static void
test_check(void)
{
	static const struct {
		uint16_t opt;
		const char *id, *src;
		int64_t collection, report, lease;
		int rc;
	} cases[] = {
		{ NW_OPT_START, "a", "10.0.0.1", 0, 0, 1000000000, NW_OK },
		{ NW_OPT_RATE, "a", "", 10000000, 0, 100000000, NW_OK },
		{ NW_OPT_RATE, "a", "", 3600000000000, 3600000000000, 86400000000000, NW_OK },
		{ NW_OPT_STATUS, "a", "", 10000000, 0, 1000000000, NW_EPROTO },
		{ NW_OPT_RATE, "", "", 10000000, 0, 1000000000, NW_EPROTO },
		{ NW_OPT_RATE, "a b", "", 10000000, 0, 1000000000, NW_EPROTO },
		{ NW_OPT_START, "a", "", 10000000, 0, 1000000000, NW_EPROTO },
		{ NW_OPT_RATE, "a", "", 0, 0, 1000000000, NW_EPROTO },
		{ NW_OPT_RATE, "a", "", 9999999, 0, 1000000000, NW_EPROTO },
		{ NW_OPT_RATE, "a", "", 3600000000001, 0, 1000000000, NW_EPROTO },
		{ NW_OPT_RATE, "a", "", 10000000, 9000000, 1000000000, NW_EPROTO },
		{ NW_OPT_RATE, "a", "", 10000000, 3600000000001, 1000000000, NW_EPROTO },
		{ NW_OPT_RATE, "a", "", 10000000, 0, 0, NW_EPROTO },
		{ NW_OPT_RATE, "a", "", 10000000, 0, 86400000000001, NW_EPROTO },
	};
	struct nw_doc_buf doc = { 0 };
	struct nw_order o;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		o = whole;
		o.opt = cases[i].opt;
		strcpy(o.id, cases[i].id);
		strcpy(o.src, cases[i].src);
		if (cases[i].src[0] == '\0' && cases[i].opt == NW_OPT_RATE)
			o.sport = o.dport = 0, o.dst[0] = '\0';
		o.collection_ns = cases[i].collection;
		o.report_ns = cases[i].report;
		o.lease_ns = cases[i].lease;
		CHECK_INT(nw_order_check(&o, &why), cases[i].rc);
		CHECK((why == NULL) == (cases[i].rc == NW_OK));
		CHECK_INT(nw_order_encode(&doc, &o), cases[i].rc == NW_OK ? NW_OK : NW_EINVAL);
	}
	nw_doc_buf_clear(&doc);
}

static const struct nw_replay replay = { .way = NW_REPLAY_READ,
	.target = "/data/a file",
	.op_bytes = 65536,
	.random_share = 0.25,
	.pause_ns = 1500000,
	.bytes = 1 << 24,
	.time_ns = 2000000000 };

/* The pattern of a replay arrives whole, within bounds. */
static void
test_replay(void)
{
	static const struct {
		double random_share;
		int64_t op_bytes, bytes, pause_ns, time_ns;
		int rc;
	} cases[] = {
		{ 0, 1, 1, 0, 1, NW_OK },
		{ 1, NW_REPLAY_OP_MAX, NW_REPLAY_BYTES_MAX, NW_REPLAY_PAUSE_MAX_NS,
		    NW_REPLAY_TIME_MAX_NS, NW_OK },
		{ 1.01, 1, 1, 0, 1, NW_EPROTO },
		{ NAN, 1, 1, 0, 1, NW_EPROTO },
		{ 0, 0, 1, 0, 1, NW_EPROTO },
		{ 0, 2, 1, 0, 1, NW_EPROTO },
		{ 0, NW_REPLAY_OP_MAX + 1, NW_REPLAY_BYTES_MAX, 0, 1, NW_EPROTO },
		{ 0, 1, NW_REPLAY_BYTES_MAX + 1, 0, 1, NW_EPROTO },
		{ 0, 1, 1, NW_REPLAY_PAUSE_MAX_NS + 1, 1, NW_EPROTO },
		{ 0, 1, 1, 0, 0, NW_EPROTO },
		{ 0, 1, 1, 0, NW_REPLAY_TIME_MAX_NS + 1, NW_EPROTO },
	};
	struct nw_order o = { .opt = NW_OPT_START,
		.id = "s1/p1",
		.event_type = "ps:x",
		.task_id = "a task",
		.lease_ns = 5000000000,
		.replay = replay },
			got;
	struct nw_doc_buf doc = { 0 };
	const char *why;
	size_t i;

	CHECK_INT(nw_order_encode(&doc, &o), NW_OK);
	CHECK_INT(nw_order_decode(&got, NW_OPT_START, doc.data, doc.len, &why), NW_OK);
	CHECK_INT(got.replay.way, NW_REPLAY_READ);
	CHECK_STR(got.replay.target, replay.target);
	CHECK(got.replay.op_bytes == replay.op_bytes && got.replay.bytes == replay.bytes &&
	    got.replay.pause_ns == replay.pause_ns && got.replay.time_ns == replay.time_ns &&
	    got.replay.random_share == replay.random_share);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		o.replay.random_share = cases[i].random_share;
		o.replay.op_bytes = cases[i].op_bytes;
		o.replay.bytes = cases[i].bytes;
		o.replay.pause_ns = cases[i].pause_ns;
		o.replay.time_ns = cases[i].time_ns;
		CHECK_INT(nw_order_check(&o, &why), cases[i].rc);
	}
	o.replay = replay;
	o.task_id[0] = '\0'; /* of no session */
	CHECK_INT(nw_order_check(&o, &why), NW_EPROTO);
	nw_doc_buf_clear(&doc);
}

/* What a stranger may write. */
static void
test_hostile(void)
{
	char longest[400];
	static const double seconds[] = { NAN, -1, 1e300, INFINITY, 1e6 + 1 };
	struct nw_kv kv[] = { { "id", NW_KV_TEXT, { .text = "a" } },
		{ "collection_interval_s", NW_KV_REAL, { .d = 1 } },
		{ "lease_s", NW_KV_INT, { .i = 5 } }, { "sport", NW_KV_INT, { .i = 0 } } };
	struct nw_doc_buf doc = { 0 };
	struct nw_order o;
	const char *why;
	size_t i;

	CHECK_INT(nw_kv_encode(&doc, kv, 4), NW_OK);
	CHECK_INT(nw_order_decode(&o, NW_OPT_RATE, doc.data, doc.len, &why), NW_OK);
	CHECK_INT(o.lease_ns, 5000000000); /* whole seconds as an integer */
	for (i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		kv[1].v.d = seconds[i];
		nw_kv_encode(&doc, kv, 4);
		CHECK_INT(nw_order_decode(&o, NW_OPT_RATE, doc.data, doc.len, &why), NW_EPROTO);
	}
	kv[1].v.d = 1;
	kv[3].v.i = 65536;
	nw_kv_encode(&doc, kv, 4);
	CHECK_INT(nw_order_decode(&o, NW_OPT_RATE, doc.data, doc.len, &why), NW_EPROTO);
	kv[3].v.i = 0;
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	kv[0].v.text = longest;
	nw_kv_encode(&doc, kv, 4);
	CHECK_INT(nw_order_decode(&o, NW_OPT_RATE, doc.data, doc.len, &why), NW_ETOOBIG);
	nw_doc_buf_clear(&doc);
}

static void
test_status(void)
{
	struct nw_order_status s = { .collecting = "cpu disk",
		.refused = "tcp: no socket diagnostics",
		.orders = "s1 h2",
		.declined = "s1/p1 s2/p1",
		.collection_s = 0.1,
		.report_s = 0.5,
		.cpu_s = 1.25,
		.rss_bytes = 4096,
		.docs_queued = 7,
		.docs_dropped = 3,
		.orders_rejected = 2,
		.cpu_share = 0.0125,
		.samples = 901,
		.overruns = 4 },
			       t;
	const struct nw_kv negative = { "cpu_s", NW_KV_REAL, { .d = -1 } };
	struct nw_doc_buf doc = { 0 };
	const char *why;

	CHECK_INT(nw_order_status_encode(&doc, &s), NW_OK);
	CHECK_INT(nw_order_status_decode(&t, doc.data, doc.len, &why), NW_OK);
	CHECK_STR(t.refused, s.refused);
	CHECK_STR(t.collecting, "cpu disk");
	CHECK_STR(t.orders, "s1 h2");
	CHECK_STR(t.declined, "s1/p1 s2/p1");
	CHECK_NEAR(t.collection_s, 0.1, 0, 0);
	CHECK_NEAR(t.report_s, 0.5, 0, 0);
	CHECK_NEAR(t.cpu_s, 1.25, 0, 0);
	CHECK(t.rss_bytes == 4096 && t.docs_queued == 7 && t.docs_dropped == 3 &&
	    t.orders_rejected == 2 && t.samples == 901 && t.overruns == 4);
	CHECK_NEAR(t.cpu_share, 0.0125, 0, 0);
	s.cpu_share = NAN;
	s.samples = NW_STATUS_UNSAID;
	CHECK_INT(nw_order_status_encode(&doc, &s), NW_OK);
	CHECK_INT(nw_order_status_decode(&t, doc.data, doc.len, &why), NW_OK);
	CHECK(isnan(t.cpu_share) && t.samples == NW_STATUS_UNSAID);
	nw_kv_encode(&doc, &negative, 1);
	CHECK_INT(nw_order_status_decode(&t, doc.data, doc.len, &why), NW_EPROTO);
	CHECK_INT(nw_order_status_decode(&t, doc.data, doc.len - 1, &why), NW_EPROTO);
	nw_doc_buf_clear(&doc);
}

static void
test_clock(void)
{
	/* the provider is 3 s ahead; 20 ms there, 40 ms back, 5 ms at the provider */
	struct nw_clock c = { 1000000000000, 1003020000000, 1003025000000 }, d;
	struct nw_doc_buf doc = { 0 };
	double offset_s, bound_s;
	const char *why;

	CHECK_INT(nw_clock_encode(&doc, &c), NW_OK);
	CHECK_INT(nw_clock_decode(&d, doc.data, doc.len, &why), NW_OK);
	CHECK(d.t1_wall_ns == c.t1_wall_ns && d.t2_wall_ns == c.t2_wall_ns &&
	    d.t3_wall_ns == c.t3_wall_ns);
	CHECK_INT(nw_clock_offset(&d, 1000065000000, &offset_s, &bound_s), NW_OK);
	CHECK_NEAR(bound_s, 0.030, 1e-9, 0);
	CHECK_NEAR(offset_s, 2.990, 1e-9, 0);
	CHECK(fabs(offset_s - 3) <= bound_s);
	/* held longer than away */
	CHECK_INT(nw_clock_offset(&d, 1000004000000, &offset_s, &bound_s), NW_EPROTO);
	d.t2_wall_ns = INT64_MAX - 1;
	d.t3_wall_ns = INT64_MAX;
	CHECK_INT(nw_clock_offset(&d, 1000065000000, &offset_s, &bound_s), NW_OK);
	CHECK(offset_s > 9e9);
	d.t2_wall_ns = 5;
	d.t3_wall_ns = 4;
	nw_clock_encode(&doc, &d);
	CHECK_INT(nw_clock_decode(&c, doc.data, doc.len, &why), NW_EPROTO);
	d = (struct nw_clock){ .t1_wall_ns = 1 };
	nw_clock_encode(&doc, &d);
	CHECK_INT(nw_clock_decode(&c, doc.data, doc.len, &why), NW_OK);
	/* a question is no answer */
	CHECK_INT(nw_clock_offset(&c, 2, &offset_s, &bound_s), NW_EPROTO);
	nw_doc_buf_clear(&doc);
}

static void
test_words(void)
{
	CHECK(nw_order_word("start stop", "start") && nw_order_word("start stop", "stop") &&
	    nw_order_word(" a", "a"));
	CHECK(!nw_order_word("starts", "start") && !nw_order_word("", "start") &&
	    !nw_order_word(NULL, "a"));
	CHECK(!nw_order_word("a b", "") && !nw_order_word("a b", "a b"));
}

int
main(void)
{
	test_round_trip();
	test_check();
	test_replay();
	test_hostile();
	test_status();
	test_clock();
	test_words();
	return check_done("order");
}
