/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of announced flows: beginnings, rows, ends; repetition; bounds by source and in all. */
#include "narrows/announce.h"
#include "tests/check.h"

#define S  INT64_C(1000000000)
#define T0 (INT64_C(1795396736) * S)

static struct log {
	unsigned begun, rows, ended;
	bool refuse;
	double bytes;
} seen;
static int record;

static void *
on_begin(void *arg, const char *source, const struct nw_announcement *a)
{
	(void)source;
	(void)a;
	if (((struct log *)arg)->refuse)
		return NULL;
	((struct log *)arg)->begun++;
	return &record;
}

static void
on_row(void *arg, void *flow, const struct nw_announcement *a)
{
	CHECK(flow == &record);
	((struct log *)arg)->rows++;
	((struct log *)arg)->bytes = a->value[NW_ANNOUNCED_bytes_out];
}

static void
on_end(void *arg, void *flow)
{
	CHECK(flow == &record);
	((struct log *)arg)->ended++;
}

static struct nw_flows *
make(unsigned per_s)
{
	const struct nw_flows_ops ops = { on_begin, on_row, on_end, &seen };

	memset(&seen, 0, sizeof(seen));
	return nw_flows_new(&ops, per_s);
}

static enum nw_flows_answer
take(struct nw_flows *f, const char *source, unsigned port, enum nw_announce_state state, int64_t t)
{
	struct nw_announcement a = { .state = state,
		.start_wall_ns = T0,
		.t_wall_ns = T0 + t,
		.src = "192.0.2.1",
		.dst = "192.0.2.2",
		.sport = 1094,
		.dport = (uint16_t)port };

	a.value[NW_ANNOUNCED_bytes_out] = (double)t;
	return nw_flows_take(f, source, &a, T0 + t, T0 + t);
}

static void
test_life(void)
{
	struct nw_flows *f = make(1000);

	CHECK_INT(take(f, "s", 1, NW_ANNOUNCE_START, 0), NW_FLOWS_TAKEN);
	CHECK_INT(take(f, "s", 1, NW_ANNOUNCE_START, 0), NW_FLOWS_REPEATED);
	CHECK_INT(take(f, "s", 1, NW_ANNOUNCE_ONGOING, S / 2), NW_FLOWS_TAKEN);
	CHECK_INT(seen.rows, 1); /* at most one a second */
	CHECK_INT(take(f, "s", 1, NW_ANNOUNCE_ONGOING, 2 * S), NW_FLOWS_TAKEN);
	CHECK_INT(take(f, "s", 1, NW_ANNOUNCE_ONGOING, S), NW_FLOWS_REPEATED);
	CHECK_INT(seen.rows, 2);
	CHECK_INT(nw_flows_count(f), 1);
	CHECK_INT(take(f, "s", 1, NW_ANNOUNCE_END, 2 * S + 1), NW_FLOWS_TAKEN);
	CHECK_INT(seen.rows, 3);
	CHECK_NEAR(seen.bytes, 2 * S + 1, 0, 0);
	CHECK_INT(seen.ended, 1);
	CHECK_INT(nw_flows_count(f), 0);
	CHECK_INT(take(f, "s", 1, NW_ANNOUNCE_ONGOING, 3 * S), NW_FLOWS_REPEATED);
	CHECK_INT(take(f, "s", 1, NW_ANNOUNCE_START, 0), NW_FLOWS_REPEATED);
	CHECK_INT(seen.begun, 1);
	/* an end alone is a flow */
	CHECK_INT(take(f, "s", 2, NW_ANNOUNCE_END, S), NW_FLOWS_TAKEN);
	CHECK_INT(seen.begun, 2);
	CHECK_INT(seen.ended, 2);
	/* silence */
	CHECK_INT(take(f, "s", 3, NW_ANNOUNCE_START, 4 * S), NW_FLOWS_TAKEN);
	nw_flows_tick(f, T0 + 500 * S);
	CHECK_INT(seen.ended, 2);
	nw_flows_tick(f, T0 + 605 * S);
	CHECK_INT(seen.ended, 3);
	seen.refuse = true;
	CHECK_INT(take(f, "s", 4, NW_ANNOUNCE_START, 606 * S), NW_FLOWS_LIMIT);
	CHECK_INT(nw_flows_count(f), 0);
	nw_flows_free(f);
	CHECK_INT(seen.ended, 3);
}

static void
test_clock(void)
{
	struct nw_flows *f = make(1000);
	struct nw_announcement a = { .start_wall_ns = T0, .t_wall_ns = T0, .src = "192.0.2.1" };

	CHECK_INT(nw_flows_take(f, "s", &a, T0 + 601 * S, 0), NW_FLOWS_CLOCK);
	CHECK_INT(nw_flows_take(f, "s", &a, T0 - 601 * S, 0), NW_FLOWS_CLOCK);
	CHECK_INT(nw_flows_take(f, "s", &a, T0 + 599 * S, 0), NW_FLOWS_TAKEN);
	nw_flows_free(f);
	CHECK_INT(seen.ended, 1);
}

/* A flood of one source, then of many: flows of others stay, memory has a bound. */
static void
test_flood(void)
{
	struct nw_flows *f = make(1000000);
	char source[32];
	unsigned i;

	CHECK_INT(take(f, "quiet", 1, NW_ANNOUNCE_START, 0), NW_FLOWS_TAKEN);
	for (i = 0; i < 5000; i++)
		take(f, "loud", 2 + i, NW_ANNOUNCE_START, (int64_t)i);
	CHECK_INT(nw_flows_count(f), 1 + NW_FLOWS_OF_SOURCE_MAX);
	for (i = 0; i < 20000; i++) {
		snprintf(source, sizeof(source), "spoofed %u", i);
		take(f, source, 10000 + i, NW_ANNOUNCE_START, 2 * S + (int64_t)i);
	}
	CHECK(nw_flows_count(f) <= NW_FLOWS_MAX);
	CHECK_INT(take(f, "quiet", 1, NW_ANNOUNCE_END, 3 * S), NW_FLOWS_TAKEN);
	CHECK_INT(seen.begun - seen.ended, nw_flows_count(f));
	/* pairs of start and end are forgotten in time, too */
	for (i = 0; i < 20000; i++)
		take(f, "pairs", 1 + i, NW_ANNOUNCE_END, 5 * S);
	nw_flows_free(f);
	CHECK_INT(seen.begun, seen.ended);
}

static void
test_rate(void)
{
	struct nw_flows *f = make(100);
	unsigned loud = 0, quiet = 0, i;

	for (i = 0; i < 1000; i++)
		loud += nw_flows_may(f, "loud", T0);
	CHECK_INT(loud, 100);
	for (i = 0; i < 10; i++)
		quiet += nw_flows_may(f, "quiet", T0);
	CHECK_INT(quiet, 10);
	nw_flows_free(f);
}

int
main(void)
{
	test_life();
	test_clock();
	test_flood();
	test_rate();
	return check_done("flowtable");
}
