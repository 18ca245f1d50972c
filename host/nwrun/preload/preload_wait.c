/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for readiness: the difference between a program that waits for its network and a program
 * that waits for its disk. A sender that never blocks in send(2) spends its time here.
 *
 * Measured are waits that watch an internet socket, or a pipe or local socket to a neighbour, and
 * waits that time ends. A wait belongs
 *	- to net.write or net.read, by the first internet socket that became ready, writable or
 *	  not; a socket watched for both at once, by edges, counts as writable if nothing is to be
 *	  read, or if the last write found no room;
 *	- when none did, likewise to writing or reading pipes, by the first ready pipe;
 *	- to none, when only something else became ready;
 *	- when time ran out or a signal came: to the hope of the program, sockets before pipes.
 *	  The hope is writing if any was watched for writing (programs ask for it only with
 *	  something to send, for reading always), else reading;
 *	- when time ran out without a hope: to the program's own pauses, as sleeps do. A sender of
 *	  a stream that watches only for answers hopes for nothing: its time ran out on purpose.
 *	  A pause is no longer than the program asked for: the rest is a wait for a processor.
 *	  A short pause after a read that found its socket empty is a wait for net.read.
 * epoll_wait(2) returns the program's own words, not descriptors: epoll_ctl(2) notes the meaning of
 * the words.
 */
#include "host/nwrun/preload/preload.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

enum { WATCHED_MAX = 1024 }; /* descriptors looked at in one call */

struct wait {
	struct nwshm_thread *thread; /* NULL: not measured */
	enum nwshm_wait hope;
	int fd;   /* an internet socket watched for reading; negative: unknown */
	int pipe; /* the first pipe of the hope, then the first ready pipe; negative: unknown */
	int64_t begin_mono_ns, limit_ns;
};

/* limit_ns: the time after which the program goes on by itself; NO_LIMIT: never. */
#define NO_LIMIT INT64_MAX

static inline bool
is_pipe(enum nwshm_wait wait)
{
	return wait == NWSHM_WAIT_PIPE_READ || wait == NWSHM_WAIT_PIPE_WRITE;
}

static void
wait_begin(struct wait *w, enum nwshm_wait hope, int64_t limit_ns)
{
	w->hope = hope;
	w->limit_ns = limit_ns;
	thread_goes_to(w->thread, w->pipe >= 0 ? fd_word_object(fd_word_get(w->pipe)) : NULL);
	w->begin_mono_ns = nw_cycles_ns(&region->cycles);
	atomic_store_explicit(&w->thread->inflight,
	    nwshm_inflight(w->begin_mono_ns - region->base_mono_ns, hope, 0, NWSHM_INFLIGHT_WAIT),
	    memory_order_relaxed);
}

static void
wait_end(struct wait *w, enum nwshm_wait got)
{
	int64_t ns = nw_cycles_ns(&region->cycles) - w->begin_mono_ns;

	atomic_store_explicit(&w->thread->inflight, 0, memory_order_relaxed);
	if (got == NWSHM_WAIT_PAUSE) {
		if (ns > w->limit_ns)
			ns = w->limit_ns;
		if (self.drained && ns <= NWSHM_PATROL_NS)
			got = NWSHM_WAIT_READ;
		self.drained = false;
	}
	nwshm_add(&w->thread->wait_ns[got], (uint64_t)ns);
	if (w->pipe >= 0 && is_pipe(got)) {
		fd_waited(w->pipe, got == NWSHM_WAIT_PIPE_WRITE, ns, w->begin_mono_ns + ns);
		if (got == NWSHM_WAIT_PIPE_READ)
			turn_note(fd_word_object(fd_word_get(w->pipe)), w->begin_mono_ns,
			    w->begin_mono_ns + ns);
	}
}

/* Threads that only sleep take no slot. */
static inline struct nwshm_thread *
thread_slot_known(void)
{
	return self.generation == atomic_load_explicit(&state->generation, memory_order_relaxed)
	    ? self.slot
	    : NULL;
}

static inline uint64_t
lane_bytes(const struct nwshm_thread *t, unsigned stage)
{
	return atomic_load_explicit(&t->ready[stage], memory_order_acquire) != 0
	    ? nwshm_get(&t->lane[stage].bytes)
	    : 0;
}

/* Whether a thread has sent so much more than it received that it does not wait for bytes. */
static bool
mostly_sends(const struct nwshm_thread *t)
{
	enum { SENDS = 20 };

	return lane_bytes(t, NWSHM_NET_WRITE) > SENDS * lane_bytes(t, NWSHM_NET_READ);
}

