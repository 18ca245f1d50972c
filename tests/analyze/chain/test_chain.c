/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs of waits with a known slowest node. */
#include "narrows/chain.h"

#include <math.h>

#include "tests/check.h"

enum { N = 20, PROCESSES = 6, ENDS = 12 };

static double rows[64][N];
static size_t n_rows;
static struct nw_chain_process process[PROCESSES];
static struct nw_chain_end end[ENDS];
static size_t n_ends;

static const double *
row(double every)
{
	size_t i;

	for (i = 0; i < N; i++)
		rows[n_rows][i] = every;
	return rows[n_rows++];
}

static void
begin(void)
{
	size_t i;

	n_rows = n_ends = 0;
	for (i = 0; i < PROCESSES; i++)
		process[i] = (struct nw_chain_process){ .group = i };
}

/* A channel from `writer` to `reader`, who wait such shares of the time. */
static void
channel(size_t number, size_t writer, double writes, size_t reader, double reads, bool network)
{
	end[n_ends++] = (struct nw_chain_end){ .process = writer,
		.channel = number,
		.by = network ? NW_CHAIN_NETWORK : NW_CHAIN_PIPE,
		.bytes = { 0, 1000 },
		.wait_s = { NULL, row(writes) },
		.end_s = N };
	end[n_ends++] = (struct nw_chain_end){ .process = reader,
		.channel = number,
		.by = network ? NW_CHAIN_NETWORK : NW_CHAIN_PIPE,
		.bytes = { 1000, 0 },
		.wait_s = { row(reads), NULL },
		.end_s = N };
}

static struct nw_chain
build(size_t n)
{
	struct nw_chain c;

	CHECK_INT(nw_chain_build(process, n, end, n_ends, N, 1, &c), 0);
	return c;
}

static const struct nw_chain_edge *
edge_of(const struct nw_chain *c, size_t waiter, size_t holder)
{
	size_t i;

	for (i = 0; i < c->n_edges; i++)
		if (c->edge[i].holder < c->n_nodes && c->node[c->edge[i].waiter].group == waiter &&
		    c->node[c->edge[i].holder].group == holder)
			return &c->edge[i];
	return NULL;
}

static double
share_of(const struct nw_chain *c, size_t waiter, size_t holder)
{
	const struct nw_chain_edge *e = edge_of(c, waiter, holder);

	return e != NULL ? e->share : NAN;
}

/* The slow link of four, at each place. */
static void
test_places(void)
{
	struct nw_chain c;
	size_t slow, i;

	for (slow = 0; slow < 4; slow++) {
		begin();
		for (i = 0; i < 3; i++)
			channel(i, i, i < slow ? 0.9 : 0, i + 1, i >= slow ? 0.9 : 0.02, false);
		c = build(4);
		CHECK_INT(c.n_nodes, 4);
		CHECK(c.known && !c.limit_is_edge);
		CHECK_INT(c.node[c.limit].group, slow);
		CHECK(c.node[c.limit].held_share > 0.9);
		for (i = 0; i < 3; i++) {
			CHECK_NEAR(share_of(&c, i, i + 1), i < slow ? 0.9 : 0, 1e-9, 1e-9);
			CHECK_NEAR(share_of(&c, i + 1, i), i >= slow ? 0.9 : 0.02, 1e-9, 1e-9);
		}
		nw_chain_clear(&c);
	}
}

/* Two links that hold the bytes about as long: nobody is named. */
static void
test_even(void)
{
	struct nw_chain c;

	begin();
	channel(0, 0, 0.3, 1, 0.25, false);
	c = build(2);
	CHECK_INT(c.n_nodes, 2);
	CHECK(!c.known);
	CHECK_INT(c.node[c.longest].group, 1);
	CHECK_INT(c.node[c.second].group, 0);
	nw_chain_clear(&c);
}

/* No wait, or no other program: no graph. */
static void
test_silent(void)
{
	struct nw_chain c;

	begin();
	channel(0, 0, 0.01, 1, 0.01, false);
	c = build(2);
	CHECK_INT(c.n_nodes, 0);
	begin();
	channel(0, 0, 0.9, 0, 0.9, false);
	c = build(1);
	CHECK_INT(c.n_nodes, 0);
	n_ends = 1;
	c = build(1);
	CHECK_INT(c.n_nodes, 0);
}

