/* SPDX-License-Identifier: BSD-3-Clause */
/* One pipeline of known capacities, played window by window; whichever stage is made slow must come
 * out lowest. */
#include "narrows/stage.h"

#include <string.h>

#include "narrows/bottleneck.h"
#include "narrows/err.h"
#include "tests/check.h"

enum { WINDOWS = 40 };
static const double STEP = 0.1;

struct pipeline {
	double disk_read, sender, network, receiver, disk_write; /* bytes/s each could do alone */
};

static double values[2][3][NW_OP_COUNT][WINDOWS];

/* Blocking calls, a small buffer between the ends: everybody's time per window follows from the
 * slowest. */
static void
play(const struct pipeline *p, struct nw_process process[2], unsigned seed)
{
	double send_side, receive_side, net, rate, b, jitter;
	int i, f, op;

	memset(values, 0, sizeof(values));
	memset(process, 0, 2 * sizeof(*process));
	send_side = 1 / (1 / p->disk_read + 1 / p->sender);
	receive_side = 1 / (1 / p->receiver + 1 / p->disk_write);
	net = p->network;
	rate = send_side < net ? send_side : net;
	rate = rate < receive_side ? rate : receive_side;
	for (i = 0; i < WINDOWS; i++) {
		seed = seed * 1103515245u + 12345u;
		jitter = 1 + 0.05 * ((double)(seed >> 16 & 0xff) / 128 - 1);
		b = rate * STEP * (jitter > 1 ? 1 : jitter);
		for (f = 0; f < 2; f++)
			for (op = 0; op < NW_OP_COUNT; op++)
				if ((f == 0) == (op == NW_OP_DISK_READ || op == NW_OP_NET_WRITE))
					values[f][0][op][i] = b;
		values[0][1][NW_OP_DISK_READ][i] = b / p->disk_read;
		values[0][1][NW_OP_NET_WRITE][i] = 0.01 * STEP;
		values[0][2][NW_OP_NET_WRITE][i] =
		    STEP - 0.01 * STEP - b / p->disk_read - b / p->sender;
		values[1][1][NW_OP_DISK_WRITE][i] = b / p->disk_write;
		values[1][1][NW_OP_NET_READ][i] = STEP - b / p->disk_write - b / p->receiver;
		if (values[0][2][NW_OP_NET_WRITE][i] < 0)
			values[0][2][NW_OP_NET_WRITE][i] = 0;
		if (values[1][1][NW_OP_NET_READ][i] < 0)
			values[1][1][NW_OP_NET_READ][i] = 0;
	}
	for (f = 0; f < 2; f++) {
		process[f].host = (size_t)f + 7;
		process[f].one_thread = true;
		for (op = 0; op < NW_OP_COUNT; op++) {
			process[f].bytes[op] = values[f][0][op];
			process[f].busy_s[op] = values[f][1][op];
			process[f].wait_s[op] = values[f][2][op];
		}
	}
}

static enum nw_stage_kind
judged(const struct nw_path *p, bool *unique)
{
	struct nw_component c[NW_STAGE_COUNT];
	struct nw_component_result r[NW_STAGE_COUNT];
	struct nw_bottleneck v;
	size_t i;

	for (i = 0; i < p->n; i++)
		c[i] = (struct nw_component){ nw_stage_kind_name(p->stage[i].kind),
			p->stage[i].free_share, p->n_windows };
	CHECK(nw_bottleneck(c, p->n, &nw_bottleneck_better, r, &v) == NW_OK);
	*unique = v.unique;
	return p->stage[v.lowest].kind;
}

