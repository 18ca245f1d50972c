/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that make and end descriptors and processes. They are noticed, not measured. */
#include "host/nwrun/preload/preload.h"

#include <aio.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pty.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* --- descriptors: a number that libc closed unseen is forgotten when the number comes back to
 * life --- */

static inline int
fresh(int fd)
{
	if (fd >= 0)
		fd_forget(fd);
	return fd;
}

static inline int
opened(int fd, const char *path, int flags)
{
	if (fd >= 0)
		fd_opened(fd, path, flags);
	return fd;
}

/* The mode argument is there only with O_CREAT and O_TMPFILE; reading and passing a missing mode
 * is harmless. */
#define OPEN(name, params, last, args)                       \
	EXPORT int name params                               \
	{                                                    \
		va_list ap;                                  \
		mode_t mode;                                 \
                                                             \
		va_start(ap, last);                          \
		mode = va_arg(ap, mode_t);                   \
		va_end(ap);                                  \
		return opened(REAL(name) args, path, flags); \
	}
OPEN(open, (const char *path, int flags, ...), flags, (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), flags, (path, flags, mode))
OPEN(openat, (int dir, const char *path, int flags, ...), flags, (dir, path, flags, mode))
OPEN(openat64, (int dir, const char *path, int flags, ...), flags, (dir, path, flags, mode))

#define OPEN_2(name, params, args)                           \
	EXPORT int name params;                              \
	EXPORT int name params                               \
	{                                                    \
		return opened(REAL(name) args, path, flags); \
	}
OPEN_2(__open_2, (const char *path, int flags), (path, flags))
OPEN_2(__open64_2, (const char *path, int flags), (path, flags))
OPEN_2(__openat_2, (int dir, const char *path, int flags), (dir, path, flags))
OPEN_2(__openat64_2, (int dir, const char *path, int flags), (dir, path, flags))

#define MAKE(name, params, args)               \
	EXPORT int name params;                \
	EXPORT int name params                 \
	{                                      \
		return fresh(REAL(name) args); \
	}
MAKE(creat, (const char *path, mode_t mode), (path, mode))
MAKE(creat64, (const char *path, mode_t mode), (path, mode))
MAKE(dup, (int fd), (fd))
MAKE(dup2, (int fd, int to), (fd, to))
MAKE(dup3, (int fd, int to, int flags), (fd, to, flags))
MAKE(socket, (int domain, int type, int protocol), (domain, type, protocol))
MAKE(accept, (int fd, __SOCKADDR_ARG from, socklen_t *restrict len), (fd, from, len))
MAKE(accept4, (int fd, __SOCKADDR_ARG from, socklen_t *restrict len, int flags),
    (fd, from, len, flags))

#define MAKE_PAIR(name, params, args)      \
	EXPORT int name params             \
	{                                  \
		int rc = REAL(name) args;  \
                                           \
		if (rc == 0)               \
			fd_pair_made(fds); \
		return rc;                 \
	}
MAKE_PAIR(pipe, (int fds[2]), (fds))
MAKE_PAIR(pipe2, (int fds[2], int flags), (fds, flags))
MAKE_PAIR(
    socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))

/* From now on the socket has a peer, or another peer. */
EXPORT int
connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t len)
{
	int rc = REAL(connect)(fd, to, len);

	fd_forget(fd);
	return rc;
}

/* Before the close, so that another thread with the same number finds an unknown descriptor. */
EXPORT int
close(int fd)
{
	fd_closing(fd);
	return KERNEL(close, SYS_close, (fd), fd);
}

EXPORT int
close_range(unsigned first, unsigned last, int flags)
{
	fd_forget_range(first, last);
	return REAL(close_range)(first, last, flags);
}

EXPORT void
closefrom(int first)
{
	fd_forget_range(first < 0 ? 0 : (unsigned)first, UINT32_MAX);
	REAL(closefrom)(first);
}

/* --- facts --- */

