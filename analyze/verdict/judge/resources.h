/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels' account of the resources of a path over a stretch of windows: how much of the time
 * of network and devices the transfer took. Calipers see a resource only while a program waits;
 * behind a socket buffer, readahead or dirty pages a resource works unseen.
 */
#ifndef RESOURCES_H
#define RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/verdict/evidence/evidence.h"

struct resources {
	/* Shares of the time at work, of the sending end's connections; NaN without account. The
	 * network's share lies between that of the busiest connection and the sum of all. */
	double net_low, net_high; /* data in flight, and not held by the receive window */
	double in_flight;         /* data in flight for whatever reason */
	double rwnd, sndbuf;      /* held by the receive window; by the send buffer */
	double window_bytes;      /* the receive window, of the largest connection */
	/* the share of its largest window that the connection needed in a round trip; NaN if
	 * unknown. With a full window and less than half, the reader empties its queue too
	 * slowly: the window is large enough for the path. */
	double window_used;
	/* payload bytes/s that a shaper of the sending host lets pass; NaN where none is known */
	double shaper;
	double rtt_s;  /* shortest round trip of the connection */
	double resent; /* segments sent again, of all connections */
	/* rate of the network in its better windows by the kernel's account (the 90th
	 * percentile), all connections together, over the mean rate; NaN without account */
	double room;
	/* upper quartile of these rates of the windows over the lower; NaN without account */
	double spread;
	/* largest share of the windows that the busiest device of a stage's host was busy; NaN */
	double device[NW_STAGE_COUNT];
	/* share of the windows with nearly a third held by a stage; per stage of the path */
	double peaks[NW_STAGE_COUNT];
	/* rate of a disk's windows, weighted by the disk's held time in each, over the mean
	 * rate. A disk holding slower windows is at its limit, a disk holding faster windows
	 * takes bursts. NaN of other stages */
	double pace[NW_STAGE_COUNT];
	/* share of the looks at a disk's device that found bytes waiting, also before a throttle;
	 * NaN of other stages and without looks */
	double queued[NW_STAGE_COUNT];
	/* bytes/s of a disk's device allowed by a throttle; NaN without throttle */
	double throttle[NW_STAGE_COUNT];
	/* mean seconds for which written bytes waited for the devices of a disk's host; NaN of
	 * other stages and where the host does not tell */
	double backlog_s[NW_STAGE_COUNT];
};

/* Windows first to before end. */
void resources_find(const struct evidence *e, const struct nw_path *p, size_t first, size_t end,
    struct resources *out);
/*
 * Adds to full[] the seconds of each window in which the network was at work whatever the programs
 * did: data in flight, by the account of the sending kernel, and neither a closed receive window
 * nor a full send buffer. A long path keeps the data of a slow sender in flight, too: for the
 * sender the connection must have filled its congestion window (by Little's law), else only the
 * part of the round trips above the shortest counts, in which data lay in queues.
 * Returns false, and adds nothing, where the account does not cover the path, or data was in flight
 * for less than most of the time: without a processor a receiver acknowledges late.
 */
bool
resources_full(const struct evidence *e, const struct nw_path *p, bool for_sender, double *full);
/*
 * Likewise for a receiver without a measured sender: the windows with nearly all arrived bytes read
 * by the program. A slow receiver leaves bytes unread until the sender stops.
 * Returns false, and adds nothing, without the kernel's word of unread bytes.
 */
bool resources_drained(const struct evidence *e, const struct nw_path *p, double *full);
/* Likewise of a disk of the path: the seconds with bytes waiting in front of its device, or all of
 * the time where the disk moved its bytes at the rate of its throttle. Returns false, and adds
 * nothing, where too few looks were taken, or where written bytes went to memory: behind a device
 * far below its throttle no writer is held up. */
bool
resources_disk_full(const struct evidence *e, const struct nw_path *p, size_t stage, double *full);
/* Where the bytes waited, by the sending kernel: the network, an end, or NW_SAYS_NOTHING. */
enum nw_says resources_opinion(const struct resources *r);
bool stage_kind_is_net(enum nw_stage_kind kind);
/* Whether a disk moved its bytes about as fast as allowed by its throttle. Readahead and dirty
 * pages hide such a disk from the calls; far above its throttle, memory took the bytes. */
bool resources_throttled(const struct resources *r, size_t stage, double bytes_per_s);
/* Whether a disk at this share of its throttle's rate is full, so that nothing else makes the
 * transfer much faster; false for NaN. */
bool resources_no_faster(double share);
/* Whether the device of a disk was idle while programs wrote: the kernel slowed the writers down
 * although hardly a byte waited for the device. A direct write, which waits by itself, keeps a
 * device busy, or queued at a throttle. */
bool resources_written_idle(const struct resources *r, size_t stage);
/* Whether hardly a read waited for a disk without throttle, and its host's devices were idle. */
bool resources_read_idle(const struct resources *r, size_t stage);
/* The rate of a disk of the path: by its own calls, or by the path. */
double resources_rate(const struct nw_path *p, size_t stage);
/* The best guess between net_low and net_high; NaN without account. */
double resources_net(const struct resources *r);

/* Mean of the known values; NaN if there are none. */
double mean_known(const double *x, size_t n);

#endif