/* Workers of one group are a node; what is explained of their time is held, and the rest while the
 * loop waits for them. */
static void
test_workers(void)
{
	struct nw_chain c;
	size_t i;

	begin();
	for (i = 1; i <= 4; i++) {
		process[i].group = 1;
		process[i].cpu_known = true;
		process[i].use_s[NW_CHAIN_CPU] = row(0.66);
		process[i].use_s[NW_CHAIN_FAR] = row(0.31);
		channel(i, i, 0, 0, 0.57 / 4, false);
	}
	process[0].cpu_known = true;
	process[0].use_s[NW_CHAIN_CPU] = row(0.3);
	c = build(5);
	CHECK_INT(c.n_nodes, 2);
	CHECK(c.known);
	CHECK_INT(c.node[c.limit].group, 1);
	CHECK_INT(c.node[c.limit].n_processes, 4);
	CHECK_NEAR(c.node[c.limit].held_share, 1, 1e-9, 0);
	CHECK_NEAR(c.node[c.limit].use_share[NW_CHAIN_INSIDE], 0.03, 1e-9, 0);
	CHECK_NEAR(c.node[c.limit].use_share[NW_CHAIN_FAR], 0.31, 1e-9, 0);
	CHECK_NEAR(share_of(&c, 0, 1), 0.57, 1e-9, 0);
	CHECK_NEAR(c.node[1 - c.limit].held_share, 0.3, 1e-9, 0);
	nw_chain_clear(&c);
}

/* Both ends of a network wait: neither program held the bytes. */
static void
test_network(void)
{
	struct nw_chain c;

	begin();
	channel(0, 0, 0.8, 1, 0.85, true);
	c = build(2);
	CHECK(c.known && c.limit_is_edge);
	CHECK_NEAR(c.edge[c.limit].own_share, 0.8, 1e-9, 0);
	nw_chain_clear(&c);
	begin(); /* a slow reader makes the writer alone wait */
	channel(0, 0, 0.8, 1, 0.02, true);
	c = build(2);
	CHECK(c.known && !c.limit_is_edge);
	CHECK_INT(c.node[c.limit].group, 1);
	nw_chain_clear(&c);
}

/* A wait of five windows, told in the last window, and a process with half of the time. */
static void
test_late(void)
{
	static double late[N];
	struct nw_chain c;

	begin();
	channel(0, 0, 0, 1, 0, false);
	late[9] = 5;
	end[1].wait_s[0] = late;
	end[1].end_s = 10;
	c = build(2);
	CHECK_NEAR(share_of(&c, 1, 0), 0.5, 1e-9, 0);
	CHECK_NEAR(c.node[0].at_work_s + c.node[1].at_work_s, 30, 1e-9, 0);
	nw_chain_clear(&c);
	late[9] = 500; /* of a peer that claims any number */
	c = build(2);
	CHECK_NEAR(share_of(&c, 1, 0), 1, 1e-9, 0);
	nw_chain_clear(&c);
}

/* A reader that waited and got nothing, because another took the bytes, waited for the writer. */
static void
test_unread(void)
{
	struct nw_chain c;

	begin();
	channel(0, 0, 0, 1, 0.5, false);
	end[1].bytes[0] = 0;
	c = build(2);
	CHECK_INT(c.n_nodes, 2);
	CHECK_INT(c.n_edges, 1);
	CHECK(c.n_edges == 1 && c.edge[0].waiter < 2 && c.edge[0].holder == 1 - c.edge[0].waiter);
	CHECK_NEAR(share_of(&c, 1, 0), 0.5, 1e-9, 0);
	nw_chain_clear(&c);
}

/* Two workers take turns at a queue's lock: the one waits for data, the other for the lock. The
 * wait for the turn goes the way of the wait for data, but for the part of computing. */
