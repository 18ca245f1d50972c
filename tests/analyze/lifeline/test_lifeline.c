/* SPDX-License-Identifier: BSD-3-Clause */
/* Lifelines: paths, segments, crossings, orders, stalls, planted delays. */
#include "narrows/err.h"
#include "narrows/lifeline.h"
#include "tests/check.h"
#include "tests/lifesim.h"

#define NEVER NW_LINE_NEVER
#define MS    INT64_C(1000000)

static struct nw_line_segments segments;
static struct nw_line_findings found;

static struct nw_lines
lines_of(const int64_t *t, size_t n, size_t n_points, size_t n_lanes, const uint32_t *lane,
    const uint32_t *host, const double *bound_s, size_t n_hosts)
{
	return (struct nw_lines){ .n = n,
		.n_points = n_points,
		.n_lanes = n_lanes,
		.n_hosts = n_hosts,
		.t_ns = t,
		.lane = lane,
		.host = host,
		.bound_s = bound_s };
}

static void
test_path(void)
{
	/* b before c before a; a and b were never seen together */
	static const uint32_t before[9] = { 0, 0, 1, 0, 0, 9, 8, 2, 0 };
	uint32_t rank[3], circle[9] = { 0, 2, 1, 1, 0, 2, 2, 1, 0 };

	nw_lines_path(before, 3, rank);
	CHECK(rank[1] < rank[2] && rank[2] < rank[0]);
	nw_lines_path(circle, 3, rank);
	CHECK(rank[0] != rank[1] && rank[1] != rank[2] && rank[0] != rank[2]);
	CHECK(rank[0] < 3 && rank[1] < 3 && rank[2] < 3);
}

/* Three lines over three points: one crosses, one leaves the middle out, one never ends. */
static void
test_segments(void)
{
	static const int64_t t[] = { 0, 10 * MS, 20 * MS, 1 * MS, 5 * MS, NEVER, 2 * MS, NEVER,
		9 * MS };
	static const uint32_t lane[] = { 0, 1, 1 }, host[] = { 0, 0, 0, 0, 0, 0 };
	static const double bound[] = { 0 };
	struct nw_lines l = lines_of(t, 3, 3, 2, lane, host, bound, 1);

	CHECK_INT(nw_lines_segments(&l, &segments), NW_OK);
	CHECK_INT(segments.n, 3);
	CHECK_INT(segments.segment[0].n, 2);
	CHECK_INT(segments.segment[0].crossings, 1);
	CHECK_INT(segments.segment[0].lane_crossings, 0);
	CHECK_NEAR(segments.segment[0].q_s[NW_LINE_MEDIAN], 0.007, 1e-9, 0);
	CHECK_INT(segments.segment[1].from, 0);
	CHECK_INT(segments.segment[1].to, 2);
	CHECK_NEAR(segments.segment[1].mean_s, 0.007, 1e-9, 0);
	CHECK_INT(segments.n_finished, 2);
	CHECK(isnan(nw_line_total(&l, 1)));
	CHECK_INT(nw_line_before(&l, 2, 2), 0);
	CHECK_INT(nw_line_before(&l, 2, 0), 3);
}

