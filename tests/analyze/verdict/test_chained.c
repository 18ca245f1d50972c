/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of path and chain names the limit: the chain where the path does not cover the session or
 * leaves the program open, and never where network or disk are the path's matter. */
#include <math.h>
#include <string.h>

#include "analyze/verdict/chained.h"

#include "tests/check.h"

enum { PROCESSES = 3, WINDOWS = 40 };
static const double STEP_S = 0.1;

/* What a case starts from: three programs in a row on one host, of which the second held the bytes
 * for 90 % of 4 s, computing; and a path of a disk and a program, at work all the time. */
static struct evidence_process process[PROCESSES];
static struct evidence_host host;
static struct nw_chain_node node[PROCESSES];
static struct chain_node named[PROCESSES];
static struct nw_chain_edge edge;
static size_t node_of[PROCESSES];
static struct evidence e;
static struct chain c;
static struct judgement j;

static void
begin(void)
{
	static char names[PROCESSES][8] = { "first", "second", "third" }, here[] = "here";
	size_t i;

	memset(&e, 0, sizeof(e));
	memset(&c, 0, sizeof(c));
	memset(&j, 0, sizeof(j));
	host = (struct evidence_host){ .name = here };
	e.hosts = &host;
	e.n_hosts = 1;
	e.processes = process;
	e.n_processes = PROCESSES;
	e.n_windows = WINDOWS;
	e.step_ns = llround(STEP_S * 1e9);
	e.last_wall_ns = WINDOWS * e.step_ns;
	for (i = 0; i < PROCESSES; i++) {
		process[i] = (struct evidence_process){ .pid = 10 + (int64_t)i };
		node[i] = (struct nw_chain_node){
			.group = i, .n_processes = 1, .at_work_s = 4, .end_s = 4, .held_share = 0.05
		};
		named[i] = (struct chain_node){ .process = i, .name = names[i] };
		node_of[i] = i;
	}
	node[1].held_share = node[1].use_share[NW_CHAIN_CPU] = 0.9;
	node[2].held_share = 0.2;
	edge = (struct nw_chain_edge){ .waiter = 0, .holder = 1, .share = 0.9, .bytes = 8e6 };
	c.graph = (struct nw_chain){ .node = node,
		.n_nodes = PROCESSES,
		.edge = &edge,
		.n_edges = 1,
		.known = true,
		.limit = 1,
		.longest = 1,
		.second = 2,
		.second_share = 0.2 };
	c.node = named;
	c.node_of = node_of;
	CLAIM_SAY(&c.told, chain_waited, CLAIM_NO_STAGE, claim_text(""), claim_text("first"),
	    claim_number(0.9), claim_text("second"));
	j.path.n = 2;
	j.path.stage[0] = (struct nw_path_stage){ .kind = NW_STAGE_DISK_READ };
	j.path.stage[1] = (struct nw_path_stage){ .kind = NW_STAGE_HOST, .process = 1 };
	j.path.active_s = 3.9;
	j.second = j.path.n;
	j.limit.stage = 1;
	j.limit.known = true;
	j.limit.n_windows = WINDOWS;
	j.limit.tests[1].group.mean = 0.1;
	j.bytes = 1e6;
	j.bytes_per_s = NAN;
	CLAIM_SAY(&j.said, plain, CLAIM_NO_STAGE, claim_text("The path's words"));
}

static enum chained_how
decide(void)
{
	enum chained_how how;

	chained_decide(&e, &c, &j);
	how = j.chained.how;
	chained_say(&e, &c, &j);
	return how;
}

static void
end(void)
{
	judgement_clear(&j);
	claims_clear(&c.told);
}

