/* SPDX-License-Identifier: BSD-3-Clause */
/* Which processes of a session form a node: those with one parent, one program and the same
 * neighbours, in whatever order the session has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/chain/chain_find.h"
#include "analyze/verdict/chain/steps.h"

#include "tests/check.h"

enum { MOST = 8, WINDOWS = 20 };
#define STEP_NS INT64_C(100000000)

static struct evidence_process process[MOST];
static struct evidence_pipe pipe_end[2 * MOST];
static char names[2 * MOST][16];
static double waits[WINDOWS];
static struct evidence e;

static void
begin(size_t n)
{
	static struct evidence_host host = { .id = 1 };
	static char python[] = "python3", here[] = "here";
	size_t i;

	memset(&e, 0, sizeof(e));
	host.name = here;
	e.hosts = &host;
	e.n_hosts = 1;
	e.processes = process;
	e.n_processes = n;
	e.pipes = pipe_end;
	e.n_windows = WINDOWS;
	e.step_ns = STEP_NS;
	for (i = 0; i < n; i++)
		process[i] = (struct evidence_process){ .pid = 10 + (int64_t)i,
			.parent_pid = 5,
			.program = python,
			.first_wall_ns = 1,
			.last_wall_ns = WINDOWS * STEP_NS };
	for (i = 0; i < WINDOWS; i++)
		waits[i] = 0.09;
}

static void
end_add(size_t of, unsigned number, int way)
{
	struct evidence_pipe *p = &pipe_end[e.n_pipes];

	snprintf(names[e.n_pipes], sizeof(names[0]), "pipe:%u", number);
	*p = (struct evidence_pipe){ .process = of,
		.name = names[e.n_pipes++],
		.first_wall_ns = 1,
		.last_wall_ns = WINDOWS * STEP_NS };
	p->bytes[way] = 1e6;
	p->wait_s[way] = waits;
}

/* A row of equal programs, whose numbers in the session are mixed up: each is a node of its own. */
static void
test_row(void)
{
	size_t order[6] = { 0, 1, 2, 3, 4, 5 }, i, k, swap, round;
	unsigned state = 7;
	struct chain c;

	for (round = 0; round < 200; round++) {
		for (i = 5; i > 0; i--) {
			state = state * 1103515245u + 12345u;
			k = (state >> 16) % (i + 1);
			swap = order[i];
			order[i] = order[k];
			order[k] = swap;
		}
		begin(6);
		for (i = 0; i + 1 < 6; i++) {
			end_add(order[i], (unsigned)i, 1);
			end_add(order[i + 1], (unsigned)i, 0);
		}
		chain_find(&e, &c);
		CHECK_INT(c.graph.n_nodes, 6);
		chain_clear(&c);
	}
}

/* A channel's kind is the word before the colon, if senders name channels by the word. */
static void
test_names(void)
{
	static const struct {
		const char *name;
		enum nw_chain_by by;
	} cases[] = { { "semaphore:1-2", NW_CHAIN_SEMAPHORE }, { "mutex:1-2", NW_CHAIN_MUTEX },
		{ "condition:1-2", NW_CHAIN_CONDITION }, { "lock:1-2", NW_CHAIN_LOCK },
		{ "socket:1-2", NW_CHAIN_PIPE }, { "run queue:1", NW_CHAIN_PIPE },
		{ "child:1", NW_CHAIN_PIPE }, { "mutexes:1", NW_CHAIN_PIPE } };
	struct chain c;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(2);
		end_add(0, 1, 1);
		end_add(1, 1, 0);
		snprintf(names[0], sizeof(names[0]), "%s", cases[i].name);
		snprintf(names[1], sizeof(names[1]), "%s", cases[i].name);
		chain_find(&e, &c);
		CHECK(c.graph.n_edges > 0);
		if (c.graph.n_edges > 0)
			CHECK_INT(c.graph.edge[0].by, cases[i].by);
		chain_clear(&c);
	}
}