/* The server's clock is 5 ms behind: its events seem to come before the request. */
static void
test_orders(void)
{
	static const int64_t t[] = { 0, -4 * MS, -3 * MS, 3 * MS, 10 * MS, 6 * MS, 6 * MS,
		12 * MS };
	static const uint32_t lane[] = { 0, 0 };
	uint32_t host[] = { 0, 1, 1, 0 };
	double bound[] = { 0.0001, 0.0001 };
	struct nw_line_clock clocks[2];
	struct nw_lines l = lines_of(t, 2, 4, 1, lane, host, bound, 2);

	CHECK_INT(nw_line_order_of(&l, 0, 0, 1), NW_LINE_IMPOSSIBLE);
	CHECK_INT(nw_line_order_of(&l, 0, 2, 3), NW_LINE_SURE);
	CHECK_INT(nw_line_order_of(&l, 1, 1, 2), NW_LINE_SURE);
	bound[1] = 0.006;
	CHECK_INT(nw_line_order_of(&l, 0, 0, 1), NW_LINE_UNCERTAIN);
	bound[1] = NAN; /* not known: told */
	CHECK_INT(nw_line_order_of(&l, 0, 0, 1), NW_LINE_IMPOSSIBLE);
	host[1] = 0; /* one clock saw both: no clock is wrong, whatever its bound */
	CHECK_INT(nw_line_order_of(&l, 0, 0, 1), NW_LINE_REVERSED);
	CHECK_INT(nw_line_order_of(&l, 1, 0, 1), NW_LINE_REVERSED);
	CHECK_INT(nw_lines_segments(&l, &segments), NW_OK);
	CHECK_INT(segments.segment[0].backwards, 0);
	CHECK_INT(segments.segment[0].reversed, 2);
	host[1] = 1;
	CHECK_INT(nw_lines_segments(&l, &segments), NW_OK);
	CHECK_INT(segments.segment[0].backwards, 2);
	CHECK_INT(segments.segment[0].reversed, 0);
	/* left at 0, seen there at -4: at least 4 behind; came back at 3, seen there at -3 */
	nw_lines_clocks(&l, clocks);
	CHECK_NEAR(clocks[1].high_s, -0.004, 1e-9, 0);
	CHECK_NEAR(clocks[1].low_s, -0.006, 1e-9, 0);
	CHECK_INT(clocks[1].n, 4);
}

/* Three requests from host 0 over hosts 1 and 2 and back; a lead in ms is planted on each host. */
static size_t
wrong_of(
    const int64_t *lead_ms, const double *bound, bool there_and_back, struct nw_line_wrong *out)
{
	static const uint32_t lane[] = { 0, 0, 0 }, host[] = { 0, 1, 2, 0 };
	int64_t t[12];
	struct nw_line_clock clocks[3];
	struct nw_lines l = lines_of(t, 3, 4, 1, lane, host, bound, 3);
	size_t i, p, n;

	for (i = 0; i < 3; i++)
		for (p = 0; p < 4; p++)
			t[4 * i + p] = (int64_t)(100 * i + 2 * p) * MS + lead_ms[host[p]] * MS;
	if (!there_and_back)
		for (i = 0; i < 3; i++)
			t[4 * i] = NEVER;
	nw_lines_clocks(&l, clocks);
	CHECK_INT(nw_lines_wrong(&l, clocks, out, &n), NW_OK);
	return n;
}

static void
test_wrong_clocks(void)
{
	static const struct {
		int64_t lead_ms[3];
		double bound[3];
		bool back;
		size_t n;
		uint32_t host, against;
		double low_s, high_s;
	} cases[] = {
		{ { 0, 0, 0 }, { NAN, NAN, NAN }, true, 0, 0, 0, 0, 0 },
		{ { 0, 0, -9 }, { NAN, NAN, NAN }, true, 1, 2, 0, -0.011, -0.005 },
		{ { 0, 9, 0 }, { 0.001, 0.001, 0.001 }, true, 1, 1, 0, 0.005, 0.011 },
		{ { 0, 9, 0 }, { 0.001, 0.004, 0.001 }, true, 0, 0, 0, 0, 0 },
		{ { 9, 0, 0 }, { NAN, NAN, NAN }, true, 1, 0, NW_LINE_ANY, 0.007, 0.011 },
		{ { 0, 9, -9 }, { NAN, NAN, NAN }, true, 2, 1, 0, 0.005, 0.011 },
		{ { 0, 9, 0 }, { NAN, NAN, NAN }, false, 1, 1, 0, 0.005, INFINITY },
		{ { 0, -9, 0 }, { NAN, NAN, NAN }, false, 0, 0, 0, 0, 0 },
	};
	struct nw_line_wrong wrong[3];
	size_t i, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n = wrong_of(cases[i].lead_ms, cases[i].bound, cases[i].back, wrong);
		CHECK_INT(n, cases[i].n);
		if (n == 0 || n != cases[i].n)
			continue;
		CHECK_INT(wrong[0].host, cases[i].host);
		CHECK_INT(wrong[0].against, cases[i].against);
		CHECK_NEAR(wrong[0].low_s, cases[i].low_s, 1e-9, 0);
		if (isfinite(cases[i].high_s))
			CHECK_NEAR(wrong[0].high_s, cases[i].high_s, 1e-9, 0);
		else
			CHECK(isinf(wrong[0].high_s));
	}
}

