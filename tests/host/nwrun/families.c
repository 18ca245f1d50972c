/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program for sys_unseen.sh: moves 16 MiB from the file `in` to the file `out`, or to a
 * neighbour, by one family of calls, which its argument names. Without an argument it lists the
 * families. Then it lives on for a moment, so that the collector has a look at it.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, BLOCKS = 16, PIECE = 1 << 16, SKIP = 77 };
static const long all = (long)BLOCK * BLOCKS;
static char *buf;
static int in, out;

static void
must(bool ok)
{
	if (!ok)
		abort();
}

static void
plain(void)
{
	int i;

	for (i = 0; i < BLOCKS; i++)
		must(read(in, buf, BLOCK) == BLOCK && write(out, buf, BLOCK) == BLOCK);
}

static void
positioned(void)
{
	long at;

	for (at = 0; at < all; at += BLOCK)
		must(pread(in, buf, BLOCK, at) == BLOCK && pwrite(out, buf, BLOCK, at) == BLOCK);
}

static void
vectors(void)
{
	struct iovec v[2] = { { buf, BLOCK / 2 }, { buf + BLOCK / 2, BLOCK / 2 } };
	int i;

	for (i = 0; i < BLOCKS; i++)
		must(readv(in, v, 2) == BLOCK && writev(out, v, 2) == BLOCK);
}

static void
vectors_positioned(void)
{
	struct iovec v = { buf, BLOCK };
	long at;

	for (at = 0; at < all; at += BLOCK)
		must(preadv2(in, &v, 1, at, 0) == BLOCK && pwritev2(out, &v, 1, at, 0) == BLOCK);
}

static void
by_sendfile(void)
{
	long n, got;

	for (n = 0; n < all; n += got)
		must((got = sendfile(out, in, NULL, BLOCK)) > 0);
}

static void
by_range(void)
{
	long n, got;

	for (n = 0; n < all; n += got)
		must((got = copy_file_range(in, NULL, out, NULL, BLOCK, 0)) > 0);
}

static void
by_splice(void)
{
	long n, got;
	int p[2];

	must(pipe(p) == 0);
	for (n = 0; n < all; n += got) {
		must((got = splice(in, NULL, p[1], NULL, PIECE, 0)) > 0);
		must(splice(p[0], NULL, out, NULL, (size_t)got, 0) == got);
	}
}

static void
by_tee(void)
{
	long n, got;
	int p[2], copy[2];

	must(pipe(p) == 0 && pipe(copy) == 0);
	for (n = 0; n < all; n += got) {
		must((got = splice(in, NULL, p[1], NULL, PIECE, 0)) > 0);
		must(tee(p[0], copy[1], (size_t)got, 0) == got);
		must(splice(p[0], NULL, out, NULL, (size_t)got, 0) == got);
		must(read(copy[0], buf, (size_t)got) == got);
	}
}

static void
by_reference(void)
{
	struct iovec v = { buf, PIECE };
	int p[2], i;

	must(pipe(p) == 0);
	for (i = 0; i < BLOCKS * (BLOCK / PIECE); i++) {
		must(read(in, buf, PIECE) == PIECE && vmsplice(p[1], &v, 1, 0) == PIECE);
		must(splice(p[0], NULL, out, NULL, PIECE, 0) == PIECE);
	}
}

static void
by_large_names(void)
{
	struct iovec v = { buf, BLOCK };
	long at;

	for (at = 0; at < all / 2; at += BLOCK)
		must(
		    pread64(in, buf, BLOCK, at) == BLOCK && pwrite64(out, buf, BLOCK, at) == BLOCK);
	for (; at < all; at += BLOCK)
		must(preadv64(in, &v, 1, at) == BLOCK && pwritev64(out, &v, 1, at) == BLOCK);
}

/* Past the page cache, where the file system has such a way. */
static void
directly(void)
{
	void *aligned;

	must(posix_memalign(&aligned, 4096, BLOCK) == 0);
	buf = aligned;
	if (fcntl(in, F_SETFL, O_DIRECT) == 0 && fcntl(out, F_SETFL, O_DIRECT) == 0)
		plain();
	else
		exit(SKIP);
}

static void
by_memfd(void)
{
	int file = out;

	must((out = memfd_create("families", 0)) >= 0);
	plain();
	must(lseek(out, 0, SEEK_SET) == 0);
	in = out;
	out = file;
	plain();
}

/* Everything that this process has open is closed; other descriptors are the files then. */
static void
closed(void)
{
	int a = dup(in), b = dup(out), i;

	must(dup3(a, 60, O_CLOEXEC) == 60 && fcntl(b, F_DUPFD_CLOEXEC, 61) == 61);
	for (i = 3; i < 60; i++)
		(void)close(i);
	closefrom(62);
	in = 60;
	out = 61;
	plain();
}

