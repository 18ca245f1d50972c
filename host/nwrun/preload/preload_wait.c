/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for readiness: the difference between a program that waits for its network and a program
 * that waits for its disk. A sender that never blocks in send(2) spends its time here.
 *
 * Only waits that watch an internet socket, or a pipe or local socket to a neighbour, are measured.
 * Such a wait belongs
 *	- to net.write or net.read, by the first internet socket that became ready, writable or
 *	  not; a socket watched for both at once, by edges, counts as writable if nothing is to be
 *	  read, or if the last write found no room;
 *	- when none did, likewise to writing or reading pipes, by the first ready pipe;
 *	- to none, when only something else became ready;
 *	- when time ran out or a signal came: to the hope of the program, sockets before pipes.
 *	  The hope is writing if any was watched for writing (programs ask for it only with
 *	  something to send, for reading always), else reading.
 * epoll_wait(2) returns the program's own words, not descriptors: epoll_ctl(2) notes the meaning of
 * the words.
 */
#include "host/nwrun/preload/preload.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

enum { WATCHED_MAX = 1024 }; /* descriptors looked at in one call */

struct wait {
	struct nwshm_thread *thread; /* NULL: not measured */
	enum nwshm_wait hope;
	int64_t begin_mono_ns;
};

static void
wait_begin(struct wait *w, enum nwshm_wait hope)
{
	w->hope = hope;
	w->begin_mono_ns = nw_cycles_ns(&region->cycles);
	atomic_store_explicit(&w->thread->inflight,
	    nwshm_inflight(w->begin_mono_ns - region->base_mono_ns, hope, 0, NWSHM_INFLIGHT_WAIT),
	    memory_order_relaxed);
}