static void
test_pipeline(void)
{
	static const struct {
		struct pipeline p;
		enum nw_stage_kind want;
	} cases[] = {
		{ { 4e7, 2e9, 1e9, 2e9, 1e9 }, NW_STAGE_DISK_READ },
		{ { 1e9, 4e7, 1e9, 2e9, 1e9 }, NW_STAGE_SENDER_HOST },
		{ { 1e9, 2e9, 4e7, 2e9, 1e9 }, NW_STAGE_NETWORK },
		{ { 1e9, 2e9, 1e9, 4e7, 1e9 }, NW_STAGE_RECEIVER_HOST },
		{ { 1e9, 2e9, 1e9, 2e9, 4e7 }, NW_STAGE_DISK_WRITE },
	};
	struct nw_process process[2];
	struct nw_path p;
	bool unique;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		play(&cases[i].p, process, (unsigned)i + 1);
		CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
		CHECK_INT(p.n, 5);
		CHECK_INT(judged(&p, &unique), cases[i].want);
		CHECK(unique);
		CHECK(p.has_sender && p.has_receiver && p.sender_host == 7 && p.receiver_host == 8);
		CHECK_NEAR(p.bytes, 4e7 * STEP * WINDOWS, 0.1, 0);
		CHECK_NEAR(p.stage[0].service_rate, cases[i].p.disk_read, 1e-6, 0);
		CHECK_NEAR(p.stage[4].service_rate, cases[i].p.disk_write, 1e-6, 0);
		nw_path_clear(&p);
	}
}

/* Only one end measured: its own network stage, and the slow source disk behind it cannot be told
 * from the network. */
static void
test_one_end(void)
{
	static const struct pipeline slow_source = { 4e7, 2e9, 1e9, 2e9, 1e9 };
	struct nw_process process[2];
	struct nw_path p;
	bool unique;

	play(&slow_source, process, 3);
	CHECK(nw_path_build(process + 1, 1, WINDOWS, STEP, &p) == NW_OK);
	CHECK_INT(judged(&p, &unique), NW_STAGE_NET_READ);
	CHECK(!p.has_sender && p.has_receiver);
	nw_path_clear(&p);
}

/* Three hosts in a row: the hop at which the middle waits is the network, and the bytes of the
 * other hop are the same bytes. */
static void
test_relay(void)
{
	static double bytes[WINDOWS], waits[WINDOWS], works[WINDOWS];
	struct nw_process process[4];
	struct nw_path p;
	int i, after;

	for (i = 0; i < WINDOWS; i++) {
		bytes[i] = 1e6;
		waits[i] = 0.9 * STEP;
		works[i] = 0.05 * STEP;
	}
	for (after = 0; after < 2; after++) {
		memset(process, 0, sizeof(process));
		for (i = 0; i < 4; i++) {
			process[i].host = (size_t)(i + 1) / 2 + 1;
			process[i].one_thread = true;
			process[i].bytes[i % 2 == 0 ? NW_OP_NET_WRITE : NW_OP_NET_READ] = bytes;
		}
		process[0].busy_s[NW_OP_NET_WRITE] = waits;
		process[1].busy_s[NW_OP_NET_READ] = after ? works : waits;
		process[2].busy_s[NW_OP_NET_WRITE] = after ? waits : works;
		process[3].busy_s[NW_OP_NET_READ] = after ? works : waits;
		CHECK(nw_path_build(process, 4, WINDOWS, STEP, &p) == NW_OK);
		CHECK(p.relayed);
		CHECK_INT(p.sender_host, after ? 2 : 1);
		CHECK_INT(p.receiver_host, after ? 3 : 2);
		CHECK_NEAR(p.bytes, 1e6 * WINDOWS, 1, 0);
		nw_path_clear(&p);
	}
}

/* The sender has handed over its last bytes and ended; the slow receiver goes on with what lies in
 * buffers. */
static void
test_early_end(void)
{
	static const struct pipeline slow_receiver = { 1e9, 2e9, 1e9, 4e7, 2e9 };
	struct nw_process process[2];
	struct nw_path p;
	bool unique;
	int op, i, k;

	play(&slow_receiver, process, 5);
	for (k = 0; k < 3; k++)
		for (op = 0; op < NW_OP_COUNT; op++)
			for (i = WINDOWS * 3 / 4; i < WINDOWS; i++)
				values[0][k][op][i] = 0;
	CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
	CHECK_INT(judged(&p, &unique), NW_STAGE_RECEIVER_HOST);
	CHECK(unique && p.stage[1].kind == NW_STAGE_SENDER_HOST);
	CHECK(p.stage[1].free_share[WINDOWS - 1] == 1);
	nw_path_clear(&p);
}