/* A child has the descriptors by a message, and leaves without a farewell. */
static void
passed(void)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = { 0 }, byte = 0;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int pair[2], status, both[2] = { in, out };

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	if (fork() == 0) {
		must(close(in) == 0 && close(out) == 0 && recvmsg(pair[1], &m, 0) == 1);
		memcpy(both, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(both));
		in = both[0];
		out = both[1];
		plain();
		_exit(0);
	}
	*c = (struct cmsghdr){ CMSG_LEN(sizeof(both)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(c), both, sizeof(both));
	must(sendmsg(pair[0], &m, 0) == 1 && wait(&status) > 0 && status == 0);
}

/* Another image in a child of vfork. */
static void
by_vfork(void)
{
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		(void)dup2(in, 0);
		(void)dup2(out, 1);
		(void)execl("/bin/cat", "cat", (char *)NULL);
		_exit(1);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0);
}

static void
by_stdio(void)
{
	FILE *from = fdopen(in, "r"), *to = fdopen(out, "w");
	int i;

	for (i = 0; i < all / PIECE; i++)
		must(fread(buf, PIECE, 1, from) == 1 && fwrite(buf, PIECE, 1, to) == 1);
	must(fclose(to) == 0);
}

/* The way of sending and receiving: 0 plain, 1 by a message, 2 by messages. */
static long
transmit(int s, int way, bool sends)
{
	struct iovec v = { buf, BLOCK };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };
	int rc;

	if (way == 0)
		return sends ? send(s, buf, BLOCK, 0) : recv(s, buf, BLOCK, 0);
	if (way == 1)
		return sends ? sendmsg(s, &m.msg_hdr, 0) : recvmsg(s, &m.msg_hdr, 0);
	rc = sends ? sendmmsg(s, &m, 1, 0) : recvmmsg(s, &m, 1, 0, NULL);
	return rc == 1 ? (long)m.msg_len : -1;
}

static void
to_neighbour(int way)
{
	int s[2], i, status;
	long n, got;

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	if (fork() == 0) {
		close(s[0]);
		for (n = 0; n < all; n += got)
			must((got = transmit(s[1], way, false)) > 0);
		usleep(300000);
		exit(0);
	}
	for (i = 0; i < BLOCKS; i++)
		must(read(in, buf, BLOCK) == BLOCK && transmit(s[0], way, true) == BLOCK);
	must(wait(&status) > 0 && status == 0);
}

static void
by_send(void)
{
	to_neighbour(0);
}

static void
by_sendmsg(void)
{
	to_neighbour(1);
}

static void
by_sendmmsg(void)
{
	to_neighbour(2);
}

static void
by_number(void)
{
	int i;

	for (i = 0; i < BLOCKS; i++)
		must(syscall(SYS_read, in, buf, BLOCK) == BLOCK &&
		    syscall(SYS_write, out, buf, BLOCK) == BLOCK);
}

static long
raw(long number, int fd)
{
#if defined(__x86_64__)
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "0"(number), "D"((long)fd), "S"(buf), "d"((long)BLOCK)
			 : "rcx", "r11", "memory");
	return rc;
#else
	(void)number;
	(void)fd;
	exit(SKIP);
#endif
}

static void
by_instruction(void)
{
	int i;

	for (i = 0; i < BLOCKS; i++)
		must(raw(SYS_read, in) == BLOCK && raw(SYS_write, out) == BLOCK);
}

static void
by_memory(void)
{
	char *from, *to;

	must(ftruncate(out, all) == 0);
	from = mmap(NULL, (size_t)all, PROT_READ, MAP_SHARED, in, 0);
	to = mmap(NULL, (size_t)all, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
	must(from != MAP_FAILED && to != MAP_FAILED);
	memcpy(to, from, (size_t)all);
	must(msync(to, (size_t)all, MS_SYNC) == 0);
}

static void
aio_wait(struct aiocb *cb)
{
	const struct aiocb *list[1] = { cb };

	while (aio_error(cb) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	must(aio_return(cb) == BLOCK);
}

static void
by_aio(void)
{
	struct aiocb cb;
	long at;

	for (at = 0; at < all; at += BLOCK) {
		cb = (struct aiocb){
			.aio_fildes = in, .aio_buf = buf, .aio_nbytes = BLOCK, .aio_offset = at
		};
		must(aio_read(&cb) == 0);
		aio_wait(&cb);
		cb.aio_fildes = out;
		must(aio_write(&cb) == 0);
		aio_wait(&cb);
	}
}

static void
by_queue(void)
{
	struct iocb cb, *list = &cb;
	aio_context_t queue = 0;
	struct io_event e;
	int i;

	if (syscall(SYS_io_setup, 4, &queue) != 0)
		exit(SKIP);
	for (i = 0; i < 2 * BLOCKS; i++) {
		cb = (struct iocb){ .aio_fildes = (unsigned)(i & 1 ? out : in),
			.aio_lio_opcode = i & 1 ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
			.aio_buf = (unsigned long)buf,
			.aio_nbytes = BLOCK,
			.aio_offset = i / 2 * (long)BLOCK };
		must(syscall(SYS_io_submit, queue, 1, &list) == 1);
		must(syscall(SYS_io_getevents, queue, 1, 1, &e, NULL) == 1 && e.res == BLOCK);
	}
}

static void *
ring_map(int fd, size_t bytes, long what)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, what);

	must(at != MAP_FAILED);
	return at;
}

