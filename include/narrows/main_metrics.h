/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MAIN, the metrics of a host that people usually look at: the list of the paper on statistical
 * data reduction, with the disk accesses that it adds for transfers. X(event type below
 * "ps:tools:blipp:linux:", field, counter, unit, words); of a counter the rate is looked at.
 */
#ifndef NARROWS_MAIN_METRICS_H
#define NARROWS_MAIN_METRICS_H

/* clang-format off */
#define NW_MAIN_METRICS(X) \
	X("peer", "rtt_ms", 0, "ms", "round trip to a peer") \
	X("peer", "connect_ms", 0, "ms", "time of a TCP connection to a peer") \
	X("bandwidth", "bytes_per_s", 0, "By/s", "bandwidth to a peer") \
	X("cpu:activity", "share_running", 0, "1", \
	    "share of a processor that a running process gets") \
	X("cpu:activity", "share_new", 0, "1", \
	    "share of a processor that a new process would get") \
	X("cpu:load", "onemin", 0, "{process}", "load average of a minute") \
	X("memory:utilization", "free", 0, "KiBy", "free memory") \
	X("filesystem", "available_bytes", 0, "By", "free room of a file system") \
	X("disk:partition", "read_bytes", 1, "By", "read from a disk") \
	X("disk:partition", "written_bytes", 1, "By", "written to a disk") \
	X("network:utilization", "bytes_in", 1, "By", "received by an interface") \
	X("network:utilization", "bytes_out", 1, "By", "sent by an interface")
/* clang-format on */

#endif
