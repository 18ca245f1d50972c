/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the operations of processes per window to the stages of one path, and the rate that each
 * stage could have reached.
 *
 * A stage's service rate in a window is the bytes that crossed the path divided by the time for
 * which the stage held the bytes up:
 *
 *   disk.read, disk.write   time inside the calls
 *   storage.read, storage.write
 *                           the same, where the files lie on no device of the host
 *   network                 the smaller of two times: the sender's, inside send calls and waiting
 *                           for room to send, and the receiver's, inside receive calls and waiting
 *                           for data. A sender also waits when the receiver is slow, and a receiver
 *                           when the sender is slow; only the network makes both wait. A sender
 *                           that reads little beside what it sends reads acknowledgements of its
 *                           protocol (ssh, SFTP): such waits are waits for room to send, except
 *                           waits of a server's poller beside reads of the disk
 *   net.write, net.read     the measured time of the two: the network or the unmeasured far end
 *   sender.host, receiver.host, host
 *                           the rest of the window, outside all calls: the program itself. Of a
 *                           program with threads, no more than its processor time explains. Of
 *                           several programs joined by pipes, the program with most of this time:
 *                           time at a pipe is a wait for a neighbour, and a program that waits for
 *                           a neighbour does not hold the bytes up
 *
 * Time without a processor is the host's, wherever a program was when it lost the processor: what
 * the time outside the calls does not cover is taken out of the calls. Only time that a processor
 * would have saved counts: while the network was full (full_s), the bytes waited for the network,
 * and while a disk was (disk_full_s), for the disk.
 * Time blocked by storage is the disk's also where no call shows a read: the page faults of a
 * mapped file happen inside send(2).
 *
 * An end may be measured at the pipe of another program, as rsync behind sshd: a process on another
 * host that moved over a pipe about as many bytes as crossed the network. The time at the pipe
 * stands for the network, which then includes the unmeasured program.
 *
 * Of three hosts in a row, the network is the hop at which the middle host waits: the hop before
 * if its programs wait for data, the hop after if they wait for room to send.
 *
 * A blocking call includes the wait for the peer, so throughput per call alone names the wrong
 * stage (a slow source disk shows as a slow net.read); the smaller wait of both ends removes
 * exactly the peer's part.
 *
 * The tests compare the share of each window that a stage left free, not rates: the same bytes
 * cross every stage in the same window, so less free time is a lower rate, and the share has a
 * bounded variance, unlike the rate of a stage in little use. The ratio of the held shares of two
 * stages is the ratio of their service rates.
 */
#ifndef NARROWS_STAGE_H
#define NARROWS_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "narrows/stage_words.h"

/* A process. All arrays have n_windows entries; an operation without calls may be NULL in all three
 * arrays. */
struct nw_process {
	size_t host; /* any number that tells hosts apart */
	bool one_thread;
	bool maps; /* whether its sender told of bytes through maps of files */
	/* whether most bytes of files read, or written, are those of files on no device here */
	bool far_read, far_write;
	/* first and last report, since the first window began; both 0: not known */
	double begin_s, end_s;
	const double *bytes[NW_OP_COUNT];
	const double *busy_s[NW_OP_COUNT]; /* time inside calls, of the busiest thread */
	const double *wait_s[NW_OP_COUNT]; /* waiting for readiness on their behalf */
	/* Pipes and local sockets, read and written: time in calls and waiting. NULL: none. */
	const double *pipe_bytes[2], *pipe_s[2];
	/* The kernel's account; NULL: not known. */
	const double *cpu_s;        /* processor time, of all threads */
	const double *starved_s;    /* ready to run without a processor */
	const double *full_s;       /* network full for this end, whatever the process did */
	const double *disk_full_s;  /* likewise the disk that the process reads or writes most */
	const double *blocked_s;    /* blocked by storage */
	const double *stored_bytes; /* read from devices */
};

struct nw_path_stage {
	enum nw_stage_kind kind;
	size_t host, to_host;          /* to_host: of a network stage with both ends, else = host */
	double bytes;                  /* bytes of the stage's own calls */
	double *free_share;            /* n_windows, of the window; NaN where the path was idle */
	double service_rate;           /* bytes/s: all crossed bytes over all held time */
	double busy_share, wait_share; /* shares of the time at work */
	/* of a host: the process with most time of its own; of a disk: with most bytes */
	size_t process;
	bool of_several; /* of a host: processes joined by pipes */
	bool mapped;     /* of disk.read or storage.read: read by page faults, without calls */
};

struct nw_path {
	size_t n_windows;
	double window_s;
	size_t n;
	struct nw_path_stage stage[NW_STAGE_COUNT]; /* in the order bytes take */
	bool has_sender, has_receiver;
	size_t sender_host, receiver_host;
	size_t sender_process, receiver_process; /* the busiest process of each end */
	bool relayed;     /* true if the network is one hop of several in a row */
	bool end_at_pipe; /* true if an end was measured at the pipe of another program */
	double bytes;     /* bytes that the transfer moved */
	/* time of the windows at work: bytes crossed, or both ends were there and some stage held
	 * them up for half of the window at least */
	double active_s;
	size_t first, end; /* windows of the transfer: the first, and the first after the end */
};

/* Seconds without a processor that a processor would have saved, at most: of starved_s seconds in
 * there_s, of which the network, or the disk, was full for full_s. */
/* Seconds of a window in which the network or the disk was full for a process, at least. */
double nw_full_s(const struct nw_process *p, size_t window);
double nw_starved_harm(double starved_s, double full_s, double there_s);

/* O(processes x windows). NW_ENOMEM; a session without bytes gives n = 0. nw_path_clear() on
 * success and failure. */
int nw_path_build(const struct nw_process *processes, size_t n_processes, size_t n_windows,
    double window_s, struct nw_path *out);
void nw_path_clear(struct nw_path *p);

#endif
