/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that nwrun's collector shares with the measured programs.
 *
 *	fixed part    header, process table, thread owners, object table: allocated when the
 *	              region is made
 *	cells         a page per object, allocated when the first operation on a file ends
 *	threads       one large slot each, sparse: a lane's pages are allocated when its first
 *	              operation ends. A process maps the first chunk of slots with the fixed
 *	              part, and another chunk when the chunks before are full
 *
 * The measured side (preload) only adds. Every thread slot has one writer, its thread, so nothing
 * on that path locks. The collector reads, and frees the slots of a process that is gone. Counters
 * only grow, with one exception: the numbers that a caliper needs per interval (extremes, means,
 * variances) are kept in two banks per lane, chosen by the parity of the process's epoch. The
 * collector closes an interval by adding one to the epoch, lets a millisecond pass (a store of any
 * CPU is visible by then), and reads the bank without writers; `seq` is odd while a
 * bank is being written, so a bank that a preempted or stopped thread left half done is recognised
 * and fetched an interval later.
 *
 * The collector may die, and so may the program, at any instruction: neither waits for the other.
 * A program may write anything here at any time. So both sides read an index or a size once, and
 * check the value before use.
 */
#ifndef HOST_NWSHM_H
#define HOST_NWSHM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "host/lib/net_addr.h"
#include "host/nwrun/preload/bank.h"
#include "host/nwrun/preload/stages.h"
#include "narrows/caliper.h"
#include "narrows/cells.h"
#include "narrows/cycles.h"
#include "narrows/hist.h"

#define NWSHM_ENV "NWRUN_SHM" /* path of the region */
/* "wrun_shm", little endian; a new layout gets a new version */
#define NWSHM_MAGIC 0x6d68735f6e757277u
#define NWSHM_PAGE  4096
/* MADV_POPULATE_WRITE, which the headers of Debian 11 lack */
#define NWSHM_POPULATE_WRITE 23

enum {
	NWSHM_VERSION = 18,
	NWSHM_PROCS = 512,
	NWSHM_CHUNK_THREADS = 512,
	NWSHM_CHUNKS = 16,
	NWSHM_THREADS = NWSHM_CHUNKS * NWSHM_CHUNK_THREADS,
	NWSHM_OBJECTS = 512,
	NWSHM_LOCALS = 32,  /* local sockets among them */
	NWSHM_PIPES = 96,   /* ends of pipes among the objects, and kin of pipes */
	NWSHM_PEERS = 64,   /* semaphores and conditions come only while there are fewer of these */
	NWSHM_MUTEXES = 48, /* the same of mutexes, which a program may have in any number */
	NWSHM_SOCKET_BYTES = 112,
	NWSHM_FILE_BYTES = 160, /* of the region's own path */
	NWSHM_PATH_BYTES = 400,
	NWSHM_SMALL_NAMED = 32,       /* files below the size whose names are worth a call */
	NWSHM_NAMED_BYTES = 1 << 20,  /* the size */
	NWSHM_CELLS_BYTES = 16 << 10, /* of many new files, those that moved so much have cells */
	NWSHM_TCP_INFO_BYTES = 256,
	NWSHM_IMAGES = 64,
	NWSHM_TRIFLES = 64,
	NWSHM_NAME_BYTES = 48,
	NWSHM_ARGV_BYTES = 208,
	NWSHM_LINE = 64,
	NWSHM_CELL_ROWS = 4, /* sizes of a file that are told apart in a direction */
	NWSHM_WALKS = 16     /* files on which a thread's steps are followed at once */
};

/* The work of a thread in a stage; bank.h has an interval's. */
struct nwshm_lane {
	_Atomic uint32_t seq;        /* odd: a bank is being written */
	_Atomic uint64_t bytes, ops; /* totals since the thread began */
	struct nwshm_bank bank[2];
	/* of all durations ever; differences modulo 2^32 are right */
	uint32_t hist[NW_HIST_BUCKETS];
} __attribute__((aligned(NWSHM_PAGE)));