/* Datagrams may be paced by the program for the network's sake: such a wait is the network's. */
static bool
is_stream(int fd)
{
	socklen_t len = sizeof(int);
	int type = 0;

	return fd >= 0 && !sealed &&
	    sys(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len) >= 0 && type == SOCK_STREAM;
}

/* The place of a wait whose time ran out. */
static enum nwshm_wait
expired(const struct wait *w)
{
	if (w->hope == NWSHM_WAIT_OTHER ||
	    (w->hope == NWSHM_WAIT_READ && mostly_sends(w->thread) && is_stream(w->fd)))
		return NWSHM_WAIT_PAUSE;
	return w->hope;
}

/* The wait of a descriptor, by the readiness watched for or found. */
static inline enum nwshm_wait
wait_of(int fd, bool out)
{
	unsigned stage = fd >= 0 ? fd_get(fd).stage : NWSHM_OTHER_READ;

	if (stage == NWSHM_NET_READ)
		return out ? NWSHM_WAIT_WRITE : NWSHM_WAIT_READ;
	if (stage == NWSHM_PIPE_READ)
		return out ? NWSHM_WAIT_PIPE_WRITE : NWSHM_WAIT_PIPE_READ;
	return NWSHM_WAIT_OTHER;
}

static inline bool
is_net(enum nwshm_wait wait)
{
	return wait <= NWSHM_WAIT_WRITE;
}

/* Networks before pipes before the rest, and writing before reading. */
static inline enum nwshm_wait
stronger(enum nwshm_wait a, enum nwshm_wait b)
{
	return (a ^ 1) < (b ^ 1) ? a : b;
}

static inline int64_t
limit_of_ms(int timeout_ms)
{
	return timeout_ms < 0 ? NO_LIMIT : timeout_ms * INT64_C(1000000);
}

static inline int64_t
limit_of_parts(int64_t s, int64_t ns)
{
	return s < 0 || s >= NO_LIMIT / NS_PER_S - 1 ? NO_LIMIT : s * NS_PER_S + ns;
}

static inline int64_t
limit_of(const struct timespec *timeout)
{
	return timeout == NULL ? NO_LIMIT : limit_of_parts(timeout->tv_sec, timeout->tv_nsec);
}

/* Of the ready descriptors: the first of its kind. */
static inline enum nwshm_wait
first(enum nwshm_wait so_far, enum nwshm_wait now)
{
	return so_far == NWSHM_WAIT_OTHER || is_net(now) ? now : so_far;
}

/* --- poll --- */

static void
poll_begin(struct wait *w, struct pollfd *fds, nfds_t n, int64_t limit_ns)
{
	enum nwshm_wait hope = NWSHM_WAIT_OTHER, one;
	nfds_t i;

	w->thread = NULL;
	w->fd = w->pipe = -1;
	if (limit_ns <= 0 || (w->thread = n > 0 ? thread_slot() : thread_slot_known()) == NULL)
		return;
	for (i = 0; i < n && i < WATCHED_MAX && hope != NWSHM_WAIT_WRITE; i++) {
		if ((fds[i].events & (POLLIN | POLLOUT | POLLRDHUP | POLLPRI)) == 0)
			continue;
		one = wait_of(fds[i].fd, (fds[i].events & POLLOUT) != 0);
		hope = stronger(hope, one);
		w->fd = one == NWSHM_WAIT_READ ? fds[i].fd : w->fd;
		w->pipe = w->pipe < 0 && is_pipe(one) ? fds[i].fd : w->pipe;
	}
	if (hope == NWSHM_WAIT_OTHER && limit_ns == NO_LIMIT)
		w->thread = NULL;
	else
		wait_begin(w, hope, limit_ns);
}

static void
poll_end(struct wait *w, const struct pollfd *fds, nfds_t n, int rc)
{
	enum nwshm_wait got, one;
	nfds_t i;

	if (w->thread == NULL)
		return;
	got = rc > 0 ? NWSHM_WAIT_OTHER : rc == 0 ? expired(w) : w->hope;
	for (i = 0; rc > 0 && i < n && i < WATCHED_MAX && !is_net(got); i++)
		if (fds[i].revents != 0) {
			one = wait_of(fds[i].fd, (fds[i].revents & POLLOUT) != 0);
			w->pipe = got == NWSHM_WAIT_OTHER && is_pipe(one) ? fds[i].fd : w->pipe;
			got = first(got, one);
		}
	wait_end(w, got);
}

