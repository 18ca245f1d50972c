/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits for other processes at semaphores, mutexes and condition variables in shared memory,
 * through which pools of processes pass their queues on. Each is an object, as a pipe is. Reading a
 * semaphore is waiting there, writing is posting, with a post as a byte; of a condition, waiting
 * and signalling; of a mutex, waiting and taking.
 *
 * Most belong to one process (each lock of Python and of C++ does). The C library notes in each
 * whether other processes share the object, and a call for all others goes on at once. The
 * exception are semaphores of a process's first thread: where other threads receive what the first
 * thread works on, only the first thread's waits tell whether the process waited. A semaphore or
 * mutex free for the taking is no wait, and costs no look at the clock.
 */
#include "host/nwrun/preload/preload.h"

#if __SIZEOF_POINTER__ == 8

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>

int sem_clockwait(sem_t *restrict, clockid_t, const struct timespec *restrict);
int pthread_cond_clockwait(pthread_cond_t *restrict, pthread_mutex_t *restrict, clockid_t,
    const struct timespec *restrict);

/* --- the object --- */

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
 * The objects by address, direct mapped. A word has an address, the low bits of the process's
 * generation and the object's number plus 1: the words of a parent mean nothing to its child.
 * Number 0: there is no object for the address.
 */
enum { KNOWN = 64, OBJECT_BITS = 10, GENERATION_BITS = 10 };
static _Atomic uint64_t known[KNOWN];

static uint64_t
known_generation(void)
{
	return atomic_load_explicit(&state->generation, memory_order_relaxed) &
	    ((1u << GENERATION_BITS) - 1);
}

/* The search for a place reads a file, so the word of another address stays, unless the caller has
 * waited long anyway. Then there may be no object for this address. */
static struct nwshm_object *
object_of(const void *p, enum nwshm_object_kind kind, bool replaces)
{
	const uint64_t address = (uint64_t)(uintptr_t)p, generation = known_generation(),
		       key = (address >> 3) << GENERATION_BITS | generation;
	_Atomic uint64_t *at = &known[(address >> 12 ^ address >> 5) % KNOWN];
	struct nwshm_object *o = NULL;
	uint64_t word, dev, ino;

	word = atomic_load_explicit(at, memory_order_relaxed);
	if (word >> OBJECT_BITS == key && word != 0) {
		word &= (1u << OBJECT_BITS) - 1;
		return word != 0 ? &region->object[word - 1] : NULL;
	}
	if (!replaces && word != 0 &&
	    (word >> OBJECT_BITS & ((1u << GENERATION_BITS) - 1)) == generation)
		return NULL;
	if (place_find(address, &dev, &ino))
		o = object_get_peer(kind, dev, ino);
	atomic_store_explicit(at,
	    key << OBJECT_BITS | (o != NULL ? (uint64_t)(o - region->object) + 1 : 0),
	    memory_order_relaxed);
	return o;
}

/* --- semaphores --- */

/* The second word of a semaphore by 64-bit glibc, since 2.21; its value is that of a futex which
 * other processes share. */
static inline bool
is_shared(const sem_t *s)
{
	enum { SHARED = 128 };
	const volatile int32_t *word = (const volatile int32_t *)s;

	return s != NULL && word[2] == SHARED;
}

/* Whether the caller has a slot and is the first thread of a process with several. */
static bool
is_first_of_several(void)
{
	return *single_threaded == 0 && is_first_thread();
}

static int64_t
sem_begin(const sem_t *s)
{
	struct nwshm_thread *t = is_shared(s) ? thread_slot() : NULL;

	return peer_begin(t, t != NULL ? object_of(s, NWSHM_SEMAPHORE, true) : NULL);
}

static void
sem_waited(const sem_t *s, int64_t begin_mono_ns)
{
	int64_t now_mono_ns = nw_cycles_ns(&region->cycles);

	if (is_shared(s)) {
		peer_end();
		turn_note(s, begin_mono_ns, now_mono_ns);
	}
	if (!is_measured() || now_mono_ns - begin_mono_ns < PEER_WAIT_MIN_NS / 10)
		return;
	if (is_shared(s))
		peer_waited(
		    object_of(s, NWSHM_SEMAPHORE, true), now_mono_ns - begin_mono_ns, now_mono_ns);
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

/* A queue of processes takes a lock so before a loop reads, and a free place before the loop asks
 * for more: both are a fetch's. */
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

	if (is_shared(s) && is_measured() && (o = object_of(s, NWSHM_SEMAPHORE, true)) != NULL) {
		atomic_fetch_add_explicit(&o->bytes[NWSHM_WRITE], 1, memory_order_relaxed);
		atomic_store_explicit(
		    &o->u.local.used_mono_ns, nw_cycles_ns(&region->cycles), memory_order_relaxed);
		(void)thread_slot(); /* from now on pauses of the thread count */
	}
	return REAL(sem_post)(s);
}