/* Workers between one giver and one taker are one node. */
static void
test_workers(void)
{
	struct chain c;
	size_t i;

	begin(5);
	for (i = 1; i < 4; i++) {
		end_add(0, (unsigned)i, 1);
		end_add(i, (unsigned)i, 0);
		end_add(i, 9, 1);
	}
	end_add(4, 9, 0);
	chain_find(&e, &c);
	CHECK_INT(c.graph.n_nodes, 3);
	CHECK_INT(c.node_of[1], c.node_of[3]);
	CHECK_INT(c.graph.node[c.node_of[1]].n_processes, 3);
	CHECK(strcmp(c.node[c.node_of[1]].name, "3 processes of python3") == 0);
	chain_clear(&c);
}

/* A parent with one child is no chain; with two children it is a tree. */
static void
test_tree(void)
{
	struct chain c;
	size_t n;

	for (n = 2; n <= 3; n++) {
		begin(n);
		process[0].parent_pid = 1;
		process[1].parent_pid = process[2].parent_pid = 10;
		end_add(0, 0, 0);
		strcpy(names[0], "children");
		chain_find(&e, &c);
		CHECK_INT(c.graph.n_nodes, n == 2 ? 0 : 2);
		chain_clear(&c);
	}
}

/* A loop sees a longer wait for its own worker than the pipe does. */
static void
test_least(void)
{
	static double cpu[WINDOWS];
	struct chain c;
	size_t i;

	begin(2);
	process[1].parent_pid = process[0].pid;
	process[1].cpu = cpu;
	for (i = 0; i < WINDOWS; i++)
		cpu[i] = 0.09;
	end_add(1, 0, 1);
	end_add(0, 0, 0);
	pipe_end[0].wait_s[1] = NULL;
	chain_find(&e, &c);
	CHECK_STR(c.sentence,
	    "python3 waited at least 90 % for its worker; the worker of python3 "
	    "computed 90 %.");
	chain_clear(&c);
	/* between strangers the wait is the wait */
	process[1].parent_pid = 5;
	chain_find(&e, &c);
	CHECK(strstr(c.sentence, " waited 90 % for ") != NULL);
	chain_clear(&c);
}

/* A worker ahead of its loop has filled the pipe, and uses the pipe no more; both are at work until
 * the worker ends. Steps of the loop without another use are the loop's. */
static void
test_loop(void)
{
	static double inside[WINDOWS], cpu[WINDOWS];
	struct evidence_steps steps = { .process = 0, .n = 10, .inside = inside };
	struct steps found;
	struct chain c;
	size_t i;

	begin(2);
	process[1].parent_pid = process[0].pid;
	end_add(1, 0, 1);
	end_add(0, 0, 0);
	for (i = 0; i < 2; i++)
		pipe_end[i].last_wall_ns = WINDOWS / 4 * STEP_NS;
	for (i = 0; i < WINDOWS; i++) {
		inside[i] = i < WINDOWS / 4 ? 0 : 0.08;
		cpu[i] = 0.01;
	}
	process[0].cpu = process[1].cpu = cpu;
	for (i = 0; i < WINDOWS; i++)
		waits[i] = i < WINDOWS / 4 ? 0.09 : 0;
	steps.inside_s = 0.08 * WINDOWS * 3 / 4;
	steps.between_s = WINDOWS * 0.1 - steps.inside_s;
	e.steps = &steps;
	e.n_steps = 1;
	chain_find(&e, &c);
	CHECK_INT(c.graph.n_nodes, 2);
	for (i = 0; i < c.graph.n_nodes; i++)
		CHECK_NEAR(c.graph.node[i].end_s, WINDOWS * 0.1, 1e-9, 1e-9);
	i = c.node_of[0];
	CHECK_NEAR(c.graph.node[i].use_share[NW_CHAIN_STEP], 0.07 * 3 / 4 / 0.1, 1e-6, 0);
	CHECK_NEAR(c.graph.node[i].held_share, (0.07 * 3 / 4 + 0.01) / 0.1, 0.01, 0);
	steps_find(&e, &c, &found);
	CHECK_INT(found.n, 1);
	CHECK_NEAR(found.loop[0].between_share, 1 - 0.8 * 3 / 4, 1e-9, 1e-9);
	CHECK_NEAR(found.loop[0].waited_share, 0.9 / 4, 0.01, 0);
	CHECK(strstr(found.loop[0].sentence, "python3 on here took 10 steps of 120") != NULL);
	CHECK(strstr(found.loop[0].sentence, "waited 22 % for other programs") != NULL);
	CHECK(strstr(found.loop[0].sentence, "accelerator") != NULL);
	CHECK(strstr(c.sentence, "fetched") == NULL);
	steps_clear_found(&found);
	chain_clear(&c);
	/* by calls: a loop's steps are no use of its own, and tell nothing of a device */
	steps.by_calls = true;
	chain_find(&e, &c);
	CHECK_NEAR(c.graph.node[c.node_of[0]].use_share[NW_CHAIN_STEP], 0, 1e-9, 1e-9);
	CHECK(strstr(c.sentence, "fetched the batches of its worker for 40 % of its loop") != NULL);
	steps_find(&e, &c, &found);
	CHECK_INT(found.n, 1);
	CHECK(strstr(found.loop[0].sentence, "as its calls tell, and fetched") != NULL);
	CHECK(strstr(found.loop[0].sentence, "accelerator") == NULL);
	steps_clear_found(&found);
	steps.between_s = 0.09 * WINDOWS / 4 / 2; /* it waited for longer */
	steps_find(&e, &c, &found);
	CHECK_INT(found.n, 0);
	steps_clear_found(&found);
	chain_clear(&c);
}

