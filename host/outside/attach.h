/* SPDX-License-Identifier: BSD-3-Clause */
/* A run that is measured from outside: processes that run already, until they end or the watch is
 * ended. The processes are never stopped and never notice. */
#ifndef HOST_OUTSIDE_ATTACH_H
#define HOST_OUTSIDE_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "host/nwrun/collect/collect_run.h"
#include "host/outside/trace.h"

/* Parts that are ready before the process to watch is known. */
struct attach_ready {
	struct region region;
	struct trace *trace;
};

struct attach_opts {
	struct attach_ready *ready; /* NULL: attach_run() makes its own */
	uint32_t pid;               /* with all processes below; 0: none */
	const char *group;          /* a control group: its directory; NULL: none */
	const char *unit;           /* a unit of the service manager; NULL: none */
	/* connections to other addresses do not count; NULL: all do */
	const struct net_addr *only_peer;
	bool quiet, verbose;
	int ready_fd; /* gets a byte when the watching has begun; -1: none */
	struct collect_run_opts run;
};

/* Text on failure. */
const char *attach_prepare(struct attach_ready *r);
void attach_ready_clear(struct attach_ready *r);
/* Returns the program's exit status. Clears o->ready. */
int attach_run(struct attach_opts *o);

#endif