/* A thread's last operation on a file. */
struct nwshm_walk {
	uint32_t object; /* number of the file's object; 0: there was no operation */
	uint32_t life;   /* the cells' */
	int64_t begin, end, step, end_mono_ns;
	/* by direction, the last operation's bytes (0: none yet) and row of cells */
	uint64_t bytes[2];
	uint8_t row[2];
} __attribute__((aligned(NWSHM_LINE)));

struct nwshm_thread {
	/* operation or wait of the thread now, see nwshm_inflight() */
	_Atomic uint64_t inflight;
	/* number of the object of the operation or wait, plus 1; 0: none, or not known */
	_Atomic uint32_t at_object;
	/* time inside finished operations, failed operations and fsync(2) included */
	_Atomic uint64_t busy_ns[NWSHM_TIMED];
	_Atomic uint64_t wait_ns[NWSHM_WAITS];
	_Atomic uint64_t pipe_bytes[2];  /* by direction */
	_Atomic uint64_t other_bytes[2]; /* terminals, devices, a pipe to oneself, ...: the same */
	/* bytes by direction, in the sums above, of calls outside /proc/PID/io */
	_Atomic uint64_t apart_bytes[2];
	_Atomic uint64_t combined_bytes; /* bytes moved by calls that both read and wrote */
	_Atomic uint64_t combined_ns;
	/* waits at shared semaphores and for children; of a process's first thread, waits at
	 * semaphores of the process alone */
	_Atomic uint64_t peer_ns, inner_ns;
	/* of nw_step_begin() and nw_step_end(): ended steps, and the time between steps [0] and
	 * inside ended steps [1] */
	_Atomic uint64_t steps, step_ns[2];
	/* begin of the present phase since the region's birth, times 2, plus 1 inside a step; 0:
	 * there was no call yet */
	_Atomic uint64_t step_since;
	/* Of a process's first thread: steps of a loop by its calls, and the time between these
	 * steps [0] and inside [1]. A step lies before a call that reads from a pipe or local
	 * socket, or tries to take a shared semaphore, a long time after the last such call; calls
	 * without a long time between them fetch what the next step works on. */
	_Atomic uint64_t turns, turn_ns[2];
	struct nwshm_walk walk[NWSHM_WALKS]; /* by the object's number, direct mapped */
	/* whether the lane's pages are there: without them a look may be SIGBUS */
	_Atomic uint32_t ready[NWSHM_LANES];
	struct nwshm_lane lane[NWSHM_LANES];
} __attribute__((aligned(NWSHM_PAGE)));

/* An operation under way: its begin (since the region's birth), its stage, the second stage of a
 * combined call. With the mark TICKS the begin is the cycle counter's. */
#define NWSHM_INFLIGHT_WAIT 0x008u
/* in the place of a stage, with the mark WAIT: a wait at a shared semaphore */
#define NWSHM_INFLIGHT_PEER  0x007u
#define NWSHM_INFLIGHT_TICKS 0x100u
#define NWSHM_INFLIGHT_SHIFT 9
static inline uint64_t
nwshm_inflight(int64_t since_base_ns, unsigned stage, unsigned stage2, unsigned flags)
{
	return (uint64_t)since_base_ns << NWSHM_INFLIGHT_SHIFT | stage2 << 4 | flags | stage;
}

/* The begin of an operation under way, since `base_mono_ns`. */
static inline int64_t
nwshm_inflight_since(uint64_t word, const struct nw_cycles *c, int64_t base_mono_ns)
{
	uint64_t since = word >> NWSHM_INFLIGHT_SHIFT,
		 base_ticks = __atomic_load_n(&c->base_ticks, __ATOMIC_RELAXED);
	int64_t ticks = (int64_t)((since - base_ticks) << NWSHM_INFLIGHT_SHIFT) >>
	    NWSHM_INFLIGHT_SHIFT; /* the upper bits of the counter are not in the word */

	if ((word & NWSHM_INFLIGHT_TICKS) == 0)
		return (int64_t)since;
	return (int64_t)((uint64_t)c->base_mono_ns - (uint64_t)base_mono_ns +
	    (uint64_t)((nw_int128)ticks * (int64_t)c->mult >> 32));
}

enum nwshm_state { NWSHM_FREE, NWSHM_SETUP, NWSHM_LIVE, NWSHM_ENDED };