static void
wait_end(struct wait *w, enum nwshm_wait got)
{
	int64_t end_mono_ns = nw_cycles_ns(&region->cycles);

	atomic_store_explicit(&w->thread->inflight, 0, memory_order_relaxed);
	nwshm_add(&w->thread->wait_ns[got], (uint64_t)(end_mono_ns - w->begin_mono_ns));
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

static inline bool
is_now(const struct timespec *timeout)
{
	return timeout != NULL && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
}

/* Of the ready descriptors: the first of its kind. */
static inline enum nwshm_wait
first(enum nwshm_wait so_far, enum nwshm_wait now)
{
	return so_far == NWSHM_WAIT_OTHER || is_net(now) ? now : so_far;
}

/* --- poll --- */

static void
poll_begin(struct wait *w, struct pollfd *fds, nfds_t n, bool at_once)
{
	enum nwshm_wait hope = NWSHM_WAIT_OTHER;
	nfds_t i;

	w->thread = NULL;
	if (at_once || n == 0 || (w->thread = thread_slot()) == NULL)
		return;
	for (i = 0; i < n && i < WATCHED_MAX && hope != NWSHM_WAIT_WRITE; i++)
		if ((fds[i].events & (POLLIN | POLLOUT | POLLRDHUP | POLLPRI)) != 0)
			hope = stronger(hope, wait_of(fds[i].fd, (fds[i].events & POLLOUT) != 0));
	if (hope == NWSHM_WAIT_OTHER)
		w->thread = NULL;
	else
		wait_begin(w, hope);
}

static void
poll_end(struct wait *w, const struct pollfd *fds, nfds_t n, int rc)
{
	enum nwshm_wait got = rc > 0 ? NWSHM_WAIT_OTHER : w->hope;
	nfds_t i;

	if (w->thread == NULL)
		return;
	for (i = 0; rc > 0 && i < n && i < WATCHED_MAX && !is_net(got); i++)
		if (fds[i].revents != 0)
			got = first(got, wait_of(fds[i].fd, (fds[i].revents & POLLOUT) != 0));
	wait_end(w, got);
}

#define POLL(name, at_once, params, args)        \
	EXPORT int name params                   \
	{                                        \
		struct wait w;                   \
		int rc;                          \
                                                 \
		poll_begin(&w, fds, n, at_once); \
		rc = REAL(name) args;            \
		poll_end(&w, fds, n, rc);        \
		return rc;                       \
	}
POLL(poll, timeout_ms == 0, (struct pollfd * fds, nfds_t n, int timeout_ms), (fds, n, timeout_ms))
POLL(__poll_chk, timeout_ms == 0, (struct pollfd * fds, nfds_t n, int timeout_ms, size_t room),
    (fds, n, timeout_ms, room))
POLL(ppoll, is_now(timeout),
    (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
    (fds, n, timeout, mask))
POLL(__ppoll_chk, is_now(timeout),
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

static void
select_begin(struct wait *w, int n, const fd_set *in, const fd_set *out, bool at_once)
{
	enum nwshm_wait hope;

	w->thread = NULL;
	if (at_once || n <= 0 || (w->thread = thread_slot()) == NULL)
		return;
	if ((hope = sets_wait(n, in, out)) == NWSHM_WAIT_OTHER)
		w->thread = NULL;
	else
		wait_begin(w, hope);
}

static void
select_end(struct wait *w, int n, const fd_set *in, const fd_set *out, int rc)
{
	if (w->thread != NULL)
		wait_end(w, rc > 0 ? sets_wait(n, in, out) : w->hope);
}

#define SELECT(name, at_once, params, args)            \
	EXPORT int name params                         \
	{                                              \
		struct wait w;                         \
		int rc;                                \
                                                       \
		select_begin(&w, n, in, out, at_once); \
		rc = REAL(name) args;                  \
		select_end(&w, n, in, out, rc);        \
		return rc;                             \
	}
SELECT(select, timeout != NULL && timeout->tv_sec == 0 && timeout->tv_usec == 0,
    (int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad,
	struct timeval *restrict timeout),
    (n, in, out, bad, timeout))
SELECT(pselect, is_now(timeout),
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
epoll_begin(struct wait *w, int epfd, bool at_once)
{
	uint8_t hope;

	w->thread = NULL;
	if (tables == NULL)
		return;
	hope = atomic_load_explicit(
	    &tables->epoll_hope[(unsigned)epfd % EPOLL_SETS], memory_order_relaxed);
	if (hope == NWSHM_WAIT_WRITE + 1 &&
	    atomic_load_explicit(
		&tables->epoll_edge[(unsigned)epfd % EPOLL_SETS], memory_order_relaxed))
		hope = NWSHM_WAIT_OTHER + 1;
	if (!at_once && hope != 0 && (w->thread = thread_slot()) != NULL)
		wait_begin(w, hope - 1);
}

static void
epoll_end(struct wait *w, int epfd, const struct epoll_event *events, int rc)
{
	enum nwshm_wait got = rc > 0 ? NWSHM_WAIT_OTHER : w->hope;
	uint64_t noted;
	int i;

	if (w->thread == NULL)
		return;
	for (i = 0; i < rc && !is_net(got); i++) {
		if ((noted = epoll_noted(epoll_hash(epfd, events[i].data.u64))) == 0)
			continue;
		if ((noted & EPOLL_PIPE) == 0)
			got = is_for_room(noted, events[i].events) ? NWSHM_WAIT_WRITE
								   : NWSHM_WAIT_READ;
		else if (got == NWSHM_WAIT_OTHER)
			got = (events[i].events & EPOLLOUT) != 0 ? NWSHM_WAIT_PIPE_WRITE
								 : NWSHM_WAIT_PIPE_READ;
	}
	epoll_hope_set(epfd, got);
	wait_end(w, got);
}

#define EPOLL(name, at_once, params, args)       \
	EXPORT int name params                   \
	{                                        \
		struct wait w;                   \
		int rc;                          \
                                                 \
		epoll_begin(&w, epfd, at_once);  \
		rc = REAL(name) args;            \
		epoll_end(&w, epfd, events, rc); \
		return rc;                       \
	}
EPOLL(epoll_wait, timeout_ms == 0, (int epfd, struct epoll_event *events, int max, int timeout_ms),
    (epfd, events, max, timeout_ms))
EPOLL(epoll_pwait, timeout_ms == 0,
    (int epfd, struct epoll_event *events, int max, int timeout_ms, const sigset_t *mask),
    (epfd, events, max, timeout_ms, mask))
EPOLL(epoll_pwait2, is_now(timeout),
    (int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
	const sigset_t *mask),
    (epfd, events, max, timeout, mask))
