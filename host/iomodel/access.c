/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/iomodel/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/io_uring.h>

#include "narrows/err.h"

/* A ring of one submission: the latency of a single operation is the subject. */
struct uring {
	int fd;
	_Atomic unsigned *sq_tail, *cq_head, *cq_tail;
	unsigned *sq_mask, *cq_mask, *sq_array;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	void *sq, *cq;
	size_t sq_bytes, cq_bytes, sqes_bytes;
};

static void
uring_close(struct uring *u)
{
	if (u == NULL)
		return;
	if (u->sq != NULL)
		munmap(u->sq, u->sq_bytes);
	if (u->cq != NULL)
		munmap(u->cq, u->cq_bytes);
	if (u->sqes != NULL)
		munmap(u->sqes, u->sqes_bytes);
	if (u->fd >= 0)
		close(u->fd);
	free(u);
}

static void *
ring_map(int fd, size_t bytes, off_t offset)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	return p == MAP_FAILED ? NULL : p;
}

static struct uring *
uring_open(void)
{
	struct io_uring_params p = { 0 };
	struct uring *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	u->fd = (int)syscall(SYS_io_uring_setup, 2, &p);
	if (u->fd < 0) {
		uring_close(u);
		return NULL;
	}
	u->sq_bytes = p.sq_off.array + p.sq_entries * sizeof(unsigned);
	u->cq_bytes = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	u->sqes_bytes = p.sq_entries * sizeof(struct io_uring_sqe);
	u->sq = ring_map(u->fd, u->sq_bytes, IORING_OFF_SQ_RING);
	u->cq = ring_map(u->fd, u->cq_bytes, IORING_OFF_CQ_RING);
	u->sqes = ring_map(u->fd, u->sqes_bytes, IORING_OFF_SQES);
	if (u->sq == NULL || u->cq == NULL || u->sqes == NULL) {
		uring_close(u);
		return NULL;
	}
	u->sq_tail = (void *)((char *)u->sq + p.sq_off.tail);
	u->sq_mask = (void *)((char *)u->sq + p.sq_off.ring_mask);
	u->sq_array = (void *)((char *)u->sq + p.sq_off.array);
	u->cq_head = (void *)((char *)u->cq + p.cq_off.head);
	u->cq_tail = (void *)((char *)u->cq + p.cq_off.tail);
	u->cq_mask = (void *)((char *)u->cq + p.cq_off.ring_mask);
	u->cqes = (void *)((char *)u->cq + p.cq_off.cqes);
	return u;
}

/* An operation from submission to completion. */
static ssize_t
uring_move(struct access *a, char *buf, uint64_t len, uint64_t offset)
{
	struct uring *u = a->uring;
	unsigned tail = *u->sq_tail, at = tail & *u->sq_mask, head;
	struct io_uring_sqe *e = &u->sqes[at];
	ssize_t res;

	memset(e, 0, sizeof(*e));
	e->opcode = a->write ? IORING_OP_WRITE : IORING_OP_READ;
	e->fd = a->fd;
	e->addr = (uint64_t)(uintptr_t)buf;
	e->len = (unsigned)len;
	e->off = offset;
	u->sq_array[at] = at;
	*u->sq_tail = tail + 1;
	while (syscall(SYS_io_uring_enter, u->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		if (errno != EINTR)
			return -1;
	head = *u->cq_head;
	res = u->cqes[head & *u->cq_mask].res;
	*u->cq_head = head + 1;
	if (res < 0) {
		errno = (int)-res;
		return -1;
	}
	return res;
}

int
access_open(struct access *a, enum cell_call call, int fd, bool write, uint64_t file_bytes)
{
	int prot = write ? PROT_READ | PROT_WRITE : PROT_READ;
	void *p;

	memset(a, 0, sizeof(*a));
	a->call = call;
	a->fd = fd;
	a->write = write;
	if (call == CALL_URING && (a->uring = uring_open()) == NULL)
		return NW_EUNSUPPORTED;
	if (call == CALL_MMAP) {
		p = mmap(NULL, file_bytes, prot, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			return NW_EIO;
		a->map = p;
		a->map_bytes = file_bytes;
	}
	return NW_OK;
}

void
access_close(struct access *a)
{
	if (a->map != NULL)
		munmap(a->map, a->map_bytes);
	uring_close(a->uring);
	memset(a, 0, sizeof(*a));
}

static ssize_t
seek_move(struct access *a, char *buf, uint64_t len, uint64_t offset)
{
	if (lseek(a->fd, (off_t)offset, SEEK_SET) < 0)
		return -1;
	return a->write ? write(a->fd, buf, len) : read(a->fd, buf, len);
}

int
access_once(struct access *a, char *buf, uint64_t len, uint64_t offset)
{
	ssize_t n = (ssize_t)len;

	switch (a->call) {
	case CALL_PREAD:
		n = a->write ? pwrite(a->fd, buf, len, (off_t)offset)
			     : pread(a->fd, buf, len, (off_t)offset);
		break;
	case CALL_LSEEK: n = seek_move(a, buf, len, offset); break;
	case CALL_URING: n = uring_move(a, buf, len, offset); break;
	case CALL_MMAP:
		if (a->write)
			memcpy(a->map + offset, buf, len);
		else
			memcpy(buf, a->map + offset, len);
		break;
	}
	if (n < 0)
		return errno;
	return (uint64_t)n == len ? 0 : EIO;
}
