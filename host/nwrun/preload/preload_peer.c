/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits for other processes without bytes: for children, and for locks of files; preload_shared.c
 * has those in shared memory. Each is an object, as a pipe is. Reading a lock is waiting for the
 * lock, writing is getting it.
 */
#include "host/nwrun/preload/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

pid_t wait(int *);
pid_t wait3(int *, int, struct rusage *);
pid_t wait4(pid_t, int *, int, struct rusage *);

void
peer_waited(struct nwshm_object *o, int64_t ns, int64_t end_mono_ns)
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
	if (now_mono_ns - begin_mono_ns >= PEER_WAIT_MIN_NS)
		peer_waited(object_get_peer(NWSHM_CHILDREN, 0, 0), now_mono_ns - begin_mono_ns,
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

int64_t
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

void
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
	if (now_mono_ns - w->begin_mono_ns >= PEER_WAIT_MIN_NS / 10)
		peer_waited(w->object, now_mono_ns - w->begin_mono_ns, now_mono_ns);
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
