/* SPDX-License-Identifier: BSD-3-Clause */
/* Causes: the table of mechanisms, the direction of a step, time, contradictions, and the set. */
#include "narrows/cause.h"

#include "tests/check.h"

enum { N = 20, BEGIN = 16 };

static bool moved[3][N];

static void
moved_from(bool *m, size_t first)
{
	size_t i;

	for (i = 0; i < N; i++)
		m[i] = i >= first;
}

static double
weight_of(const char *name, const char *before, const char *after, enum nw_stage_kind stage)
{
	struct nw_cause c = { .name = name, .before = before, .after = after, .moved = moved[0] };
	const struct nw_begin begin = { .n = N, .low = BEGIN, .high = BEGIN };
	double unexplained;

	nw_causes_weigh(&c, 1, &begin, stage, &unexplained);
	CHECK(fabs(c.weight + unexplained - 1) < 1e-12);
	return c.weight;
}

/* Each row is reached by a name made of its pattern, and says what it needs. */
static void
table_test(void)
{
	const struct nw_mechanism *rows, *found;
	const char *p;
	char name[128];
	size_t i, n, len;

	rows = nw_mechanisms(&n);
	CHECK(n > 90);
	for (i = 0; i < n; i++) {
		len = 0;
		for (p = rows[i].pattern; *p != '\0'; p++)
			len += (size_t)snprintf(
			    name + len, sizeof(name) - len, *p == '*' ? "zz" : "%c", *p);
		found = nw_mechanism_find(name);
		CHECK_STR(found->pattern, rows[i].pattern);
		CHECK(rows[i].prior >= 0 && rows[i].prior <= 0.7);
		CHECK((rows[i].step == NW_STEP_WORDS) == (rows[i].words != NULL));
	}
}

static void
fits_test(void)
{
	const char *thing;
	size_t len;

	CHECK(nw_cause_fits("net.*.mtu", "net.eth0.100.mtu", &thing, &len));
	CHECK(len == 8 && strncmp(thing, "eth0.100", len) == 0);
	CHECK(!nw_cause_fits("net.*.mtu", "net.eth0.mtu2", NULL, NULL));
	CHECK_INT(nw_cause_unit("program.rsync.build"), strlen("program.rsync"));
	CHECK_INT(nw_cause_unit("kernel.release"), strlen("kernel"));
	CHECK_INT(nw_cause_unit("sysctl.vm.swappiness"), strlen("sysctl.vm.swappiness"));
}

/* A step down slows, a step up hardly; so do caps, words and other stages. */
static void
steps_test(void)
{
	static const struct {
		const char *name, *slow, *fast;
		enum nw_stage_kind stage;
	} cases[] = {
		{ "sysctl.net.ipv4.tcp_rmem", "4096 8192 65536", "4096 131072 33554432",
		    NW_STAGE_NETWORK },
		{ "net.eth0.qdisc", "tbf #e3cc8837", "fq", NW_STAGE_NETWORK },
		{ "net.eth0.offload.gro", "off", "on", NW_STAGE_RECEIVER_HOST },
		{ "cgroup.io.max", "8:0 wbps=8000000", NULL, NW_STAGE_DISK_WRITE },
		{ "cgroup.cpu.max", "20000 100000", "max 100000", NW_STAGE_SENDER_HOST },
		{ "mount./data.options", "rw,sync", "rw", NW_STAGE_DISK_WRITE },
		{ "sysctl.vm.swappiness", "100", "10", NW_STAGE_DISK_READ },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double slow =
		    weight_of(cases[i].name, cases[i].fast, cases[i].slow, cases[i].stage);

		CHECK(slow > 0.6);
		CHECK(weight_of(cases[i].name, cases[i].slow, cases[i].fast, cases[i].stage) <
		    slow - 0.2);
	}
	CHECK(weight_of("sysctl.net.ipv4.tcp_rmem", "4096 4096 4096", "4096 4096 4000",
		  NW_STAGE_NETWORK) < 0.65);
	CHECK(weight_of("net.eth0.qdisc", "fq", "tbf", NW_STAGE_DISK_READ) < 0.6);
	CHECK(weight_of("sysctl.net.ipv4.tcp_synack_retries", "6", "7", NW_STAGE_NETWORK) < 0.2);
}

static void
time_test(void)
{
	const char *name = "net.eth0.qdisc";
	double at, beside;

	moved_from(moved[0], BEGIN);
	at = weight_of(name, "fq", "tbf", NW_STAGE_NETWORK);
	moved_from(moved[0], BEGIN - 1);
	beside = weight_of(name, "fq", "tbf", NW_STAGE_NETWORK);
	CHECK(at > NW_CAUSE_SURE && beside < 0.6 && beside > 0.1);
	moved_from(moved[0], BEGIN + 2);
	CHECK(weight_of(name, "fq", "tbf", NW_STAGE_NETWORK) == 0);
	moved_from(moved[0], BEGIN);
	moved[0][2] = moved[0][5] = true; /* usual sessions with the new value */
	CHECK(weight_of(name, "fq", "tbf", NW_STAGE_NETWORK) < 0.55);
	moved_from(moved[0], BEGIN);
	moved[0][N - 1] = moved[0][N - 2] = false; /* slow after the undo */
	CHECK(weight_of(name, "fq", "tbf", NW_STAGE_NETWORK) < 0.55);
	moved_from(moved[0], BEGIN);
}

