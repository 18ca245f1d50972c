/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits for other processes without bytes: for children, for locks of files, and at semaphores in
 * shared memory, through which pools of processes pass their queues on. Each is an object, as a
 * pipe is. Reading a semaphore is waiting there, writing is posting, with a post as a byte; of a
 * lock, waiting for the lock and getting it.
 *
 * Most semaphores are locks of one process (each lock of Python is). The C library notes in the
 * semaphore whether other processes share the semaphore, and a call for all others goes on at
 * once, but for a process's first thread: where other threads receive what the first thread works
 * on, only the first thread's waits tell whether the process waited. A semaphore free for the
 * taking is no wait, and costs no look at the clock.
 */
#include "host/nwrun/preload/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* A shorter wait is no reason to make an object. */
#define WAIT_MIN_NS INT64_C(1000000)

pid_t wait(int *);
pid_t wait3(int *, int, struct rusage *);
pid_t wait4(pid_t, int *, int, struct rusage *);
int sem_clockwait(sem_t *restrict, clockid_t, const struct timespec *restrict);

/* Whether the process has a slot. Nobody takes a slot to wait. */
static inline bool
is_measured(void)
{
	uint32_t generation = atomic_load_explicit(&state->generation, memory_order_relaxed);

	return region != NULL && generation != 0 && generation != UINT32_MAX && !in_vfork_child();
}

static void
object_waited(struct nwshm_object *o, int64_t ns, int64_t end_mono_ns)
{
	if (self.slot != NULL &&
	    self.generation == atomic_load_explicit(&state->generation, memory_order_relaxed))
		nwshm_add(&self.slot->peer_ns, (uint64_t)ns);
	if (o == NULL)
		return;
	atomic_fetch_add_explicit(&o->ns[NWSHM_READ], (uint64_t)ns, memory_order_relaxed);
	atomic_store_explicit(&o->u.local.used_mono_ns, end_mono_ns, memory_order_relaxed);
}

/* --- children --- */

static inline int64_t
child_begin(int options)
{
	return (options & WNOHANG) == 0 && is_measured() ? nw_cycles_ns(&region->cycles) : 0;
}

static void
child_end(int64_t begin_mono_ns)
{
	int64_t now_mono_ns;

	if (begin_mono_ns == 0 || !is_measured())
		return;
	now_mono_ns = nw_cycles_ns(&region->cycles);
	if (now_mono_ns - begin_mono_ns >= WAIT_MIN_NS)
		object_waited(object_get_peer(NWSHM_CHILDREN, 0, 0), now_mono_ns - begin_mono_ns,
		    now_mono_ns);
}

#define CHILD(type, name, options, params, args)      \
	EXPORT type name params                       \
	{                                             \
		int64_t begin = child_begin(options); \
		type rc = REAL(name) args;            \
		int error = errno;                    \
                                                      \
		child_end(begin);                     \
		errno = error;                        \
		return rc;                            \
	}
CHILD(pid_t, wait, 0, (int *status), (status))
CHILD(pid_t, waitpid, options, (pid_t pid, int *status, int options), (pid, status, options))
CHILD(pid_t, wait3, options, (int *status, int options, struct rusage *usage),
    (status, options, usage))
CHILD(pid_t, wait4, options, (pid_t pid, int *status, int options, struct rusage *usage),
    (pid, status, options, usage))
CHILD(int, waitid, options, (idtype_t kind, id_t id, siginfo_t *info, int options),
    (kind, id, info, options))

/* --- waits under way --- */

/* A wait at a shared semaphore or for a lock may end with the process: the thread's slot tells of
 * the wait meanwhile. Returns the begin. */
static int64_t
peer_begin(struct nwshm_thread *t, const struct nwshm_object *o)
{
	int64_t now_mono_ns;

	if (t != NULL)
		thread_goes_to(t, o);
	now_mono_ns = nw_cycles_ns(&region->cycles);
	if (t != NULL)
		atomic_store_explicit(&t->inflight,
		    nwshm_inflight(now_mono_ns - region->base_mono_ns, NWSHM_INFLIGHT_PEER, 0,
			NWSHM_INFLIGHT_WAIT),
		    memory_order_relaxed);
	return now_mono_ns;
}

static void
peer_end(void)
{
	if (is_measured() && self.slot != NULL)
		atomic_store_explicit(&self.slot->inflight, 0, memory_order_relaxed);
}

/* --- locks of files --- */

struct lock_wait {
	struct nwshm_object *object; /* NULL: not measured */
	int64_t begin_mono_ns;
};

/* A call that takes a lock and may wait for it. */
static void
lock_begin(struct lock_wait *w, int fd)
{
	int error = errno;
	struct statx st;

	w->object = NULL;
	if (!is_measured() || sealed || thread_slot() == NULL ||
	    sys(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &st) < 0 ||
	    (w->object = object_get_peer(NWSHM_LOCK, statx_dev(&st), st.stx_ino)) == NULL) {
		errno = error;
		return;
	}
	w->begin_mono_ns = peer_begin(self.slot, w->object);
	errno = error;
}

