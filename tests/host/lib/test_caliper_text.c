/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows as NetLogger text, and the lines of a program that says no more than NL_FILE. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/caliper.h"
#include "narrows/err.h"
#include "tests/check.h"

#define MS INT64_C(1000000)

static void
test_line(void)
{
	static const char want[] =
	    "ts=2012-03-21T17:04:11.250334Z event=nl.read v.sum=300 v.min=100 v.max=200 v.mean=150 "
	    "v.sd=70.7106781 r.sum=3 r.min=1 r.max=2 r.mean=1.5 r.sd=-1 g.sum=3 g.min=1 g.max=2 "
	    "g.mean=1.5 g.sd=-1 d.sum=5e-07 d.min=1e-07 d.max=4e-07 d.mean=2.5e-07 "
	    "d.sd=2.12132034e-07 count=2 dur=0.000001000 dur.i=0.000000500\n";
	const struct nw_caliper_window w = { .n = 2,
		.n_rate = 1,
		.v = { 300, 100, 200, 150, 5000 },
		.d = { 500, 100, 400, 250, 45000 },
		.r = { 3, 1, 2, 1.5, 0.5 },
		.g = { 3, 1, 2, 1.5, 0.5 },
		.first_begin_mono_ns = 1000,
		.last_end_mono_ns = 2000 };
	char line[2048];
	size_t cap;

	CHECK_INT(nw_caliper_text(line, sizeof(line), "nl.read", 1332349451250334999, &w),
	    sizeof(want) - 1);
	CHECK_STR(line, want);
	for (cap = 1; cap < sizeof(want); cap++)
		CHECK_INT(nw_caliper_text(line, cap, "nl.read", 1332349451250334999, &w), 0);
}

static void
test_log(void)
{
	char path[] = "/tmp/test_caliper_text.XXXXXX", line[2048];
	int fd = mkstemp(path), lines = 0;
	struct nw_caliper *c;
	int64_t now = 1000 * MS;
	FILE *f;

	close(fd);
	setenv("NL_FILE", path, 1);
	setenv("NL_INTERVAL", "0.5", 1);
	CHECK_INT(nw_caliper_new(&c), NW_OK);
	for (; now < 2600 * MS; now += 10 * MS) {
		nw_caliper_begin(c, now);
		nw_caliper_end(c, 100, now + MS);
		if (nw_caliper_log(c, "x", now + MS) == NW_OK)
			lines++;
	}
	CHECK_INT(lines, 3); /* at 1.5, 2.0 and 2.5 s */
	nw_caliper_free(c);
	lines++; /* the rest */
	CHECK_INT(nw_caliper_new(&c), NW_OK);
	CHECK_INT(nw_caliper_log(c, "x", now), NW_EAGAIN);
	nw_caliper_free(c); /* nothing happened, nothing is said */
	CHECK((f = fopen(path, "r")) != NULL);
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		lines--;
		CHECK(strncmp(line, "ts=", 3) == 0 && strstr(line, " event=x ") != NULL &&
		    strstr(line, " v.mean=100 ") != NULL);
	}
	CHECK_INT(lines, 0);
	fclose(f);
	unlink(path);
}

int
main(void)
{
	test_line();
	test_log();
	return check_done("caliper_text");
}
