/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user's wishes of the kernel's events: points, filters, sampling. Every command with a question
 * to the kernel has the same options, and a running owner takes the same lines over its socket.
 */
#ifndef MAGNET_SELECTION_H
#define MAGNET_SELECTION_H

#include <stdint.h>

#include "host/magnet/magnet_kernel.h"

/*
 * Carries out one line: "on POINTS", "off POINTS" (names of points or layers with commas, or
 * "all"), "filter KIND VALUE" (cpu, id, cgroup, netns, port, pid, flow; a port, or SPORT:DPORT),
 * "filter KIND none", "sample N" (one in N), "every MS", "watermark BYTES", "add NAME PLACE
 * [FIELD ...]", "remove NAME". NW_EINVAL with the reason in why if the line cannot be
 * understood, NW_EUNSUPPORTED if the kernel refuses.
 */
int selection_line(struct kernel *k, const char *line, char why[KERNEL_WHY_BYTES]);

/* The same from an option of the command line: 'a' NAME PLACE [FIELD ...], 'p' POINTS, 'f'
 * KIND=VALUE, 's' N, 'e' MS. */
int selection_option(struct kernel *k, int option, const char *value, char why[KERNEL_WHY_BYTES]);

/* Points that are on. */
int selection_points_on(struct kernel *k);

/* The id of the control group at PATH; 0 when unknown. */
uint64_t cgroup_id(const char *path);
/* The id of a process's control group of version 2; 0 when unknown. */
uint64_t cgroup_of_process(const char *pid);

#endif
