/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/ring.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "narrows/err.h"

/* The kernel's own header of each record in the ring (include/uapi/linux/bpf.h). */
enum { HEADER_BYTES = 8, BUSY = 1u << 31, DISCARDED = 1u << 30 };

struct ring {
	int fd, armed_fd, epoll_fd;
	uint64_t size_bytes, watermark_bytes;
	size_t page_bytes;
	_Atomic uint64_t *consumer;       /* position of this reader */
	const _Atomic uint64_t *producer; /* position of the kernel */
	const uint8_t *data;              /* mapped twice in a row, so that no record wraps */
	_Atomic uint64_t *armed;
	uint64_t at;   /* position of the oldest record to pass */
	uint64_t next; /* position behind the record on loan */
	uint32_t seq[MAGNET_CPUS_MAX];
	uint8_t seen[MAGNET_CPUS_MAX];
	uint64_t lost;
};

static int
ring_map(struct ring *r)
{
	void *p;

	r->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	p = mmap(NULL, r->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED)
		return NW_EINVAL;
	r->consumer = p;
	p = mmap(NULL, r->page_bytes + 2 * r->size_bytes, PROT_READ, MAP_SHARED, r->fd,
	    (off_t)r->page_bytes);
	if (p == MAP_FAILED)
		return NW_EINVAL;
	r->producer = p;
	r->data = (const uint8_t *)p + r->page_bytes;
	p = mmap(NULL, r->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->armed_fd, 0);
	if (p == MAP_FAILED)
		return NW_EINVAL;
	r->armed = p;
	r->at = r->next = *r->consumer;
	return NW_OK;
}

int
ring_open(
    int ring_fd, int armed_fd, uint64_t ring_bytes, uint64_t watermark_bytes, struct ring **out)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	struct ring *r = calloc(1, sizeof(*r));
	int rc;

	*out = NULL;
	if (r == NULL) {
		close(ring_fd);
		close(armed_fd);
		return NW_ENOMEM;
	}
	r->fd = ring_fd;
	r->armed_fd = armed_fd;
	r->size_bytes = ring_bytes;
	r->watermark_bytes = watermark_bytes;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rc = ring_bytes == 0 || (ring_bytes & (ring_bytes - 1)) != 0 ? NW_EINVAL : ring_map(r);
	if (rc == NW_OK &&
	    (r->epoll_fd < 0 || epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, r->fd, &ev) != 0))
		rc = NW_EIO;
	if (rc < 0) {
		ring_close(r);
		return rc;
	}
	*out = r;
	return NW_OK;
}

void
ring_close(struct ring *r)
{
	if (r == NULL)
		return;
	if (r->consumer != NULL)
		munmap((void *)r->consumer, r->page_bytes);
	if (r->producer != NULL)
		munmap((void *)r->producer, r->page_bytes + 2 * r->size_bytes);
	if (r->armed != NULL)
		munmap((void *)r->armed, r->page_bytes);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	close(r->fd);
	close(r->armed_fd);
	free(r);
}

uint64_t
ring_waiting_bytes(const struct ring *r)
{
	return *r->producer - r->at;
}

uint64_t
ring_record_bytes(uint64_t record_bytes)
{
	return HEADER_BYTES + ((record_bytes + 7) & ~(uint64_t)7);
}

uint64_t
ring_waiting_records(const struct ring *r)
{
	uint64_t at = r->at, end = *r->producer, n = 0;
	uint32_t len;

	while (at < end) {
		len = __atomic_load_n(
		    (const uint32_t *)(const void *)(r->data + (at & (r->size_bytes - 1))),
		    __ATOMIC_ACQUIRE);
		n += (len & DISCARDED) == 0;
		at += ring_record_bytes(len & ~(BUSY | DISCARDED));
	}
	return n;
}

void
ring_watermark_set(struct ring *r, uint64_t watermark_bytes)
{
	r->watermark_bytes = watermark_bytes;
}

void
ring_wait(struct ring *r, int timeout_ms)
{
	struct epoll_event ev;

	*r->consumer = r->at; /* sequentially consistent, as is the next: the kernel sees both */
	*r->armed = 1;
	if (ring_waiting_bytes(r) < r->watermark_bytes || r->watermark_bytes == 0)
		(void)epoll_wait(r->epoll_fd, &ev, 1, timeout_ms);
	*r->armed = 0;
}

static void
sequence_take(struct ring *r, const struct magnet_record *rec)
{
	uint16_t cpu = rec->cpu;

	if (cpu >= MAGNET_CPUS_MAX)
		return;
	if (r->seen[cpu])
		r->lost += rec->seq - r->seq[cpu] - 1;
	else
		r->lost += rec->seq;
	r->seen[cpu] = 1;
	r->seq[cpu] = rec->seq;
}

const struct magnet_record *
ring_peek(struct ring *r)
{
	const struct magnet_record *rec;
	uint32_t len;

	while (r->at < *r->producer) {
		const uint8_t *p = r->data + (r->at & (r->size_bytes - 1));

		len = __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
		if (len & BUSY)
			return NULL;
		r->next = r->at + ring_record_bytes(len & ~(BUSY | DISCARDED));
		rec = (const void *)(p + HEADER_BYTES);
		if (!(len & DISCARDED) && len >= sizeof(*rec) && rec->size_bytes <= len)
			return rec;
		r->at = r->next;
	}
	return NULL;
}

void
ring_pass(struct ring *r)
{
	const uint8_t *p = r->data + (r->at & (r->size_bytes - 1));

	sequence_take(r, (const void *)(p + HEADER_BYTES));
	r->at = r->next;
	if (r->at - *r->consumer >= r->size_bytes / 16)
		*r->consumer = r->at;
}

uint64_t
ring_lost(const struct ring *r)
{
	return r->lost;
}
