/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of several threads as one, and single operations as events while somebody asks. */
#include "host/lib/caliper_ops.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventlog.h"
#include "narrows/frame.h"
#include "narrows/hist.h"

#include "tests/check.h"

enum { OPS = 200 };

static struct nw_caliper *
caliper(void)
{
	struct nw_caliper *c;

	CHECK_INT(nw_caliper_new(&c), NW_OK);
	return c;
}

/* An operation of 4096 bytes that takes `ns`. */
static void
operate(struct nw_caliper *c, int64_t begin_mono_ns, int64_t ns)
{
	nw_caliper_begin(c, begin_mono_ns);
	nw_caliper_end(c, 4096, begin_mono_ns + ns);
}

/* Two calipers' windows merged are the window of one caliper that had all operations. */
static void
test_merge(void)
{
	struct nw_caliper *c[3] = { caliper(), caliper(), caliper() };
	struct nw_caliper_window w, sum = { 0 };
	static uint64_t hist[NW_HIST_BUCKETS];
	int i;

	for (i = 0; i < OPS; i++) {
		operate(c[i % 3 == 0], 1000 + i * 1000, 100 + i * 7 % 90);
		operate(c[2], 1000 + i * 1000, 100 + i * 7 % 90);
	}
	for (i = 0; i < 2; i++) {
		nw_caliper_take(c[i], 300000, &w);
		nw_caliper_merge(&sum, hist, &w);
	}
	nw_caliper_take(c[2], 300000, &w);
	CHECK_INT(sum.n, OPS);
	CHECK_INT(sum.threads, 2);
	CHECK_INT(sum.busy_ns, w.busy_ns);
	CHECK(sum.busy_max_ns < w.busy_ns);
	CHECK_INT(sum.first_begin_mono_ns, w.first_begin_mono_ns);
	CHECK_INT(sum.last_end_mono_ns, w.last_end_mono_ns);
	CHECK_NEAR(sum.d.mean, w.d.mean, 1e-12, 0);
	CHECK_NEAR(sum.d.m2, w.d.m2, 1e-9, 0);
	CHECK_NEAR(sum.r.m2, w.r.m2, 1e-6, 0);
	CHECK_NEAR(sum.g.sum, w.g.sum, 1e-12, 0);
	CHECK_INT(memcmp(sum.hist, w.hist, sizeof(hist)), 0);
	for (i = 0; i < 3; i++)
		nw_caliper_free(c[i]);
}

static size_t
events_of(struct nw_eventlog *log)
{
	struct nw_events *b = nw_events_new(NW_EVENT_SENT_BYTES);
	size_t n;

	CHECK_INT(nw_eventlog_take(log, b), NW_OK);
	n = nw_events_count(b);
	nw_events_free(b);
	return n;
}

/* Only operations within the window become events, one in so many, and only once. */
static void
test_window(void)
{
	struct nw_caliper *c = caliper();
	struct nw_caliper_window w;
	struct nw_eventlog *log;
	int64_t now = nw_mono_ns();
	int i;

	CHECK_INT(nw_eventlog_new("test", 1024, &log), NW_OK);
	CHECK_INT(nw_caliper_ops(c, log, "read", 0), NW_EINVAL);
	CHECK_INT(nw_caliper_ops(c, log, "read", 3), NW_OK);
	operate(c, now - 50, 10);
	nw_caliper_ops_until(c, now, now + 10000);
	for (i = 0; i < 9; i++)
		operate(c, now + i * 1000, 100);
	operate(c, now + 9990, 100); /* ends after the window */
	nw_caliper_take(c, now + 20000, &w);
	CHECK_INT(w.n, 11);
	CHECK_INT(events_of(log), 3);
	for (i = 0; i < 64; i++)
		operate(c, now + 30000 + i * 1000, 100);
	CHECK_INT(events_of(log), 0);
	nw_caliper_free(c);
	nw_eventlog_free(log);
}

static int
give(struct nw_caliper *c, uint16_t opt, const char *id, const char *event_type, int64_t now)
{
	struct nw_order o = { .opt = opt, .lease_ns = NW_ORDER_LEASE_MIN_NS };
	struct nw_doc_buf doc = { 0 };
	int taken;

	snprintf(o.id, sizeof(o.id), "%s", id);
	snprintf(o.event_type, sizeof(o.event_type), "%s", event_type);
	CHECK_INT(nw_order_encode(&doc, &o), NW_OK);
	taken = nw_caliper_ops_order(c, opt, doc.data, doc.len, now);
	nw_doc_buf_clear(&doc);
	return taken;
}

/* START opens a window for its lease, STOP of the same order ends it; other orders do nothing. */
static void
test_orders(void)
{
	struct nw_caliper *c = caliper();
	struct nw_caliper_window w;
	struct nw_eventlog *log;
	int64_t now = nw_mono_ns();

	CHECK_INT(nw_eventlog_new(NULL, 1024, &log), NW_OK);
	CHECK_INT(give(c, NW_OPT_START, "a", "op.", now), 0);
	CHECK_INT(nw_caliper_ops(c, log, "read", 1), NW_OK);
	CHECK_INT(give(c, NW_OPT_START, "a", "op.write", now), 0);
	CHECK_INT(give(c, NW_OPT_START, "a", "op.", now), 1);
	operate(c, now + 10, 10);
	CHECK_INT(give(c, NW_OPT_STOP, "b", "", now + 30), 0);
	operate(c, now + 40, 10);
	nw_caliper_take(c, now + 60, &w);
	CHECK_INT(events_of(log), 2);
	CHECK_INT(give(c, NW_OPT_STOP, "a", "", now + 70), 1);
	operate(c, now + 80, 10);
	nw_caliper_take(c, now + 100, &w);
	CHECK_INT(events_of(log), 0);
	CHECK_INT(nw_caliper_ops_order(c, NW_OPT_START, (const uint8_t *)"x", 1, now), 0);
	nw_caliper_free(c);
	nw_eventlog_free(log);
}

int
main(void)
{
	test_merge();
	test_window();
	test_orders();
	return check_done("caliper_ops");
}