#define FACTS(name, params, args)                                                           \
	EXPORT int name params;                                                             \
	EXPORT int name params                                                              \
	{                                                                                   \
		int rc = REAL(name) args;                                                   \
                                                                                            \
		if (rc == 0 && fd_is_worth_learning(fd) && S_ISREG(st->st_mode))            \
			fd_learn(fd, (uint64_t)major(st->st_dev) << 32 | minor(st->st_dev), \
			    (uint64_t)st->st_size);                                         \
		return rc;                                                                  \
	}
FACTS(fstat, (int fd, struct stat *st), (fd, st))
FACTS(fstat64, (int fd, struct stat64 *st), (fd, st))
FACTS(__fxstat, (int version, int fd, struct stat *st), (version, fd, st))
FACTS(__fxstat64, (int version, int fd, struct stat64 *st), (version, fd, st))

/* --- names --- */

#define RENAME(name, params, args, dir, to)           \
	EXPORT int name params                        \
	{                                             \
		int rc = REAL(name) args;             \
                                                      \
		if (rc == 0 && object_has_name(from)) \
			object_renamed(dir, to);      \
		return rc;                            \
	}
RENAME(rename, (const char *from, const char *to), (from, to), AT_FDCWD, to)
RENAME(renameat, (int from_dir, const char *from, int dir, const char *to),
    (from_dir, from, dir, to), dir, to)
RENAME(renameat2, (int from_dir, const char *from, int dir, const char *to, unsigned flags),
    (from_dir, from, dir, to, flags), dir, to)

/* --- processes --- */

#define FORK(name, params, args)        \
	EXPORT int name params          \
	{                               \
		process_before_fork();  \
		return REAL(name) args; \
	}
FORK(fork, (void), ())
FORK(daemon, (int nochdir, int noclose), (nochdir, noclose))
FORK(forkpty, (int *pty, char *name, const struct termios *termp, const struct winsize *winp),
    (pty, name, termp, winp))

/*
 * A vfork child runs on its parent's stack and memory: a wrapper that returns twice would ruin
 * both. So the wrapper notes the call and jumps; the mark makes the child, and once the parent,
 * take the slow path of thread_slot().
 */
__attribute__((used, noinline)) static void *
vfork_begin(void)
{
	if (atomic_load_explicit(&state->generation, memory_order_relaxed) == 0)
		process_attach(true); /* now, rather than in the child */
	if (!in_vfork_child())
		fd_pairs_shared();
	self.generation = UINT32_MAX - 1;
	self.in_vfork = true;
	return real_get(REAL_vfork);
}
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, %function\n"
	"vfork:\n"
#if defined(__x86_64__)
	"	subq $8, %rsp\n"
	"	call vfork_begin\n"
	"	addq $8, %rsp\n"
	"	jmp *%rax\n"
#elif defined(__aarch64__)
	"	stp x29, x30, [sp, #-16]!\n"
	"	bl vfork_begin\n"
	"	ldp x29, x30, [sp], #16\n"
	"	mov x16, x0\n"
	"	br x16\n"
#endif
	".size vfork, .-vfork\n");

EXPORT void
_exit(int status)
{
	process_note_status(status);
	process_record_exit(0);
	REAL(_exit)(status);
	__builtin_unreachable();
}

EXPORT void
_Exit(int status)
{
	process_note_status(status);
	process_record_exit(0);
	REAL(_Exit)(status);
	__builtin_unreachable();
}

/* After main and the program's own exit handlers. */
__attribute__((destructor)) static void
preload_end(void)
{
	process_record_exit(stdio_count_pending());
}

/*
 * A filter that kills at unexpected calls would kill the program for ours, so the thread's slot and
 * the open descriptors are made ready before. Mapped slots still count; in strict mode even the
 * clock is forbidden, for this thread.
 */
static void
seal(bool strict)
{
	struct nwshm_thread *t = sealed ? NULL : thread_slot();

	if (t != NULL) {
		lanes_prepare(t);
		fd_look_all();
	}
	sealed = true;
	if (strict)
		self.slot = NULL;
}