static void
lock_end(const struct lock_wait *w, bool taken)
{
	int64_t now_mono_ns;

	if (w->object == NULL || !is_measured())
		return;
	now_mono_ns = nw_cycles_ns(&region->cycles);
	peer_end();
	if (taken)
		atomic_fetch_add_explicit(&w->object->bytes[NWSHM_WRITE], 1, memory_order_relaxed);
	if (now_mono_ns - w->begin_mono_ns >= WAIT_MIN_NS / 10)
		object_waited(w->object, now_mono_ns - w->begin_mono_ns, now_mono_ns);
	else
		atomic_store_explicit(
		    &w->object->u.local.used_mono_ns, now_mono_ns, memory_order_relaxed);
}

#define LOCKS(name, waits, params, args)          \
	EXPORT int name params                    \
	{                                         \
		struct lock_wait w = { NULL, 0 }; \
		int rc;                           \
                                                  \
		if (unlikely(waits))              \
			lock_begin(&w, fd);       \
		rc = REAL(name) args;             \
		if (unlikely(w.object != NULL))   \
			lock_end(&w, rc >= 0);    \
		return rc;                        \
	}
LOCKS(flock, (how & LOCK_NB) == 0 && (how & LOCK_UN) == 0, (int fd, int how), (fd, how))
LOCKS(lockf, how == F_LOCK, (int fd, int how, off_t bytes), (fd, how, bytes))
LOCKS(lockf64, how == F_LOCK, (int fd, int how, off64_t bytes), (fd, how, bytes))

/* The argument is there only with some commands; reading and passing a missing one is harmless. */
#define CONTROL(name)                                                         \
	static int name##_lock(int fd, int command, void *argument)           \
	{                                                                     \
		struct lock_wait w;                                           \
		int rc;                                                       \
                                                                              \
		lock_begin(&w, fd);                                           \
		rc = REAL(name)(fd, command, argument);                       \
		lock_end(&w, rc >= 0);                                        \
		return rc;                                                    \
	}                                                                     \
	EXPORT int name(int fd, int command, ...)                             \
	{                                                                     \
		va_list ap;                                                   \
		void *argument;                                               \
                                                                              \
		va_start(ap, command);                                        \
		argument = va_arg(ap, void *);                                \
		va_end(ap);                                                   \
		if (unlikely(command == F_SETLKW || command == F_OFD_SETLKW)) \
			return name##_lock(fd, command, argument);            \
		return REAL(name)(fd, command, argument);                     \
	}
CONTROL(fcntl)
CONTROL(fcntl64)

/* --- semaphores --- */

#if __SIZEOF_POINTER__ == 8

/* The second word of a semaphore by 64-bit glibc, since 2.21; its value is that of a futex which
 * other processes share. */
static inline bool
is_shared(const sem_t *s)
{
	enum { SHARED = 128 };
	const volatile int32_t *word = (const volatile int32_t *)s;

	return s != NULL && word[2] == SHARED;
}

/* A line of /proc/self/maps: "begin-end rights offset major:minor inode  path". */
struct mapping {
	uint64_t field[6]; /* begin, end, offset, major, minor, inode */
};

static int
digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A reader of the lines' numbers, character by character: the text comes in pieces. */
struct maps_reader {
	struct mapping m;
	unsigned field;
	bool in_rights, done; /* the line's numbers are complete */
	uint64_t at;
	bool found;
};

static void
maps_char(struct maps_reader *r, char c)
{
	int digit = digit_of(c);

	if (c == '\n') {
		*r = (struct maps_reader){ .at = r->at };
	} else if (r->done) {
		return;
	} else if (r->in_rights) {
		r->in_rights = c != ' ';
	} else if (digit >= 0) {
		r->m.field[r->field] =
		    r->m.field[r->field] * (r->field == 5 ? 10 : 16) + (uint64_t)digit;
	} else {
		r->in_rights = r->field == 1;
		r->done = ++r->field == 6;
		r->found = r->done && r->at >= r->m.field[0] && r->at < r->m.field[1];
	}
}

/* The file and place in the file of an address in shared memory. */
static bool
place_find(uint64_t address, uint64_t *dev, uint64_t *ino)
{
	struct maps_reader r = { .at = address };
	char text[1024];
	long fd, n = 0, i;

	if (sealed || (fd = sys(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC)) < 0)
		return false;
	while (!r.found && (n = sys(SYS_read, fd, text, sizeof(text))) > 0)
		for (i = 0; i < n && !r.found; i++)
			maps_char(&r, text[i]);
	sys(SYS_close, fd);
	if (!r.found || r.m.field[5] == 0)
		return false;
	*dev = r.m.field[3] << 32 ^ r.m.field[4] ^
	    (address - r.m.field[0] + r.m.field[2]) * 0x9e3779b97f4a7c15u;
	*ino = r.m.field[5];
	return true;
}