static void
by_ring(void)
{
	struct io_uring_params p = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, &p), i;
	char *sq, *cq;
	struct io_uring_sqe *e;
	unsigned at;

	if (fd < 0)
		exit(SKIP);
	sq = ring_map(fd, p.sq_off.array + p.sq_entries * 4, IORING_OFF_SQ_RING);
	cq = ring_map(
	    fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	e = ring_map(fd, p.sq_entries * sizeof(*e), IORING_OFF_SQES);
	for (i = 0; i < 2 * BLOCKS; i++) {
		at = (unsigned)i & (p.sq_entries - 1);
		e[at] = (struct io_uring_sqe){ .opcode = i & 1 ? IORING_OP_WRITE : IORING_OP_READ,
			.fd = i & 1 ? out : in,
			.addr = (unsigned long)buf,
			.len = BLOCK,
			.off = (unsigned long)(i / 2) * BLOCK };
		((unsigned *)(sq + p.sq_off.array))[at] = at;
		__atomic_store_n(
		    (unsigned *)(sq + p.sq_off.tail), (unsigned)i + 1, __ATOMIC_RELEASE);
		must(syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
		at = (unsigned)i & (p.cq_entries - 1);
		must(((struct io_uring_cqe *)(cq + p.cq_off.cqes))[at].res == BLOCK);
		__atomic_store_n(
		    (unsigned *)(cq + p.cq_off.head), (unsigned)i + 1, __ATOMIC_RELEASE);
	}
}

static void
seal(void)
{
	struct sock_filter pass = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog filter = { 1, &pass };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		exit(SKIP);
}

static void
sealed(void)
{
	seal();
	plain();
}

/* Descriptors from after the filter. */
static void
sealed_late(void)
{
	seal();
	in = open("in", O_RDONLY);
	out = open("out", O_RDWR);
	must(in >= 0 && out >= 0);
	plain();
}

static const struct {
	const char *name;
	void (*move)(void);
} families[] = {
	{ "plain", plain },
	{ "positioned", positioned },
	{ "vectors", vectors },
	{ "vectors_positioned", vectors_positioned },
	{ "sendfile", by_sendfile },
	{ "copy_file_range", by_range },
	{ "splice", by_splice },
	{ "tee", by_tee },
	{ "vmsplice", by_reference },
	{ "large_names", by_large_names },
	{ "direct", directly },
	{ "memfd", by_memfd },
	{ "closed", closed },
	{ "passed", passed },
	{ "vfork", by_vfork },
	{ "stdio", by_stdio },
	{ "send", by_send },
	{ "sendmsg", by_sendmsg },
	{ "sendmmsg", by_sendmmsg },
	{ "number", by_number },
	{ "instruction", by_instruction },
	{ "memory", by_memory },
	{ "aio", by_aio },
	{ "queue", by_queue },
	{ "ring", by_ring },
	{ "sealed", sealed },
	{ "sealed_late", sealed_late },
};

/* A program that nobody sees from inside is counted by looks at its process, while it is there. */
static void
linger(void)
{
	const char *ms = getenv("FAMILY_LINGER_MS");

	usleep(1000 * (useconds_t)(ms != NULL ? atoi(ms) : 300));
}

int
main(int argc, char *argv[])
{
	size_t i, n = sizeof(families) / sizeof(families[0]);

	for (i = 0; argc < 2 && i < n; i++)
		puts(families[i].name);
	if (argc < 2)
		return 0;
	buf = aligned_alloc(4096, BLOCK);
	in = open("in", O_RDONLY);
	out = open("out", O_RDWR | O_CREAT | O_TRUNC, 0644);
	must(buf != NULL && in >= 0 && out >= 0);
	for (i = 0; i < n; i++)
		if (strcmp(argv[1], families[i].name) == 0) {
			families[i].move();
			linger();
			return 0;
		}
	return 1;
}