static void
test_local_copy(void)
{
	static const struct pipeline copy = { 1e9, 2e9, 1e9, 2e9, 4e7 };
	struct nw_process process[2], local;
	struct nw_path p;
	bool unique;
	int op;

	play(&copy, process, 9);
	local = process[1];
	for (op = 0; op < NW_OP_COUNT; op++)
		if (op != NW_OP_DISK_WRITE)
			local.bytes[op] = local.busy_s[op] = local.wait_s[op] = NULL;
	local.bytes[NW_OP_DISK_READ] = process[0].bytes[NW_OP_DISK_READ];
	local.busy_s[NW_OP_DISK_READ] = process[0].busy_s[NW_OP_DISK_READ];
	CHECK(nw_path_build(&local, 1, WINDOWS, STEP, &p) == NW_OK);
	CHECK_INT(p.n, 3);
	CHECK_INT(judged(&p, &unique), NW_STAGE_DISK_WRITE);
	CHECK(!p.has_sender && !p.has_receiver);
	nw_path_clear(&p);
}

/* --- pipes --- */

enum { READER, MIDDLE, WRITER, MEMBERS };

/* cat | gzip | cat: the slowest works all the time, the others wait for it. `slow`: disk.read, the
 * middle, disk.write. */
static void
play_pipes(int slow, double pipe[MEMBERS][4][WINDOWS], struct nw_process process[MEMBERS])
{
	const double b = 4e7 * STEP, quick = 0.05 * STEP, wait = 0.94 * STEP;
	int i, f, k;

	memset(values, 0, sizeof(values));
	memset(pipe, 0, MEMBERS * sizeof(*pipe));
	memset(process, 0, MEMBERS * sizeof(*process));
	for (i = 0; i < WINDOWS; i++) {
		double jitter = 1 - 0.02 * (i % 3);

		values[0][0][NW_OP_DISK_READ][i] = values[1][0][NW_OP_DISK_WRITE][i] = b;
		values[0][1][NW_OP_DISK_READ][i] = slow == READER ? wait * jitter : quick * jitter;
		values[1][1][NW_OP_DISK_WRITE][i] = slow == WRITER ? wait * jitter : quick * jitter;
		pipe[READER][1][i] = pipe[MIDDLE][0][i] = pipe[MIDDLE][1][i] = pipe[WRITER][0][i] =
		    b;
		pipe[READER][3][i] = slow == READER ? 0 : wait * jitter;
		pipe[WRITER][2][i] = slow == WRITER ? 0 : wait * jitter;
		pipe[MIDDLE][2][i] = slow == READER ? wait * jitter : 0;
		pipe[MIDDLE][3][i] = slow == WRITER ? wait * jitter : 0;
	}
	for (f = 0; f < MEMBERS; f++) {
		process[f].host = 7;
		process[f].one_thread = true;
		for (k = 0; k < 2; k++) {
			process[f].pipe_bytes[k] = pipe[f][k];
			process[f].pipe_s[k] = pipe[f][2 + k];
		}
	}
	process[READER].bytes[NW_OP_DISK_READ] = values[0][0][NW_OP_DISK_READ];
	process[READER].busy_s[NW_OP_DISK_READ] = values[0][1][NW_OP_DISK_READ];
	process[WRITER].bytes[NW_OP_DISK_WRITE] = values[1][0][NW_OP_DISK_WRITE];
	process[WRITER].busy_s[NW_OP_DISK_WRITE] = values[1][1][NW_OP_DISK_WRITE];
}

