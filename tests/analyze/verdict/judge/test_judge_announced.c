/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict on announcements alone: which accounts name a stage, and which do not. */
#include "analyze/verdict/judge/judge.h"

#include "tests/check.h"

#define S INT64_C(1000000000)

/* Numbers of a flow of 100 s; 0 stands for a number that was not said, -1 for 0. */
struct flow_case {
	double out, in, read_wait, read_net, write_wait, write_net, busy, rwnd;
	const char *stage, *cause; /* NULL: cannot tell; words among the reasons */
};

static double
said(double v)
{
	return v == 0 ? NAN : v < 0 ? 0 : v;
}

static char text[3][16] = { "192.0.2.1", "192.0.2.2", "xrdcp" };

static struct evidence_announced
flow_of(const struct flow_case *c)
{
	struct evidence_announced a = { .src = text[0],
		.dst = text[1],
		.sport = 1094,
		.dport = 40000,
		.program = text[2],
		.first_wall_ns = 1000 * S,
		.last_wall_ns = 1100 * S };
	int i;

	for (i = 0; i < NW_ANNOUNCED_COUNT; i++)
		a.value[i] = NAN;
	a.value[NW_ANNOUNCED_bytes_out] = said(c->out);
	a.value[NW_ANNOUNCED_bytes_in] = said(c->in);
	a.value[NW_ANNOUNCED_read_wait_s] = said(c->read_wait);
	a.value[NW_ANNOUNCED_read_net_s] = said(c->read_net);
	a.value[NW_ANNOUNCED_write_wait_s] = said(c->write_wait);
	a.value[NW_ANNOUNCED_write_net_s] = said(c->write_net);
	a.value[NW_ANNOUNCED_busy_s] = said(c->busy);
	a.value[NW_ANNOUNCED_rwnd_limited_s] = said(c->rwnd);
	a.value[NW_ANNOUNCED_elapsed_s] = 100;
	return a;
}

static void
judge_one(struct evidence_announced *a, size_t n, struct judgement *j)
{
	static const struct judge_params params = { .alpha = 0.05, .margin = 0.1 };
	struct evidence e = { .announced = a, .n_announced = n };

	CHECK_INT(judge(&e, &params, j), 0);
}

static bool
has_reason(const struct judgement *j, const char *words)
{
	size_t i;

	for (i = 0; i < j->n_reasons; i++)
		if (strstr(j->reasons[i], words) != NULL)
			return true;
	return false;
}

static void
test_stages(void)
{
	static const struct flow_case cases[] = {
		/* XRootD says bytes alone */
		{ .out = 1e9, .in = 1000 }, { .out = 1000, .in = 1e9 },
		/* dCache */
		{ .out = 1e9, .read_wait = 63, .read_net = 37, .stage = "disk.read" },
		{ .out = 1e9, .read_wait = 37, .read_net = 63, .stage = "net.write" },
		{ .out = 1e9,
		    .read_wait = 30,
		    .read_net = 40,
		    .cause = "storage for 43 % and for the network for 57 % of the transfer" },
		{ .out = 1e9,
		    .read_wait = 50,
		    .read_net = 40,
		    .cause = "storage for 56 % and for the network for 44 %" },
		{ .in = 1e9, .write_wait = 90, .write_net = 10, .stage = "disk.write" },
		{ .in = 1e9, .write_wait = 10, .write_net = 90, .stage = "net.read" },
		/* without bytes of the flow the waits tell the direction */
		{ .read_wait = 70,
		    .read_net = 30,
		    .write_wait = -1,
		    .write_net = 100,
		    .stage = "disk.read" },
		{ .out = 1e9, .read_wait = 0.5, .read_net = 0.1 }, /* shorter than a second */
		/* the sending kernel */
		{ .out = 1e9,
		    .busy = 97,
		    .rwnd = 92,
		    .stage = "net.write",
		    .cause = "the window is small, or the far end reads slowly" },
		{ .out = 1e9, .busy = 60, .rwnd = -1, .cause = "data was in flight for 60 %" },
		{ .out = 1e9, .busy = 10, .rwnd = -1, .cause = "its program or its storage" },
		{ .in = 1e9, .busy = 97, .rwnd = 92 }, /* the receiving kernel */
		{ .out = 1e9, .busy = 97 },            /* half an account */
	};
	struct evidence_announced a;
	struct judgement j;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		a = flow_of(&cases[i]);
		judge_one(&a, 1, &j);
		CHECK_INT(j.announced.alone, true);
		CHECK_INT(j.announced.known, cases[i].stage != NULL);
		if (j.announced.known && cases[i].stage != NULL)
			CHECK_STR(nw_stage_kind_name(j.announced.stage), cases[i].stage);
		CHECK_STR(j.confidence, cases[i].stage != NULL ? "low" : "none");
		CHECK_STR(j.words,
		    cases[i].stage != NULL ? nw_stage_kind_words(j.announced.stage)
					   : "cannot tell");
		CHECK(cases[i].cause == NULL || has_reason(&j, cases[i].cause));
		CHECK(has_reason(&j, "Missing is nwflow or nwrun on 192.0.2."));
		judgement_clear(&j);
	}
}

