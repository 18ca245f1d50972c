/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwrun.so: nwrun's part inside a program. The object lives in other people's processes, so it
 *
 *	- never prints, allocates, locks, starts a thread or keeps a descriptor;
 *	- leaves errno as the program would see it: our own system calls are raw (sys_*) and
 *	  return -errno;
 *	- must work in signal handlers, between vfork and exec, while libc starts, and after libc
 *	  has stopped;
 *	- when in doubt calls the real function and counts nothing.
 *
 * Reading order: preload_find.c (the functions behind the replaced functions), preload_slot.c
 * (process and thread slots), preload_fd.c (kinds of descriptors), preload_object.c (files and
 * connections), preload_cells.c and preload_count.h (sizes, durations and steps of a file's
 * operations), preload_op.c (one operation into the counters); then the wrappers: preload_io.c,
 * preload_wait.c, preload_stdio.c, preload_life.c, preload_exec.c (programs that cannot load
 * nwrun.so, by image.c), preload_peer.c, preload_shared.c.
 */
#ifndef HOST_PRELOAD_H
#define HOST_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "host/nwrun/preload/kernel_call.h"
#include "host/nwrun/preload/nwshm.h"

#define EXPORT      __attribute__((visibility("default")))
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* Keeps an address in a register: the compiler would compute it anew for each field. */
#define KEEP(pointer) __asm__("" : "+r"(pointer))

#pragma GCC visibility push( \
    hidden) /* declarations too: calls and loads go straight, not through the GOT */

/* --- preload_find.c: the next definition of a function we replace --- */

#define REAL(name) ((__typeof__(&name))real_get(REAL_##name))
enum real_name {
#define X(name) REAL_##name,
#include "host/nwrun/preload/preload_names.h"
#undef X
	REAL_COUNT
};
extern void *real_table[REAL_COUNT];
/* Whether the loader is that of glibc. */
bool is_at_home(void);
/* Notes which objects the program started with. */
void find_start(void);
/* The file of nwrun.so; NULL: unknown. On loan from the loader. */
const char *find_own_path(void);
/* Finds out whether libc's functions are next, and libc's variable, see KERNEL(). */
void find_direct(void);
/* A function that fails with ENOSYS where libc has none of the name. */
void *real_find(enum real_name name);

static inline void *
real_get(enum real_name name)
{
	return likely(real_table[name] != NULL) ? real_table[name] : real_find(name);
}

/*
 * The real functions are libc's own: a program with one thread, which no thread cancels, may as
 * well call the kernel here. Each return through a frame from before the call is mispredicted on
 * many processors, so a frame less is worth more than its instructions.
 */
extern bool direct;
/* The C library's own variable; a false value where the library has none. */
extern const char *single_threaded;
#define KERNEL(name, number, args, ...)                                                       \
	(likely(direct && *single_threaded)                                                   \
		? (__typeof__(REAL(name) args))kernel_result(sys_direct(number, __VA_ARGS__)) \
		: REAL(name) args)
