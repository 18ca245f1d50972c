/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/rtp.h"

#include "narrows/err.h"

enum { VERSION_2 = 0x80, PAYLOAD_TYPE = 96, MARKER = 0x80 };

/* The time at which the block began to be sent, by a clock of 90 kHz. */
static uint32_t
timestamp(const struct rtp_packet *r)
{
	return (uint32_t)(r->times[DPSS_START_WRITE] / 1000 * 9 / 100);
}

void
rtp_pack(struct packer *p, const struct rtp_packet *r)
{
	int i;

	pack_u8(p, VERSION_2);
	pack_u8(p, (uint8_t)(PAYLOAD_TYPE | (r->offset + r->data_len == r->len ? MARKER : 0)));
	pack_u16(p, r->sequence);
	pack_u32(p, timestamp(r));
	pack_u32(p, r->source);
	pack_u64(p, r->key);
	pack_u64(p, r->logical);
	pack_u32(p, r->list);
	pack_u32(p, r->sum);
	pack_u32(p, r->len);
	pack_u32(p, r->offset);
	pack_u64(p, r->stamp_wall_ns);
	for (i = 0; i < DPSS_TIMES; i++)
		pack_u64(p, r->times[i]);
}

int
rtp_unpack(const void *bytes, size_t len, struct rtp_packet *out)
{
	struct unpacker u = unpack_of(bytes, len);
	unsigned version = unpack_u8(&u), type = unpack_u8(&u), i;

	out->sequence = unpack_u16(&u);
	unpack_u32(&u);
	out->source = unpack_u32(&u);
	out->key = unpack_u64(&u);
	out->logical = unpack_u64(&u);
	out->list = unpack_u32(&u);
	out->sum = unpack_u32(&u);
	out->len = unpack_u32(&u);
	out->offset = unpack_u32(&u);
	out->stamp_wall_ns = unpack_u64(&u);
	for (i = 0; i < DPSS_TIMES; i++)
		out->times[i] = unpack_u64(&u);
	out->data = u.at;
	out->data_len = u.left;
	if (u.failed || version != VERSION_2 || (type & ~(unsigned)MARKER) != PAYLOAD_TYPE ||
	    out->len > DPSS_BLOCK_MAX || out->offset >= out->len ||
	    out->offset % RTP_DATA_BYTES != 0)
		return NW_EPROTO;
	i = out->len - out->offset < RTP_DATA_BYTES ? out->len - out->offset : RTP_DATA_BYTES;
	return out->data_len == i ? NW_OK : NW_EPROTO;
}