/* Requests from host 0 over hosts 1 and 2 and back, 4 ms on the way, 10 a second for 100 s. Each
 * host's lead grows from a first value by a rate in ppm; at half time host 1 is set by step_ms. */
static size_t
drift_of(const double *lead_ms, const double *ppm, double step_ms, const double *bound,
    struct nw_line_wrong *out)
{
	enum { N = 1000 };
	static int64_t t[4 * N];
	static uint32_t lane[N];
	static const uint32_t host[] = { 0, 1, 2, 0 };
	struct nw_line_clock clocks[3];
	struct nw_lines l = lines_of(t, N, 4, 1, lane, host, bound, 3);
	size_t i, p, n;

	for (i = 0; i < N; i++)
		for (p = 0; p < 4; p++) {
			double at = 0.1 * (double)i + 0.002 * (double)p,
			       lead = 1e-3 * lead_ms[host[p]] + 1e-6 * ppm[host[p]] * at +
			    (host[p] == 1 && i >= N / 2 ? 1e-3 * step_ms : 0);

			t[4 * i + p] =
			    1700000000 * INT64_C(1000000000) + llround((at + lead) * 1e9);
		}
	nw_lines_clocks(&l, clocks);
	CHECK_INT(nw_lines_wrong(&l, clocks, out, &n), NW_OK);
	return n;
}

static void
test_drifts(void)
{
	static const double none[] = { NAN, NAN, NAN }, known[] = { 0.001, 0.02, 0.001 };
	static const struct {
		double lead_ms[3], ppm[3], step_ms;
		const double *bound;
		size_t n;
		uint32_t host, against;
		double low_s, end_low_s, rate; /* of the planted lead, and its rate in ppm */
	} cases[] = {
		{ { 0, -5, 0 }, { 0, 100, 0 }, 0, none, 1, 1, 0, -0.005, 0.005, 100 },
		{ { 0, 0, 8 }, { 0, 0, -150 }, 0, none, 1, 2, 0, 0.008, -0.007, -150 },
		{ { 0, -5, 0 }, { 0, 100, 0 }, 0, known, 0, 0, 0, 0, 0, 0 },
		{ { 5, 0, 0 }, { -100, 0, 0 }, 0, none, 1, 0, NW_LINE_ANY, 0.005, -0.005, -100 },
		/* a drift that a constant lead explains, too */
		{ { 0, 1, 0 }, { 0, 20, 0 }, 0, none, 0, 0, 0, 0, 0, 0 },
		/* no steady rate */
		{ { 0, 0, 0 }, { 0, 0, 0 }, 30, none, 1, 1, 0, NAN, NAN, 0 },
	};
	struct nw_line_wrong w[3];
	size_t i, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n = drift_of(cases[i].lead_ms, cases[i].ppm, cases[i].step_ms, cases[i].bound, w);
		CHECK_INT(n, cases[i].n);
		if (n == 0 || n != cases[i].n)
			continue;
		CHECK_INT(w[0].host, cases[i].host);
		CHECK_INT(w[0].against, cases[i].against);
		if (isnan(cases[i].low_s)) {
			CHECK_NEAR(w[0].moved_s, 0.022, 1e-6, 0); /* 24 less two ticks */
			continue;
		}
		CHECK_NEAR(w[0].moved_s, 0, 0, 0);
		CHECK(w[0].low_s <= cases[i].low_s && w[0].high_s >= cases[i].low_s);
		CHECK(w[0].end_low_s <= cases[i].end_low_s + 1e-6 &&
		    w[0].end_high_s >= cases[i].end_low_s - 1e-6);
		CHECK(
		    w[0].rate_low * 1e6 <= cases[i].rate && w[0].rate_high * 1e6 >= cases[i].rate);
		CHECK_NEAR(w[0].rate * 1e6, cases[i].rate, 0.2, 0);
		CHECK_NEAR(
		    nw_line_wrong_lead(&w[0], w[0].from_ns), cases[i].low_s, 0, w[0].error_s);
		CHECK_NEAR(nw_line_wrong_lead(&w[0], w[0].to_ns), cases[i].end_low_s, 0,
		    w[0].error_s + 1e-6);
		CHECK(w[0].error_s > 0 && w[0].error_s < 0.01);
	}
}

