/* SPDX-License-Identifier: BSD-3-Clause */
/* A run that is measured from outside: processes that run already, until they end or nobody wants
 * to watch them any more. The processes are never stopped and never notice. */
#ifndef HOST_OUTSIDE_ATTACH_H
#define HOST_OUTSIDE_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "host/nwrun/collect_run.h"

struct attach_opts {
	uint32_t pid;      /* with all processes below; 0: none */
	const char *group; /* a control group: its directory; NULL: none */
	const char *unit;  /* a unit of the service manager; NULL: none */
	/* connections to other addresses do not count; NULL: all do */
	const struct net_addr *only_peer;
	bool quiet, verbose;
	int ready_fd; /* gets a byte when the watching has begun; -1: none */
	struct collect_run_opts run;
};

/* Returns the program's exit status. */
int attach_run(struct attach_opts *o);

#endif
