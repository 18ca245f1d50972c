/* SPDX-License-Identifier: BSD-3-Clause */
/* When a connection becomes a transfer, when that is over, and whose transfers are watched. */
#include "host/outside/flow_list.h"

#include <arpa/inet.h>
#include <string.h>

#include "host/outside/flow_rules.h"
#include "tests/check.h"

#define SECOND_NS INT64_C(1000000000)

static const struct flows_limits limits = {
	.bytes = 1000, .after_ns = 5 * SECOND_NS, .rate_bytes_per_s = 10, .quiet_ns = 4 * SECOND_NS
};

static int n_due, n_taken;
static struct flow *last;

static void
count(void *arg, struct flow *flow)
{
	(void)arg;
	last = flow;
	n_due += flow->state == FLOW_DUE;
	n_taken += flow->state == FLOW_TAKEN;
}

/* Looks at a host with one connection and the bytes moved so far. */
static void
look(struct flows *f, int64_t second, uint64_t moved)
{
	const struct flow_sample s = { .cookie = 7, .inode = 70, .moved_bytes = moved };

	flows_begin(f, second * SECOND_NS, true);
	flows_note(f, &s);
	flows_end(f);
	n_due = n_taken = 0;
	flows_each(f, count, NULL);
}

static void
empty_look(struct flows *f, int64_t second)
{
	flows_begin(f, second * SECOND_NS, true);
	flows_end(f);
}

static void
look_two(struct flows *f, int64_t second, bool all, bool taken_is_there, uint64_t others_bytes)
{
	const struct flow_sample taken = { .cookie = 7, .moved_bytes = 5000 };
	const struct flow_sample other = { .cookie = 8, .moved_bytes = others_bytes };

	flows_begin(f, second * SECOND_NS, all);
	if (taken_is_there)
		flows_note(f, &taken);
	if (all)
		flows_note(f, &other);
	flows_end(f);
	n_due = n_taken = 0;
	flows_each(f, count, NULL);
}

/* A look at the connections of sessions forgets them alone. */
static void
test_followed(void)
{
	struct flows *f = flows_new(&limits);

	look_two(f, 1, true, false, 10);
	look_two(f, 2, true, true, 10);
	CHECK(n_due == 1);
	flows_take(last, 3);
	look_two(f, 3, false, true, 0);
	CHECK(n_taken == 1);
	look_two(f, 4, false, false, 0);
	CHECK(n_taken == 0 && n_due == 0);
	look_two(f, 5, true, false, 1009);
	CHECK(n_due == 0); /* the other is still known, and has moved 999 bytes */
	look_two(f, 6, true, false, 1010);
	CHECK(n_due == 1);
	flows_free(f);
}

static void
test_bytes(void)
{
	struct flows *f = flows_new(&limits);

	look(f, 1, 5000);
	CHECK(n_due == 0); /* moved before anybody looked */
	look(f, 2, 5999);
	CHECK(n_due == 0);
	look(f, 3, 6000);
	CHECK(n_due == 1);
	flows_take(last, 3);
	look(f, 4, 7000);
	CHECK(n_due == 0 && n_taken == 1 && last->worker == 3);
	look(f, 8, 7000);
	CHECK(n_taken == 0); /* quiet for 4 s */
	look(f, 9, 7999);
	CHECK(n_due == 0);
	look(f, 10, 8000);
	CHECK(n_due == 1);
	flows_refuse(last);
	look(f, 11, 99000);
	CHECK(n_due == 0);
	empty_look(f, 12);
	look(f, 13, 1000); /* a new connection: all its bytes count */
	CHECK(n_due == 1);
	flows_free(f);
}

static void
test_rate(void)
{
	struct flows *f = flows_new(&limits);
	int64_t second;

	empty_look(f, 0);
	for (second = 1; second <= 5; second++)
		look(f, second, 12 * (uint64_t)second);
	CHECK(n_due == 0); /* fast enough, but for 4 s only */
	look(f, 6, 72);
	CHECK(n_due == 1);
	flows_free(f);
	f = flows_new(&limits);
	for (second = 1; second <= 60; second++)
		look(f, second, 9 * (uint64_t)second);
	CHECK(n_due == 0); /* too slow for a transfer of 1,000 bytes */
	flows_free(f);
}

/* A count that goes back, as no kernel's does, wraps nowhere. */
static void
test_backwards(void)
{
	struct flows *f = flows_new(&limits);

	look(f, 1, 5000);
	look(f, 2, 10);
	CHECK(n_due == 0);
	look(f, 3, 1009);
	CHECK(n_due == 0);
	look(f, 4, 1010);
	CHECK(n_due == 1);
	flows_free(f);
}

static void
test_rules(void)
{
	static const struct {
		const char *allow, *deny;
		bool admitted;
	} cases[] = {
		{ NULL, NULL, true },
		{ "program rsync", NULL, true },
		{ "program rs*", NULL, true },
		{ "program curl", NULL, false },
		{ "program curl\nport 873", NULL, true },
		{ "port 40000", NULL, true },
		{ "port 874", NULL, false },
		{ NULL, "port 873", false },
		{ "program rsync", "port 873", false },
		{ NULL, "network 192.0.2.0/25", true },
		{ NULL, "network 192.0.2.128/25", false },
		{ NULL, "network 192.0.2.200", false },
		{ NULL, "network 0.0.0.0/0", false },
		{ NULL, "network ::/0", true },
		{ NULL, "user root", false },
		{ NULL, "user 0", false },
		{ NULL, "user nobody", true },
	};
	struct flow_facts facts = { .program = "rsync",
		.uid = 0,
		.local = { .family = AF_INET, .port = 40000, .ip = { 10, 0, 0, 1 } },
		.peer = { .family = AF_INET, .port = 873, .ip = { 192, 0, 2, 200 } } };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(flow_rules_admit(cases[i].allow, cases[i].deny, &facts) == cases[i].admitted);
	facts.program = "borg (python3)";
	CHECK(flow_rules_admit("program borg", NULL, &facts));
	CHECK(!flow_rules_admit(NULL, "program python3", &facts));
	CHECK(!flow_rules_admit("program python", NULL, &facts));
	CHECK(flow_rules_admit("program borg*", NULL, &facts));
}

static void
test_bad_rules(void)
{
	static const char *const bad[] = { "", "program", "program a b", "port x", "port 0",
		"port 65536", "network 192.0.2.0/33", "network host", "network ::/129",
		"colour red" };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(flow_rule_check(bad[i]) != NULL);
	CHECK(flow_rule_check("network 2001:db8::/32") == NULL);
}

int
main(void)
{
	test_followed();
	test_bytes();
	test_rate();
	test_backwards();
	test_rules();
	test_bad_rules();
	return check_done("test_flows");
}