#define sys_direct(number, ...) sys_direct_pad(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define sys_direct_pad(n, a, b, c, d, e, f, ...) \
	kernel_call((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* --- preload_sys.c: raw system calls --- */

extern bool sealed; /* the program filters its system calls: nwrun.so makes none of its own */
long sys_call(long number, long a, long b, long c, long d, long e, long f); /* -errno on failure */
#define sys(number, ...) sys_pad(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define sys_pad(n, a, b, c, d, e, f, ...) \
	sys_call((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* Reads a small file whole; text ends with a NUL. False, and nothing done, when the program has
 * sealed itself. */
bool sys_read_file(const char *path, char *text, size_t cap, size_t *len);

/* --- preload_slot.c: slots --- */

/*
 * State to forget on fork lives in a page that the kernel wipes in children, however they were
 * made: a child finds generation 0, which belongs to no thread, and takes slots of its own.
 */
struct state {
	_Atomic uint32_t generation; /* 0: no process slot */
	uint32_t index;              /* of the process slot */
	struct nwshm_proc *proc;
};
extern struct state *state;
extern struct nwshm *region; /* NULL: the program runs unmeasured */

/*
 * What nwrun.so knows of descriptors and streams. A process gets the memory with its first use of
 * a descriptor: short programs often end before.
 */
enum { FD_MAX = 65536, STREAMS_MAX = 256, EPOLL_WORDS = 4096, EPOLL_SETS = 1024 };
struct tables {
	/* a process with tables has the state in this page */
	struct state state __attribute__((aligned(NWSHM_PAGE)));
	/* One word per descriptor, see below. */
	_Atomic uint32_t fd[FD_MAX] __attribute__((aligned(NWSHM_PAGE)));
	_Atomic(FILE *) streams[STREAMS_MAX];
	_Atomic uint64_t epoll_word[EPOLL_WORDS];
	/* by descriptor: enum nwshm_wait + 1 of the last wait; 0: nothing */
	_Atomic uint8_t epoll_hope[EPOLL_SETS];
	/* whether a socket of the set is edge-triggered, by descriptor of the set */
	_Atomic bool epoll_edge[EPOLL_SETS];
};
extern struct tables *tables; /* NULL: not yet */
/* Makes the tables. Returns false without memory. */
bool tables_make(void);

struct self {
	uint32_t generation; /* equal to state's: `slot` is right, even when NULL */
	uint32_t index;      /* number of `slot` */
	bool in_vfork;
	bool drained; /* a read found an internet socket empty since the last pause */
	/* of a loop: begin of the fetch, end of the fetch's last call so far (0: none), the
	 * longest step of late, and where the fetch behind the last step began */
	int64_t fetch_begin_mono_ns, fetch_end_mono_ns, step_ns;
	const void *fetch_at;
	struct nwshm_thread *slot;
};
extern __thread struct self self __attribute__((tls_model("initial-exec")));

struct nwshm_thread *thread_attach(void);
void process_attach(bool forked);
/* `pending_bytes`: bytes that libc will still write; the kernel has not counted them yet. */
/* Notes the status with which the program ends. */
void process_note_status(int status);
void process_record_exit(uint64_t pending_bytes);
/* Notes that the process moves bytes in a way that cannot be counted. */
void process_note_way(enum nwshm_way way, uint64_t mapped_bytes);
/* Before each fork(): arranges that child and parent notice. */
void process_before_fork(void);
bool process_is_vfork_child(void); /* for a thread marked in_vfork */
/* Creates missing pages of the region. Returns false if the system has no pages. */
bool region_touch(void *at, size_t bytes);

static inline bool
in_vfork_child(void)
{
	return unlikely(self.in_vfork) && process_is_vfork_child();
}

/* This thread's slot; NULL: do not measure. */
static inline struct nwshm_thread *
thread_slot(void)
{
	if (likely(
		self.generation == atomic_load_explicit(&state->generation, memory_order_relaxed)))
		return self.slot;
	return thread_attach();
}

/* Whether the caller has a slot and is the process's first thread. */
static inline bool
is_first_thread(void)
{
	return self.slot != NULL &&
	    self.generation == atomic_load_explicit(&state->generation, memory_order_relaxed) &&
	    atomic_load_explicit(&region->thread_tid[self.index], memory_order_relaxed) ==
	    state->proc->pid;
}

/* --- preload_fd.c, preload_object.c --- */

struct fd_info {
	unsigned stage; /* stage for reading; the stage for writing is one more. NWSHM_NO_STAGE: a
	                 * sealed program's descriptor that was never looked at */
	struct nwshm_object *object; /* NULL: none */
};
/* One word per descriptor, changed by compare and exchange: object + 1, "no room to write", "reads
 * alone", "private", "look again", stage + 1. A descriptor that was opened for reading alone has
 * two of the marks until its first use. */
enum {
	FD_STAGE_MASK = 0xf,
	FD_AGAIN = 0x10,
	FD_PRIVATE = 0x20,
	FD_READS = 0x40,
	FD_FULL = 0x80,
	FD_OBJECT_SHIFT = 8
};

static inline struct nwshm_object *
fd_word_object(uint32_t word)
{
	uint32_t object = word >> FD_OBJECT_SHIFT;

	return object == 0 ? NULL : &region->object[object - 1];
}

static inline struct fd_info
fd_word_info(uint32_t word)
{
	return (struct fd_info){ (word & FD_STAGE_MASK) - 1, fd_word_object(word) };
}

static inline uint32_t
fd_word_get(int fd)
{
	return likely((unsigned)fd < FD_MAX && tables != NULL)
	    ? atomic_load_explicit(&tables->fd[fd], memory_order_relaxed)
	    : 0;
}

/* The descriptor's word; 0 when the descriptor needs a look first. */
static inline uint32_t
fd_word_known(int fd)
{
	uint32_t word = fd_word_get(fd);

	return (word & FD_AGAIN) != 0 ? 0 : word;
}

/* Adds a wait to the pipe or local socket of the descriptor. */
void fd_waited(int fd, bool out, int64_t ns, int64_t end_mono_ns);
/* Looks at the descriptor on first use. Needs a slot: never call without a slot. */
struct fd_info fd_get(int fd);
/* Looks at the descriptors below FD_LOOKED that are open, and names their files. Needs a slot. */
enum { FD_LOOKED = 256 };
void fd_look_all(void);
/* A call has written to the descriptor, or found no room. */
void fd_note_room(int fd, ssize_t written);
static inline __attribute__((always_inline)) void
fd_written(int fd, ssize_t written)
{
	if (unlikely(written < 0 || (fd_word_get(fd) & FD_FULL) != 0))
		fd_note_room(fd, written);
}
/* open() made the descriptor of the path. */
void fd_opened(int fd, const char *path, int flags);
/* The program has asked for the facts of a file that it opened for reading. */
void fd_learn(int fd, uint64_t dev, uint64_t size_bytes);
static inline bool
fd_is_worth_learning(int fd)
{
	return fd_word_get(fd) == (FD_READS | FD_AGAIN);
}
/* The descriptor is about to be, or has been, closed or replaced. Harmless at any time. */
void fd_forget(int fd);
void fd_closing(int fd); /* as fd_forget(), while the descriptor is still open */
/* Gives a small file its name before libc closes the descriptor, with bytes to come or not. */
void fd_name(int fd, bool bytes_come);
void fd_closing_all(void); /* at exit */
void fd_forget_range(unsigned first, unsigned last);
void fd_forget_all_on_fork(void);
void fd_pair_made(const int fds[2]); /* pipe() or socketpair() made a pair in this process */
void fd_pairs_shared(void);          /* a child may have the pairs, too */

static inline uint64_t
statx_dev(const struct statx *st)
{
	return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
}

/* Returns true if a file of this size, opened only to read, is counted together with other small
 * files, because many small files already have an entry each. */
bool object_is_one_of_many(uint64_t size_bytes);
/* Whether the memory of slot `index` of a table exists, where `ready` counts the slots whose memory
 * does: makes the next slot's memory, which ends `at + bytes`. False where the system has none, and
 * for a sealed program. */
bool table_reaches(_Atomic uint32_t *ready, uint32_t index, const void *at, size_t bytes);
/* adds a reference */
struct nwshm_object *
object_get_file(int fd, uint64_t dev, uint32_t fs_magic, const struct statx *st);
struct nwshm_object *object_get_conn(
    uint64_t dev, uint64_t ino, const struct net_addr *local, const struct net_addr *peer);
/* A connected local socket; path: the peer's name, len bytes of it. NULL: no place is left. */
struct nwshm_object *
object_get_local(uint64_t dev, uint64_t ino, int32_t peer_pid, const char *path, size_t len);
/* A pipe's end, or a named pipe. NULL: no place is left. */
struct nwshm_object *object_get_pipe(uint64_t dev, uint64_t ino);
/* The object of a wait without bytes. NULL: no place is left. */
struct nwshm_object *object_get_peer(enum nwshm_object_kind kind, uint64_t dev, uint64_t ino);
void object_unref(struct nwshm_object *o);
void object_closing(struct nwshm_object *o, int fd);
/* Asks the kernel for the file's name. */
void object_name(struct nwshm_object *o, int fd);
/* The same for a file below that size, if the run has few such names. */
void object_name_small(struct nwshm_object *o, int fd, bool bytes_come);
/* Names a file that has just become large enough to be reported by itself. */
static inline void
object_name_large(struct nwshm_object *o, int fd)
{
	if (unlikely(o != NULL && o->u.path[0] == '\0') && o->kind == NWSHM_FILE &&
	    nwshm_get(&o->bytes[NWSHM_READ]) + nwshm_get(&o->bytes[NWSHM_WRITE]) >=
		NWSHM_NAMED_BYTES)
		object_name(o, fd);
}
/* Whether a file of the last part of that name has a path: else a new name changes nothing. */
bool object_has_name(const char *name);
void object_renamed(int dir, const char *name);

/* --- preload_cells.c: operations on a file by size, duration and step --- */

/* offset: of a call that names its place in the file; OP_AT_POSITION of a call that goes on where
 * the descriptor is. */
#define OP_AT_POSITION INT64_C(-1)
/* The program has moved the descriptor's position. */
void cells_seek(struct nwshm_object *o, int64_t position);

/* --- preload_op.c --- */

struct op {
	struct nwshm_thread *thread; /* NULL: not measured */
	int fd, fd2;
	struct nwshm_object *object, *object2;
	unsigned stage, stage2; /* stage2: of a call that reads and writes, else NWSHM_NO_STAGE */
	int64_t begin_mono_ns, offset;
};
void op_begin(struct op *op, int fd, enum nwshm_dir dir);
/* Notes a call that reads from a pipe or local socket, waits to read, or tries to take a shared
 * semaphore, for the steps of a loop. `at`: the place, for comparison alone. */
void turn_note(const void *at, int64_t begin_mono_ns, int64_t end_mono_ns);
/* Makes sure that the pages of all stages exist, for a thread that may not ask later. */
void lanes_prepare(struct nwshm_thread *t);

/* Notes where the thread is about to wait, before the word of the operation. */
static inline void
thread_goes_to(struct nwshm_thread *t, const struct nwshm_object *o)
{
	atomic_store_explicit(&t->at_object, o == NULL ? 0 : (uint32_t)(o - region->object) + 1,
	    memory_order_relaxed);
}

/* For a descriptor of a known kind. */
static inline void
op_begin_known(
    struct op *op, struct nwshm_thread *t, struct fd_info info, int fd, enum nwshm_dir dir)
{
	op->thread = t;
	op->fd = fd;
	op->stage = info.stage + (unsigned)dir;
	op->stage2 = NWSHM_NO_STAGE;
	op->offset = OP_AT_POSITION;
	op->object = info.object;
	if (op->stage >= NWSHM_TIMED)
		return;
	thread_goes_to(t, info.object);
	op->begin_mono_ns = nw_cycles_ns(&region->cycles);
	atomic_store_explicit(&t->inflight,
	    nwshm_inflight(op->begin_mono_ns - region->base_mono_ns, op->stage, NWSHM_NO_STAGE, 0),
	    memory_order_relaxed);
}

/*
 * The same for the usual call: the descriptor's kind is known, the thread has a slot, and the cycle
 * counter is the clock. The kernel waits at its entrance until the program's arithmetic is done, so
 * the counter's reading is noted as it is.
 */
struct quick {
	struct nwshm_thread *thread;
	uint64_t begin_ticks;
	uint32_t word; /* the descriptor's */
	unsigned stage;
	int fd;
};

/* False, and nothing done, for all other calls. */
static inline __attribute__((always_inline)) bool
quick_begin(struct quick *q, int fd, enum nwshm_dir dir)
{
	uint32_t seq, word = fd_word_known(fd);

	if (unlikely(word == 0 || self.slot == NULL ||
		self.generation != atomic_load_explicit(&state->generation, memory_order_relaxed)))
		return false;
	q->thread = self.slot;
	q->word = word;
	q->stage = (word & FD_STAGE_MASK) - 1 + (unsigned)dir;
	q->fd = fd;
	q->begin_ticks = 0;
	if (q->stage >= NWSHM_TIMED)
		return true;
	seq = __atomic_load_n(&region->cycles.seq, __ATOMIC_ACQUIRE);
	if (unlikely(seq == 0 || (seq & 1) != 0))
		return false;
	atomic_store_explicit(&q->thread->at_object, word >> FD_OBJECT_SHIFT, memory_order_relaxed);
	q->begin_ticks = nw_ticks();
	atomic_store_explicit(&q->thread->inflight,
	    nwshm_inflight((int64_t)q->begin_ticks, q->stage, NWSHM_NO_STAGE, NWSHM_INFLIGHT_TICKS),
	    memory_order_relaxed);
	return true;
}

/* The work behind a call, by words that fit into registers. */
void quick_count(struct nwshm_thread *t, uint64_t begin_ticks, uint64_t fd_and_word, unsigned stage,
    int64_t offset, ssize_t bytes);
void quick_count_pipe(
    struct nwshm_thread *t, uint64_t begin_ticks, uint32_t word, unsigned stage, ssize_t bytes);

static inline __attribute__((always_inline)) void
quick_end(const struct quick *q, int64_t offset, ssize_t bytes)
{
	if (likely(q->stage < NWSHM_LANES))
		quick_count(q->thread, q->begin_ticks, (uint64_t)(unsigned)q->fd << 32 | q->word,
		    q->stage, offset, bytes);
	else if (q->stage < NWSHM_TIMED)
		quick_count_pipe(q->thread, q->begin_ticks, q->word, q->stage, bytes);
	else if (bytes > 0)
		nwshm_add(&q->thread->other_bytes[q->stage & 1], (uint64_t)bytes);
}

/* Notes bytes of a finished operation outside the kernel's rchar and wchar. */
static inline void
thread_apart(struct nwshm_thread *t, enum nwshm_dir dir, ssize_t bytes)
{
	if (t != NULL && bytes > 0)
		nwshm_add(&t->apart_bytes[dir], (uint64_t)bytes);
}

/* The call names its place in the file. */
static inline void
op_at(struct op *op, int64_t offset)
{
	op->offset = offset;
}
void op_begin2(struct op *op, int from_fd, int to_fd);
/* `bytes` of a call that failed, or that moved nothing on: only the call's time counts. */
enum { OP_FAILED = -1, OP_MOVED_NOTHING = -2 };
void op_end(struct op *op, ssize_t bytes);
/* The same for an operation timed by the caller, with all of `op` given. */
void op_count(struct op *op, int64_t end_mono_ns, ssize_t bytes);
/* The word of an operation under way (nwshm.h). */
uint64_t op_inflight(unsigned stage, unsigned stage2, int64_t begin_mono_ns);
static inline void
op_apart(const struct op *op, enum nwshm_dir dir, ssize_t bytes)
{
	thread_apart(op->thread, dir, bytes);
}
/* Nothing moved after all. */
void op_cancel(struct op *op);
/* Counts bytes that libc moves, or will move, where a clock read is impossible. */
void op_untimed(int fd, enum nwshm_dir dir, uint64_t bytes);

/* --- preload_peer.c: waits for other processes, without bytes --- */

/* A shorter wait is no reason to make an object. */
#define PEER_WAIT_MIN_NS INT64_C(1000000)

/* Whether the process has a slot. Nobody takes a slot to wait. */
static inline bool
is_measured(void)
{
	uint32_t generation = atomic_load_explicit(&state->generation, memory_order_relaxed);

	return region != NULL && generation != 0 && generation != UINT32_MAX && !in_vfork_child();
}

/* A wait may end with the process: the thread's slot, if there is one, tells of the wait meanwhile.
 * Returns the begin. An object may be NULL. */
int64_t peer_begin(struct nwshm_thread *t, const struct nwshm_object *o);
void peer_end(void);
/* Counts a finished wait. */
void peer_waited(struct nwshm_object *o, int64_t ns, int64_t end_mono_ns);

/* --- preload_stdio.c --- */

/* At exit: counts the bytes that libc will flush too late for us, and returns them. */
uint64_t stdio_count_pending(void);

#pragma GCC visibility pop

#endif