/* Blocks arrive every millisecond, but nothing does from 100 to 160 ms, and again later. */
static void
test_stalls(void)
{
	enum { N = 300 };
	static int64_t t[N * 2];
	static const uint32_t lane[N], host[2] = { 0, 1 };
	static const double bound[2];
	struct nw_lines l = lines_of(t, N, 2, 1, lane, host, bound, 2);
	struct nw_line_stall *stall;
	struct nw_line_with with;
	int64_t retransmits[] = { 120 * MS, 130 * MS, 250 * MS };
	size_t i, n;

	for (i = 0; i < N; i++) {
		t[2 * i] = (int64_t)i * MS;
		t[2 * i + 1] = t[2 * i] + 2 * MS + (int64_t)(i % 7) * 10000;
		if (i >= 98 && i < 158)
			t[2 * i + 1] = 160 * MS + (int64_t)(i - 98) * 10000;
	}
	CHECK_INT(nw_lines_segments(&l, &segments), NW_OK);
	CHECK_INT(nw_lines_stalls(&l, &segments.segment[0], &stall, &n), NW_OK);
	CHECK_INT(n, 1);
	if (n == 1) {
		CHECK_NEAR((double)stall[0].blocked_ns, 99e6, 0, 1e6);
		CHECK_INT(stall[0].unblocked_ns, 160 * MS);
		CHECK_INT(stall[0].waiting, 62);
		CHECK_NEAR(stall[0].excess_s, 0.060, 0, 0.0002);
		CHECK_INT(nw_lines_with(retransmits, 3, &stall[0].blocked_ns,
			      &stall[0].unblocked_ns, 1, 0, 300 * MS, &with),
		    NW_OK);
		CHECK_INT(with.n_within, 2);
		CHECK_NEAR(with.expected, 0.61, 0.02, 0);
		CHECK_NEAR(with.p, 0.107, 0.05, 0);
	}
	free(stall);
}

static void
look(const struct sim *m)
{
	struct sim_lines s;

	sim_run(m, &s);
	CHECK_INT(nw_lines_segments(&s.lines, &segments), NW_OK);
	CHECK_INT(nw_lines_find(&s.lines, &segments, &found), NW_OK);
	sim_free(&s);
}

/* A delay of known place and size is named, and its size is right within a tenth; share of excess
 * is highest there. Nothing is named where nothing is planted. */
static void
test_plants(void)
{
	struct sim m = { .lists = 60,
		.blocks = 30,
		.servers = 3,
		.period_s = 0.4,
		.queues = true,
		.share = 0.05,
		.size_s = 0.1 };
	size_t i;

	for (m.place = 0; m.place < SIM_PLACES; m.place++) {
		look(&m);
		if (m.place == SIM_NOWHERE) {
			CHECK_INT(found.n, 0);
			continue;
		}
		CHECK(found.n > 0);
		CHECK_INT(found.finding[0].from, sim_from(m.place));
		CHECK_NEAR(found.finding[0].size_s, 0.1, 0.1, 0);
		if (m.place == SIM_DISK)
			continue; /* the queue before the disk has the most */
		for (i = 0; i < segments.n; i++)
			if (segments.segment[i].from == sim_from(m.place))
				CHECK(segments.segment[i].excess_share > 0.5 &&
				    segments.segment[i].excess_low <=
					segments.segment[i].excess_share);
	}
	m = (struct sim){ .lists = 60,
		.blocks = 30,
		.servers = 3,
		.period_s = 0.4,
		.queues = true,
		.place = SIM_DISK,
		.who = SIM_SERVER,
		.size_s = 0.03 };
	look(&m);
	CHECK(
	    found.n == 1 && found.finding[0].lane == 1 && found.finding[0].from == SIM_START_READ);
}