/*
 * The objects of semaphores by address, direct mapped. A word has an address, the low bits of the
 * process's generation and the object's number plus 1: the words of a parent mean nothing to its
 * child. Number 0: there is no object for the semaphore.
 */
enum { KNOWN = 64, OBJECT_BITS = 10, GENERATION_BITS = 10 };
static _Atomic uint64_t known[KNOWN];

static uint64_t
known_key(const sem_t *s)
{
	uint32_t generation = atomic_load_explicit(&state->generation, memory_order_relaxed);

	return ((uint64_t)(uintptr_t)s >> 3) << GENERATION_BITS |
	    (generation & ((1u << GENERATION_BITS) - 1));
}

static struct nwshm_object *
sem_object(const sem_t *s)
{
	uint64_t key = known_key(s), word, dev, ino;
	_Atomic uint64_t *at = &known[((uintptr_t)s >> 12 ^ (uintptr_t)s >> 5) % KNOWN];
	struct nwshm_object *o = NULL;

	word = atomic_load_explicit(at, memory_order_relaxed);
	if (word >> OBJECT_BITS == key && word != 0) {
		word &= (1u << OBJECT_BITS) - 1;
		return word != 0 ? &region->object[word - 1] : NULL;
	}
	if (place_find((uint64_t)(uintptr_t)s, &dev, &ino))
		o = object_get_peer(NWSHM_SEMAPHORE, dev, ino);
	atomic_store_explicit(at,
	    key << OBJECT_BITS | (o != NULL ? (uint64_t)(o - region->object) + 1 : 0),
	    memory_order_relaxed);
	return o;
}

static bool
is_first_of_several(void)
{
	return *single_threaded == 0 && is_first_thread();
}

static int64_t
sem_begin(const sem_t *s)
{
	struct nwshm_thread *t = is_shared(s) ? thread_slot() : NULL;

	return peer_begin(t, t != NULL ? sem_object(s) : NULL);
}

static void
sem_waited(const sem_t *s, int64_t begin_mono_ns)
{
	int64_t now_mono_ns = nw_cycles_ns(&region->cycles);

	if (is_shared(s)) {
		peer_end();
		turn_note(s, begin_mono_ns, now_mono_ns);
	}
	if (!is_measured() || now_mono_ns - begin_mono_ns < WAIT_MIN_NS / 10)
		return;
	if (is_shared(s))
		object_waited(sem_object(s), now_mono_ns - begin_mono_ns, now_mono_ns);
	else if (is_first_of_several())
		nwshm_add(&self.slot->inner_ns, (uint64_t)(now_mono_ns - begin_mono_ns));
}

#define SEM_WAIT(name, params, args)                                             \
	EXPORT int name params                                                   \
	{                                                                        \
		int64_t begin;                                                   \
		int rc, error = errno;                                           \
                                                                                 \
		if (!is_measured() || (!is_shared(s) && !is_first_of_several())) \
			return REAL(name) args;                                  \
		if (REAL(sem_trywait)(s) == 0)                                   \
			return 0;                                                \
		begin = sem_begin(s);                                            \
		errno = error;                                                   \
		rc = REAL(name) args;                                            \
		error = errno;                                                   \
		sem_waited(s, begin);                                            \
		errno = error;                                                   \
		return rc;                                                       \
	}
SEM_WAIT(sem_wait, (sem_t * s), (s))
SEM_WAIT(sem_timedwait, (sem_t *restrict s, const struct timespec *restrict until), (s, until))
SEM_WAIT(sem_clockwait, (sem_t *restrict s, clockid_t clock, const struct timespec *restrict until),
    (s, clock, until))

/* A queue of processes takes its lock so before a loop reads, and its free places before the loop
 * asks for more: both are a fetch's. */
EXPORT int
sem_trywait(sem_t *s)
{
	int64_t begin_mono_ns;
	int rc, error;

	if (likely(!is_shared(s)) || !is_measured() || !is_first_thread())
		return REAL(sem_trywait)(s);
	begin_mono_ns = nw_cycles_ns(&region->cycles);
	rc = REAL(sem_trywait)(s);
	error = errno;
	turn_note(s, begin_mono_ns, nw_cycles_ns(&region->cycles));
	errno = error;
	return rc;
}

EXPORT int
sem_post(sem_t *s)
{
	struct nwshm_object *o;

	if (is_shared(s) && is_measured() && (o = sem_object(s)) != NULL) {
		atomic_fetch_add_explicit(&o->bytes[NWSHM_WRITE], 1, memory_order_relaxed);
		atomic_store_explicit(
		    &o->u.local.used_mono_ns, nw_cycles_ns(&region->cycles), memory_order_relaxed);
		(void)thread_slot(); /* from now on pauses of the thread count */
	}
	return REAL(sem_post)(s);
}

#endif
