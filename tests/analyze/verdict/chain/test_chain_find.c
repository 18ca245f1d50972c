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
	steps_clear_found(&found);
	chain_clear(&c);
}

int
main(void)
{
	test_loop();
	test_row();
	test_workers();
	test_tree();
	return check_done("test_chain_find");
}
