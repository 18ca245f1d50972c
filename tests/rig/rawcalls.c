/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rawcalls FROM TO [ring]: copies a file in pieces of 64 KiB as programs do that have no C library:
 * by system calls of their own, or by requests of io_uring, two at a time. For builds with -static.
 * Status 3: the kernel gives no ring.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIECE = 65536, ENTRIES = 4 };

static char buffer[2][PIECE];

static long
raw(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return rc;
#else
	return syscall(number, a, b, c, d, e, f);
#endif
}

static int
copy_by_calls(int from, int to)
{
	long n;

	while ((n = raw(SYS_read, from, (long)buffer[0], PIECE, 0, 0, 0)) > 0)
		if (raw(SYS_write, to, (long)buffer[0], n, 0, 0, 0) != n)
			return 1;
	return n < 0;
}

struct ring {
	int fd;
	unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static bool
ring_open(struct ring *r)
{
	struct io_uring_params p = { 0 };
	char *sq, *cq;

	if ((r->fd = (int)raw(SYS_io_uring_setup, ENTRIES, (long)&p, 0, 0, 0, 0)) < 0)
		return false;
	sq = mmap(NULL, p.sq_off.array + ENTRIES * sizeof(unsigned), PROT_READ | PROT_WRITE,
	    MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
	    PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_CQ_RING);
	r->sqes = mmap(NULL, ENTRIES * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
	    MAP_SHARED, r->fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || r->sqes == MAP_FAILED)
		return false;
	r->sq_tail = (unsigned *)(sq + p.sq_off.tail);
	r->sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
	r->sq_array = (unsigned *)(sq + p.sq_off.array);
	r->cq_head = (unsigned *)(cq + p.cq_off.head);
	r->cq_tail = (unsigned *)(cq + p.cq_off.tail);
	r->cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	return true;
}

static void
ring_put(struct ring *r, uint8_t opcode, int fd, int which, unsigned bytes, uint64_t at)
{
	unsigned tail = *r->sq_tail, i = tail & *r->sq_mask;

	memset(&r->sqes[i], 0, sizeof(r->sqes[i]));
	r->sqes[i].opcode = opcode;
	r->sqes[i].fd = fd;
	r->sqes[i].addr = (uint64_t)(uintptr_t)buffer[which];
	r->sqes[i].len = bytes;
	r->sqes[i].off = at;
	r->sqes[i].user_data = (uint64_t)which;
	r->sq_array[i] = i;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
}

/* Submits two requests and waits for both. */
static bool
ring_run(struct ring *r, long bytes[2])
{
	unsigned head = *r->cq_head;
	int i;

	if (raw(SYS_io_uring_enter, r->fd, 2, 2, IORING_ENTER_GETEVENTS, 0, 0) != 2)
		return false;
	for (i = 0; i < 2; i++, head++) {
		struct io_uring_cqe *c = &r->cqes[head & *r->cq_mask];

		bytes[c->user_data & 1] = c->res;
	}
	__atomic_store_n(r->cq_head, head, __ATOMIC_RELEASE);
	return true;
}

static int
copy_by_ring(int from, int to)
{
	struct ring r = { 0 };
	long bytes[2] = { PIECE, PIECE }, written[2];
	uint64_t at;

	if (!ring_open(&r))
		return 3;
	for (at = 0; bytes[0] == PIECE && bytes[1] == PIECE; at += 2 * PIECE) {
		ring_put(&r, IORING_OP_READ, from, 0, PIECE, at);
		ring_put(&r, IORING_OP_READ, from, 1, PIECE, at + PIECE);
		if (!ring_run(&r, bytes) || bytes[0] < 0 || bytes[1] < 0)
			return 1;
		ring_put(&r, IORING_OP_WRITE, to, 0, (unsigned)bytes[0], at);
		ring_put(&r, IORING_OP_WRITE, to, 1, (unsigned)bytes[1], at + PIECE);
		if (!ring_run(&r, written) || written[0] != bytes[0] || written[1] != bytes[1])
			return 1;
	}
	return 0;
}

int
main(int argc, char *argv[])
{
	int from, to;

	if (argc < 3)
		return 2;
	from = (int)raw(SYS_openat, AT_FDCWD, (long)argv[1], O_RDONLY, 0, 0, 0);
	to =
	    (int)raw(SYS_openat, AT_FDCWD, (long)argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600, 0, 0);
	if (from < 0 || to < 0)
		return 2;
	return argc > 3 ? copy_by_ring(from, to) : copy_by_calls(from, to);
}
