/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes by name and control groups: texts of the kernel, and of this process itself. */
#include "host/blipp/probe/probe.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"

static void
test_stat(void)
{
	static const char *const broken[] = { "", "1", "1 (a", "1 (a) R 1 2", ") 1 (" };
	char comm[16], text[1024] = "";
	uint64_t started;
	double v[4], used;
	struct rusage u;
	FILE *f = fopen("/proc/self/stat", "r");
	size_t i;

	CHECK(f != NULL && fgets(text, sizeof(text), f) != NULL);
	fclose(f);
	CHECK(process_parse(text, comm, &started, v));
	CHECK_STR(comm, "test_probe_proc");
	getrusage(RUSAGE_SELF, &u);
	used = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
	CHECK_NEAR(v[0] + v[1], used, 0, 0.05);
	CHECK(v[2] > 100000 && v[3] == 1 && started > 0);
	CHECK(process_parse(
	    "7 (a) b) R 1 1 1 0 -1 4 1 0 0 0 100 50 0 0 20 0 3 0 77 1 5 0", comm, &started, v));
	CHECK_STR(comm, "a) b");
	CHECK(started == 77 && v[3] == 3);
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		CHECK(!process_parse(broken[i], comm, &started, v));
}

static void
test_cgroup(void)
{
	static const char v2[] = "usage_usec 1500000\nuser_usec 1\nnr_throttled 3\n";
	static const char io[] = "8:0 rbytes=100 wbytes=5 rios=1\n8:16 rbytes=20 wbytes=6\n";
	static const char blkio[] = "8:0 Read 4096\n8:0 Write 10\n8:16 Read 4\nTotal 9\n";

	CHECK_NEAR(cgroup_number(v2, "usage_usec"), 1500000, 0, 0);
	CHECK(isnan(cgroup_number(v2, "usec")));
	CHECK_NEAR(cgroup_number(io, "rbytes"), 120, 0, 0);
	CHECK_NEAR(cgroup_number(io, "wbytes"), 11, 0, 0);
	CHECK_NEAR(cgroup_number(blkio, "Read"), 4100, 0, 0);
	CHECK_NEAR(cgroup_number("42\n", NULL), 42, 0, 0);
	CHECK(isnan(cgroup_number("max\n", NULL)) && isnan(cgroup_number("", "Read")));
}

/* Values of the last sample of a program. */
static int
keep(struct report *r, const struct series *s, const struct series_kind *kind, const double *values)
{
	(void)s;
	memcpy(r->out_arg, values, kind->n_fields * sizeof(double));
	return NW_OK;
}

/* A child of this name works and ends: its time stays in the sum. */
static void
test_end(void)
{
	double values[16], running;
	struct report r = { .out = keep, .out_arg = values, .programs = "test_probe_proc" };
	void *state = calloc(1, probe_process.state_bytes);
	volatile unsigned long n = 0;
	struct procfs_buf buf = { 0 };
	int go[2];
	pid_t child;
	char c;

	CHECK(state != NULL && pipe(go) == 0);
	if ((child = fork()) == 0) {
		while (n < 300000000)
			n++;
		c = write(go[1], "x", 1) == 1;
		pause();
		_exit(c);
	}
	CHECK(read(go[0], &c, 1) == 1);
	CHECK_INT(probe_process.sample(state, &r, &buf), NW_OK);
	CHECK_NEAR(values[7], 2, 0, 0);
	running = values[0] + values[1];
	CHECK(running > 0.05);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK_INT(probe_process.sample(state, &r, &buf), NW_OK);
	CHECK_NEAR(values[7], 1, 0, 0);
	CHECK(values[0] + values[1] >= running);
	probe_process.clear(state);
	free(state);
	close(go[0]);
	close(go[1]);
}

int
main(void)
{
	test_stat();
	test_cgroup();
	test_end();
	return check_done("test_probe_process");
}