static void
test_agrees(void)
{
	begin();
	CHECK_INT(decide(), CHAINED_BESIDE);
	CHECK_STR(j.sentence, "The path's words; along the chain, first waited 90 % for second.");
	CHECK(j.limit.known && j.bytes == 1e6);
	end();
	begin(); /* two ends and a network say no more than the path; another link does */
	j.path.stage[1].kind = NW_STAGE_NETWORK;
	c.graph.limit_is_edge = true;
	CHECK_INT(decide(), CHAINED_NOT);
	CLAIM_SAY(&c.told, chain_waited, CLAIM_NO_STAGE, claim_text("; "), claim_text("third"),
	    claim_number(0.5), claim_text("first"));
	CHECK_INT(decide(), CHAINED_BESIDE);
	end();
	begin(); /* the path's program is one of several: the chain names another */
	j.path.stage[1].process = 0;
	CHECK_INT(decide(), CHAINED_INSTEAD);
	CHECK(j.chained.known && !j.limit.known);
	CHECK_INT(j.chained.stage, NW_STAGE_HOST);
	CHECK_STR(j.sentence,
	    "In this transfer, second on here held the bytes for 90 % of the time, longer than any "
	    "other program: first waited 90 % for second; without this limit it could have gone at "
	    "most 5 times as fast, until the limit is third on here.");
	CHECK(j.bytes == 1e6);
	CHECK_STR(j.confidence, "medium");
	CHECK_STR(j.cause, "computing");
	end();
	begin(); /* the same of an end of a connection within the host, not of another host's */
	j.path.stage[1] = (struct nw_path_stage){ .kind = NW_STAGE_SENDER_HOST };
	CHECK_INT(decide(), CHAINED_INSTEAD);
	end();
	begin();
	j.path.stage[1] = (struct nw_path_stage){ .kind = NW_STAGE_SENDER_HOST };
	process[0].host = 1;
	CHECK_INT(decide(), CHAINED_NOT);
	end();
	begin(); /* a pace is another program's if that program pauses */
	j.path.stage[1].process = 0;
	j.pace.found = true;
	CHECK_INT(decide(), CHAINED_NOT);
	node[0].waited_share = 0.9;
	CHECK_INT(decide(), CHAINED_INSTEAD);
	end();
	begin();
	j.path.stage[1].process = 0;
	j.pace.found = true;
	node[1].use_share[NW_CHAIN_CPU] = 0;
	node[1].use_share[NW_CHAIN_PAUSED] = 0.9;
	CHECK_INT(decide(), CHAINED_INSTEAD);
	end();
}

/* Several stages of the path: the chain decides where it rules out all but its own limit. */
static void
test_several(void)
{
	static double bytes[WINDOWS] = { 1e6 };
	static const struct {
		enum nw_stage_kind kind[2];
		size_t process[2];
		double computes, second_held, far;
		bool idle_disk;
		enum chained_how how;
	} cases[] = {
		/* the limit's disk, and a program that held the bytes for little of the time */
		{ { NW_STAGE_DISK_READ, NW_STAGE_HOST }, { 1, 2 }, 0, 0.2, 0, false,
		    CHAINED_INSTEAD },
		{ { NW_STAGE_DISK_READ, NW_STAGE_HOST }, { 1, 2 }, 0, 0.7, 0, false, CHAINED_NOT },
		{ { NW_STAGE_DISK_READ, NW_STAGE_HOST }, { 1, 2 }, 0, 0.2, 0, true, CHAINED_NOT },
		/* another program's disk */
		{ { NW_STAGE_DISK_READ, NW_STAGE_HOST }, { 0, 2 }, 0, 0.2, 0, false, CHAINED_NOT },
		/* the limit's own program, which did little beside waiting for the disk */
		{ { NW_STAGE_DISK_READ, NW_STAGE_HOST }, { 1, 1 }, 0.05, 0.2, 0, false,
		    CHAINED_INSTEAD },
		{ { NW_STAGE_DISK_READ, NW_STAGE_HOST }, { 1, 1 }, 0.3, 0.2, 0, false,
		    CHAINED_NOT },
		/* a network, without and with other peers */
		{ { NW_STAGE_NET_READ, NW_STAGE_DISK_READ }, { 0, 1 }, 0, 0.2, 0, false,
		    CHAINED_INSTEAD },
		{ { NW_STAGE_NET_READ, NW_STAGE_DISK_READ }, { 0, 1 }, 0, 0.2, 0.5, false,
		    CHAINED_NOT },
	};
	size_t i, k;
	int way; /* two limits, in both orders, or candidates */

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (way = 0; way < 3; way++) {
			begin();
			node[1].use_share[NW_CHAIN_READ] = 0.6;
			node[1].use_share[NW_CHAIN_CPU] = cases[i].computes;
			node[2].held_share = cases[i].second_held;
			node[0].use_share[NW_CHAIN_FAR] = cases[i].far;
			process[0].bytes[NW_OP_NET_READ] = bytes;
			for (k = 0; k < 2; k++) {
				j.path.stage[k] = (struct nw_path_stage){ .kind = cases[i].kind[k],
					.process = cases[i].process[k] };
				j.limit.tests[k].candidate = way == 2;
			}
			j.limit.known = false;
			j.limit.stage = way == 1;
			j.second = way == 0 ? 1 : way == 1 ? 0 : j.path.n;
			j.idle_disk = cases[i].idle_disk;
			CHECK_INT(decide(), cases[i].how);
			if (cases[i].how == CHAINED_INSTEAD)
				CHECK_INT(j.chained.stage, NW_STAGE_DISK_READ);
			end();
		}
}

