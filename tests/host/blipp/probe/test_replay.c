/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages are repeated alone within bounds, nothing stays, and the configuration decides. */
#include "host/blipp/probe/replay.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/blipp/probe/bandwidth_sink.h"
#include "host/blipp/probe/probe.h"
#include "host/lib/lease.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/frame.h"
#include "tests/check.h"

enum { SIZE = 4 << 20, OP = 65536 };
#define LONG_NS  INT64_C(10000000000)
#define SHORT_NS INT64_C(500000000)

static char dir[] = "/tmp/test_replay.XXXXXX";

static size_t
names_count(const char *directory)
{
	DIR *d = opendir(directory);
	size_t n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

static void
test_files(void)
{
	struct scratch_conf of = { .directory = dir, .time_ns = LONG_NS, .bytes = SIZE };
	struct nw_replay p = { .way = NW_REPLAY_WRITE,
		.op_bytes = OP,
		.random_share = 0.5,
		.bytes = SIZE,
		.time_ns = LONG_NS };
	struct replay_result m;

	CHECK_INT(replay_file(&p, &of, &m), NW_OK);
	CHECK_INT(m.cost_bytes, SIZE);
	CHECK_INT(m.bytes, SIZE / 2); /* the first half is a burst */
	CHECK(m.took_ns > 0 && m.calls_ns > 0 && m.calls_ns <= m.took_ns && m.cost_ns >= m.took_ns);
	/* the smaller of both bounds, in whole operations */
	p.bytes = SIZE / 2 + OP - 1;
	CHECK_INT(replay_file(&p, &of, &m), NW_OK);
	CHECK_INT(m.cost_bytes, SIZE / 2);
	of.bytes = SIZE / 4;
	CHECK_INT(replay_file(&p, &of, &m), NW_OK);
	CHECK_INT(m.cost_bytes, SIZE / 4);
	of.bytes = OP - 1;
	CHECK_INT(replay_file(&p, &of, &m), NW_EFULL);
	CHECK_INT(m.cost_bytes, 0);
	of.bytes = SIZE;
	of.time_ns = 1;
	CHECK_INT(replay_file(&p, &of, &m), NW_OK);
	CHECK(m.cost_bytes <= OP);
	/* pages in memory say nothing of a device */
	of.time_ns = LONG_NS;
	p.way = NW_REPLAY_READ;
	CHECK_INT(replay_file(&p, &of, &m), NW_OK);
	CHECK(m.bytes == 0 || m.cost_bytes == 2 * (SIZE / 2));
	of.directory = (char[]){ "/dev/shm" };
	CHECK(replay_file(&p, &of, &m) != NW_OK || m.bytes == 0);
	of.directory = (char[]){ "/nowhere/at/all" };
	CHECK_INT(replay_file(&p, &of, &m), NW_EIO);
	CHECK_INT(names_count(dir), 2);
}

/* Pauses of the program count in one time, and not in the other. The three pauses of the second
 * half make up for late ends of earlier pauses. */
static void
test_pauses(void)
{
	const struct scratch_conf of = { .directory = dir, .time_ns = LONG_NS, .bytes = SIZE };
	const struct nw_replay p = { .way = NW_REPLAY_WRITE,
		.op_bytes = SIZE / 4,
		.pause_ns = 50000000,
		.bytes = SIZE,
		.time_ns = LONG_NS };
	struct replay_result m;

	CHECK_INT(replay_file(&p, &of, &m), NW_OK);
	CHECK(m.took_ns - m.calls_ns >= p.pause_ns);
}

/* The far end of one probe, in a child: serves until killed. */
static pid_t
sink_begin(char *line, size_t cap, uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	char bytes[65536], text[96];
	int fd = socket(AF_INET, SOCK_STREAM, 0), c;
	long long n, got, begin;
	pid_t child;

	CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, 4) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
	*port = ntohs(a.sin_port);
	snprintf(line, cap, "127.0.0.1/%u", *port);
	if ((child = fork()) != 0) {
		close(fd);
		return child;
	}
	for (;;) {
		c = accept(fd, NULL, NULL);
		(void)!write(c, BANDWIDTH_READY, sizeof(BANDWIDTH_READY) - 1);
		begin = nw_mono_ns();
		for (n = 0; (got = read(c, bytes, sizeof(bytes))) > 0; n += got)
			continue;
		len = (socklen_t)snprintf(
		    text, sizeof(text), "%lld %lld 1\n", n, (long long)nw_mono_ns() - begin);
		(void)!write(c, text, len);
		close(c);
	}
}