#define POLL(name, limit_ns, params, args)        \
	EXPORT int name params                    \
	{                                         \
		struct wait w;                    \
		int rc;                           \
                                                  \
		poll_begin(&w, fds, n, limit_ns); \
		rc = REAL(name) args;             \
		poll_end(&w, fds, n, rc);         \
		return rc;                        \
	}
POLL(poll, limit_of_ms(timeout_ms), (struct pollfd * fds, nfds_t n, int timeout_ms),
    (fds, n, timeout_ms))
POLL(__poll_chk, limit_of_ms(timeout_ms),
    (struct pollfd * fds, nfds_t n, int timeout_ms, size_t room), (fds, n, timeout_ms, room))
POLL(ppoll, limit_of(timeout),
    (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
    (fds, n, timeout, mask))
POLL(__ppoll_chk, limit_of(timeout),
    (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
	size_t room),
    (fds, n, timeout, mask, room))

/* --- select --- */

/* Of two sets: the first watched for reading, the second for writing. */
static enum nwshm_wait
sets_wait(int n, const fd_set *in, const fd_set *out)
{
	enum nwshm_wait wait = NWSHM_WAIT_OTHER;
	int i;

	for (i = 0; i < n && i < FD_SETSIZE && wait != NWSHM_WAIT_WRITE; i++) {
		if (out != NULL && FD_ISSET(i, out))
			wait = stronger(wait, wait_of(i, true));
		if (in != NULL && FD_ISSET(i, in))
			wait = stronger(wait, wait_of(i, false));
	}
	return wait;
}

static int
set_socket(int n, const fd_set *in)
{
	int i;

	for (i = 0; in != NULL && i < n && i < FD_SETSIZE; i++)
		if (FD_ISSET(i, in) && wait_of(i, false) == NWSHM_WAIT_READ)
			return i;
	return -1;
}

/* The first pipe of two sets. */
static int
set_pipe(int n, const fd_set *in, const fd_set *out)
{
	int i;

	for (i = 0; i < n && i < FD_SETSIZE; i++)
		if (((in != NULL && FD_ISSET(i, in)) || (out != NULL && FD_ISSET(i, out))) &&
		    is_pipe(wait_of(i, false)))
			return i;
	return -1;
}

static void
select_begin(struct wait *w, int n, const fd_set *in, const fd_set *out, int64_t limit_ns)
{
	enum nwshm_wait hope;

	w->thread = NULL;
	if (limit_ns <= 0 || n < 0 ||
	    (w->thread = n > 0 ? thread_slot() : thread_slot_known()) == NULL)
		return;
	hope = sets_wait(n, in, out);
	w->pipe = is_pipe(hope) ? set_pipe(n, in, out) : -1;
	w->fd = hope == NWSHM_WAIT_READ ? set_socket(n, in) : -1;
	if (hope == NWSHM_WAIT_OTHER && limit_ns == NO_LIMIT)
		w->thread = NULL;
	else
		wait_begin(w, hope, limit_ns);
}

static void
select_end(struct wait *w, int n, const fd_set *in, const fd_set *out, int rc)
{
	enum nwshm_wait got;

	if (w->thread == NULL)
		return;
	got = rc > 0 ? sets_wait(n, in, out) : rc == 0 ? expired(w) : w->hope;
	if (rc > 0 && is_pipe(got))
		w->pipe = set_pipe(n, in, out);
	wait_end(w, got);
}

#define SELECT(name, limit_ns, params, args)            \
	EXPORT int name params                          \
	{                                               \
		struct wait w;                          \
		int rc;                                 \
                                                        \
		select_begin(&w, n, in, out, limit_ns); \
		rc = REAL(name) args;                   \
		select_end(&w, n, in, out, rc);         \
		return rc;                              \
	}
SELECT(select,
    timeout == NULL ? NO_LIMIT : limit_of_parts(timeout->tv_sec, timeout->tv_usec *INT64_C(1000)),
    (int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad,
	struct timeval *restrict timeout),
    (n, in, out, bad, timeout))
SELECT(pselect, limit_of(timeout),
    (int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad,
	const struct timespec *restrict timeout, const sigset_t *restrict mask),
    (n, in, out, bad, timeout, mask))

/* --- epoll --- */

/* Words are noted in tables->epoll_word, direct mapped: a word that lost its place to another word
 * costs the attribution of a wait. */

/* A word has a part of a hash, the descriptor, and marks; the last mark is in all words. */
enum { EPOLL_NOTED = 1, EPOLL_PIPE = 2, EPOLL_BOTH = 4, EPOLL_FD_SHIFT = 4, EPOLL_HASH_SHIFT = 20 };

static uint64_t
epoll_hash(int epfd, uint64_t word)
{
	uint64_t h = (word ^ (uint64_t)(unsigned)epfd << 32) * 0x9e3779b97f4a7c15u;

	return (h ^ h >> 31) >> EPOLL_HASH_SHIFT;
}

static void
epoll_note(uint64_t hash, int fd, unsigned marks)
{
	atomic_store_explicit(&tables->epoll_word[hash % EPOLL_WORDS],
	    hash << EPOLL_HASH_SHIFT | (uint64_t)(unsigned)fd << EPOLL_FD_SHIFT | marks |
		EPOLL_NOTED,
	    memory_order_relaxed);
}

/* 0: nothing is noted of the program's word. */
static uint64_t
epoll_noted(uint64_t hash)
{
	uint64_t noted =
	    atomic_load_explicit(&tables->epoll_word[hash % EPOLL_WORDS], memory_order_relaxed);

	return noted >> EPOLL_HASH_SHIFT == hash ? noted : 0;
}

/* A socket that is watched for both directions and edges is nearly always writable when bytes
 * arrive: the program waits for room alone if the last write found none. */
static bool
is_for_room(uint64_t noted, uint32_t events)
{
	if ((noted & EPOLL_BOTH) == 0 || (events & EPOLLIN) == 0)
		return (events & EPOLLOUT) != 0;
	return (events & EPOLLOUT) != 0 &&
	    (fd_word_get((int)(noted >> EPOLL_FD_SHIFT & (FD_MAX - 1))) & FD_FULL) != 0;
}

/* Where the hope is a socket, a pipe does not take its place. */
static void
epoll_hope_set(int epfd, enum nwshm_wait hope)
{
	_Atomic uint8_t *at = &tables->epoll_hope[(unsigned)epfd % EPOLL_SETS];
	uint8_t old = atomic_load_explicit(at, memory_order_relaxed);

	if (hope != NWSHM_WAIT_OTHER && (is_net(hope) || old == 0 || !is_net(old - 1)))
		atomic_store_explicit(at, (uint8_t)(hope + 1), memory_order_relaxed);
}

/* Edge-triggered sets ask for writability once and for all: such a set tells nothing about hope. */
EXPORT int
epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	static const uint32_t both = EPOLLIN | EPOLLOUT | EPOLLET;
	enum nwshm_wait hope;

	if (op != EPOLL_CTL_DEL && ev != NULL && thread_slot() != NULL &&
	    (hope = wait_of(fd, (ev->events & (EPOLLOUT | EPOLLET)) == EPOLLOUT)) !=
		NWSHM_WAIT_OTHER &&
	    (unsigned)fd < FD_MAX) {
		epoll_note(epoll_hash(epfd, ev->data.u64), fd,
		    !is_net(hope)                     ? EPOLL_PIPE
			: (ev->events & both) == both ? EPOLL_BOTH
						      : 0);
		epoll_hope_set(epfd, hope);
		if (is_net(hope) && (ev->events & EPOLLET) != 0)
			atomic_store_explicit(&tables->epoll_edge[(unsigned)epfd % EPOLL_SETS],
			    true, memory_order_relaxed);
	}
	return REAL(epoll_ctl)(epfd, op, fd, ev);
}