/* A program update beside an unknown sysctl; the parts of one update are one cause. */
static void
rivals_test(void)
{
	struct nw_cause c[] = {
		{ .name = "program.mover.build", .before = "aa", .after = "bb", .moved = moved[0] },
		{ .name = "sysctl.net.ipv4.tcp_synack_retries",
		    .before = "6",
		    .after = "7",
		    .moved = moved[1] },
		{ .name = "program.mover.size",
		    .before = "22504",
		    .after = "22505",
		    .moved = moved[2] },
	};
	const struct nw_begin begin = { .n = N, .low = BEGIN, .high = BEGIN };
	double unexplained;
	size_t i;

	for (i = 0; i < 3; i++)
		moved_from(moved[i], BEGIN);
	nw_causes_weigh(c, 3, &begin, NW_STAGE_NETWORK, &unexplained);
	CHECK(c[0].weight > 0.85 && c[1].weight < 0.02 && c[2].weight == 0);
	c[0].n_quiet = 400; /* updated daily, without effect */
	c[2].n_quiet = 400;
	nw_causes_weigh(c, 3, &begin, NW_STAGE_NETWORK, &unexplained);
	CHECK(unexplained > 0.7);
}

static void
metrics_test(void)
{
	struct nw_cause c = {
		.name = "Share of others at the limiting resource", .chance = 1e-4, .rose = true
	};
	const struct nw_begin begin = { .n = N, .low = BEGIN, .high = BEGIN };
	double unexplained;

	nw_causes_weigh(&c, 1, &begin, NW_STAGE_NETWORK, &unexplained);
	CHECK(c.weight > NW_CAUSE_SURE);
	/* never before, in twelve sessions, is no wonder, unless the size makes up the slowdown */
	c.chance = 1.0 / 13;
	nw_causes_weigh(&c, 1, &begin, NW_STAGE_NETWORK, &unexplained);
	CHECK(c.weight < unexplained);
	c.accounts = true;
	nw_causes_weigh(&c, 1, &begin, NW_STAGE_NETWORK, &unexplained);
	CHECK(c.weight > unexplained && c.weight < NW_CAUSE_SURE);
	c.rose = false;
	nw_causes_weigh(&c, 1, &begin, NW_STAGE_NETWORK, &unexplained);
	CHECK(c.weight == 0);
	c.name = "Service rate of the network"; /* an effect, no cause */
	nw_causes_weigh(&c, 1, &begin, NW_STAGE_NETWORK, &unexplained);
	CHECK(c.weight == 0);
}

/* Two changes alike, one at each end: the other routes tell which; and a fall of all routes over a
 * host, or of none, weighs against or for "no recorded change". */
static void
vouch_test(void)
{
	struct nw_cause c[] = {
		{ .name = "sysctl.net.ipv4.tcp_sack",
		    .before = "1",
		    .after = "0",
		    .host = 0,
		    .place = NW_CAUSE_FROM,
		    .moved = moved[0] },
		{ .name = "sysctl.net.ipv4.tcp_sack",
		    .before = "1",
		    .after = "0",
		    .host = 1,
		    .place = NW_CAUSE_TO,
		    .moved = moved[1] },
	};
	struct nw_begin begin = { .n = N, .low = BEGIN, .high = BEGIN };
	double unexplained, alone;

	moved_from(moved[1], BEGIN);
	nw_causes_weigh(c, 2, &begin, NW_STAGE_NETWORK, &alone);
	CHECK_NEAR(c[0].weight, c[1].weight, 1e-12, 0);
	begin.reach = (struct nw_reach){ .n_from = 3, .n_to = 3, .n_to_fell = 3 };
	nw_causes_weigh(c, 2, &begin, NW_STAGE_NETWORK, &unexplained);
	CHECK(c[1].weight > 0.9 && c[0].weight < 0.05);
	begin.reach = (struct nw_reach){ .n_from = 3, .n_to = 3 }; /* one pair only */
	nw_causes_weigh(c, 2, &begin, NW_STAGE_NETWORK, &unexplained);
	CHECK(unexplained > 1.3 * alone);
	c[1].name = "program.rsync.build"; /* felt by the transfers of that program alone */
	begin.reach = (struct nw_reach){ .n_to = 3, .n_to_fell = 3 };
	nw_causes_weigh(c, 2, &begin, NW_STAGE_NETWORK, &unexplained);
	begin.reach = (struct nw_reach){ .n_to = 3 };
	alone = c[1].weight;
	nw_causes_weigh(c, 2, &begin, NW_STAGE_NETWORK, &unexplained);
	CHECK(alone < 0.9 && c[1].weight > 0.4);
}

static void
named_test(void)
{
	static const struct {
		double weight[4], unexplained;
		size_t named;
	} cases[] = {
		{ { 0.95, 0.02, 0, 0 }, 0.03, 1 },
		{ { 0.45, 0.40, 0.05, 0 }, 0.10, 2 },
		{ { 0.2, 0.2, 0.2, 0.2 }, 0.2, 3 },
		{ { 0.3, 0.01, 0, 0 }, 0.69, 0 },
		{ { 0, 0, 0, 0 }, 1, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(
		    nw_causes_named(cases[i].weight, 4, cases[i].unexplained), cases[i].named);
}

int
main(void)
{
	moved_from(moved[0], BEGIN);
	table_test();
	fits_test();
	steps_test();
	time_test();
	rivals_test();
	metrics_test();
	vouch_test();
	named_test();
	return check_done("cause");
}