static void
test_send(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct bandwidth_conf of = { .time_ns = LONG_NS, .bytes = SIZE };
	struct nw_replay p = {
		.way = NW_REPLAY_SEND, .op_bytes = OP, .bytes = 2 * SIZE, .time_ns = LONG_NS
	};
	struct replay_result m;
	char line[64];
	uint16_t port;
	pid_t sink = sink_begin(line, sizeof(line), &port);

	to.sin_port = htons(port);
	CHECK_INT(replay_send(&p, &of, (struct sockaddr *)&to, sizeof(to), &m), NW_OK);
	CHECK_INT(m.bytes, SIZE);
	CHECK_INT(m.cost_bytes, SIZE);
	kill(sink, SIGKILL);
	waitpid(sink, NULL, 0);
	CHECK_INT(replay_send(&p, &of, (struct sockaddr *)&to, sizeof(to), &m), NW_EIO);
	CHECK_INT(m.cost_bytes, 0);
}

/* --- whose orders are carried out --- */

/* Gives the probe an order, and waits up to so long; returns whether a child measures. The probe
 * waits until the interfaces of the machine are quiet. */
static bool
is_begun(const struct nw_replay *replay, const struct scratch_conf *scratch,
    const struct bandwidth_conf *bandwidth, bool transfers, int64_t wait_ns)
{
	void *state = calloc(1, probe_replay.state_bytes);
	static struct leases leases;
	struct report r = { .leases = &leases,
		.scratch = scratch,
		.bandwidth = bandwidth,
		.transfers = transfers };
	struct procfs_buf buf = { 0 };
	int64_t until_ns = nw_mono_ns() + wait_ns;
	bool carried = false;

	leases = (struct leases){ .n = 1 };
	leases.list[0].order = (struct nw_order){ .opt = NW_OPT_START,
		.id = "s1/p1",
		.event_type = NW_TYPE_REPLAY,
		.task_id = "order:1",
		.replay = *replay };
	while (!carried && nw_mono_ns() < until_ns) {
		CHECK(probe_replay.sample(state, &r, &buf) >= NW_OK);
		carried = waitpid(-1, NULL, WNOHANG) >= 0;
		poll(NULL, 0, 120);
	}
	probe_replay.clear(state);
	procfs_buf_clear(&buf);
	free(state);
	return carried;
}

/* Whether the probe declines an order of a session. */
static bool
is_declined(void *state, const struct nw_replay *replay, const char *task_id,
    const struct scratch_conf *scratch, const struct bandwidth_conf *bandwidth, int64_t now_mono_ns)
{
	const struct report r = { .scratch = scratch, .bandwidth = bandwidth };
	struct nw_order o = {
		.opt = NW_OPT_START, .event_type = NW_TYPE_REPLAY, .replay = *replay
	};

	snprintf(o.task_id, sizeof(o.task_id), "%s", task_id);
	return replay_declines(state, &r, &o, now_mono_ns);
}

/* Runs the probe with the order until its child is done, or the order is given up. */
static void
carry_out(void *state, struct report *r)
{
	struct procfs_buf buf = { 0 };
	const int64_t until_ns = nw_mono_ns() + 6 * LONG_NS;
	bool done = false;
	struct pollfd p;

	while (!done && nw_mono_ns() < until_ns) {
		CHECK(probe_replay.sample(state, r, &buf) >= NW_OK);
		p = (struct pollfd){ .fd = probe_replay.fd(state), .events = POLLIN };
		if (poll(&p, 1, 120) > 0)
			probe_replay.ready(state, r);
		done = r->orders_failed;
	}
	procfs_buf_clear(&buf);
	CHECK(done);
}

