/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of the feed's files. */
#ifndef HOST_OUTSIDE_FEED_IN_H
#define HOST_OUTSIDE_FEED_IN_H

#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include <uthash.h>

#include "host/nwrun/preload/preload.h"
#include "host/outside/feed.h"

enum { FEED_LINES = 64 };

/* A descriptor of a process, as the last call showed the descriptor. */
struct feed_fd {
	int fd;
	uint64_t ino;
	uint32_t dev;
	struct nwshm_object *object; /* NULL: none */
	char *path;                  /* NULL: unknown */
	bool is_pipe;                /* and so without an object */
	UT_hash_handle hh;
};

/* The last call of a thread, which may turn out to have ended later. */
struct feed_held {
	enum { HELD_NOTHING, HELD_OP, HELD_MOVE, HELD_WAIT } kind;
	bool is_counted;
	struct op op; /* of a wait, only begin and thread */
	int64_t end_mono_ns, bytes;
	enum nwshm_wait wait;
	enum nwshm_dir dir;
	bool apart;
	/* of a move from a disk into the network: the disk's part of the time; else negative */
	int64_t stored_ns;
};

/* A thread with a slot. */
struct feed_thread {
	uint32_t tid;
	struct feed_held held;
	uint32_t index;
	struct nwshm_thread *slot; /* NULL: none was free */
	UT_hash_handle hh;
};

/* Overlapping requests of a ring stand in different lines, like calls of threads. */
struct feed_line {
	uint32_t index;
	struct nwshm_thread *slot;
	int64_t last_end_mono_ns;
};

struct feed_proc {
	uint32_t pid;
	const struct feed *feed;
	bool has_others;    /* connections that do not count */
	bool was_missing;   /* at the last look */
	struct state state; /* as in preload.h: the slot */
	struct feed_fd *fds;
	struct feed_thread *threads;
	struct feed_line lines[FEED_LINES];
	unsigned n_lines;
	uint64_t lost_ops, lost_bytes; /* as counted so far */
	UT_hash_handle hh;
};

struct feed {
	struct region *file;
	struct feed_proc *procs;
	const struct net_addr *only_peer; /* NULL: all */
	uint32_t expected;                /* process before the exec that counts; 0: no process */
};

/* --- feed_sys.c: system calls that preload_object.c makes --- */

/* From now on calls ask about this process and this descriptor (NULL: no descriptor). */
void sys_about(const struct feed_proc *p, const struct feed_fd *f);
void sys_about_fd(const struct feed_proc *p, int fd);
/* The name of an open file of a process; empty when there is none (any more). */
void sys_fd_path(uint32_t pid, int fd, char path[NWSHM_PATH_BYTES]);

/* --- feed_fd.c --- */

/* The number of a descriptor; where a ring's request has a made-up one, that of the file. */
int feed_fd_number(struct feed_proc *p, int fd, const struct outside_file *file);
/* The object of a descriptor, as a record shows the descriptor; NULL for none. */
struct nwshm_object *feed_fd_object(struct feed_proc *p, int fd, const struct outside_file *file);
/* The stage of a descriptor for reading: none of connections that do not count. */
unsigned feed_fd_stage(struct feed_proc *p, const struct outside_file *file);
void feed_fd_opened(struct feed_proc *p, const struct outside_name *n);
/* Names of the files that a running process has open: the process may end before its first record
 * is read. */
void feed_fd_learn_all(struct feed_proc *p);
/* A child begins with the descriptors of its parent. */
void feed_fd_inherit(struct feed_proc *p, const struct feed_proc *parent);
void feed_fd_closed(struct feed_proc *p, int fd);
/* The process ends: its files get names and sizes. */
void feed_fd_close_all(struct feed_proc *p);
void feed_fd_free_all(struct feed_proc *p);

/* --- feed_call.c --- */

/* Whether the time of a call from one stage into another is told apart by the sleeps for the
 * device. */
static inline bool
outside_is_split(unsigned stage, unsigned stage2)
{
	return stage == NWSHM_DISK_READ && stage2 == NWSHM_NET_WRITE;
}

/* Counts the thread's last call as it stands now. */
void feed_held_count(struct feed_proc *p, struct feed_thread *t);
void feed_held_count_all(struct feed_proc *p);
void feed_take_op(struct feed_proc *p, const struct outside_op *r);
void feed_take_move(struct feed_proc *p, const struct outside_move *m);
void feed_take_wait(struct feed_proc *p, const struct outside_wait *w);
void feed_take_resumed(struct feed_proc *p, const struct outside_resumed *r);

/* --- feed_proc.c --- */

struct feed_proc *feed_proc_find(struct feed *f, uint32_t pid);
/* A slot for the process; `usage` is the process's so far. NULL: no slot is free. */
struct feed_proc *
feed_proc_start(struct feed *f, uint32_t pid, uint32_t ppid, const struct nwshm_usage *usage);
/* The process runs another image. */
void feed_proc_image(struct feed *f, struct feed_proc *p, const struct nwshm_usage *usage);
/* Of a process that ends next: the status of wait(2). */
void feed_proc_status(struct feed_proc *p, int status);
/* The process's last word; frees p. */
void feed_proc_end(
    struct feed *f, struct feed_proc *p, const struct nwshm_usage *usage, int64_t end_mono_ns);
/* The process is the current process of preload's files from now on. */
void feed_proc_use(struct feed_proc *p, struct nwshm_thread *slot);
/* With a slot; NULL: none was free. */
struct feed_thread *feed_thread_get(struct feed_proc *p, uint32_t tid);
/* NULL: the thread has made no call that counts. */
struct feed_thread *feed_thread_find(struct feed_proc *p, uint32_t tid);
void feed_thread_end(struct feed_proc *p, uint32_t tid);
/* A line that is free from begin_mono_ns on; NULL when no slot is free. */
struct feed_line *feed_line_get(struct feed_proc *p, int64_t begin_mono_ns);

#endif