static void
test_pipes(void)
{
	static const enum nw_stage_kind want[MEMBERS] = { NW_STAGE_DISK_READ, NW_STAGE_HOST,
		NW_STAGE_DISK_WRITE };
	static double pipe[MEMBERS][4][WINDOWS];
	struct nw_process process[MEMBERS];
	struct nw_path p;
	bool unique;
	int slow, i;

	for (slow = 0; slow < MEMBERS; slow++) {
		play_pipes(slow, pipe, process);
		CHECK(nw_path_build(process, MEMBERS, WINDOWS, STEP, &p) == NW_OK);
		CHECK_INT(p.n, 3);
		CHECK_INT(judged(&p, &unique), want[slow]);
		CHECK(unique && p.stage[1].kind == NW_STAGE_HOST && p.stage[1].of_several);
		CHECK(slow != MIDDLE || p.stage[1].process == MIDDLE);
		nw_path_clear(&p);
	}
	/* On another host it is none of this pipeline. */
	play_pipes(MIDDLE, pipe, process);
	process[MIDDLE].host = 8;
	CHECK(nw_path_build(process, MEMBERS, WINDOWS, STEP, &p) == NW_OK);
	CHECK(p.stage[1].process != MIDDLE && p.stage[1].free_share[3] > 0.9);
	nw_path_clear(&p);
	/* Woken over a pipe, by a byte now and then: it waits there, but for nobody's bytes. */
	play_pipes(WRITER, pipe, process);
	for (i = 0; i < WINDOWS; i++) {
		values[1][1][NW_OP_DISK_WRITE][i] = 0.1 * STEP;
		pipe[WRITER][0][i] = 1;
		pipe[WRITER][2][i] = 0.85 * STEP;
	}
	CHECK(nw_path_build(process + WRITER, 1, WINDOWS, STEP, &p) == NW_OK);
	CHECK_INT(judged(&p, &unique), NW_STAGE_HOST);
	CHECK_NEAR(p.stage[0].free_share[3], 0.1, 1e-9, 0);
	CHECK(!p.stage[0].of_several);
	nw_path_clear(&p);
}

/* One end behind a program that is not measured: what it does at its pipe stands for the
 * network. */
static void
test_end_at_pipe(void)
{
	static const struct {
		struct pipeline p;
		enum nw_stage_kind want;
	} cases[] = {
		{ { 4e7, 2e9, 1e9, 2e9, 1e9 }, NW_STAGE_DISK_READ },
		{ { 1e9, 4e7, 1e9, 2e9, 1e9 }, NW_STAGE_SENDER_HOST },
		{ { 1e9, 2e9, 4e7, 2e9, 1e9 }, NW_STAGE_NETWORK },
		{ { 1e9, 2e9, 1e9, 4e7, 1e9 }, NW_STAGE_RECEIVER_HOST },
		{ { 1e9, 2e9, 1e9, 2e9, 4e7 }, NW_STAGE_DISK_WRITE },
	};
	static double waited[WINDOWS];
	struct nw_process process[2], *end;
	struct nw_path p;
	bool unique;
	size_t i, k;
	int w;

	for (i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		enum nw_op op = i % 2 == 0 ? NW_OP_NET_WRITE : NW_OP_NET_READ;

		k = i / 2;
		play(&cases[k].p, process, (unsigned)k + 1);
		end = &process[i % 2];
		for (w = 0; w < WINDOWS; w++)
			waited[w] = end->busy_s[op][w] + end->wait_s[op][w];
		end->pipe_bytes[op == NW_OP_NET_WRITE] = end->bytes[op];
		end->pipe_s[op == NW_OP_NET_WRITE] = waited;
		end->bytes[op] = end->busy_s[op] = end->wait_s[op] = NULL;
		CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
		CHECK(p.end_at_pipe && p.has_sender && p.has_receiver && p.sender_host == 7 &&
		    p.receiver_host == 8);
		CHECK_INT(p.n, 5);
		CHECK_INT(judged(&p, &unique), cases[k].want);
		CHECK(unique);
		nw_path_clear(&p);
		end->host = process[1 - i % 2].host; /* of the same host it is nobody's far end */
		CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
		CHECK(!p.end_at_pipe && p.has_sender != p.has_receiver);
		nw_path_clear(&p);
	}
}

/* Behind that end others in a row: whoever is slow there makes those behind it wait, and is not the
 * network. */
