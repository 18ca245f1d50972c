/* SPDX-License-Identifier: BSD-3-Clause */
/* Durations out of a cell's files: of all threads, without errors, by the state of their pages. */
#include "host/iomodel/durations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"

static char folder[] = "/tmp/test_durations.XXXXXX";

static void
file_write(const char *name, const char *text)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if ((f = fopen(path, "w")) == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static void
file_remove(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
}

static void
test_keep(void)
{
	static const struct {
		enum durations_keep keep;
		unsigned n;
		double sum_s;
	} cases[] = { { KEEP_ALL, 5, 1.511e-3 }, { KEEP_IN_MEMORY, 2, 0.011e-3 },
		{ KEEP_NOT_IN_MEMORY, 2, 1e-3 } };
	static struct durations d;
	size_t i;

	file_write("out-0.csv",
	    "start_time,duration,size,offset,op,error,cached\n"
	    "0.1,0.000001,4096,0,read,0,1\n"
	    "0.2,0.000900,4096,0,read,0,0.5\n"
	    "0.3,0.000500,4096,0,read,0,\n"
	    "0.4,7,4096,0,read,5,1\n"
	    "0.5,-1,4096,0,read,0,1\n"
	    "rubbish\n");
	file_write("out-1.csv", "0.1,0.00001,4096,0,read,0,1\n0.2,0.0001,4096,0,read,0,0");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&d, 0, sizeof(d));
		CHECK_INT(durations_add(&d, folder, cases[i].keep), NW_OK);
		CHECK_INT(d.n, cases[i].n);
		CHECK_NEAR(d.sum_s, cases[i].sum_s, 0, 1e-12);
	}
	CHECK_INT(d.counts[nw_hist_index(900000)], 1);
	CHECK_INT(durations_add(&d, "/no/such/folder", KEEP_ALL), NW_ENOTFOUND);
}

int
main(void)
{
	if (mkdtemp(folder) == NULL)
		abort();
	test_keep();
	file_remove("out-0.csv");
	file_remove("out-1.csv");
	rmdir(folder);
	return check_done("durations");
}