struct nwshm_usage { /* of a process, in its own view */
	int64_t user_us, sys_us;
	uint64_t rchar, wchar, read_bytes, write_bytes;
	uint32_t cpu_known, io_known;
	/* page faults of waited-for children, as the kernel adds them to the parent's counts */
	uint64_t children_faults;
};

/* Ways of moving bytes that nwrun.so notices, but cannot count. */
enum nwshm_way { NWSHM_WAY_RING = 1, NWSHM_WAY_AIO = 2, NWSHM_WAY_MAP = 4 };

struct nwshm_proc {
	_Atomic uint32_t state;  /* ENDED: another image took over the pid */
	_Atomic uint32_t epoch;  /* from 1 on */
	_Atomic uint32_t images; /* by exec, before any I/O; odd: name and argv are changing */
	int32_t pid, ppid;
	/* field 22 of /proc/PID/stat; 0: not known, the collector's first look tells */
	uint64_t start_ticks;
	uint64_t pid_ns; /* inode of the pid name space; 0: not known */
	int64_t attach_mono_ns;
	_Atomic int64_t exit_mono_ns; /* 0: did not end in an orderly way (yet) */
	_Atomic uint32_t exit_told;   /* whether the program told its exit status */
	int32_t exit_status;
	_Atomic uint64_t missed_ops; /* not measured: no slot was free, or a signal hit an update */
	_Atomic uint64_t missed_bytes;
	_Atomic uint32_t ways;         /* set of enum nwshm_way */
	_Atomic uint64_t mapped_bytes; /* of files that the program mapped */
	/* usage when this image began: exec keeps the process's counters */
	struct nwshm_usage at_start;
	struct nwshm_usage at_exit; /* valid once exit_mono_ns is set */
	char name[NWSHM_NAME_BYTES];
	char argv[NWSHM_ARGV_BYTES]; /* arguments joined by blanks, cut */
};

enum nwshm_object_kind {
	NWSHM_FILE,
	NWSHM_CONN,
	NWSHM_LOCAL,
	NWSHM_PIPE,
	/* in shared memory; dev and ino are of a place in a file */
	NWSHM_SEMAPHORE,
	NWSHM_MUTEX,
	NWSHM_CONDITION,
	NWSHM_LOCK,     /* of a file */
	NWSHM_CHILDREN, /* all waits of a process for its children */
	NWSHM_OBJECT_KINDS
};

/* A file, a connection, a connected local socket or a pipe of a process, a semaphore, a lock, or
 * waits for children. The time of a pipe or local socket includes failed calls, and waits that
 * found the end ready. The first two objects sum up the rest, which found no slot: no process, no
 * name. */
struct nwshm_object {
	_Atomic uint32_t state; /* ENDED: no descriptor refers to the object any more */
	_Atomic int32_t refs;   /* descriptors */
	uint32_t owner;         /* process index */
	uint32_t kind;
	_Atomic uint32_t cells_ready;     /* whether the object's page of cells is there; stays */
	_Atomic uint32_t renames;         /* odd: the path is changing */
	_Atomic uint64_t bytes[2], ns[2]; /* by direction */
	/* up to here, and the path's first letters, each operation looks: a cache line */
	union {
		char path[NWSHM_PATH_BYTES]; /* empty until the file is worth a name */
		struct {
			struct net_addr local, peer;
			/* length of TCP's account at the close; 0 when there is none */
			_Atomic uint32_t tcp_info_len;
			uint8_t tcp_info[NWSHM_TCP_INFO_BYTES];
		} conn;
		struct {                              /* of all that are no files or connections */
			_Atomic int64_t used_mono_ns; /* end of the last call or wait */
			/* the peer by the kernel, which is the process that began to listen or
			 * made the pair; 0: not told */
			int32_t peer_pid;
			char path[NWSHM_SOCKET_BYTES]; /* the peer's; empty: it has no name */
		} local;
	} u;
	uint64_t dev, ino;
	uint32_t fs_magic; /* f_type of a file system without a block device; 0: not known */
	/* a file's birth, in its file system's clock; of a pipe or local socket, the monotonic time
	 * of the first look; 0: unknown */
	int64_t born_ns;
	_Atomic int64_t size_bytes; /* when first used, and again when closed */
} __attribute__((aligned(NWSHM_LINE)));
enum { NWSHM_OTHER_FILES, NWSHM_OTHER_CONNS, NWSHM_OBJECTS_FIXED };

