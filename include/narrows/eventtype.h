/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event types: the names of kinds of series, as metadata carry them and orders choose them. A name
 * that ends in ':' is a family; what follows is the member. Programs of hosts send by these names,
 * the box finds the series by them, and the store's table of fields knows units by them.
 */
#ifndef NARROWS_EVENTTYPE_H
#define NARROWS_EVENTTYPE_H

#include <stdbool.h>
#include <string.h>

#include "narrows/eventtype.h"

/* The three families. */
#define NW_TYPE_HOST    "ps:" /* what a host does, with or without transfers */
#define NW_TYPE_RUN     "nw:" /* what a measured program does, and what the box measures of hosts */
#define NW_TYPE_CALIPER "nl:" /* calipers of NetLogger, and its imported events */

/* Original names: calipers of the first generation, transfers of the original XSP clients. */
#define NW_TYPE_CALIPER_OLD "nl."
#define NW_TYPE_XFER        "xfer"

/* Caliper summaries: the operation follows. */
#define NW_TYPE_SUMMARY NW_TYPE_CALIPER "tools:calipers:summary:"

/* Programs under nwrun or nwflow. */
#define NW_TYPE_PROCESS    NW_TYPE_RUN "process"
#define NW_TYPE_FILE       NW_TYPE_RUN "file"
#define NW_TYPE_CONNECTION NW_TYPE_RUN "connection"
#define NW_TYPE_PIPE       NW_TYPE_RUN "pipe"      /* or local socket, of a process */
#define NW_TYPE_STEPS      NW_TYPE_RUN "steps"     /* of a process's loop */
#define NW_TYPE_ANNOUNCED  NW_TYPE_RUN "announced" /* of a flow, by its own program */
#define NW_TYPE_CELLS      NW_TYPE_RUN "cells:" /* histograms by size and duration: read, write */
/* in the resource of NW_TYPE_FILE, before a process: all small files that the process wrote */
#define NW_SMALL_FILES_OF "small files of process "

/* Of the box: a host's clock beside the box's, and the cost of a collector. */
#define NW_TYPE_EXCHANGE NW_TYPE_RUN "clock"
/* in the subject of NW_TYPE_EXCHANGE: the clock of one sender alone (daemon/hostclock.h) */
#define NW_CLOCK_OF_SENDER "sender"
#define NW_TYPE_COLLECTOR  NW_TYPE_RUN "collector"
/* Of a host at the box of another site: the larger bound of the clocks of both boxes. */
#define NW_TYPE_BOXES NW_TYPE_EXCHANGE ":boxes"

/* Of hosts: a followed connection, the kernel's events, the configuration, a switch's port, and
 * the model of a device. */
#define NW_TYPE_TCP      NW_TYPE_HOST "host:tcp"
#define NW_TYPE_KERNEL   NW_TYPE_HOST "host:kernel"
#define NW_TYPE_CONFIG   NW_TYPE_HOST "host:config"
#define NW_TYPE_PORT     NW_TYPE_HOST "switch:port"
#define NW_TYPE_BASELINE NW_TYPE_HOST "tools:iomodel:baseline:" /* read, write */

/* Types sent by blipp under the names of the original BLiPP, and types that the box reads. */
#define NW_TYPE_BLIPP     NW_TYPE_HOST "tools:blipp:linux:"
#define NW_TYPE_CPU       NW_TYPE_BLIPP "cpu:utilization"
#define NW_TYPE_DISK      NW_TYPE_BLIPP "disk:"
#define NW_TYPE_MEMORY    NW_TYPE_BLIPP "memory:utilization"
#define NW_TYPE_QDISC     NW_TYPE_BLIPP "network:qdisc"
#define NW_TYPE_NETWORK   NW_TYPE_BLIPP "network:utilization"
#define NW_TYPE_CLOCK     NW_TYPE_BLIPP "clock"
#define NW_TYPE_PEER      NW_TYPE_BLIPP "peer"
#define NW_TYPE_BANDWIDTH NW_TYPE_BLIPP "bandwidth"
#define NW_TYPE_SCRATCH   NW_TYPE_BLIPP "scratch"
#define NW_TYPE_REPLAY    NW_TYPE_BLIPP "replay" /* of a session: a stage of the session alone */

/* Active tests of paths (narrows/activetest.h): the kind follows. */
#define NW_TYPE_ACTIVE NW_TYPE_HOST "active:"

/* Returns true if the event type is the named one, or begins with that name. */
static inline bool
nw_type_begins(const char *event_type, const char *name)
{
	return strncmp(event_type, name, strlen(name)) == 0;
}

/* Series of calipers and transfers make a session even without a task; series of hosts do not. */
static inline bool
nw_type_is_transfer(const char *event_type)
{
	return nw_type_begins(event_type, NW_TYPE_CALIPER) ||
	    nw_type_begins(event_type, NW_TYPE_CALIPER_OLD) ||
	    nw_type_begins(event_type, NW_TYPE_RUN) || nw_type_begins(event_type, NW_TYPE_XFER);
}

/* True for series of a host that the host or the box measures without a transfer. */
static inline bool
nw_type_is_of_host(const char *event_type)
{
	return !nw_type_is_transfer(event_type) || nw_type_begins(event_type, NW_TYPE_EXCHANGE) ||
	    nw_type_begins(event_type, NW_TYPE_COLLECTOR);
}

#endif
