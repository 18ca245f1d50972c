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
			usleep(300000);
			return 0;
		}
	return 1;
}
