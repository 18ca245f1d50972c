/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts of the host as metrics, by the names of node_exporter: system, distribution and the limits
 * of sockets. Archives of perfSONAR take a host's name and system from these lines, and its
 * dashboard of hosts draws the limits.
 */
#ifndef BLIPP_HOSTINFO_H
#define BLIPP_HOSTINFO_H

#include <stdio.h>

/* Unknown facts have no line. */
void hostinfo_write(FILE *to);

#endif