EXPORT int
prctl(int option, ...)
{
	unsigned long arg[4];
	va_list ap;
	int i;

	va_start(ap, option);
	for (i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP)
		seal(arg[0] == SECCOMP_MODE_STRICT);
	return REAL(prctl)(option, arg[0], arg[1], arg[2], arg[3]);
}

/* --- ways that are noticed, and not counted --- */

#define NOTE_AIO(name, params, args)                \
	EXPORT int name params                      \
	{                                           \
		process_note_way(NWSHM_WAY_AIO, 0); \
		return REAL(name) args;             \
	}
NOTE_AIO(aio_read, (struct aiocb * cb), (cb))
NOTE_AIO(aio_read64, (struct aiocb64 * cb), (cb))
NOTE_AIO(aio_write, (struct aiocb * cb), (cb))
NOTE_AIO(aio_write64, (struct aiocb64 * cb), (cb))
NOTE_AIO(lio_listio,
    (int mode, struct aiocb *const list[restrict], int n, struct sigevent *restrict event),
    (mode, list, n, event))
NOTE_AIO(lio_listio64,
    (int mode, struct aiocb64 *const list[restrict], int n, struct sigevent *restrict event),
    (mode, list, n, event))

#define MAP(name, type)                                                                       \
	EXPORT void *name(void *at, size_t bytes, int access, int flags, int fd, type offset) \
	{                                                                                     \
		void *rc = REAL(name)(at, bytes, access, flags, fd, offset);                  \
                                                                                              \
		if (rc != MAP_FAILED && (flags & MAP_ANONYMOUS) == 0)                         \
			process_note_way(NWSHM_WAY_MAP, bytes);                               \
		return rc;                                                                    \
	}
MAP(mmap, off_t)
MAP(mmap64, off64_t)

/* --- calls by number --- */

/* Only calls that programs make this way in practice; the other numbers pass. */
static bool
syscall_begin(struct op *op, long number, const long arg[6])
{
	switch (number) {
	case SYS_read:
	case SYS_pread64:
	case SYS_readv:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_recvfrom:
	case SYS_recvmsg: op_begin(op, (int)arg[0], NWSHM_READ); return true;
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg: op_begin(op, (int)arg[0], NWSHM_WRITE); return true;
	case SYS_vmsplice: op_begin(op, (int)arg[0], NWSHM_WRITE); return true;
	case SYS_tee: op_begin(op, (int)arg[1], NWSHM_WRITE); return true;
	case SYS_sendfile: op_begin2(op, (int)arg[1], (int)arg[0]); return true;
	case SYS_splice:
	case SYS_copy_file_range: op_begin2(op, (int)arg[0], (int)arg[2]); return true;
	case SYS_close: fd_forget((int)arg[0]); return false;
	case SYS_close_range: fd_forget_range((unsigned)arg[0], (unsigned)arg[1]); return false;
	case SYS_dup3: fd_forget((int)arg[1]); return false;
	case SYS_io_uring_setup: process_note_way(NWSHM_WAY_RING, 0); return false;
	case SYS_io_setup: process_note_way(NWSHM_WAY_AIO, 0); return false;
	case SYS_seccomp: seal(arg[0] == SECCOMP_SET_MODE_STRICT); return false;
	}
	return false;
}

static void
syscall_apart(const struct op *op, long number, long bytes)
{
	switch (number) {
	case SYS_splice:
	case SYS_recvfrom:
	case SYS_recvmsg: op_apart(op, NWSHM_READ, bytes); break;
	}
	switch (number) {
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
	case SYS_sendto:
	case SYS_sendmsg: op_apart(op, NWSHM_WRITE, bytes); break;
	}
}

EXPORT long
syscall(long number, ...)
{
	long arg[6], rc;
	struct op op;
	va_list ap;
	bool measured;
	int i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	measured = syscall_begin(&op, number, arg);
	rc = REAL(syscall)(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	if (measured) {
		op_end(&op, rc);
		syscall_apart(&op, number, rc);
	}
	return rc;
}
