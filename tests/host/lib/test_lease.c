/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/lease.h"

#include "narrows/err.h"
#include "narrows/frame.h"
#include "tests/check.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static struct nw_order
order(uint16_t opt, const char *id, const char *event_type, int64_t collection_ns, int64_t lease_ns)
{
	struct nw_order o = { .opt = opt, .collection_ns = collection_ns, .lease_ns = lease_ns };

	strcpy(o.id, id);
	strcpy(o.event_type, event_type);
	return o;
}

static bool
take(struct leases *l, const struct nw_order *o, int64_t now)
{
	bool changed;

	CHECK_INT(leases_take(l, o, now, &changed), NW_OK);
	return changed;
}

/* The box renews every 2 s and disappears at 10 s: at 15 s everything is as it was. */
static void
test_expiry(void)
{
	static struct leases l;
	struct nw_order o = order(NW_OPT_RATE, "s1", "ps:", 100 * MS, 5 * S);
	int64_t t;

	CHECK_INT(leases_deadline(&l), INT64_MAX);
	CHECK(take(&l, &o, 0));
	for (t = 2 * S; t <= 10 * S; t += 2 * S) {
		CHECK(!leases_expire(&l, t));
		CHECK(!take(&l, &o, t)); /* the same again changes nothing */
		CHECK_INT(leases_interval_ns(&l, "ps:tools:blipp:linux:cpu:", S), 100 * MS);
	}
	CHECK_INT(leases_deadline(&l), 15 * S);
	CHECK(!leases_expire(&l, 15 * S - 1));
	CHECK(leases_expire(&l, 15 * S));
	CHECK(!leases_expire(&l, 15 * S));
	CHECK_INT(leases_interval_ns(&l, "ps:tools:blipp:linux:cpu:", S), S);
	CHECK_INT(l.n, 0);
}

static void
test_stop(void)
{
	static struct leases l;
	struct nw_order o = order(NW_OPT_RATE, "s1", "ps:", 100 * MS, 5 * S),
			stop = order(NW_OPT_STOP, "s1", "", 0, 0);
	static const char *const ids[] = { "s1/1", "s10", "s1/2", "s2" };
	size_t i;

	take(&l, &o, 0);
	for (i = 0; i < 4; i++) {
		o = order(NW_OPT_START, ids[i], "ps:host:tcp", 0, 5 * S);
		take(&l, &o, 0);
	}
	CHECK_INT(l.n, 5);
	CHECK(take(&l, &stop, 0)); /* "s1" and what is below it, not "s10" */
	CHECK_INT(l.n, 2);
	CHECK(leases_find(&l, "s10") != NULL && leases_find(&l, "s2") != NULL &&
	    leases_find(&l, "s1/1") == NULL);
	CHECK(!take(&l, &stop, 0));
}

static void
test_intervals(void)
{
	static struct leases l;
	struct nw_order a = order(NW_OPT_RATE, "a", "ps:tools:blipp:linux:cpu", 200 * MS, 5 * S);
	struct nw_order b = order(NW_OPT_RATE, "b", "", 500 * MS, 50 * S);
	struct nw_order c = order(NW_OPT_START, "c", "ps:host:tcp", 10 * MS, 50 * S);
	struct nw_order d = order(NW_OPT_START, "d", "ps:tools:blipp:linux:pressure", 0, 50 * S);

	strcpy(c.src, "10.0.0.1");
	strcpy(c.dst, "10.0.0.2");
	c.sport = c.dport = 1;
	a.report_ns = S;
	b.report_ns = 2 * S;
	take(&l, &a, 0);
	take(&l, &b, 0);
	take(&l, &c, 0);
	CHECK_INT(leases_interval_ns(&l, "ps:tools:blipp:linux:cpu:load", S), 200 * MS);
	CHECK_INT(leases_interval_ns(&l, "ps:tools:blipp:linux:", S), 200 * MS);
	CHECK_INT(leases_interval_ns(&l, "ps:tools:blipp:linux:disk:", S), 500 * MS);
	CHECK_INT(leases_interval_ns(&l, "nw:", 0), 500 * MS);
	CHECK_INT(leases_report_ns(&l, 0), S);
	CHECK(!leases_started(&l, "ps:tools:blipp:linux:pressure"));
	take(&l, &d, 0);
	CHECK(leases_started(&l, "ps:tools:blipp:linux:pressure") &&
	    !leases_started(&l, "ps:tools:blipp:linux:disk:"));
	CHECK(leases_expire(&l, 6 * S)); /* a is over */
	CHECK_INT(leases_interval_ns(&l, "ps:tools:blipp:linux:cpu:load", S), 500 * MS);
	CHECK_INT(leases_report_ns(&l, 0), 2 * S);
	b.collection_ns = 20 * S; /* slower than it would be */
	CHECK(take(&l, &b, 6 * S));
	CHECK_INT(leases_interval_ns(&l, "nw:", S), 20 * S);
}

static void
test_full(void)
{
	static struct leases l;
	struct nw_order o;
	bool changed;
	char id[16];
	int i;

	for (i = 0; i < LEASES_MAX; i++) {
		snprintf(id, sizeof(id), "i%d", i);
		o = order(NW_OPT_RATE, id, "", S, S);
		CHECK(take(&l, &o, 0));
	}
	o = order(NW_OPT_RATE, "more", "", S, S);
	CHECK_INT(leases_take(&l, &o, 0, &changed), NW_EFULL);
	CHECK(!changed && l.n == LEASES_MAX);
	o = order(NW_OPT_RATE, "i5", "", S, S);
	CHECK(!take(&l, &o, 1)); /* renewing needs no room */
	CHECK(leases_expire(&l, S));
	CHECK_INT(l.n, 1);
}

int
main(void)
{
	test_expiry();
	test_stop();
	test_intervals();
	test_full();
	return check_done("lease");
}