static void
test_row_at_pipe(void)
{
	static const struct pipeline slow_receiver = { 1e9, 2e9, 1e9, 4e7, 2e9 };
	static double bytes[WINDOWS], head_waits[WINDOWS], tail_waits[WINDOWS];
	struct nw_process process[3];
	struct nw_path p;
	bool unique;
	int i, order;

	for (order = 1; order <= 2; order++) {
		struct nw_process *head = &process[order], *tail = &process[3 - order];

		play(&slow_receiver, process, 5);
		for (i = 0; i < WINDOWS; i++) {
			bytes[i] = values[1][0][NW_OP_NET_READ][i];
			head_waits[i] = values[1][1][NW_OP_NET_READ][i];
			tail_waits[i] = 0.95 * STEP;
		}
		memset(process + 1, 0, 2 * sizeof(*process));
		head->host = tail->host = 8;
		head->one_thread = tail->one_thread = true;
		head->pipe_bytes[0] = head->pipe_bytes[1] = tail->pipe_bytes[0] = bytes;
		head->pipe_s[0] = head_waits;
		tail->pipe_s[0] = tail_waits;
		tail->bytes[NW_OP_DISK_WRITE] = bytes;
		tail->busy_s[NW_OP_DISK_WRITE] = values[1][1][NW_OP_DISK_WRITE];
		CHECK(nw_path_build(process, 3, WINDOWS, STEP, &p) == NW_OK);
		CHECK(p.end_at_pipe && p.receiver_process == (size_t)order);
		CHECK_INT(judged(&p, &unique), NW_STAGE_RECEIVER_HOST);
		CHECK(unique);
		nw_path_clear(&p);
	}
}

static void
test_nothing(void)
{
	struct nw_process idle = { .host = 1 };
	struct nw_path p;

	CHECK(nw_path_build(NULL, 0, 10, STEP, &p) == NW_OK && p.n == 0);
	nw_path_clear(&p);
	CHECK(nw_path_build(&idle, 1, 10, STEP, &p) == NW_OK && p.n == 0);
	nw_path_clear(&p);
}

/* A server that reads a little and then waits for its client has not begun; one that reads all
 * before it sends has. */
static void
test_extent(void)
{
	static const struct pipeline slow_network = { 1e9, 2e9, 4e7, 2e9, 1e9 };
	static const struct {
		double early_bytes;
		size_t first;
	} cases[] = { { 1e5, 10 }, { 1e8, 3 } };
	struct nw_process process[2];
	struct nw_path p;
	size_t k, i;
	int f, op;

	for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		play(&slow_network, process, 5);
		for (i = 0; i < 10; i++)
			for (f = 0; f < 2; f++)
				for (op = 0; op < NW_OP_COUNT; op++)
					values[f][0][op][i] = values[f][1][op][i] =
					    values[f][2][op][i] = 0;
		values[0][0][NW_OP_DISK_READ][3] = cases[k].early_bytes;
		values[1][0][NW_OP_DISK_WRITE][WINDOWS - 1] = 1e7;
		values[1][0][NW_OP_NET_READ][WINDOWS - 1] = 0;
		CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
		CHECK_INT(p.first, cases[k].first);
		CHECK_INT(p.end, WINDOWS);
		nw_path_clear(&p);
	}
}

/* --- corrections by the kernel's account --- */

static double kernel[3][WINDOWS];

static const double *
each_window(double *a, double v)
{
	int i;

	for (i = 0; i < WINDOWS; i++)
		a[i] = v;
	return a;
}

/* A sender without processor comes late to its socket, and both ends seem to wait for the
 * network. They do wait for the network where the kernel still had data in flight. */
static void
test_starved(void)
{
	static const struct pipeline slow_network = { 1e9, 2e9, 4e7, 2e9, 1e9 };
	static const struct {
		double starved_s, full_s;
		enum nw_stage_kind want;
	} cases[] = {
		{ 0, 0, NW_STAGE_NETWORK },
		{ 0.2 * 0.1, 0, NW_STAGE_NETWORK },
		{ 0.8 * 0.1, 0, NW_STAGE_SENDER_HOST },
		/* a processor would have saved 0.02, 0.08, and nothing */
		{ 0.8 * 0.1, 0.8 * 0.1, NW_STAGE_NETWORK },
		{ 0.8 * 0.1, 0.2 * 0.1, NW_STAGE_SENDER_HOST },
		{ 0.1, 0.1, NW_STAGE_NETWORK },
	};
	/* of reads on the way, half of the time was spent without a processor */
	static const struct pipeline half_disk = { 1e8, 2e9, 1.2e8, 2e9, 1e9 };
	double full[WINDOWS], held[2];
	struct nw_process process[2];
	struct nw_path p;
	bool unique;
	size_t i;

	for (i = 0; i < 2; i++) {
		play(&half_disk, process, 3);
		process[0].starved_s = each_window(kernel[0], i * 0.6 * 0.1);
		process[0].full_s = each_window(full, 0.1);
		CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
		CHECK_INT(p.stage[0].kind, NW_STAGE_DISK_READ);
		held[i] = p.stage[0].busy_share;
		nw_path_clear(&p);
	}
	CHECK(held[1] < 0.6 * held[0]);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		play(&slow_network, process, 3);
		process[0].starved_s = each_window(kernel[0], cases[i].starved_s);
		process[0].full_s = each_window(full, cases[i].full_s);
		CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
		CHECK_INT(judged(&p, &unique), cases[i].want);
		CHECK(unique);
		nw_path_clear(&p);
	}
}