static void
test_turns(void)
{
	struct nw_chain c;
	size_t i;

	begin();
	process[1].group = process[2].group = 1;
	for (i = 1; i < 3; i++) {
		channel(0, 0, 0, i, i == 1 ? 0.8 : 0, false);
		process[i].cpu_known = true;
		process[i].use_s[NW_CHAIN_CPU] = row(0.1);
		end[n_ends++] = (struct nw_chain_end){ .process = i,
			.channel = 1,
			.by = NW_CHAIN_SEMAPHORE,
			.bytes = { 0, 10 },
			.wait_s = { row(i == 2 ? 0.8 : 0), NULL },
			.end_s = N };
	}
	c = build(3);
	CHECK_INT(c.n_nodes, 2);
	CHECK_NEAR(share_of(&c, 1, 0), (0.8 + 0.8 * 0.8) / 2, 1e-9, 1e-9);
	CHECK_NEAR(c.node[1].held_share, 0.1, 1e-9, 1e-9);
	nw_chain_clear(&c);
}

/* A thread reads results while another computes: the process does not wait. */
static void
test_beside(void)
{
	struct nw_chain c;

	begin();
	channel(0, 0, 0, 1, 0.95, false);
	process[0].cpu_known = process[1].cpu_known = true;
	process[0].use_s[NW_CHAIN_CPU] = row(0.1);
	process[1].use_s[NW_CHAIN_CPU] = row(0.9);
	c = build(2);
	CHECK_NEAR(share_of(&c, 1, 0), 0.1, 1e-9, 1e-9);
	CHECK(c.known);
	CHECK_INT(c.node[c.limit].group, 1);
	nw_chain_clear(&c);
	/* nor does it where the other thread wants a processor, or is in a step */
	process[1].use_s[NW_CHAIN_CPU] = row(0.3);
	process[1].use_s[NW_CHAIN_STARVED] = row(0.2);
	process[1].use_s[NW_CHAIN_STEP] = row(0.4);
	c = build(2);
	CHECK_NEAR(share_of(&c, 1, 0), 0.1, 1e-9, 1e-9);
	CHECK_NEAR(c.node[1].held_share, 0.9, 1e-9, 1e-9);
	nw_chain_clear(&c);
	/* the first thread's own account has the last word */
	process[1].first_s = row(0.25);
	c = build(2);
	CHECK_NEAR(share_of(&c, 1, 0), 0.25, 1e-9, 1e-9);
	nw_chain_clear(&c);
}

/* A program whose threads wait for each other, by no account: it holds the bytes as far as its
 * neighbours waited, and without waiting neighbours not at all. */
static void
test_inside(void)
{
	static const struct {
		double before, behind, computes, held, inside;
	} cases[] = {
		{ 0.9, 0.8, 0.05, 0.95, 0.9 },
		{ 0.2, 0.8, 0.5, 1, 0.5 },
		{ 0, 0.05, 0.05, 0.1, 0.05 },
	};
	const struct nw_chain_node *node;
	struct nw_chain c;
	size_t i, k;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		channel(0, 0, cases[i].before, 1, 0, false);
		channel(1, 1, 0, 2, cases[i].behind, false);
		for (k = 0; k < 3; k++) {
			process[k].cpu_known = true;
			process[k].use_s[NW_CHAIN_CPU] = row(k == 1 ? cases[i].computes : 0.05);
		}
		c = build(3);
		for (node = c.node; node->group != 1; node++)
			;
		CHECK_NEAR(node->held_share, cases[i].held, 1e-9, 1e-9);
		CHECK_NEAR(node->use_share[NW_CHAIN_INSIDE], cases[i].inside, 1e-9, 1e-9);
		nw_chain_clear(&c);
	}
}

/* The first link was done early, and busy until then: it is no limit beside the second. The use of
 * the channels begins long behind the first window. */
static void
test_early(void)
{
	struct nw_chain c;
	size_t i;

	begin();
	channel(0, 0, 0, 1, 0, false);
	channel(1, 1, 0, 2, 0.9, false);
	for (i = 0; i < n_ends; i++)
		end[i].begin_s = N / 2;
	end[0].end_s = N / 2 + 1;
	c = build(3);
	CHECK(c.known);
	CHECK_INT(c.node[c.limit].group, 1);
	CHECK_NEAR(c.second_share, 0.1, 1e-9, 1e-9);
	nw_chain_clear(&c);
}

/* A parent with children one after the other: equal children hold most, though a short other child
 * is as busy while it is there. */