/* A replay that fails is declined from then on, and so is another session's until the turn ends. */
static void
test_declined(void)
{
	struct scratch_conf scratch = {
		.directory = dir, .time_ns = LONG_NS, .every_ns = 100 * LONG_NS, .bytes = SIZE
	};
	struct nw_replay write = {
		.way = NW_REPLAY_WRITE, .op_bytes = 2 * SIZE, .bytes = 2 * SIZE, .time_ns = LONG_NS
	};
	struct nw_replay read = write;
	void *state = calloc(1, probe_replay.state_bytes);
	static struct leases leases = { .n = 1 };
	struct report r = { .leases = &leases, .scratch = &scratch };
	int64_t now;

	read.way = NW_REPLAY_READ;
	snprintf(write.target, sizeof(write.target), "%s/file", dir);
	memcpy(read.target, write.target, sizeof(read.target));
	leases.list[0].order = (struct nw_order){ .opt = NW_OPT_START,
		.id = "s1/p1",
		.event_type = NW_TYPE_REPLAY,
		.task_id = "order:1",
		.replay = write };
	now = nw_mono_ns();
	CHECK(!is_declined(state, &write, "order:1", &scratch, NULL, now));
	carry_out(state, &r); /* an operation larger than scratch-size */
	now = nw_mono_ns();
	CHECK(is_declined(state, &write, "order:1", &scratch, NULL, now));
	CHECK(!is_declined(state, &read, "order:1", &scratch, NULL, now));
	CHECK(is_declined(state, &read, "order:2", &scratch, NULL, now));
	/* .. whose turn comes soon */
	CHECK(!is_declined(state, &read, "order:2", &scratch, NULL, now + 99 * LONG_NS));
	CHECK(!is_declined(state, &write, "order:1", &scratch, NULL, now + 101 * LONG_NS));
	strcpy(read.target, "/proc/version"); /* another mount */
	CHECK(is_declined(state, &read, "order:1", &scratch, NULL, now));
	probe_replay.clear(state);
	free(state);
}

static void
test_allowed(void)
{
	struct scratch_conf scratch = {
		.directory = dir, .time_ns = LONG_NS, .every_ns = LONG_NS, .bytes = SIZE
	};
	struct bandwidth_conf bandwidth = { .peers = (char[]){ "192.0.2.1/5010\n127.0.0.1/9\n" },
		.time_ns = LONG_NS,
		.every_ns = LONG_NS,
		.bytes = SIZE };
	struct nw_replay write = {
		.way = NW_REPLAY_WRITE, .op_bytes = OP, .bytes = SIZE, .time_ns = LONG_NS
	};
	struct nw_replay send = write;
	void *state;

	send.way = NW_REPLAY_SEND;
	snprintf(write.target, sizeof(write.target), "%s/file", dir);
	strcpy(send.target, "127.0.0.1");
	CHECK(is_begun(&write, &scratch, &bandwidth, false, 3 * LONG_NS));
	CHECK(
	    !is_begun(&write, &scratch, &bandwidth, true, SHORT_NS)); /* never beside a transfer */
	CHECK(is_begun(&send, &scratch, &bandwidth, false, 3 * LONG_NS));
	/* peers without a line of their own */
	state = calloc(1, probe_replay.state_bytes);
	CHECK(!is_declined(state, &write, "order:1", &scratch, &bandwidth, 1));
	CHECK(!is_declined(state, &send, "order:1", &scratch, &bandwidth, 1));
	strcpy(send.target, "127.0.0.2");
	CHECK(is_declined(state, &send, "order:1", &scratch, &bandwidth, 1));
	CHECK(!is_begun(&send, &scratch, &bandwidth, false, SHORT_NS));
	bandwidth.peers = NULL;
	strcpy(send.target, "127.0.0.1");
	CHECK(is_declined(state, &send, "order:1", &scratch, &bandwidth, 1));
	CHECK(!is_begun(&send, &scratch, &bandwidth, false, SHORT_NS));
	/* another mount, a path that is none, and a host without the directive */
	strcpy(write.target, "/proc/version");
	CHECK(is_declined(state, &write, "order:1", &scratch, &bandwidth, 1));
	CHECK(!is_begun(&write, &scratch, &bandwidth, false, SHORT_NS));
	strcpy(write.target, "file");
	CHECK(is_declined(state, &write, "order:1", &scratch, &bandwidth, 1));
	scratch.directory = NULL;
	snprintf(write.target, sizeof(write.target), "%s/file", dir);
	CHECK(is_declined(state, &write, "order:1", &scratch, &bandwidth, 1));
	CHECK(!is_begun(&write, &scratch, &bandwidth, false, SHORT_NS));
	/* other orders are none of the probe's */
	write.way = NW_REPLAY_NONE;
	CHECK(!is_declined(state, &write, "order:1", &scratch, &bandwidth, 1));
	free(state);
	CHECK_INT(names_count(dir), 2);
}

int
main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	test_files();
	test_pauses();
	test_send();
	test_allowed();
	test_declined();
	rmdir(dir);
	return check_done("test_replay");
}
