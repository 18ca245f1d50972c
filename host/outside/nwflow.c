/* SPDX-License-Identifier: BSD-3-Clause */
/* nwflow: measures transfers from outside the programs that make them. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/outside/attach.h"

static void
usage(FILE *to)
{
	fputs("usage: nwflow [-qVv] [-b box] [-H host] [-i seconds] [-n name] [-t task] -p pid | "
	      "-g cgroup | -u unit\n",
	    to);
}

int
main(int argc, char *argv[])
{
	struct attach_opts o = { .ready_fd = -1, .run.final_wait_ns = 5 * INT64_C(1000000000) };
	struct collect_opts *c = &o.run.collect;
	int ch;

	o.run.box = getenv("NARROWS_BOX");
	c->task_id = getenv("NARROWS_TASK");
	c->host = getenv("NARROWS_HOST");
	o.run.report_path = getenv("NWRUN_REPORT");
	while ((ch = getopt(argc, argv, "b:g:H:hi:n:p:qR:t:u:Vv")) != -1) {
		switch (ch) {
		case 'b': o.run.box = optarg; break;
		case 'g': o.group = optarg; break;
		case 'H': c->host = optarg; break;
		case 'i': c->interval_ns = (int64_t)(strtod(optarg, NULL) * 1e9); break;
		case 'n': c->program = optarg; break;
		case 'p': o.pid = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 'q': o.quiet = true; break;
		case 'R': o.ready_fd = atoi(optarg); break;
		case 't': c->task_id = optarg; break;
		case 'u': o.unit = optarg; break;
		case 'V': puts("nwflow " NW_VERSION); return 0;
		case 'v': o.verbose = true; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 125;
		}
	}
	if (optind != argc || (o.pid != 0) + (o.group != NULL) + (o.unit != NULL) != 1) {
		usage(stderr);
		return 125;
	}
	return attach_run(&o);
}