static void
test_children(void)
{
	struct nw_chain c;
	size_t i;

	begin();
	process[1].group = process[2].group = process[3].group = 1;
	end[n_ends++] = (struct nw_chain_end){
		.by = NW_CHAIN_CHILD, .bytes = { 1, 0 }, .wait_s = { row(0.95), NULL }, .end_s = N
	};
	for (i = 1; i < 5; i++)
		end[n_ends++] = (struct nw_chain_end){ .process = i,
			.by = NW_CHAIN_CHILD,
			.bytes = { 0, i < 4 ? 3 : 1 },
			.begin_s = (i - 1) * 0.3 * N,
			.end_s = (i < 4 ? i * 0.3 : 1) * N };
	c = build(5);
	CHECK_INT(c.n_nodes, 3);
	CHECK_NEAR(share_of(&c, 0, 1), 0.95 * 9 / 10, 1e-9, 1e-9);
	CHECK(c.known);
	CHECK_INT(c.node[c.limit].group, 1);
	CHECK_NEAR(c.node[c.limit].held_share, 0.9, 0.02, 0.02);
	CHECK(edge_of(&c, 0, 1)->by == NW_CHAIN_CHILD && edge_of(&c, 0, 1)->bytes == 0);
	nw_chain_clear(&c);
}

/* A node that waited for a processor: an edge behind all others, without a holder, as long as the
 * use of the same name. Hardly a wait is no edge; without waits for programs there is no graph. */
static void
test_queue(void)
{
	static const double shares[] = { 0.3, 0.01, 0 };
	const struct nw_chain_edge *e;
	struct nw_chain c;
	size_t i;

	for (i = 0; i < 3; i++) {
		begin();
		channel(0, 0, 0, 1, 0.6, false);
		process[0].cpu_known = true;
		process[0].use_s[NW_CHAIN_CPU] = row(0.6);
		process[0].use_s[NW_CHAIN_STARVED] = shares[i] > 0 ? row(shares[i]) : NULL;
		c = build(2);
		CHECK_INT(c.n_edges, i == 0 ? 3 : 2);
		e = &c.edge[c.n_edges - 1];
		CHECK((e->by == NW_CHAIN_QUEUE) == (i == 0));
		if (i == 0) {
			CHECK_INT(c.node[e->waiter].group, 0);
			CHECK_INT(e->holder, c.n_nodes);
			CHECK_NEAR(e->share, 0.3, 1e-9, 1e-9);
			CHECK_NEAR(e->share, c.node[e->waiter].use_share[NW_CHAIN_STARVED], 0, 0);
			CHECK_NEAR(e->wait_s[3], 0.3, 1e-9, 1e-9);
			CHECK(e->bytes == 0 && !e->writes);
		}
		CHECK(c.known && c.node[c.limit].group == 0);
		nw_chain_clear(&c);
	}
	begin();
	channel(0, 0, 0, 1, 0.01, false);
	process[0].use_s[NW_CHAIN_STARVED] = row(0.9);
	CHECK_INT(build(2).n_nodes, 0);
}

/* Words of documents find their rows, foreign words and none find no row. */
static void
test_words(void)
{
	CHECK_STR(nw_chain_want_of("room")->joint, "for room before");
	CHECK_STR(nw_chain_want_of("post")->words, "a post of a semaphore");
	CHECK_STR(nw_chain_kinds[NW_CHAIN_QUEUE].word, "run queue");
	CHECK_STR(nw_chain_wants[nw_chain_kinds[NW_CHAIN_QUEUE].what].word, "processor");
	CHECK_STR(nw_chain_user_of("quota")->joint, ", as its quota was used up");
	CHECK(nw_chain_want_of("rooms") == NULL && nw_chain_want_of(NULL) == NULL);
	CHECK(nw_chain_user_of("post") == NULL && nw_chain_user_of(NULL) == NULL);
}

int
main(void)
{
	test_places();
	test_even();
	test_silent();
	test_workers();
	test_network();
	test_turns();
	test_beside();
	test_inside();
	test_early();
	test_children();
	test_queue();
	test_words();
	test_late();
	test_unread();
	return check_done("chain");
}
