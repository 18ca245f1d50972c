/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls that move bytes. */
#include "host/nwrun/preload/preload.h"

#include <poll.h>
#include <stdarg.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <fcntl.h>
#include <unistd.h>

/* The names behind _FORTIFY_SOURCE, which no header of ours declares. */
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, __SOCKADDR_ARG, socklen_t *);

/* The real call inside begin and end. `bytes` is the part of the result `rc` to count; `apart`
 * notes that /proc/PID/io leaves the call out. */
#define WRAP_CALL(type, name, dir, fd, at, bytes, apart, params, args, call) \
	static __attribute__((noinline)) type name##_slowly params           \
	{                                                                    \
		struct op op;                                                \
		type rc;                                                     \
                                                                             \
		op_begin(&op, fd, dir);                                      \
		op_at(&op, at);                                              \
		rc = call;                                                   \
		op_end(&op, bytes);                                          \
		if (apart)                                                   \
			op_apart(&op, dir, bytes);                           \
		if ((dir) == NWSHM_WRITE)                                    \
			fd_written(fd, rc);                                  \
		return rc;                                                   \
	}                                                                    \
	EXPORT type name params                                              \
	{                                                                    \
		struct quick quick;                                          \
		type rc;                                                     \
                                                                             \
		if (unlikely(!quick_begin(&quick, fd, dir)))                 \
			return name##_slowly args;                           \
		rc = call;                                                   \
		quick_end(&quick, at, bytes);                                \
		if (apart)                                                   \
			thread_apart(quick.thread, dir, bytes);              \
		if ((dir) == NWSHM_WRITE)                                    \
			fd_written(fd, rc);                                  \
		return rc;                                                   \
	}
#define WRAP_AT(type, name, dir, fd, at, bytes, apart, params, args) \
	WRAP_CALL(type, name, dir, fd, at, bytes, apart, params, args, REAL(name) args)
#define WRAP(type, name, dir, fd, bytes, apart, params, args) \
	WRAP_AT(type, name, dir, fd, OP_AT_POSITION, bytes, apart, params, args)
#define IN(name, params, args)  WRAP(ssize_t, name, NWSHM_READ, fd, rc, false, params, args)
#define OUT(name, params, args) WRAP(ssize_t, name, NWSHM_WRITE, fd, rc, false, params, args)
/* Calls that are a system call of one name and order of arguments. */
#define IN_CALL(name, at, number, params, ...)                                         \
	WRAP_CALL(ssize_t, name, NWSHM_READ, fd, at, rc, false, params, (__VA_ARGS__), \
	    KERNEL(name, number, (__VA_ARGS__), __VA_ARGS__))
#define OUT_CALL(name, at, number, params, ...)                                         \
	WRAP_CALL(ssize_t, name, NWSHM_WRITE, fd, at, rc, false, params, (__VA_ARGS__), \
	    KERNEL(name, number, (__VA_ARGS__), __VA_ARGS__))
#define IN_AT(name, params, args) \
	WRAP_AT(ssize_t, name, NWSHM_READ, fd, at, rc, false, params, args)
#define OUT_AT(name, params, args) \
	WRAP_AT(ssize_t, name, NWSHM_WRITE, fd, at, rc, false, params, args)

IN_CALL(read, OP_AT_POSITION, SYS_read, (int fd, void *buf, size_t n), fd, buf, n)
IN_CALL(pread, at, SYS_pread64, (int fd, void *buf, size_t n, off_t at), fd, buf, n, at)
IN_CALL(pread64, at, SYS_pread64, (int fd, void *buf, size_t n, off64_t at), fd, buf, n, at)
IN_CALL(readv, OP_AT_POSITION, SYS_readv, (int fd, const struct iovec *v, int n), fd, v, n)
IN_AT(preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
IN_AT(preadv64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at))
IN_AT(preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags))
IN_AT(preadv64v2, (int fd, const struct iovec *v, int n, off64_t at, int flags),
    (fd, v, n, at, flags))
IN(__read_chk, (int fd, void *buf, size_t n, size_t room), (fd, buf, n, room))
IN_AT(__pread_chk, (int fd, void *buf, size_t n, off_t at, size_t room), (fd, buf, n, at, room))
IN_AT(__pread64_chk, (int fd, void *buf, size_t n, off64_t at, size_t room), (fd, buf, n, at, room))

OUT_CALL(write, OP_AT_POSITION, SYS_write, (int fd, const void *buf, size_t n), fd, buf, n)
OUT_CALL(pwrite, at, SYS_pwrite64, (int fd, const void *buf, size_t n, off_t at), fd, buf, n, at)
OUT_CALL(
    pwrite64, at, SYS_pwrite64, (int fd, const void *buf, size_t n, off64_t at), fd, buf, n, at)
OUT_CALL(writev, OP_AT_POSITION, SYS_writev, (int fd, const struct iovec *v, int n), fd, v, n)
OUT_AT(pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
OUT_AT(pwritev64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at))
OUT_AT(pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags))
OUT_AT(pwritev64v2, (int fd, const struct iovec *v, int n, off64_t at, int flags),
    (fd, v, n, at, flags))

#define SEND(name, params, args, call) \
	WRAP_CALL(ssize_t, name, NWSHM_WRITE, fd, OP_AT_POSITION, rc, true, params, args, call)

SEND(send, (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags),
    KERNEL(send, SYS_sendto, (fd, buf, n, flags), fd, buf, n, flags))