/* The network behind one end: the chain knows the far end if all peers are measured. */
static void
test_behind(void)
{
	static double bytes[WINDOWS] = { 1e6 };
	size_t i;

	for (i = 0; i < 4; i++) {
		begin();
		j.path.stage[1].kind = i % 2 ? NW_STAGE_NET_READ : NW_STAGE_NET_WRITE;
		process[0].bytes[NW_OP_NET_READ] = bytes;
		process[2].bytes[NW_OP_NET_WRITE] = bytes;
		if (i == 2)
			node_of[2] = SIZE_MAX;
		if (i == 3)
			node[0].use_share[NW_CHAIN_FAR] = 0.5;
		CHECK_INT(decide(), i < 2 ? CHAINED_INSTEAD : CHAINED_NOT);
		end();
	}
}

/* A path that worked for a short part of the session: a program that loaded its modules. */
static void
test_covers(void)
{
	enum nw_stage_kind kind;

	begin();
	j.path.active_s = 0.2;
	j.limit.known = false;
	CHECK_INT(decide(), CHAINED_INSTEAD);
	CHECK(judge_stage(&j, &kind) && kind == NW_STAGE_HOST);
	CHECK_NEAR(j.bytes, 8e6, 0, 1);
	CHECK_NEAR(j.duration_s, 4, 0, 1e-9);
	CHECK_NEAR(j.gain.high, 5, 0, 1e-9);
	end();
	begin(); /* a larger quota of both programs lifts the next limit, too */
	j.path.active_s = 0.2;
	j.limit.known = false;
	node[1].use_share[NW_CHAIN_STARVED] = 0.5 * node[1].held_share;
	CHECK_INT(decide(), CHAINED_INSTEAD);
	CHECK(isnan(j.gain.high) && strstr(j.sentence, "without this limit") == NULL);
	end();
	begin(); /* over the network it is the transfer all the same */
	j.path.active_s = 0.2;
	j.path.has_sender = true;
	j.path.stage[1].kind = NW_STAGE_NET_WRITE;
	CHECK_INT(decide(), CHAINED_NOT);
	CHECK(j.sentence == NULL && j.limit.known);
	end();
	begin(); /* too few windows for any verdict */
	node[1].end_s = 4 * STEP_S;
	j.path.active_s = 0.01;
	CHECK_INT(decide(), CHAINED_NOT);
	end();
}

/* What the chain cannot know stays the path's matter. */
static void
test_stays(void)
{
	static bool *const marks[] = { &j.idle_disk, &j.idle_network, &j.blind_reads,
		&j.crowd.limits };
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		begin();
		j.limit.known = false;
		j.path.n = 1;
		j.second = 1;
		*marks[i] = true;
		CHECK_INT(decide(), CHAINED_NOT);
		end();
	}
	begin(); /* a tie of two stages */
	j.limit.known = false;
	j.second = 0;
	CHECK_INT(decide(), CHAINED_NOT);
	end();
	begin(); /* a disk of the path that held the bytes */
	j.limit.stage = 0;
	CHECK_INT(decide(), CHAINED_NOT);
	end();
	begin(); /* bytes past the calls keep the path silent, not a chain that computes */
	j.limit.known = false;
	CHECK_INT(decide(), CHAINED_NOT);
	end();
	begin();
	j.limit.known = false;
	j.unseen = 0.5;
	CHECK_INT(decide(), CHAINED_INSTEAD);
	end();
	begin();
	j.limit.known = false;
	j.unseen = 0.5;
	node[1].use_share[NW_CHAIN_CPU] = 0.3;
	node[1].use_share[NW_CHAIN_BLOCKED] = 0.6;
	CHECK_INT(decide(), CHAINED_NOT);
	end();
	begin(); /* a stage alone tells nothing, and the chain does */
	j.limit.known = false;
	j.path.n = j.second = 1;
	CHECK_INT(decide(), CHAINED_INSTEAD);
	end();
}