/*
 * A socket of an edge-triggered set may be writable all the time of a wait: a server that paces
 * itself sleeps so until its own time is up. Only an event tells that the wait was for room to
 * send.
 */
static void
epoll_begin(struct wait *w, int epfd, int64_t limit_ns)
{
	uint8_t hope;

	w->thread = NULL;
	w->fd = w->pipe = -1;
	if (tables == NULL || limit_ns <= 0)
		return;
	hope = atomic_load_explicit(
	    &tables->epoll_hope[(unsigned)epfd % EPOLL_SETS], memory_order_relaxed);
	if (hope == NWSHM_WAIT_WRITE + 1 &&
	    atomic_load_explicit(
		&tables->epoll_edge[(unsigned)epfd % EPOLL_SETS], memory_order_relaxed))
		hope = NWSHM_WAIT_OTHER + 1;
	if (hope == 0 && limit_ns != NO_LIMIT && (w->thread = thread_slot_known()) != NULL)
		wait_begin(w, NWSHM_WAIT_OTHER, limit_ns);
	else if (hope != 0 && (w->thread = thread_slot()) != NULL)
		wait_begin(w, hope - 1, limit_ns);
}

/* An edge-triggered set tells nothing of a socket that stays writable. */
static enum nwshm_wait
epoll_expired(const struct wait *w, int epfd)
{
	if (w->hope == NWSHM_WAIT_READ && mostly_sends(w->thread) &&
	    atomic_load_explicit(
		&tables->epoll_edge[(unsigned)epfd % EPOLL_SETS], memory_order_relaxed))
		return NWSHM_WAIT_PAUSE;
	return expired(w);
}