/*
 * The way from a thread's operation on a file to the thread's next. Same: begins where the last
 * began. Forward: begins where the last ended. Backward: ends where the last began. Strided: as far
 * from the last begin as the last from the one before. Random: all others.
 */
enum nwshm_step {
	NWSHM_STEP_FORWARD,
	NWSHM_STEP_BACKWARD,
	NWSHM_STEP_SAME,
	NWSHM_STEP_STRIDED,
	NWSHM_STEP_RANDOM,
	NWSHM_STEPS
};

/* Steps of a direction: a cache line. */
struct nwshm_steps {
	_Atomic uint32_t n[NWSHM_STEPS];
	_Atomic uint64_t pause_ns[NWSHM_STEPS]; /* between the operations of such a step */
} __attribute__((aligned(NWSHM_LINE)));

/*
 * Operations on a file, by direction. A row counts operations of about one size; an operation of a
 * fifth size counts in the row of the next size. Each operation touches three cache lines: after a
 * system call they cost more than all the arithmetic here.
 */
struct nwshm_cells {
	_Atomic uint8_t octave[2][NWSHM_CELL_ROWS]; /* of a row's sizes, plus 1; 0: free */
	/* number of the file among all that were followed; 0: none yet */
	_Atomic uint32_t life;
	/* The descriptor's position as far as the calls tell; the file's descriptors share it. */
	_Atomic int64_t at;
	struct nwshm_steps steps[2];
	_Atomic uint32_t count[2][NWSHM_CELL_ROWS][NW_CELL_DURATIONS];
} __attribute__((aligned(NWSHM_PAGE)));

#define NWSHM_OWNER_SETUP 0x80000000u /* a thread slot is being taken */

struct nwshm {
	uint64_t magic;
	/* sizeof(struct nwshm): both sides were built from this text */
	uint32_t version, size_check;
	int64_t base_mono_ns;
	/* the collector's number, session (0: not known) and name space */
	int32_t keeper_pid, keeper_sid;
	uint64_t keeper_pid_ns;
	struct nw_cycles cycles;      /* the clock of the measured side; zero until calibrated */
	_Atomic uint32_t generation;  /* last number given to an attached process */
	_Atomic uint32_t small_named; /* small files with a name so far */
	_Atomic uint32_t handing;     /* small files may go from process to process: each counts */
	_Atomic uint32_t lives;       /* files whose steps were followed so far */
	_Atomic uint32_t locals;      /* objects that are local sockets now */
	_Atomic uint32_t pipes;       /* objects that are pipes now */
	/* where the next search for a free object begins, and the count of freed objects */
	_Atomic uint32_t objects_from, objects_freed;
	/* set of the objects that got a path; members may have lost theirs since */
	_Atomic uint64_t named[NWSHM_OBJECTS / 64];
	/* highest slot ever used, plus one */
	_Atomic uint32_t procs_used, threads_used, objects_used;
	/* slots with pages: a later slot's user asks for the pages first */
	_Atomic uint32_t procs_ready, threads_ready, objects_ready;
	/* program files that a process has looked into, by preload_exec.c; 0: none */
	_Atomic uint64_t images[NWSHM_IMAGES];
	/* the kernel's counts of programs that move nothing, by preload_slot.c; 0: none */
	_Atomic uint64_t trifles[NWSHM_TRIFLES];
	/* the first slots share a page with the above: a short process touches little else */
	struct nwshm_proc proc[NWSHM_PROCS];
	/* process index + 1, or with SETUP while taken; 0: free */
	_Atomic uint32_t thread_owner[NWSHM_THREADS] __attribute__((aligned(NWSHM_PAGE)));
	/* thread id; 0: the thread ended, another thread of the process may take the slot */
	_Atomic int32_t thread_tid[NWSHM_THREADS] __attribute__((aligned(NWSHM_PAGE)));
	/* hash of owner, kind, dev, ino: found without touching objects */
	_Atomic uint64_t object_key[NWSHM_OBJECTS] __attribute__((aligned(NWSHM_PAGE)));
	struct nwshm_object object[NWSHM_OBJECTS] __attribute__((aligned(NWSHM_PAGE)));
	struct nwshm_cells cells[NWSHM_OBJECTS];
	struct nwshm_thread thread[];
};