/* Without a clear limit the sentence names two programs, or says that it cannot tell. */
static void
test_even(void)
{
	begin();
	j.path.active_s = 0;
	c.graph.known = false;
	node[1].held_share = 0.8;
	c.graph.second_share = node[2].held_share = 0.75;
	CHECK_INT(decide(), CHAINED_INSTEAD);
	CHECK(!j.chained.known);
	CHECK_STR(j.words, "two stages at once");
	CHECK_STR(j.sentence,
	    "Both second on here and third on here held the bytes for most of the time, 80 % and "
	    "75 %: first waited 90 % for second.");
	end();
	begin();
	j.path.active_s = 0;
	c.graph.known = false;
	node[1].held_share = 0.4;
	CLAIM_SAY(&c.told, chain_even, CLAIM_NO_STAGE, claim_text("; "), claim_text("second"),
	    claim_number(0.4));
	CHECK_INT(decide(), CHAINED_INSTEAD);
	CHECK_STR(j.confidence, "none");
	CHECK_STR(j.sentence,
	    "Cannot tell what limited this session: first waited 90 % for second; no program "
	    "clearly held the bytes longest: second held them 40 %.");
	end();
}

/* The stage is that of the use which took most of the node's time. */
static void
test_kinds(void)
{
	static const struct {
		enum nw_chain_use use;
		enum nw_stage_kind kind;
		const char *begins;
	} cases[] = {
		{ NW_CHAIN_READ, NW_STAGE_DISK_READ, "In this transfer, disk read by second on " },
		{ NW_CHAIN_WRITE, NW_STAGE_DISK_WRITE,
		    "In this transfer, disk write by second on " },
		{ NW_CHAIN_FAR, NW_STAGE_NET_WRITE,
		    "In this transfer, the network behind second on here (or the far end) held" },
		{ NW_CHAIN_PAUSED, NW_STAGE_HOST, "In this transfer, second on here held" },
		{ NW_CHAIN_INSIDE, NW_STAGE_HOST, "In this transfer, second on here held" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		j.path.active_s = 0;
		node[1].use_share[NW_CHAIN_CPU] = 0.1;
		node[1].use_share[cases[i].use] = 0.8;
		CHECK_INT(decide(), CHAINED_INSTEAD);
		CHECK_INT(j.chained.stage, cases[i].kind);
		CHECK_STR(j.confidence, cases[i].use == NW_CHAIN_INSIDE ? "low" : "medium");
		CHECK(strncmp(j.sentence, cases[i].begins, strlen(cases[i].begins)) == 0);
		end();
	}
	begin();
	c.graph.limit_is_edge = true;
	c.graph.limit = 0;
	edge.own_share = 0.7;
	c.graph.second_share = 0.05;
	j.limit.known = false;
	j.path.n = j.second = 1;
	CHECK_INT(decide(), CHAINED_INSTEAD);
	CHECK_INT(j.chained.stage, NW_STAGE_NETWORK);
	CHECK_STR(j.words, "the network between first and second");
	end();
}

/* A pace beside waits for a processor: both limit where the waits took much of the time in which
 * programs held the bytes, unless the pauses make up for them. */
static void
test_pace(void)
{
	static const struct {
		double starved[2];
		bool adapts, both;
		size_t second;
	} cases[] = {
		{ { 0.2, 0.15 }, false, true, 1 },
		{ { 0.2, 0.15 }, true, false, 0 },
		{ { 0.2, 0.05 }, false, false, 0 },
		{ { 0, 0 }, false, false, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		j.pace = (struct pace){ .found = true, .stage = 1, .process = 1, .share = 0.5 };
		j.pace.adapts = cases[i].adapts;
		node[1].use_share[NW_CHAIN_STARVED] = cases[i].starved[0];
		node[2].use_share[NW_CHAIN_STARVED] = cases[i].starved[1];
		j.gain.low = 2;
		chained_decide(&e, &c, &j);
		CHECK_INT(j.crowd.limits, cases[i].both);
		CHECK_INT(j.limit.known, !cases[i].both);
		CHECK_INT(j.second, cases[i].both ? cases[i].second : j.path.n);
		CHECK(isnan(j.gain.low) == cases[i].both);
		end();
	}
}

/* A program without a processor: who had the processors is told as far as is known. */
static void
test_starved(void)
{
	static double busy[WINDOWS];
	static const struct {
		double busy, throttled_s, own_s, processors;
		enum nw_chain_user user;
		const char *cause, *reason;
	} cases[] = {
		{ 1, 0, 0.5, 2, NW_CHAIN_USER_OTHERS, "hog",
		    "Other programs used the processors for which second waited 80 %." },
		{ 1, 0, 6.5, 2, NW_CHAIN_USER_OWN, "processors", NULL },
		{ 1, 0, 5, 2, NW_CHAIN_USERS_N, "processors", NULL },
		{ 1, 0, 6.5, 0, NW_CHAIN_USERS_N, "processors", NULL },
		{ 0.5, 0, 6.5, 2, NW_CHAIN_USERS_N, "processors", NULL },
		{ 1, 2, 0.5, 2, NW_CHAIN_USER_QUOTA, "quota",
		    "A quota of processor time was used up where second waited 80 % for a "
		    "processor." },
	};
	size_t i, k;
	bool said;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		for (k = 0; k < WINDOWS; k++)
			busy[k] = cases[i].busy;
		host.cpu_busy = busy;
		host.processors = cases[i].processors;
		process[0].cpu_s = process[2].cpu_s = NAN;
		process[1].cpu_s = cases[i].own_s;
		process[1].cpu_wait_s = 3.2;
		process[1].throttled_s = cases[i].throttled_s;
		j.path.active_s = 0;
		node[1].use_share[NW_CHAIN_CPU] = 0.1;
		node[1].use_share[NW_CHAIN_STARVED] = 0.8;
		CHECK_INT(decide(), CHAINED_INSTEAD);
		CHECK_STR(j.cause, cases[i].cause);
		CHECK_INT(chained_user(&e, &c, 1), cases[i].user);
		for (said = false, k = 0; k < j.n_reasons; k++)
			said |=
			    cases[i].reason != NULL && strcmp(j.reasons[k], cases[i].reason) == 0;
		CHECK_INT(said, cases[i].reason != NULL);
		end();
	}
}

/* Waits for far programs beside waits for a processor, as over ssh between busy hosts: the chain's
 * own verdict is not sure, and that of the path not very sure. */
static void
test_crowded(void)
{
	static const struct {
		double far, starved;
		const char *own, *beside;
	} cases[] = { { 0.3, 0.2, "low", "medium" }, { 0.3, 0.05, "medium", "high" },
		{ 0.05, 0.3, "medium", "high" } };
	static const char reason[] =
	    "second waited 30 % for peers without measurement and 20 % for a "
	    "processor: both may be waits for busy processors.";
	size_t i, k;
	bool said;
	int way;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (way = 0; way < 2; way++) {
			begin();
			node[1].use_share[NW_CHAIN_CPU] = 0.4;
			node[1].use_share[NW_CHAIN_FAR] = cases[i].far;
			node[1].use_share[NW_CHAIN_STARVED] = cases[i].starved;
			j.confidence = "high";
			j.path.active_s = way == 0 ? 0 : j.path.active_s;
			CHECK_INT(decide(), way == 0 ? CHAINED_INSTEAD : CHAINED_BESIDE);
			CHECK_STR(j.confidence, way == 0 ? cases[i].own : cases[i].beside);
			for (said = false, k = 0; k < j.n_reasons; k++)
				said |= strcmp(j.reasons[k], reason) == 0;
			CHECK_INT(said, i == 0);
			end();
		}
}

/* A disk that limits while the devices were idle: the sentence is explained, as the path's is. */
static void
test_idle_device(void)
{
	struct witness *w = &j.witnesses[0];
	size_t i, k;
	bool said;

	for (i = 0; i < 2; i++) {
		begin();
		j.path.active_s = 0;
		node[1].use_share[NW_CHAIN_CPU] = i == 0 ? 0.05 : 0.9;
		node[1].use_share[NW_CHAIN_READ] = 0.8;
		w->name = NW_WITNESS_DISK;
		j.n_witnesses = 1;
		CLAIM_SAY(&w->told, disk_was_busy, CLAIM_NO_STAGE, claim_text("here"),
		    claim_number(0.02));
		CHECK_INT(decide(), CHAINED_INSTEAD);
		for (said = false, k = 0; k < j.n_reasons; k++)
			said |= strstr(j.reasons[k], "The busiest device was busy 2 %") != NULL;
		CHECK_INT(said, i == 0);
		end();
	}
}

int
main(void)
{
	test_crowded();
	test_idle_device();
	test_starved();
	test_pace();
	test_agrees();
	test_behind();
	test_several();
	test_covers();
	test_stays();
	test_even();
	test_kinds();
	return check_done("test_chained");
}