/* The flow with most segments sent again is told, with the round trip, whatever names the stage. */
static void
test_resent(void)
{
	const struct flow_case c = { .out = 1e9, .read_wait = 63, .read_net = 37 };
	struct evidence_announced a[2] = { flow_of(&c), flow_of(&c) };
	struct judgement j;

	a[1].dport = 40001;
	a[0].value[NW_ANNOUNCED_retrans] = 0;
	judge_one(a, 2, &j);
	CHECK(!has_reason(&j, "segments again"));
	judgement_clear(&j);
	a[1].value[NW_ANNOUNCED_retrans] = 1200;
	judge_one(a, 2, &j);
	CHECK(!has_reason(&j, "segments again")); /* the round trip is not said */
	judgement_clear(&j);
	a[0].value[NW_ANNOUNCED_retrans] = 3;
	a[1].value[NW_ANNOUNCED_rtt_s] = 0.02;
	judge_one(a, 2, &j);
	CHECK(has_reason(&j, "192.0.2.1 sent 1200 segments again, at a round trip of 20 ms"));
	judgement_clear(&j);
}

/* Direction, bytes and rate; a flow that is announced twice counts once. */
static void
test_transfer(void)
{
	const struct flow_case up = { .out = 1000, .in = 3e8 };
	struct evidence_announced a[2] = { flow_of(&up), flow_of(&up) };
	struct judgement j;

	judge_one(a, 2, &j);
	CHECK_STR(j.route, "192.0.2.2 -> 192.0.2.1");
	CHECK_NEAR(j.bytes, 3e8, 0, 0);
	CHECK_NEAR(j.bytes_per_s, 3e6, 1e-12, 0);
	CHECK_STR(j.program, "xrdcp");
	judgement_clear(&j);
	a[1].dport = 40001;
	judge_one(a, 2, &j);
	CHECK_NEAR(j.bytes, 6e8, 0, 0);
	CHECK(!has_reason(&j, "No announcement has the bytes"));
	judgement_clear(&j);
	a[0].value[NW_ANNOUNCED_bytes_in] = a[0].value[NW_ANNOUNCED_bytes_out] = NAN;
	judge_one(a, 1, &j);
	CHECK(isnan(j.bytes));
	CHECK(has_reason(&j, "No announcement has the bytes"));
	judgement_clear(&j);
	a[0].value[NW_ANNOUNCED_bytes_out] = 0; /* the program said so */
	judge_one(a, 1, &j);
	CHECK_NEAR(j.bytes, 0, 0, 0);
	judgement_clear(&j);
	judge_one(a, 0, &j);
	CHECK_INT(j.announced.alone, false);
	judgement_clear(&j);
}

static char forms[3][16] = { "firefly", "xrootd", "xrootd tpc" };

/* XRootD's files have exact bytes and whole seconds; fireflies stand where files lack bytes. */
static void
test_files(void)
{
	static const struct {
		double file_out, file_in, firefly_in, slack, bytes; /* NaN: not said, unknown */
		bool has_rate;
	} cases[] = {
		{ 3e8, 0, NAN, 2, 3e8, true },
		{ 3e8, 0, NAN, 30, 3e8, false }, /* of a duration of 100 s */
		{ 0, NAN, NAN, 2, NAN, false },  /* an upload by HTTP */
		{ 0, NAN, 3e8, 30, 3e8, true },  /* and its firefly, with its times */
		{ 0, 3e8, 3.002e8, 2, 3e8, true },
		{ 0, 1e8, 3e8, 2, 3e8, true }, /* a file is lost */
	};
	const struct flow_case none = { .out = -1 };
	struct evidence_announced a[2];
	struct judgement j;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		a[0] = flow_of(&none);
		a[0].by = forms[1];
		a[0].value[NW_ANNOUNCED_bytes_out] = cases[i].file_out;
		a[0].value[NW_ANNOUNCED_bytes_in] = cases[i].file_in;
		a[0].value[NW_ANNOUNCED_slack_s] = cases[i].slack;
		a[1] = flow_of(&none);
		a[1].by = forms[0];
		a[1].value[NW_ANNOUNCED_bytes_in] = cases[i].firefly_in;
		judge_one(a, isnan(cases[i].firefly_in) ? 1 : 2, &j);
		if (isnan(cases[i].bytes))
			CHECK(isnan(j.bytes));
		else
			CHECK_NEAR(j.bytes, cases[i].bytes, 0, 0);
		CHECK_INT(isfinite(j.bytes_per_s), cases[i].has_rate);
		CHECK_INT(
		    has_reason(&j, "unless its address has scitag.flow=N"), isnan(cases[i].bytes));
		CHECK_INT(j.announced.known, false);
		judgement_clear(&j);
	}
	/* a third-party copy without bytes, and the other server's file */
	a[1].by = forms[2];
	a[1].value[NW_ANNOUNCED_bytes_in] = a[1].value[NW_ANNOUNCED_bytes_out] = NAN;
	a[0].value[NW_ANNOUNCED_bytes_in] = 0;
	a[0].value[NW_ANNOUNCED_bytes_out] = 5e9;
	a[0].value[NW_ANNOUNCED_lost] = 3;
	judge_one(a, 2, &j);
	CHECK_NEAR(j.bytes, 5e9, 0, 0);
	CHECK(has_reason(&j, "3 were lost or late"));
	judgement_clear(&j);
}

