/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts of the host as metrics, by the names of node_exporter: system, distribution and the limits
 * of sockets, types of interfaces, and what processors took from interfaces. Archives of perfSONAR
 * take a host's name and system from these lines, and its dashboard of hosts draws the rest.
 */
#ifndef BLIPP_HOSTINFO_H
#define BLIPP_HOSTINFO_H

#include <stdbool.h>
#include <stdio.h>

/* Unknown facts have no line. classic: as in scrape.h. */
void hostinfo_write(bool classic, FILE *to);

#endif
