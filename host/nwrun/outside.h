/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring from outside is the work of nwflow(8), which needs the right to watch system calls. */
#ifndef HOST_NWRUN_OUTSIDE_H
#define HOST_NWRUN_OUTSIDE_H

#include <stdbool.h>

#include "host/nwrun/collect/collect_run.h"

struct outside_opts {
	const char *pid, *cgroup, *unit; /* two of the three are NULL */
	bool verbose, quiet;
	const struct collect_run_opts *run;
};

/* Becomes nwflow; returns a reason when nwflow cannot be run. */
const char *outside_become(const struct outside_opts *o);
/* Has nwflow watch this process, and the program that this process becomes, and waits until nwflow
 * does. Text on failure. */
const char *outside_start(const struct outside_opts *o);

#endif