static void
epoll_end(struct wait *w, int epfd, const struct epoll_event *events, int rc)
{
	enum nwshm_wait got;
	uint64_t noted;
	int i;

	if (w->thread == NULL)
		return;
	if (rc == 0) {
		wait_end(w, epoll_expired(w, epfd));
		return;
	}
	got = rc > 0 ? NWSHM_WAIT_OTHER : w->hope;
	for (i = 0; i < rc && !is_net(got); i++) {
		if ((noted = epoll_noted(epoll_hash(epfd, events[i].data.u64))) == 0)
			continue;
		if ((noted & EPOLL_PIPE) == 0)
			got = is_for_room(noted, events[i].events) ? NWSHM_WAIT_WRITE
								   : NWSHM_WAIT_READ;
		else if (got == NWSHM_WAIT_OTHER) {
			got = (events[i].events & EPOLLOUT) != 0 ? NWSHM_WAIT_PIPE_WRITE
								 : NWSHM_WAIT_PIPE_READ;
			w->pipe = (int)(noted >> EPOLL_FD_SHIFT & (FD_MAX - 1));
		}
	}
	epoll_hope_set(epfd, got);
	wait_end(w, got);
}

#define EPOLL(name, limit_ns, params, args)      \
	EXPORT int name params                   \
	{                                        \
		struct wait w;                   \
		int rc;                          \
                                                 \
		epoll_begin(&w, epfd, limit_ns); \
		rc = REAL(name) args;            \
		epoll_end(&w, epfd, events, rc); \
		return rc;                       \
	}
EPOLL(epoll_wait, limit_of_ms(timeout_ms),
    (int epfd, struct epoll_event *events, int max, int timeout_ms),
    (epfd, events, max, timeout_ms))
EPOLL(epoll_pwait, limit_of_ms(timeout_ms),
    (int epfd, struct epoll_event *events, int max, int timeout_ms, const sigset_t *mask),
    (epfd, events, max, timeout_ms, mask))
EPOLL(epoll_pwait2, limit_of(timeout),
    (int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
	const sigset_t *mask),
    (epfd, events, max, timeout, mask))

/* --- sleeps --- */

static void
sleep_begin(struct wait *w, int64_t limit_ns)
{
	w->thread = limit_ns > 0 && !in_vfork_child() ? thread_slot_known() : NULL;
	w->pipe = -1;
	/* a library below that sleeps in a call: the call's time has the sleep */
	if (w->thread != NULL &&
	    atomic_load_explicit(&w->thread->inflight, memory_order_relaxed) != 0)
		w->thread = NULL;
	if (w->thread != NULL)
		wait_begin(w, NWSHM_WAIT_PAUSE, limit_ns);
}

static void
sleep_end(struct wait *w)
{
	if (w->thread != NULL)
		wait_end(w, NWSHM_WAIT_PAUSE);
}

#define SLEEP(type, name, limit_ns, params, args) \
	EXPORT type name params                   \
	{                                         \
		struct wait w;                    \
		type rc;                          \
                                                  \
		sleep_begin(&w, limit_ns);        \
		rc = REAL(name) args;             \
		sleep_end(&w);                    \
		return rc;                        \
	}
SLEEP(int, nanosleep, limit_of(timeout), (const struct timespec *timeout, struct timespec *left),
    (timeout, left))
/* A time of the day tells no length. */
SLEEP(int, clock_nanosleep, (flags & TIMER_ABSTIME) != 0 ? NO_LIMIT : limit_of(timeout),
    (clockid_t clock, int flags, const struct timespec *timeout, struct timespec *left),
    (clock, flags, timeout, left))
SLEEP(int, usleep, us *INT64_C(1000), (useconds_t us), (us))
SLEEP(unsigned, sleep, s *NS_PER_S, (unsigned s), (s))