/* A longer way into a queue from the last third of the run on: waits of all lengths before and
 * after, without a valley between them; the step is found, with its size and its time. */
static void
test_step(void)
{
	struct sim m = { .lists = 60,
		.blocks = 30,
		.servers = 3,
		.period_s = 0.4,
		.queues = true,
		.place = SIM_CPU,
		.who = SIM_LATER,
		.share = 0.3,
		.size_s = 0.03 };

	look(&m);
	CHECK(found.n > 0 && found.finding[0].kind == NW_LINE_STEP);
	CHECK_INT(found.finding[0].from, SIM_SERV_IN);
	CHECK_INT(found.finding[0].lane, NW_LINE_ANY);
	CHECK_NEAR(found.finding[0].size_s, 0.03, 0.15, 0);
	CHECK_NEAR(found.finding[0].share, 0.3, 0.25, 0);
	CHECK(found.finding[0].size_low_s < 0.03 && found.finding[0].size_high_s > 0.027);
	m.place = SIM_NOWHERE;
	look(&m);
	CHECK_INT(found.n, 0);
}

/* A server stands still once, for longer than lines take otherwise: told, with place and length. */
static void
once_of(double size_s, double share)
{
	struct sim m = { .lists = 60,
		.blocks = 30,
		.servers = 3,
		.period_s = 0.4,
		.queues = true,
		.place = SIM_LOSS,
		.who = SIM_ONCE,
		.size_s = size_s };
	const struct nw_line_finding *f = &found.finding[0];

	for (; m.place >= SIM_DISK; m.place = m.place == SIM_LOSS ? SIM_DISK : SIM_NOWHERE) {
		look(&m);
		CHECK(found.n > 0 && f->kind == NW_LINE_STALL);
		CHECK_INT(f->n_moments, 1);
		CHECK_INT(f->from, sim_from(m.place));
		CHECK_INT(f->lane, 1);
		CHECK_NEAR(f->cost_s, size_s, 0.1, 0);
		CHECK(f->share >= share);
	}
	look(&m);
	CHECK_INT(found.n, 0);
}

static void
test_once(void)
{
	once_of(1.5, 0.75);
	once_of(0.7, 0.5);
}

/* Times of hostile logs: nothing overflows. */
static void
test_extremes(void)
{
	enum { N = 40 };
	static int64_t t[N * 2];
	static const uint32_t lane[N], host[2];
	static const double bound[1];
	struct nw_lines l = lines_of(t, N, 2, 1, lane, host, bound, 1);
	struct nw_line_stall *stall;
	size_t i, n;

	for (i = 0; i < N; i++) {
		t[2 * i] = i % 2 == 0 ? INT64_MIN + 1 : INT64_MAX;
		t[2 * i + 1] = i % 3 == 0 ? INT64_MIN + 1 : INT64_MAX;
	}
	CHECK_INT(nw_lines_segments(&l, &segments), NW_OK);
	CHECK_INT(nw_lines_find(&l, &segments, &found), NW_OK);
	CHECK_INT(nw_lines_stalls(&l, &segments.segment[0], &stall, &n), NW_OK);
	free(stall);
	l.n = 0;
	CHECK_INT(nw_lines_segments(&l, &segments), NW_OK);
	CHECK_INT(segments.n, 0);
	CHECK_INT(nw_lines_find(&l, &segments, &found), NW_OK);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 7);
	test_path();
	test_segments();
	test_orders();
	test_wrong_clocks();
	test_drifts();
	test_stalls();
	test_plants();
	test_step();
	test_once();
	test_extremes();
	return check_done("lifeline");
}