/* Likewise a sender that reads from a slow disk: the disk works on while the sender waits. */
static void
test_starved_by_disk(void)
{
	static const struct pipeline slow_disk = { 4e7, 2e9, 1e9, 2e9, 1e9 };
	static const struct {
		double starved_s, full_s, disk_full_s;
		enum nw_stage_kind want;
	} cases[] = {
		{ 0.8 * 0.1, 0, 0, NW_STAGE_SENDER_HOST },
		{ 0.8 * 0.1, 0, 0.1, NW_STAGE_DISK_READ },
		{ 0.8 * 0.1, 0.05, 0.1, NW_STAGE_DISK_READ },
		{ 0.8 * 0.1, 0, 0.2 * 0.1, NW_STAGE_SENDER_HOST },
	};
	double full[2][WINDOWS];
	struct nw_process process[2];
	struct nw_path p;
	bool unique;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		play(&slow_disk, process, 3);
		process[0].starved_s = each_window(kernel[0], cases[i].starved_s);
		process[0].full_s = each_window(full[0], cases[i].full_s);
		process[0].disk_full_s = each_window(full[1], cases[i].disk_full_s);
		CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
		CHECK_INT(judged(&p, &unique), cases[i].want);
		CHECK(unique);
		nw_path_clear(&p);
	}
}

/* A program with threads has own time as far as it used processors. */
static void
test_threads(void)
{
	static const struct pipeline slow_sender = { 1e9, 4e7, 1e9, 2e9, 1e9 };
	struct nw_process process[2];
	struct nw_path p;
	bool unique;
	int computes;

	for (computes = 0; computes < 2; computes++) {
		play(&slow_sender, process, 3);
		process[0].one_thread = false;
		process[0].cpu_s = each_window(kernel[0], computes ? 0.35 : 0.001);
		CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
		CHECK_INT(judged(&p, &unique) == NW_STAGE_SENDER_HOST, computes);
		nw_path_clear(&p);
	}
}

/* The page faults of a mapped file happen inside send(2). */
static void
test_mapped(void)
{
	static const struct pipeline slow_network = { 1e9, 2e9, 4e7, 2e9, 1e9 };
	struct nw_process process[2];
	struct nw_path p;
	bool unique;
	int blocked;

	for (blocked = 0; blocked < 2; blocked++) {
		play(&slow_network, process, 3);
		process[0].bytes[NW_OP_DISK_READ] = process[0].busy_s[NW_OP_DISK_READ] = NULL;
		process[0].stored_bytes = each_window(kernel[0], 4e7 * STEP);
		process[0].blocked_s = each_window(kernel[1], blocked ? 0.9 * STEP : 0.01 * STEP);
		CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
		CHECK_INT(judged(&p, &unique), blocked ? NW_STAGE_DISK_READ : NW_STAGE_NETWORK);
		CHECK(p.stage[0].kind == NW_STAGE_DISK_READ && p.stage[0].mapped);
		nw_path_clear(&p);
	}
}