/* Whether a loop outlives its worker, which holds the bytes in the first windows, where the
 * loop lives up to the last. */
static bool
outlives(size_t windows)
{
	static double cpu[WINDOWS];
	struct chain c;
	bool does;
	size_t i;

	begin(2);
	process[1].parent_pid = process[0].pid;
	process[1].last_wall_ns = (int64_t)windows * STEP_NS;
	end_add(1, 0, 1);
	end_add(0, 0, 0);
	pipe_end[0].wait_s[1] = NULL;
	for (i = 0; i < 2; i++)
		pipe_end[i].last_wall_ns = (int64_t)windows * STEP_NS;
	for (i = 0; i < WINDOWS; i++) {
		waits[i] = i < windows ? 0.09 : 0;
		cpu[i] = i < windows ? 0.09 : 0;
	}
	process[1].cpu = cpu;
	chain_find(&e, &c);
	does = chain_is_outlived(&e, &c);
	CHECK(c.graph.known == !does && c.graph.longest == c.node_of[1]);
	CHECK(c.node[c.node_of[1]].workers);
	chain_clear(&c);
	return does;
}

/* A loop that goes on alone was the slower one. */
static void
test_outlived(void)
{
	CHECK(!outlives(WINDOWS));
	CHECK(!outlives(WINDOWS * 3 / 4));
	CHECK(outlives(WINDOWS * 2 / 5));
}

/* A use of a file: bytes of a window from one window on to another. */
static struct evidence_shared
use(size_t of, char *path, int way, double *bytes, double each, size_t from, size_t to)
{
	struct evidence_shared f = { .process = of, .path = path, .is_shared = true };
	size_t w;

	for (w = 0; w < WINDOWS; w++)
		bytes[w] = w >= from && w < to ? each : 0;
	f.bytes[way] = bytes;
	f.sum[way] = each * (double)(to - from);
	f.first_wall_ns[way] = 1 + (int64_t)from * STEP_NS;
	f.last_wall_ns[way] = 1 + (int64_t)to * STEP_NS;
	return f;
}

/* A reader that is idle while its writer writes waits for the writer: beside a growing file of
 * which it has most, and before a whole one; not with complete files unread, or far behind. */