SEND(sendto, (int fd, const void *buf, size_t n, int flags, __CONST_SOCKADDR_ARG to, socklen_t len),
    (fd, buf, n, flags, to, len),
    KERNEL(
	sendto, SYS_sendto, (fd, buf, n, flags, to, len), fd, buf, n, flags, to.__sockaddr__, len))
SEND(sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags),
    KERNEL(sendmsg, SYS_sendmsg, (fd, m, flags), fd, m, flags))

/* A look at waiting bytes moves nothing on; neither does the error queue. Only a look that found
 * nothing has failed. */
static inline ssize_t
taken(ssize_t rc, int flags)
{
	return rc >= 0 && (flags & (MSG_PEEK | MSG_ERRQUEUE)) != 0 ? OP_MOVED_NOTHING : rc;
}
#define RECV(name, params, args, call)                                                           \
	WRAP_CALL(ssize_t, name, NWSHM_READ, fd, OP_AT_POSITION, taken(rc, flags), true, params, \
	    args, call)

RECV(recv, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags),
    KERNEL(recv, SYS_recvfrom, (fd, buf, n, flags), fd, buf, n, flags))
RECV(__recv_chk, (int fd, void *buf, size_t n, size_t room, int flags), (fd, buf, n, room, flags),
    REAL(__recv_chk)(fd, buf, n, room, flags))
RECV(recvfrom,
    (int fd, void *restrict buf, size_t n, int flags, __SOCKADDR_ARG from, socklen_t *restrict len),
    (fd, buf, n, flags, from, len),
    KERNEL(recvfrom, SYS_recvfrom, (fd, buf, n, flags, from, len), fd, buf, n, flags,
	from.__sockaddr__, len))
RECV(__recvfrom_chk,
    (int fd, void *buf, size_t n, size_t room, int flags, __SOCKADDR_ARG from, socklen_t *len),
    (fd, buf, n, room, flags, from, len), REAL(__recvfrom_chk)(fd, buf, n, room, flags, from, len))
RECV(recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags),
    KERNEL(recvmsg, SYS_recvmsg, (fd, m, flags), fd, m, flags))

static ssize_t
messages_bytes(const struct mmsghdr *m, int n)
{
	ssize_t bytes = n < 0 ? -1 : 0;
	int i;

	for (i = 0; i < n; i++)
		bytes += m[i].msg_len;
	return bytes;
}

WRAP(int, sendmmsg, NWSHM_WRITE, fd, messages_bytes(m, rc), true,
    (int fd, struct mmsghdr *m, unsigned n, int flags), (fd, m, n, flags))
WRAP(int, recvmmsg, NWSHM_READ, fd, taken(messages_bytes(m, rc), flags), true,
    (int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *timeout),
    (fd, m, n, flags, timeout))

/* Time spent until data are on the disk is time of the disk; no bytes move. */
WRAP(int, fsync, NWSHM_WRITE, fd, -1, false, (int fd), (fd))
WRAP(int, fdatasync, NWSHM_WRITE, fd, -1, false, (int fd), (fd))

/* --- the place in the file --- */

static void
seeked(int fd, off64_t position)
{
	struct fd_info info;

	if (position < 0 || thread_slot() == NULL)
		return;
	info = fd_get(fd);
	if (info.stage == NWSHM_DISK_READ && info.object != NULL)
		cells_seek(info.object, position);
}

#define SEEK(name, type)                                \
	EXPORT type name(int fd, type offset, int from) \
	{                                               \
		type at = REAL(name)(fd, offset, from); \
                                                        \
		seeked(fd, at);                         \
		return at;                              \
	}
SEEK(lseek, off_t)
SEEK(lseek64, off64_t)

/* --- from one descriptor to another --- */

#define MOVE(name, from, to, apart, params, args)       \
	EXPORT ssize_t name params                      \
	{                                               \
		struct op op;                           \
		ssize_t rc;                             \
                                                        \
		op_begin2(&op, from, to);               \
		rc = REAL(name) args;                   \
		op_end(&op, rc);                        \
		if (apart) {                            \
			op_apart(&op, NWSHM_READ, rc);  \
			op_apart(&op, NWSHM_WRITE, rc); \
		}                                       \
		fd_written(to, rc);                     \
		return rc;                              \
	}

MOVE(sendfile, in, out, false, (int out, int in, off_t *at, size_t n), (out, in, at, n))
MOVE(sendfile64, in, out, false, (int out, int in, off64_t *at, size_t n), (out, in, at, n))
MOVE(splice, in, out, true,
    (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags),
    (in, in_at, out, out_at, n, flags))
MOVE(copy_file_range, in, out, false,
    (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags),
    (in, in_at, out, out_at, n, flags))

/* What goes into a pipe by reference: the kernel counts none of these bytes. */
WRAP(ssize_t, tee, NWSHM_WRITE, fd, rc, true, (int in, int fd, size_t n, unsigned flags),
    (in, fd, n, flags))

EXPORT ssize_t
vmsplice(int fd, const struct iovec *v, size_t n, unsigned flags)
{
	bool reads = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
	struct op op;
	ssize_t rc;

	op_begin(&op, fd, reads ? NWSHM_READ : NWSHM_WRITE);
	rc = REAL(vmsplice)(fd, v, n, flags);
	op_end(&op, rc);
	op_apart(&op, reads ? NWSHM_READ : NWSHM_WRITE, rc);
	return rc;
}
