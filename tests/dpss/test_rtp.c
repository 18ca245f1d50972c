/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets come back as they were made; what is short, long or of another kind is refused. */
#include "dpss/rtp.h"

#include <string.h>

#include "narrows/err.h"
#include "narrows/splitmix.h"
#include "tests/check.h"

static uint8_t bytes[RTP_PACKET_BYTES + 8];

static size_t
packet(uint32_t offset, uint32_t len)
{
	struct rtp_packet r = { .sequence = 0xfffe,
		.source = 7,
		.key = 9,
		.logical = 1ULL << 40,
		.list = 3,
		.sum = 4,
		.len = len,
		.offset = offset,
		.stamp_wall_ns = 5,
		.times = { [DPSS_START_WRITE] = 1000000000 } };
	struct packer p = { 0 };
	size_t n;

	r.data_len = len - offset < RTP_DATA_BYTES ? len - offset : RTP_DATA_BYTES;
	rtp_pack(&p, &r);
	CHECK_INT((long)p.len, RTP_HEAD_BYTES);
	memcpy(bytes, p.bytes, p.len);
	n = p.len + r.data_len;
	pack_free(&p);
	return n;
}

static void
test_round(void)
{
	struct rtp_packet r;
	size_t n = packet(RTP_DATA_BYTES, RTP_DATA_BYTES + 100), cut;

	CHECK(bytes[0] == 0x80 && bytes[1] == (0x80 | 96)); /* the last one is marked */
	CHECK(bytes[4] == 0 && bytes[5] == 1 && bytes[6] == 0x5f && bytes[7] == 0x90); /* 90000 */
	CHECK_INT(rtp_unpack(bytes, n, &r), NW_OK);
	CHECK(r.sequence == 0xfffe && r.source == 7 && r.key == 9 && r.logical == 1ULL << 40 &&
	    r.list == 3 && r.sum == 4 && r.len == RTP_DATA_BYTES + 100 && r.data_len == 100 &&
	    r.offset == RTP_DATA_BYTES && r.stamp_wall_ns == 5 &&
	    r.times[DPSS_START_WRITE] == 1000000000);
	for (cut = 0; cut < n; cut++)
		CHECK_INT(rtp_unpack(bytes, cut, &r), NW_EPROTO);
	CHECK_INT(rtp_unpack(bytes, n + 1, &r), NW_EPROTO);
	n = packet(0, RTP_DATA_BYTES + 100);
	CHECK(bytes[1] == 96);
	CHECK_INT(rtp_unpack(bytes, n, &r), NW_OK);
}

/* Whatever the bytes are, what is accepted fits into its block. */
static void
test_hostile(void)
{
	struct rtp_packet r;
	uint64_t state = 3;
	size_t n, i;

	for (i = 0; i < 20000; i++) {
		n = packet(0, 2 * RTP_DATA_BYTES);
		bytes[nw_splitmix(&state) % RTP_HEAD_BYTES] = (uint8_t)nw_splitmix(&state);
		if (rtp_unpack(bytes, n, &r) == NW_OK)
			CHECK(r.len <= DPSS_BLOCK_MAX && r.offset + r.data_len <= r.len);
	}
}

int
main(void)
{
	test_round();
	test_hostile();
	return check_done("test_rtp");
}