/* --- mutexes and conditions --- */

/* The kind of a mutex has a bit for other processes' share, since there are private futexes. */
static inline bool
is_shared_mutex(const pthread_mutex_t *m)
{
	enum { SHARED = 128 };

	return (m->__data.__kind & SHARED) != 0;
}

/* The waiters of a condition are counted above three marks, of which the first is for other
 * processes' share. Before glibc 2.25 half of an address stood there, which would be an absurd
 * number of waiters: then no condition counts. */
static inline bool
is_shared_condition(const pthread_cond_t *c)
{
	enum { SHARED = 1, OTHER_MARKS = 6, WAITERS_MAX = 2047 << 3 };
	const unsigned word = *(const volatile unsigned *)&c->__data.__wrefs;

	return (word & ~(unsigned)(OTHER_MARKS | WAITERS_MAX)) == SHARED;
}

static int64_t
wait_begin(const void *p, enum nwshm_object_kind kind)
{
	struct nwshm_thread *t = thread_slot();

	return peer_begin(t, t != NULL ? object_of(p, kind, false) : NULL);
}

static void
wait_end(const void *p, enum nwshm_object_kind kind, int64_t begin_mono_ns)
{
	const int64_t now_mono_ns = nw_cycles_ns(&region->cycles), ns = now_mono_ns - begin_mono_ns;

	peer_end();
	if (is_measured() && ns >= PEER_WAIT_MIN_NS / 10)
		peer_waited(object_of(p, kind, ns >= PEER_WAIT_MIN_NS), ns, now_mono_ns);
}

/* A use that was no wait, and whose time is not worth a look at the clock: a time of 0 is now. */
static void
used_now(struct nwshm_object *o)
{
	if (o == NULL)
		return;
	nwshm_add(&o->bytes[NWSHM_WRITE], 1); /* a lost count costs a weight little */
	atomic_store_explicit(&o->u.local.used_mono_ns, 0, memory_order_relaxed);
	(void)thread_slot(); /* from now on pauses of the thread count */
}

/* The owner's end (EOWNERDEAD) makes a robust mutex the caller's, too. */
static inline bool
is_taken(int rc)
{
	return rc == 0 || rc == EOWNERDEAD;
}

/* A look whether the mutex is free, instead of an attempt: trylock of the C library takes an
 * unrecoverable mutex for good while it reports so. */
static inline bool
is_free(const pthread_mutex_t *m)
{
	return *(const volatile int *)&m->__data.__lock == 0;
}

#define MUTEX(name, params, args)                                   \
	static __attribute__((noinline)) int shared_##name params   \
	{                                                           \
		const bool waits = !is_free(m);                     \
		int64_t begin_mono_ns = 0;                          \
		int rc;                                             \
                                                                    \
		if (unlikely(waits))                                \
			begin_mono_ns = wait_begin(m, NWSHM_MUTEX); \
		rc = REAL(name) args;                               \
		if (unlikely(waits))                                \
			wait_end(m, NWSHM_MUTEX, begin_mono_ns);    \
		if (is_taken(rc) && is_measured())                  \
			used_now(object_of(m, NWSHM_MUTEX, false)); \
		return rc;                                          \
	}                                                           \
	EXPORT int name params                                      \
	{                                                           \
		if (likely(!is_shared_mutex(m)) || !is_measured())  \
			return REAL(name) args;                     \
		return shared_##name args;                          \
	}
MUTEX(pthread_mutex_lock, (pthread_mutex_t * m), (m))
MUTEX(pthread_mutex_timedlock, (pthread_mutex_t *restrict m, const struct timespec *restrict until),
    (m, until))

#define CONDITION(name, params, args)                           \
	EXPORT int name params                                  \
	{                                                       \
		int64_t begin_mono_ns;                          \
		int rc;                                         \
                                                                \
		if (!is_shared_condition(c) || !is_measured())  \
			return REAL(name) args;                 \
		begin_mono_ns = wait_begin(c, NWSHM_CONDITION); \
		rc = REAL(name) args;                           \
		wait_end(c, NWSHM_CONDITION, begin_mono_ns);    \
		return rc;                                      \
	}
CONDITION(pthread_cond_wait, (pthread_cond_t *restrict c, pthread_mutex_t *restrict m), (c, m))
CONDITION(pthread_cond_timedwait,
    (pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
	const struct timespec *restrict until),
    (c, m, until))
CONDITION(pthread_cond_clockwait,
    (pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t clock,
	const struct timespec *restrict until),
    (c, m, clock, until))

#define SIGNAL(name)                                                    \
	EXPORT int name(pthread_cond_t *c)                              \
	{                                                               \
		if (is_shared_condition(c) && is_measured())            \
			used_now(object_of(c, NWSHM_CONDITION, false)); \
		return REAL(name)(c);                                   \
	}
SIGNAL(pthread_cond_signal)
SIGNAL(pthread_cond_broadcast)

#endif
