/* SPDX-License-Identifier: BSD-3-Clause */
/* Notices of connections: what is one, what is none, and that a sender's is one. */
#include "host/notice/flow_notice.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "tests/check.h"

static bool
parse(const char *text, struct flow_notice *n)
{
	return flow_notice_parse(text, strlen(text), n);
}

static void
test_good(void)
{
	struct flow_notice n;
	uint8_t ip[16];

	CHECK(parse("narrows-flow 1 open tcp 7 localhost:36969 127.0.0.1:49234 none", &n));
	CHECK(!n.closing && n.missed == 7 && n.local.family == 0 && n.local.port == 36969);
	CHECK(n.peer.family == AF_INET && n.peer.port == 49234 && n.peer.ip[0] == 127);
	CHECK_STR(n.transport, "tcp");
	CHECK_STR(n.task, "");
	CHECK(parse("narrows-flow 1 close tcp 0 [::ffff:10.1.2.3]:1 [2001:db8::2]:2 a-task", &n));
	CHECK(n.closing && n.local.family == AF_INET && n.local.ip[0] == 10 && n.local.ip[3] == 3);
	CHECK(inet_pton(AF_INET6, "2001:db8::2", ip) == 1 && memcmp(ip, n.peer.ip, 16) == 0);
	CHECK_STR(n.task, "a-task");
	CHECK(parse("narrows-flow 1 open tcp 0 h:1 10.0.0.1:2 unset", &n) && n.task[0] == '\0');
}

static void
test_bad(void)
{
	static const char *const bad[] = { "", "hello", "narrows-flow 1 ",
		"narrows-flow 2 open tcp 0 h:1 10.0.0.1:2 t",
		"narrows-flow 1 opening tcp 0 h:1 10.0.0.1:2 t",
		"narrows-flow 1 open tcp 0 h:1 10.0.0.1:2",
		"narrows-flow 1 open tcp 0 h:1 10.0.0.1:2 ",
		"narrows-flow 1 open tcp 0 h:1 10.0.0.1:2 t ",
		"narrows-flow 1 open tcp 0 h:1 10.0.0.1:2 t t",
		"narrows-flow 1 open  tcp 0 h:1 10.0.0.1:2 t",
		"narrows-flow 1 open tcp x h:1 10.0.0.1:2 t",
		"narrows-flow 1 open tcp 1000000000 h:1 10.0.0.1:2 t",
		"narrows-flow 1 open tcp 0 h:0 10.0.0.1:2 t",
		"narrows-flow 1 open tcp 0 h:65536 10.0.0.1:2 t",
		"narrows-flow 1 open tcp 0 h:000001 10.0.0.1:2 t",
		"narrows-flow 1 open tcp 0 h 10.0.0.1:2 t",
		"narrows-flow 1 open tcp 0 :1 10.0.0.1:2 t",
		"narrows-flow 1 open tcp 0 h:1 localhost:2 t",
		"narrows-flow 1 open tcp 0 h:1 [10.0.0.1:2 t",
		"narrows-flow 1 open tcp 0 h:1 10.0.0.1:2 a\tb",
		"narrows-flow 1 open tcp 0 h:1 10.0.0.1:2 \303\244",
		"narrows-flow 1 open a-very-long-transport 0 h:1 10.0.0.1:2 t" };
	struct flow_notice n;
	char with_nul[] = "narrows-flow 1 open tcp 0 h:1 10.0.0.1:2 t?";
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse(bad[i], &n)) {
			fprintf(stderr, "\"%s\" is taken\n", bad[i]);
			CHECK(false);
		}
	with_nul[sizeof(with_nul) - 2] = '\0';
	CHECK(!flow_notice_parse(with_nul, sizeof(with_nul) - 1, &n));
}

static void
test_put(void)
{
	char bytes[FLOW_NOTICE_BYTES], long_task[300];
	struct flow_notice_text t = { .transport = "tcp",
		.local = "10.0.0.1:5",
		.peer = "[::1]:6",
		.missed = 2,
		.task = "x" };
	struct flow_notice n;

	CHECK(flow_notice_parse(bytes, flow_notice_put(&t, bytes), &n) && n.missed == 2);
	CHECK_STR(n.task, "x");
	t.task = "two words";
	CHECK(flow_notice_parse(bytes, flow_notice_put(&t, bytes), &n) && n.task[0] == '\0');
	memset(long_task, 'x', sizeof(long_task) - 1);
	long_task[sizeof(long_task) - 1] = '\0';
	t.task = long_task;
	CHECK(flow_notice_parse(bytes, flow_notice_put(&t, bytes), &n) && n.task[0] == '\0');
	t.task = NULL;
	CHECK(flow_notice_parse(bytes, flow_notice_put(&t, bytes), &n) && n.task[0] == '\0');
	t.local = NULL;
	CHECK(flow_notice_put(&t, bytes) == 0);
	t.local = "a b:1";
	CHECK(flow_notice_put(&t, bytes) == 0);
	t.local = long_task;
	CHECK(flow_notice_put(&t, bytes) == 0);
}

int
main(void)
{
	test_good();
	test_bad();
	test_put();
	return check_done("test_flow_notice");
}