static void
test_files(void)
{
	static const struct {
		double read_each;
		size_t read_from, read_to, second_from, second_to;
		bool waits, both, small;
		double written_each;
	} cases[] = {
		{ 1e6, 0, 20, 0, 0, true, false, false, 1e6 },  /* reads as much as is written */
		{ 1e6, 0, 20, 0, 0, false, true, false, 1e6 },  /* and writes there, too */
		{ 1e5, 0, 20, 0, 0, false, false, false, 1e6 }, /* lags behind */
		{ 2e7, 19, 20, 0, 0, true, false, false,
		    1e6 }, /* reads the whole file at its end */
		{ 1e6, 0, 20, 2, 18, false, false, false, 1e6 }, /* a file of before lies unread */
		{ 1e6, 0, 20, 1, 3, true, false, false,
		    1e6 }, /* a file of before is read at once */
		/* a tenth of little is read: of one file that tells nothing, of many it does */
		{ 5e3, 0, 20, 0, 0, true, false, false, 5e4 },
		{ 5e3, 0, 20, 0, 0, false, false, true, 5e4 },
	};
	static char one[] = "/one", two[] = "/two", small[] = "small files of process 10";
	static double written[WINDOWS], read[WINDOWS], before[WINDOWS], late[WINDOWS], cpu[WINDOWS],
	    idle[WINDOWS];
	struct evidence_shared shared[4];
	struct chain c;
	bool told;
	size_t i, w;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(2);
		for (w = 0; w < WINDOWS; w++) {
			cpu[w] = 0.09;
			idle[w] = 0.01;
		}
		process[0].cpu = cpu;
		process[1].cpu = idle;
		shared[0] = use(
		    0, cases[i].small ? small : one, 1, written, cases[i].written_each, 0, WINDOWS);
		shared[1] = use(1, cases[i].small ? small : one, 0, read, cases[i].read_each,
		    cases[i].read_from, cases[i].read_to);
		shared[1].sum[1] = cases[i].both ? 1e6 : 0;
		shared[2] = use(0, two, 1, before, 1e6, 0, 1);
		shared[3] = use(1, two, 0, late, 1e5, cases[i].second_from, cases[i].second_to);
		e.shared = shared;
		e.n_shared = cases[i].second_to > 0 ? 4 : 2;
		chain_find(&e, &c);
		told = c.graph.n_nodes == 2 && c.graph.edge[0].share > 0.2;
		CHECK_INT(told, cases[i].waits);
		if (told) {
			CHECK_INT(c.graph.n_edges, 1);
			CHECK_INT(c.graph.edge[0].by, NW_CHAIN_FILE);
			CHECK_INT(c.graph.edge[0].holder, c.node_of[0]);
			CHECK(c.graph.edge[0].share > 0.7 && c.graph.edge[0].share < 0.91);
			CHECK(c.graph.known && c.graph.limit == c.node_of[0]);
		}
		chain_clear(&c);
	}
}

/* Forks of one program that hand files on, without a wait by any account, are no equal workers, and
 * each has a name of its own; children are equal beside one whose file another program reads. */
static void
test_handed(void)
{
	static char first[] = "/first", second[] = "/second", third[] = "/third", other[] = "cat";
	static char *const path[] = { first, second, third };
	static double written[3][WINDOWS], read[3][WINDOWS], busy[WINDOWS];
	static const size_t n_nodes[] = { 2, 5, 3 };
	struct evidence_shared shared[6];
	struct chain c;
	size_t handed, i, w;

	for (handed = 0; handed < 3; handed++) {
		begin(5);
		for (w = 0; w < WINDOWS; w++)
			busy[w] = 0.1;
		process[0].parent_pid = 1;
		for (i = 1; i < 5; i++) {
			process[i].parent_pid = 10;
			process[i].cpu = busy;
		}
		process[4].program = handed == 2 ? other : process[4].program;
		for (i = 0; i < 3; i++) {
			shared[2 * i] = use(i + 1, path[i], 1, written[i], 1e6, 0, WINDOWS);
			shared[2 * i + 1] = use(i + 2, path[i], 0, read[i], 1e5, 0, WINDOWS);
		}
		e.shared = handed == 2 ? shared + 4 : shared;
		e.n_shared = handed == 0 ? 0 : handed == 1 ? 6 : 2;
		end_add(0, 0, 0);
		strcpy(names[0], "children");
		chain_find(&e, &c);
		CHECK_INT(c.graph.n_nodes, n_nodes[handed]);
		for (i = 0; handed == 1 && i < c.graph.n_nodes; i++)
			CHECK((c.node_of[0] == i) == (strstr(c.node[i].name, "process") == NULL));
		chain_clear(&c);
	}
}

int
main(void)
{
	test_handed();
	test_files();
	test_least();
	test_loop();
	test_outlived();
	test_row();
	test_names();
	test_workers();
	test_tree();
	return check_done("test_chain_find");
}
