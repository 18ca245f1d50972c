/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Records that the programs in the kernel (bpf/outside.bpf.c) write into the ring, in the order of
 * the calls' ends, and the tables that they share with the reader. No record holds any byte of a
 * file or a message: only sizes, times, addresses and names of files.
 */
#ifndef HOST_OUTSIDE_RECORD_H
#define HOST_OUTSIDE_RECORD_H

#ifndef __bpf__ /* a program in the kernel has no C library */
#include <stdint.h>
#endif

enum {
	OUTSIDE_PATH_BYTES = 256,
	OUTSIDE_IP_BYTES = 16,
	OUTSIDE_PROCS = 4096,
	OUTSIDE_THREADS = 16384,
	OUTSIDE_SET_WORDS = 2, /* of a set of select(2): 128 descriptors */
	OUTSIDE_WATCHED = 128  /* descriptors that a wait looks at */
};

enum outside_kind {
	OUTSIDE_OP = 1, /* a call on one descriptor */
	OUTSIDE_MOVE,   /* a call from one descriptor to another */
	OUTSIDE_WAIT,
	OUTSIDE_OPEN,
	OUTSIDE_CLOSE,
	OUTSIDE_RENAME,
	OUTSIDE_RESUMED,
	OUTSIDE_FORK,
	OUTSIDE_EXEC,
	OUTSIDE_EXIT
};

struct outside_head {
	uint16_t kind;
	uint16_t bytes; /* of the record */
	uint32_t tgid, tid;
	int32_t fd;
	uint64_t begin_mono_ns, end_mono_ns;
};

/* A descriptor's meaning when the call ended. */
struct outside_file {
	uint64_t ino;
	uint64_t size_bytes;
	uint32_t dev;   /* of the kernel: major << 20 | minor */
	uint8_t stage;  /* enum nwshm_stage, for reading */
	uint8_t family; /* of an internet socket with a peer; 0: none */
	uint16_t local_port, peer_port;
	uint8_t spare[6];
	uint8_t local_ip[OUTSIDE_IP_BYTES], peer_ip[OUTSIDE_IP_BYTES];
};

enum { OUTSIDE_APART = 1, OUTSIDE_RING = 2 }; /* flags */

struct outside_op {
	struct outside_head head;
	int64_t bytes;  /* negative: only the time counts */
	int64_t offset; /* place in the file; negative: unknown */
	int32_t fd2;    /* of OUTSIDE_MOVE: where the bytes go */
	uint8_t dir;    /* enum nwshm_dir */
	uint8_t flags;
	uint16_t spare;
	struct outside_file file;
};

struct outside_move {
	struct outside_op op;
	struct outside_file to;
	uint64_t stored_ns; /* of the call's time: asleep for a block device */
};

struct outside_wait {
	struct outside_head head;
	uint32_t wait; /* enum nwshm_wait */
	uint32_t spare;
};

/* Name of an opened file, as the program wrote the name, or new name of a renamed file. */
struct outside_name {
	struct outside_head head;
	int32_t dir_fd;
	uint32_t spare;
	struct outside_file file;
	char path[OUTSIDE_PATH_BYTES];
};

/* A process made another, runs another image, or ended; so did a thread. */
struct outside_life {
	struct outside_head head;
	uint32_t child;   /* of OUTSIDE_FORK */
	uint32_t is_last; /* of OUTSIDE_EXIT: no thread of the process is left */
	uint32_t has_children;
	uint32_t exit_code; /* of OUTSIDE_EXIT, as for wait(2) */
	uint64_t user_ns, sys_ns, rchar, wchar, read_bytes, write_bytes;
};

/* The name space of the reader's processes, set before the programs are loaded. Level 0: all
 * processes, by the kernel's own numbers. */
struct outside_own {
	uint32_t level, ns;
};

/* Counts of a process, in the order of struct outside_life. */
enum { OUTSIDE_COUNTS = 6 };

/* A recorded process. */
struct outside_proc {
	/* the kernel's sums when the first thread ended, and the counts of the threads that ended
	 * since: the kernel adds a thread to its sums some time after the thread's end */
	uint64_t before[OUTSIDE_COUNTS], ended[OUTSIDE_COUNTS];
	uint64_t lost_ops, lost_bytes; /* records that found no room */
	uint32_t pairs;     /* pairs of pipes made before this count changed are shared */
	uint32_t has_ended; /* some thread ended */
};

/*
 * The processor was taken away at the very end of the thread's last call (begin_mono_ns), on the
 * way back into the program, and given back (end_mono_ns): a program that looks at the clock finds
 * that time in the call.
 */
struct outside_resumed {
	struct outside_head head;
};

/* A thread's call under way. */
struct outside_thread {
	uint64_t begin_mono_ns; /* 0: none */
	uint64_t left_mono_ns;  /* end of the last call */
	uint64_t out_mono_ns;   /* the processor was taken away right then; 0: no */
	/* of the call: asleep for a block device so far, and since when now; 0: not now */
	uint64_t stored_ns, stored_mono_ns;
	uint32_t tgid;
	uint16_t number;
	uint8_t stage, stage2; /* enum nwshm_stage */
	uint8_t hope;          /* enum nwshm_wait, of a wait */
	uint8_t is_wait;
	uint8_t measured;
	uint8_t drained; /* a read found an internet socket empty since the last pause */
	uint8_t is_late; /* of a wait: its end alone tells since when the program waits */
	uint8_t spare[3];
	uint64_t in[OUTSIDE_SET_WORDS], out[OUTSIDE_SET_WORDS];
};

/* What epoll_ctl(2) told: the word of a descriptor, its meaning, and the hope of a set. */
struct outside_word {
	uint32_t tgid;
	int32_t epfd;
	uint64_t data;
};
struct outside_told {
	uint8_t wait; /* enum nwshm_wait */
	uint8_t both; /* watched for both directions, by edges */
	uint8_t once; /* one event ends the watch */
	uint8_t spare;
	int32_t fd;
	uint64_t since_mono_ns; /* of the watch */
};
/* A descriptor of a process: without room at the last write. */
struct outside_full {
	uint32_t tgid;
	int32_t fd;
};
struct outside_set {
	uint32_t tgid;
	int32_t epfd;
};
struct outside_hope {
	uint8_t hope; /* enum nwshm_wait, plus 1 */
	uint8_t edge; /* a socket of the set is edge-triggered */
	uint8_t once; /* .. is watched for one event */
	uint8_t spare[5];
	uint64_t
	    armed_mono_ns; /* newest watch for a single event; 0: no watch, or the event came */
};

/* A pair of pipes or sockets of one process alone. */
struct outside_pair {
	uint64_t ino;
	uint32_t tgid, spare;
};

#endif