_Static_assert(offsetof(struct nwshm, generation) <= NWSHM_PAGE, "the clock is in the first page");
_Static_assert(sizeof(struct nwshm_cells) == NWSHM_PAGE, "cells fill a page");

/* What is made with the region of the processes' table; of the objects', with the keys before. */
#define NWSHM_FIRST_PROCS_END  (2 * NWSHM_PAGE)
#define NWSHM_FIRST_KEYS_BYTES (NWSHM_OBJECTS * sizeof(uint64_t) + NWSHM_PAGE)
_Static_assert(NWSHM_OBJECTS * sizeof(uint64_t) % NWSHM_PAGE == 0, "objects follow the keys");
_Static_assert(offsetof(struct nwshm, proc) < NWSHM_PAGE, "a slot is in the first pages");
_Static_assert(NWSHM_OBJECTS_FIXED * sizeof(struct nwshm_object) <= NWSHM_PAGE, "a page has them");

/* Bytes that are allocated when the region is made, where the system cannot make pages later: all
 * but the cells of named objects. */
#define NWSHM_FIXED_BYTES \
	(offsetof(struct nwshm, cells) + NWSHM_OBJECTS_FIXED * sizeof(struct nwshm_cells))
/* The file: the fixed part, then chunks of thread slots. */
#define NWSHM_CHUNK_BYTES (NWSHM_CHUNK_THREADS * sizeof(struct nwshm_thread))
#define NWSHM_FIRST_BYTES (sizeof(struct nwshm) + NWSHM_CHUNK_BYTES)
#define NWSHM_BYTES       (sizeof(struct nwshm) + NWSHM_CHUNKS * NWSHM_CHUNK_BYTES)

/* For counters with a single writer: no locked instruction. */
static inline void
nwshm_add(_Atomic uint64_t *p, uint64_t n)
{
	atomic_store_explicit(
	    p, atomic_load_explicit(p, memory_order_relaxed) + n, memory_order_relaxed);
}

/* Notes the use of slot `index`: raises a *_used counter. */
static inline void
nwshm_used(_Atomic uint32_t *used, uint32_t index)
{
	uint32_t now = atomic_load_explicit(used, memory_order_relaxed);

	while (now <= index && !atomic_compare_exchange_weak(used, &now, index + 1))
		;
}

static inline unsigned
nwshm_cell_row_nearest(_Atomic uint8_t octave[NWSHM_CELL_ROWS], unsigned wanted)
{
	unsigned i, have, distance, nearest = UINT32_MAX, found = 0;

	for (i = 0; i < NWSHM_CELL_ROWS; i++) {
		have = atomic_load_explicit(&octave[i], memory_order_relaxed);
		distance = have > wanted ? have - wanted : wanted - have;
		if (have != 0 && distance < nearest) {
			nearest = distance;
			found = i;
		}
	}
	return found;
}

/* The row of an octave (plus 1), taken on first use; of the nearest size when all are taken. */
static inline unsigned
nwshm_cell_row_get(_Atomic uint8_t octave[NWSHM_CELL_ROWS], unsigned wanted)
{
	uint8_t have;
	unsigned i;

	for (i = 0; i < NWSHM_CELL_ROWS; i++) {
		have = atomic_load_explicit(&octave[i], memory_order_relaxed);
		if (have == wanted ||
		    (have == 0 &&
			(atomic_compare_exchange_strong(&octave[i], &have, (uint8_t)wanted) ||
			    have == wanted)))
			return i;
	}
	return nwshm_cell_row_nearest(octave, wanted);
}

/* How many slots of a table are worth a look: a *_used counter, never above the table's size. */
static inline uint32_t
nwshm_used_get(const _Atomic uint32_t *used, uint32_t size)
{
	uint32_t n = atomic_load_explicit(used, memory_order_acquire);

	return n < size ? n : size;
}

static inline uint64_t
nwshm_get(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

#endif