/* An ssh client waits for the channel's window: it reads acknowledgements. */
static void
test_acknowledgements(void)
{
	static const struct pipeline slow_network = { 1e9, 2e9, 4e7, 2e9, 1e9 };
	struct nw_process process[2];
	struct nw_path p;
	bool unique;
	int i;

	play(&slow_network, process, 3);
	for (i = 0; i < WINDOWS; i++) {
		values[0][0][NW_OP_NET_READ][i] = 1000;
		values[0][2][NW_OP_NET_READ][i] = values[0][2][NW_OP_NET_WRITE][i];
		values[0][2][NW_OP_NET_WRITE][i] = 0;
	}
	CHECK(nw_path_build(process, 1, WINDOWS, STEP, &p) == NW_OK);
	CHECK_INT(judged(&p, &unique), NW_STAGE_NET_WRITE);
	CHECK(unique && p.stage[2].service_rate < 5e7);
	nw_path_clear(&p);
}

/* Requests for more data come in while another thread of the server reads the file: waits for
 * requests beside reads hold no bytes, and waits behind reads do. */
static void
test_requests(void)
{
	static const struct pipeline slow_disk = { 4e7, 2e9, 1e9, 2e9, 1e9 };
	static const struct {
		double read_share, asking_share;
		enum nw_stage_kind slowest;
	} cases[] = { { 0.7, 0.9, NW_STAGE_DISK_READ }, { 0.3, 0.9, NW_STAGE_NET_WRITE } };
	struct nw_process process[2];
	struct nw_path p;
	bool unique;
	size_t k;
	int i;

	for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		play(&slow_disk, process, 3);
		process[0].one_thread = false;
		for (i = 0; i < WINDOWS; i++) {
			values[0][0][NW_OP_NET_READ][i] = 1000;
			values[0][1][NW_OP_DISK_READ][i] = cases[k].read_share * STEP;
			values[0][2][NW_OP_NET_READ][i] = cases[k].asking_share * STEP;
			values[0][2][NW_OP_NET_WRITE][i] = 0;
		}
		CHECK(nw_path_build(process, 1, WINDOWS, STEP, &p) == NW_OK);
		CHECK_INT(judged(&p, &unique), cases[k].slowest);
		nw_path_clear(&p);
	}
}

/* --- windows without bytes --- */

static void
window_set(int i, double disk_write_s, double net_wait_s)
{
	int f, k, op;

	for (f = 0; f < 2; f++)
		for (k = 0; k < 3; k++)
			for (op = 0; op < NW_OP_COUNT; op++)
				values[f][k][op][i] = 0;
	values[1][1][NW_OP_DISK_WRITE][i] = disk_write_s;
	values[0][2][NW_OP_NET_WRITE][i] = net_wait_s;
}

/* A receiver that stalls on its disk half of the time, or syncs its file at the end. */
static void
test_stall(void)
{
	static const struct pipeline slow_network = { 1e9, 2e9, 4e7, 2e9, 1e9 };
	static const struct {
		int first, end;
		double disk_write_s;
		size_t active;
	} cases[] = {
		{ 10, 35, STEP, WINDOWS },            /* in the middle */
		{ 10, WINDOWS, STEP, WINDOWS },       /* at the end */
		{ 10, 35, 0.1 * STEP, WINDOWS - 25 }, /* nobody holds anything up */
	};
	struct nw_process process[2];
	struct nw_path p;
	bool unique;
	size_t c;
	int i;

	for (c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		play(&slow_network, process, 3);
		for (i = 0; i < 2; i++)
			process[i].one_thread = cases[c].active == WINDOWS;
		for (i = cases[c].first; i < cases[c].end; i++)
			window_set(i, cases[c].disk_write_s, STEP);
		CHECK(nw_path_build(process, 2, WINDOWS, STEP, &p) == NW_OK);
		CHECK_NEAR(p.active_s, (double)cases[c].active * STEP, 1e-9, 0);
		CHECK_INT(judged(&p, &unique),
		    cases[c].active == WINDOWS ? NW_STAGE_DISK_WRITE : NW_STAGE_NETWORK);
		nw_path_clear(&p);
	}
}

int
main(void)
{
	test_pipeline();
	test_relay();
	test_one_end();
	test_early_end();
	test_local_copy();
	test_pipes();
	test_end_at_pipe();
	test_row_at_pipe();
	test_extent();
	test_starved();
	test_starved_by_disk();
	test_threads();
	test_mapped();
	test_acknowledgements();
	test_requests();
	test_stall();
	test_nothing();
	return check_done("test_stage");
}
