/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/stat: shares of an interval that sum to 1, with guests, with counters that step back, with
 * cores that go. */
#include "host/blipp/probe/probe.h"

#include "tests/check.h"
#include "narrows/err.h"

#define PARSE(s, text) cpu_parse(scan_text(text, strlen(text)), s)

static const char before_text[] = "cpu  1000 100 300 8000 200 10 20 30 400 50\n"
				  "cpu0 500 50 150 4000 100 5 10 15 200 25\n"
				  "cpu1 500 50 150 4000 100 5 10 15 200 25\n"
				  "intr 123456 0 9 0 0\n"
				  "ctxt 777\nbtime 1700000000\nprocesses 4242\nprocs_running "
				  "3\nprocs_blocked 1\nsoftirq 99 1 2 3\n";
static const char after_text[] =
    "cpu  1100 110 340 8100 250 15 25 40 440 52\n"
    "cpu0 590 60 190 4000 100 10 15 25 240 27\n"
    "cpu1 510 50 150 4100 150 5 10 15 200 25\n"
    "intr 123556 0 9 0 0\nctxt 877\nprocesses 4243\nprocs_running 1\nprocs_blocked 0\n";

static double
sum_of(const double shares[CPU_FIELDS])
{
	double sum = 0;
	int i;

	for (i = 0; i < CPU_FIELDS; i++)
		sum += shares[i];
	return sum;
}

static void
test_shares(void)
{
	struct cpu_stat before = { 0 }, after = { 0 };
	double s[CPU_FIELDS];

	CHECK_INT(PARSE(&before, before_text), NW_OK);
	CHECK_INT(PARSE(&after, after_text), NW_OK);
	CHECK_INT(before.interrupts, 123456);
	CHECK_INT(before.context_switches, 777);
	CHECK_INT(before.forks, 4242);
	CHECK_INT(before.running, 3);
	CHECK_INT(before.blocked, 1);
	CHECK_INT(before.n_cores, 2);
	CHECK(cpu_shares(&before.times, &after.times, s));
	/* 100 user of which 40 guest, 10 nice of which 2: 320 ticks in all */
	CHECK_NEAR(s[CPU_USER], 60.0 / 320, 1e-12, 0);
	CHECK_NEAR(s[CPU_GUEST], 40.0 / 320, 1e-12, 0);
	CHECK_NEAR(s[CPU_NICE], 8.0 / 320, 1e-12, 0);
	CHECK_NEAR(s[CPU_GUEST_NICE], 2.0 / 320, 1e-12, 0);
	CHECK_NEAR(s[CPU_IDLE], 100.0 / 320, 1e-12, 0);
	CHECK_NEAR(s[CPU_STEAL], 10.0 / 320, 1e-12, 0);
	CHECK_NEAR(sum_of(s), 1, 1e-12, 0);
	CHECK_NEAR(cpu_busiest(&before, &after), 1, 1e-12, 0); /* cpu0 had no idle tick */
	CHECK(!cpu_shares(&before.times, &before.times, s));
	CHECK(isnan(cpu_busiest(&before, &before)));
	free(before.cores);
	free(after.cores);
}

/* iowait is a guess of the kernel and may shrink; a core may go off line. */
static void
test_odd(void)
{
	struct cpu_stat before = { 0 }, after = { 0 };
	double s[CPU_FIELDS];

	CHECK_INT(
	    PARSE(&before,
		"cpu 10 0 10 100 50 0 0 0 0 0\ncpu0 5 0 5 50 25 0 0 0\ncpu1 5 0 5 50 25 0 0 0\n"),
	    NW_OK);
	CHECK_INT(PARSE(&after, "cpu 20 0 10 110 40 0 0 0 0 0\ncpu0 15 0 5 60 25 0 0 0\n"), NW_OK);
	CHECK(cpu_shares(&before.times, &after.times, s));
	CHECK_NEAR(sum_of(s), 1, 1e-12, 0);
	CHECK_NEAR(s[CPU_IOWAIT], 0, 0, 0);
	CHECK_NEAR(s[CPU_USER], 0.5, 1e-12, 0);
	CHECK_NEAR(cpu_busiest(&before, &after), 0.5, 1e-12, 0);
	CHECK_INT(
	    PARSE(&before, "cpu 30 0 10 120 40 0 0 0 0 0\ncpu1 500 0 5 50 25 0 0 0\n"), NW_OK);
	CHECK(isnan(cpu_busiest(&after, &before)));            /* no core seen both times */
	CHECK_INT(PARSE(&before, "cpu 10 0 10 100\n"), NW_OK); /* Linux 2.4 had four */
	CHECK_INT(before.times.ticks[CPU_STEAL], 0);
	CHECK_INT(PARSE(&before, ""), NW_EPROTO);
	CHECK_INT(PARSE(&before, "cpu 1 2 3\n"), NW_EPROTO);
	CHECK_INT(PARSE(&before, "cpux 1 2 3 4 5\ncpu 1 2 3 4"), NW_EPROTO);
	CHECK_INT(PARSE(&before, "ctxt 5\n"), NW_EPROTO);
	CHECK_INT(PARSE(&before, "cpu 1 2 3 4\ncpu99999999 1 2 3 4\ncpu4095 1 1 1 1\n"), NW_OK);
	CHECK_INT(before.n_cores, 4096);
	free(before.cores);
	free(after.cores);
}

/* Two processors: blipp itself does not count among those that run. */
static void
test_available(void)
{
	static const struct {
		uint64_t running;
		double idle, share_running, share_new;
	} cases[] = { { 0, 1, 1, 1 }, { 1, 1, 1, 1 }, { 2, 0.5, 1, 1 }, { 3, 0, 1, 2 / 3.0 },
		{ 5, 0, 0.5, 0.4 }, { 5, 0.4, 0.5, 0.8 }, { 5, NAN, 0.5, 0.4 },
		{ 9, 0.9, 0.25, 1 } };
	struct cpu_stat s = { .n_cores = 2 };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s.running = cases[i].running;
		CHECK_NEAR(cpu_share_running(&s), cases[i].share_running, 1e-12, 0);
		CHECK_NEAR(cpu_share_new(&s, cases[i].idle), cases[i].share_new, 1e-12, 0);
	}
}

int
main(void)
{
	test_shares();
	test_odd();
	test_available();
	return check_done("probe_cpu");
}
