/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way from nwrun to its collector. The collector stands in a library of its own, with the
 * libraries for documents and encryption below: loading those takes longer than the rest of nwrun,
 * and would delay every program. In a nwrun without shared libraries the collector is inside.
 */
#ifndef HOST_COLLECTOR_H
#define HOST_COLLECTOR_H

#include "host/nwrun/collect/collect_run.h"

/* Finds the library in the directory of nwrun.so, whose path is given. Text on failure. */
const char *collector_find(const char *preload_path);

/* In the collector's process: becomes the collector; returns when the process should exit. Words
 * on a failure go to notice_fd. */
void collector_run(struct region *region, const struct collect_run_opts *opts);

#endif