/* Judges a transfer of 100 s with a time in the queue of FTS. */
static void
judge_queued(const struct flow_case *c, double queue_s, bool is_usual, struct judgement *j)
{
	static const struct judge_params params = { .alpha = 0.05, .margin = 0.1 };
	static char fts[] = "fts";
	struct evidence_announced a[2] = { flow_of(c), flow_of(c) };
	struct evidence e = { .announced = a, .n_announced = 2 };

	a[0].by = fts;
	a[0].value[NW_ANNOUNCED_queue_s] = queue_s;
	CHECK_INT(judge_decide(&e, &params, j), 0);
	j->is_usual_rate = is_usual;
	judge_say(&e, &params, j);
}

/* A wait that is longer than the transfer, and a usual rate: one sentence has both. */
static void
test_queue(void)
{
	static const struct flow_case fts = { .out = 1e9 },
				      dcache = { .out = 1e9, .read_wait = 63, .read_net = 37 };
	static const struct {
		const struct flow_case *of;
		double queue_s;
		bool is_usual;
		const char *has, *lacks;
	} cases[] = {
		{ &fts, 2400, true,
		    "It waited 40 min 0 s in the queue of FTS, then ran at the usual rate; no "
		    "measured host says what limits that rate",
		    "Cannot tell" },
		{ &fts, 2400, false, "Cannot tell what limited this transfer", "usual rate" },
		{ &fts, 2400, false, "waited 40 min 0 s in the queue of FTS, longer than it ran",
		    "usual rate" },
		{ &fts, 50, true, "Cannot tell what limited this transfer", "queue" },
		{ &fts, NAN, true, "Cannot tell what limited this transfer", "usual rate" },
		{ &dcache, 2400, true,
		    "queue of FTS, longer than it ran, then ran at the usual rate",
		    "measured host" },
		{ &dcache, 2400, false, "waited for its storage for 63 %", "usual rate" },
	};
	struct judgement j;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		judge_queued(cases[i].of, cases[i].queue_s, cases[i].is_usual, &j);
		CHECK(strstr(j.sentence, cases[i].has) != NULL);
		CHECK(strstr(j.sentence, cases[i].lacks) == NULL);
		judgement_clear(&j);
	}
}

/* A trace of Rucio adds its phases to a transfer, and neither bytes nor another route. */
static void
test_traces(void)
{
	static char rucio[] = "rucio", site[] = "SITE_DISK";
	const struct flow_case moved = { .out = 3e8 };
	struct evidence_announced a[2] = { flow_of(&moved), flow_of(&moved) };
	struct judgement j;
	size_t form;

	a[0].by = rucio;
	a[0].src = site;
	a[0].sport = a[0].dport = 0;
	a[0].value[NW_ANNOUNCED_prepare_s] = 12;
	for (form = 0; form < 3; form++) {
		a[1].by = forms[form];
		judge_one(a, 2, &j);
		CHECK_NEAR(j.bytes, 3e8, 0, 0);
		CHECK_STR(j.route, "192.0.2.1 -> 192.0.2.2");
		CHECK(has_reason(&j, "Rucio's client prepared the transfer for 12"));
		judgement_clear(&j);
	}
	judge_one(a, 1, &j);
	CHECK_NEAR(j.bytes, 3e8, 0, 0);
	CHECK_STR(j.route, "SITE_DISK -> 192.0.2.2");
	CHECK(!has_reason(&j, "hearsay"));
	judgement_clear(&j);
	/* an upload by HTTP has no bytes in the f-stream */
	a[1].by = forms[1];
	a[1].value[NW_ANNOUNCED_bytes_out] = NAN;
	judge_one(a, 2, &j);
	CHECK_NEAR(j.bytes, 3e8, 0, 0);
	judgement_clear(&j);
}

int
main(void)
{
	test_stages();
	test_resent();
	test_transfer();
	test_files();
	test_queue();
	test_traces();
	return check_done("judge_announced");
}
