/* SPDX-License-Identifier: BSD-3-Clause */
/* The system's account of a process, and why nwrun.so may not see its input and output. */
#ifndef HOST_PROC_FACTS_H
#define HOST_PROC_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "host/lib/procfile.h"

/* Reasons that hide input and output from nwrun.so, as a set of bits. */
enum proc_blind {
	PROC_STATIC = 1,     /* the program loads no shared object */
	PROC_SETUID = 2,     /* the loader ignores LD_PRELOAD */
	PROC_SEALED = 4,     /* a seccomp filter is in force */
	PROC_IO_URING = 8,   /* the process has a ring */
	PROC_AIO = 16,       /* the process has a queue of asynchronous operations */
	PROC_NOT_LOADED = 32 /* the environment did not name nwrun.so */
};

/* Facts that take more than reading a few small files, as a set of bits. */
enum proc_wanted {
	PROC_WANT_BLIND = 1,
	PROC_WANT_QUOTA = 2,
	PROC_WANT_RESIDENT = 4,
	PROC_WANT_MAP = 8
};

/* Threads of a process, at most, with waits for a processor asked one by one. */
enum { PROC_TIDS = 16 };

/* A question about a process. */
struct proc_question {
	int32_t pid;
	uint32_t wanted; /* set of enum proc_wanted */
	uint32_t n_tids;
	uint32_t tid[PROC_TIDS];
};

/* Time for which the control groups of a process had used up their quota of processor time, since
 * the groups began, and whether a quota is in force. */
struct proc_quota {
	bool in_force;
	uint64_t throttled_ns;
};

/* A map of a file on a file system of FUSE. bytes 0: the process has none. */
struct proc_map {
	uint64_t dev, bytes; /* dev as in struct mount */
	char path[256];      /* cut */
};

struct proc_facts {
	bool found; /* `stat` is known */
	bool alive; /* a process may have the pid, told or not */
	bool io_known, wait_known;
	struct procfile_stat stat;
	struct procfile_io io;
	/* ready to run without a processor, since the thread began: of the thread with most of it
	 * among the first threads, and of the threads in question (0: not known) */
	uint64_t wait_ns, tid_wait_ns[PROC_TIDS];
	bool blocked;            /* some thread is blocked by storage */
	struct proc_quota quota; /* filled on request */
	unsigned blind;          /* set of enum proc_blind; filled on request */
	/* memory of files, filled on request; 0: not known */
	uint64_t resident_bytes;
	struct proc_map map; /* the largest; filled on request */
};

/* The process that has a socket open. */
struct proc_socket {
	uint32_t ino; /* 0: not known */
	/* the caller's guess, 0: none; then the process found, 0: none */
	int32_t pid;
	int32_t not_pid;  /* looks for itself: no answer */
	char program[48]; /* by title.h; empty without a process */
};

/* The dead among many processes. */
enum { PROC_GONE_MAX = 128 };
struct proc_gone {
	uint32_t n;
	int32_t pid[PROC_GONE_MAX];
	/* the answer: no process has the number. A dead process that nobody waited for has. */
	uint8_t is_gone[PROC_GONE_MAX];
};

/* Answers for no more than PROC_GONE_MAX processes, whatever the question says. */
void proc_gone_find(struct proc_gone *g);
/* Looks at the guess first, then at the numbers right behind not_pid, where its children are, then
 * at all processes that the caller may look into, a bounded number. Falls back to the guess. */
void proc_socket_find(struct proc_socket *s);
/* Reads no more than PROC_TIDS threads one by one, whatever the question says. */
void proc_facts_read(const struct proc_question *q, struct proc_facts *out);
void proc_quota_read(int pid, struct proc_quota *out);
/* The largest such map of a process, and of texts in the form of /proc/PID/maps and mountinfo. */
void proc_map_read(int pid, struct proc_map *out);
void proc_map_find(FILE *maps, const char *mountinfo, struct proc_map *out);
/* Reasons by the program's file alone: PROC_STATIC, PROC_SETUID or none. */
unsigned proc_blind_of_file(const char *path);
/* A word for the first reason; NULL for an empty set. */
const char *proc_blind_word(unsigned blind);

#endif
