/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/slot.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dpss/checksum.h"
#include "dpss/pack.h"
#include "narrows/err.h"

enum { HEAD_BYTES = 40, ALIGN_BYTES = 512 };
static const char magic[] = "DPS2";

uint64_t
slot_bytes(uint32_t block_bytes)
{
	return ((uint64_t)HEAD_BYTES + block_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

static int
head_parse(const uint8_t bytes[HEAD_BYTES], struct slot_head *head)
{
	struct unpacker u = unpack_of(bytes, HEAD_BYTES);
	const uint8_t *is = unpack_bytes(&u, 4);
	uint32_t sum;

	if (memcmp(is, "\0\0\0\0", 4) == 0)
		return NW_ENOTFOUND;
	head->set = unpack_u32(&u);
	head->logical = unpack_u64(&u);
	head->len = unpack_u32(&u);
	head->sum = unpack_u32(&u);
	head->stamp_wall_ns = unpack_u64(&u);
	sum = unpack_u32(&u);
	return memcmp(is, magic, 4) == 0 && sum == checksum(bytes, HEAD_BYTES - 8) ? NW_OK
										   : NW_ECORRUPT;
}

int
slot_read(int fd, uint64_t slot, uint32_t block_bytes, uint32_t set, uint64_t logical,
    struct slot_head *head, uint8_t *data)
{
	uint8_t bytes[HEAD_BYTES];
	struct iovec iov[2] = { { bytes, sizeof(bytes) }, { data, block_bytes } };
	ssize_t n;
	int rc;

	do
		n = preadv(fd, iov, 2, (off_t)(slot * slot_bytes(block_bytes)));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return NW_EIO;
	if (n < HEAD_BYTES)
		return NW_ENOTFOUND;
	if ((rc = head_parse(bytes, head)) != NW_OK)
		return rc;
	if (head->set != set || head->logical != logical)
		return NW_ENOTFOUND;
	return head->len <= block_bytes && (size_t)n >= HEAD_BYTES + head->len &&
		checksum(data, head->len) == head->sum
	    ? NW_OK
	    : NW_ECORRUPT;
}

int
slot_head_read(int fd, uint64_t slot, uint32_t block_bytes, uint32_t set, uint64_t logical,
    struct slot_head *head, uint64_t *data_at)
{
	uint64_t at = slot * slot_bytes(block_bytes);
	uint8_t bytes[HEAD_BYTES];
	int rc;

	if (pread(fd, bytes, sizeof(bytes), (off_t)at) != (ssize_t)sizeof(bytes))
		return NW_EIO;
	if ((rc = head_parse(bytes, head)) != NW_OK)
		return rc;
	*data_at = at + HEAD_BYTES;
	return head->set == set && head->logical == logical && head->len <= block_bytes
	    ? NW_OK
	    : NW_ENOTFOUND;
}

int
slot_write(
    int fd, uint64_t slot, uint32_t block_bytes, const struct slot_head *head, const uint8_t *data)
{
	static const uint8_t zeros[8];
	struct packer p = { 0 };
	struct iovec iov[2];
	ssize_t n = -1;

	pack_bytes(&p, magic, 4);
	pack_u32(&p, head->set);
	pack_u64(&p, head->logical);
	pack_u32(&p, head->len);
	pack_u32(&p, head->sum);
	pack_u64(&p, head->stamp_wall_ns);
	if (!p.failed)
		pack_u32(&p, checksum(p.bytes, p.len));
	pack_bytes(&p, zeros, HEAD_BYTES - p.len);
	if (!p.failed) {
		iov[0] = (struct iovec){ p.bytes, p.len };
		iov[1] = (struct iovec){ (void *)(uintptr_t)data, head->len };
		n = pwritev(fd, iov, 2, (off_t)(slot * slot_bytes(block_bytes)));
	}
	pack_free(&p);
	return n == (ssize_t)(HEAD_BYTES + head->len) ? NW_OK : NW_EIO;
}
