/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From what processes did per window to the stages of one path, and how fast each stage could have
 * gone.
 *
 * A stage's service rate in a window is the bytes that crossed the path divided by the time the
 * stage held them up:
 *
 *	disk.read, disk.write   time inside the calls
 *	network                 the smaller of two times: the sender's, inside send calls and waiting for room to send,
 *	                        and the receiver's, inside receive calls and waiting for data. A sender also waits when
 *	                        the receiver is slow, and a receiver when the sender is; only the network makes both wait.
 *	net.write, net.read     the one of the two that was measured: network or what lies behind it
 *	sender.host, receiver.host, host
 *	                        the rest of the window, outside all calls: the program itself (one thread only). Of several
 *	                        programs joined by pipes, the one that has the most of it: time at a pipe is time spent
 *	                        waiting for a neighbour, and who waits for a neighbour is not what holds up the bytes
 *
 * An end may be measured behind a program that is not, as rsync is behind sshd: a process on
 * another host that took from a pipe, or gave to it, about as much as crossed the network. What it
 * did there stands for the network, which so includes the program between.
 *
 * A blocking call includes the wait for the peer, so throughput per call alone names the wrong
 * stage (a slow source disk shows as a slow net.read); taking the smaller wait of both ends removes
 * exactly that.
 *
 * What is tested is not the rate but the share of each window the stage left free: the same bytes
 * cross every stage in the same window, so less free time is a lower rate, and unlike the rate of a
 * stage that is hardly used it has a bounded variance. The ratio of the held shares of two stages
 * is the ratio of their service rates.
 */
#ifndef NARROWS_STAGE_H
#define NARROWS_STAGE_H

#include <stdbool.h>
#include <stddef.h>

enum nw_op { NW_OP_DISK_READ, NW_OP_NET_WRITE, NW_OP_NET_READ, NW_OP_DISK_WRITE, NW_OP_COUNT };

enum nw_stage_kind {
	NW_STAGE_DISK_READ,
	NW_STAGE_SENDER_HOST,
	NW_STAGE_NET_WRITE,
	NW_STAGE_NETWORK,
	NW_STAGE_NET_READ,
	NW_STAGE_RECEIVER_HOST,
	NW_STAGE_HOST,
	NW_STAGE_DISK_WRITE,
	NW_STAGE_COUNT
};

/* "disk.read", "sender.host", ...; static text. */
const char *nw_stage_kind_name(enum nw_stage_kind kind);
const char *nw_op_name(enum nw_op op);

/* One process. All arrays have n_windows entries; an operation it never did may be NULL in all
 * three. */
struct nw_process {
	size_t host; /* any number that tells hosts apart */
	bool one_thread;
	/* first and last report, since the first window began; both 0: not known */
	double begin_s, end_s;
	const double *bytes[NW_OP_COUNT];
	const double *busy_s[NW_OP_COUNT]; /* inside calls, of its busiest thread */
	const double *wait_s[NW_OP_COUNT]; /* waiting for readiness on their behalf */
	/* Pipes and local sockets, read and written: time in calls and waiting. NULL: none. */
	const double *pipe_bytes[2], *pipe_s[2];
};

struct nw_path_stage {
	enum nw_stage_kind kind;
	size_t host, to_host;          /* to_host: of a network stage with both ends, else = host */
	double bytes;                  /* its own */
	double *free_share;            /* n_windows, of the window; NaN where nothing crossed */
	double service_rate;           /* bytes/s: all that crossed over all the time it was held */
	double busy_share, wait_share; /* of the time in which something crossed */
	/* of a host: the process with most time of its own; of a disk: with most bytes */
	size_t process;
	bool of_several; /* of a host: processes joined by pipes */
};

struct nw_path {
	size_t n_windows;
	double window_s;
	size_t n;
	struct nw_path_stage stage[NW_STAGE_COUNT]; /* in the order bytes take */
	bool has_sender, has_receiver;
	size_t sender_host, receiver_host;
	size_t sender_process, receiver_process; /* the busiest process of each end */
	bool end_at_pipe;  /* one end was measured behind a program that was not */
	double bytes;      /* what the transfer moved */
	double active_s;   /* windows in which something crossed */
	size_t first, end; /* windows: it went on from the one to before the other */
};

/* O(processes x windows). NW_ENOMEM; a session that moved nothing gives n = 0. nw_path_clear()
 * either way. */
int nw_path_build(const struct nw_process *processes, size_t n_processes, size_t n_windows,
    double window_s, struct nw_path *out);
void nw_path_clear(struct nw_path *p);

#endif
