/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XSP frames: one message of the stream, and its blocks.
 *
 *   v1  168 bytes: version 1, flags 1, type 2, block count 2, reserved 2, two endpoint ids of 72,
 *       session id 16; then per block: type 2, sport 2, length 2, reserved 2, where a length of
 *       0xffff stands for a length of 8 bytes that follows
 *   v0  20 bytes: version 1, type 1, body length 2, session id 16; then the body, which in APP_DATA
 *       and NET_PATH is a block: type 2, sport 2, length 4
 *
 * Both versions occur in one session, so the first byte of every message chooses. v1 has no total
 * length: the end is known only after walking the blocks. Flags, reserved, sport and the endpoint
 * ids carry nothing: original senders leave stack bytes in the endpoint ids.
 */
#include "narrows/frame.h"

#include <string.h>

#include "narrows/err.h"
#include "xsp/wire.h"

enum {
	BLOCK_HEADER_EXTENDED = NW_BLOCK_HEADER + 8,
	LENGTH_EXTENDED = 0xffff,
	V0_BODY_MAX_BYTES = 0xffff,
	V1_BLOCKS_AT = 4,
	V1_SESS_ID_AT = 152,
	V0_SESS_ID_AT = 4
};

const struct nw_frame_limits nw_frame_limits_default = { .blocks_max = 64,
	.block_max_bytes = 1 << 20,
	.message_max_bytes = 4 << 20,
	.hops_max = 64,
	.hop_depth_max = 8 };

const struct nw_frame_limits nw_frame_limits_preauth = { .blocks_max = 64,
	.block_max_bytes = 4096,
	.message_max_bytes = 4096,
	.hops_max = 64,
	.hop_depth_max = 8 };

static int
fail(const char **why, int rc, const char *text)
{
	*why = text;
	return rc;
}

static int
more(size_t *need, uint64_t bytes)
{
	*need = (size_t)bytes;
	return NW_EAGAIN;
}

static bool
v0_has_block_header(unsigned type)
{
	return type == NW_MSG_APP_DATA || type == NW_MSG_NET_PATH;
}

/* Reads a v1 block header. Returns the length of the header; above avail, nothing else is
 * filled. */
static size_t
block_header_read(const uint8_t *p, size_t avail, struct nw_block *b, uint64_t *payload_len)
{
	*payload_len = 0;
	if (avail < NW_BLOCK_HEADER)
		return NW_BLOCK_HEADER;
	b->type = get_be16(p);
	b->sport = get_be16(p + 2);
	*payload_len = get_be16(p + 4);
	if (*payload_len != LENGTH_EXTENDED)
		return NW_BLOCK_HEADER;
	if (avail >= BLOCK_HEADER_EXTENDED)
		*payload_len = get_be64(p + NW_BLOCK_HEADER);
	return BLOCK_HEADER_EXTENDED;
}

static int
parse_v1(const uint8_t *buf, size_t len, const struct nw_frame_limits *lim, struct nw_frame *out,
    size_t *need, const char **why)
{
	uint64_t at = NW_FRAME_V1_HEADER, payload_len, header_len, headers_left;
	struct nw_block b;
	unsigned i;

	if (len < NW_FRAME_V1_HEADER)
		return more(need, NW_FRAME_V1_HEADER);
	out->flags = buf[1];
	out->type = get_be16(buf + 2);
	out->n_blocks = get_be16(buf + V1_BLOCKS_AT);
	memcpy(out->sess_id, buf + V1_SESS_ID_AT, NW_SESS_ID_BYTES);
	if (out->n_blocks > lim->blocks_max)
		return fail(why, NW_ETOOBIG, "too many blocks in a message");
	for (i = 0; i < out->n_blocks; i++) {
		header_len = block_header_read(buf + at, len - at, &b, &payload_len);
		if (header_len > len - at)
			return more(need, at + header_len);
		headers_left = (out->n_blocks - i - 1u) * (uint64_t)NW_BLOCK_HEADER;
		if (payload_len > lim->block_max_bytes)
			return fail(why, NW_ETOOBIG, "block too long");
		at += header_len + payload_len;
		if (at + headers_left > lim->message_max_bytes)
			return fail(why, NW_ETOOBIG, "message too long");
		if (at > len)
			return more(need, at + (headers_left ? NW_BLOCK_HEADER : 0));
	}
	out->body = buf + NW_FRAME_V1_HEADER;
	out->body_len = (size_t)at - NW_FRAME_V1_HEADER;
	out->len = (size_t)at;
	return NW_OK;
}

static int
parse_v0(const uint8_t *buf, size_t len, const struct nw_frame_limits *lim, struct nw_frame *out,
    size_t *need, const char **why)
{
	if (len < NW_FRAME_V0_HEADER)
		return more(need, NW_FRAME_V0_HEADER);
	out->flags = 0;
	out->type = buf[1];
	out->body_len = get_be16(buf + 2);
	out->n_blocks = out->body_len > 0;
	memcpy(out->sess_id, buf + V0_SESS_ID_AT, NW_SESS_ID_BYTES);
	out->body = buf + NW_FRAME_V0_HEADER;
	out->len = NW_FRAME_V0_HEADER + out->body_len;
	if (out->n_blocks > lim->blocks_max)
		return fail(why, NW_ETOOBIG, "too many blocks in a message");
	if (out->body_len > lim->block_max_bytes)
		return fail(why, NW_ETOOBIG, "block too long");
	if (out->len > lim->message_max_bytes)
		return fail(why, NW_ETOOBIG, "message too long");
	if (out->n_blocks > 0 && v0_has_block_header(out->type)) {
		if (out->body_len < NW_BLOCK_HEADER)
			return fail(why, NW_EPROTO, "v0 body too short for its block header");
		if (len < NW_FRAME_V0_HEADER + NW_BLOCK_HEADER)
			return more(need, out->len);
		if (get_be32(out->body + 4) != out->body_len - NW_BLOCK_HEADER)
			return fail(why, NW_EPROTO, "v0 block length differs from the body's");
	}
	return len < out->len ? more(need, out->len) : NW_OK;
}

int
nw_frame_parse(const uint8_t *buf, size_t len, const struct nw_frame_limits *lim,
    struct nw_frame *out, size_t *need, const char **why)
{
	if (len == 0)
		return more(need, 1);
	out->version = buf[0];
	switch (buf[0]) {
	case 0: return parse_v0(buf, len, lim, out, need, why);
	case 1: return parse_v1(buf, len, lim, out, need, why);
	}
	return fail(why, NW_EPROTO, "unknown protocol version");
}

/* v0 has no block types: the type of the message tells the kind of its body. */
static uint16_t
v0_block_type(unsigned type)
{
	switch (type) {
	case NW_MSG_SESS_OPEN: return NW_BLOCK_HOP;
	case NW_MSG_AUTH_TYPE: return NW_BLOCK_AUTH_TYP;
	case NW_MSG_AUTH_TOKEN: return NW_BLOCK_AUTH_TOK;
	case NW_MSG_SESS_NACK: return NW_BLOCK_NACK;
	case NW_MSG_DATA_CHAN: return NW_BLOCK_DATA;
	case NW_MSG_SLAB_INFO: return NW_BLOCK_SLAB;
	}
	return NW_BLOCK_NULL;
}

bool
nw_frame_next_block(const struct nw_frame *f, size_t *cursor, struct nw_block *out)
{
	const uint8_t *p = f->body + *cursor;
	size_t left = f->body_len - *cursor;
	uint64_t payload_len;

	if (*cursor >= f->body_len)
		return false;
	if (f->version == 1) {
		out->data = p + block_header_read(p, left, out, &payload_len);
		out->len = (size_t)payload_len;
	} else if (v0_has_block_header(f->type)) {
		out->type = get_be16(p);
		out->sport = get_be16(p + 2);
		out->data = p + NW_BLOCK_HEADER;
		out->len = left - NW_BLOCK_HEADER;
	} else {
		out->type = v0_block_type(f->type);
		out->sport = 0;
		out->data = p;
		out->len = left;
	}
	*cursor = (size_t)(out->data - f->body) + out->len;
	return true;
}

static size_t
block_bytes(const struct nw_block *b)
{
	return (b->len >= LENGTH_EXTENDED ? BLOCK_HEADER_EXTENDED : NW_BLOCK_HEADER) + b->len;
}

/* Returns the place behind the block. */
static uint8_t *
block_write(uint8_t *p, const struct nw_block *b)
{
	bool extended = b->len >= LENGTH_EXTENDED;

	put_be16(p, b->type);
	put_be16(p + 2, b->sport);
	put_be16(p + 4, extended ? LENGTH_EXTENDED : (uint16_t)b->len);
	put_be16(p + 6, 0);
	p += NW_BLOCK_HEADER;
	if (extended) {
		put_be64(p, b->len);
		p += 8;
	}
	if (b->len > 0)
		memcpy(p, b->data, b->len);
	return p + b->len;
}

static long
write_v1(uint8_t *buf, size_t cap, uint16_t type, const uint8_t *sess_id,
    const struct nw_block *blocks, uint16_t n_blocks)
{
	size_t total = NW_FRAME_V1_HEADER;
	uint8_t *p = buf;
	unsigned i;

	for (i = 0; i < n_blocks; i++)
		total += block_bytes(&blocks[i]);
	if (buf == NULL)
		return (long)total;
	if (total > cap)
		return NW_ETOOBIG;
	memset(p, 0, NW_FRAME_V1_HEADER);
	p[0] = 1;
	put_be16(p + 2, type);
	put_be16(p + V1_BLOCKS_AT, n_blocks);
	memcpy(p + V1_SESS_ID_AT, sess_id, NW_SESS_ID_BYTES);
	p += NW_FRAME_V1_HEADER;
	for (i = 0; i < n_blocks; i++)
		p = block_write(p, &blocks[i]);
	return (long)total;
}

long
nw_frame_append(uint8_t *buf, size_t len, size_t cap, const struct nw_block *block)
{
	size_t total = len + block_bytes(block);

	if (buf == NULL)
		return (long)total;
	if (total > cap)
		return NW_ETOOBIG;
	put_be16(buf + V1_BLOCKS_AT, (uint16_t)(get_be16(buf + V1_BLOCKS_AT) + 1));
	block_write(buf + len, block);
	return (long)total;
}

static long
write_v0(uint8_t *buf, size_t cap, uint16_t type, const uint8_t *sess_id,
    const struct nw_block *blocks, uint16_t n_blocks)
{
	size_t header_len = n_blocks > 0 && v0_has_block_header(type) ? NW_BLOCK_HEADER : 0;
	size_t payload_len = n_blocks > 0 ? blocks[0].len : 0;
	uint8_t *p = buf;

	if (n_blocks > 1 || type > 0xff || payload_len > V0_BODY_MAX_BYTES - header_len)
		return NW_ETOOBIG;
	if (buf == NULL)
		return (long)(NW_FRAME_V0_HEADER + header_len + payload_len);
	if (NW_FRAME_V0_HEADER + header_len + payload_len > cap)
		return NW_ETOOBIG;
	p[0] = 0;
	p[1] = (uint8_t)type;
	put_be16(p + 2, (uint16_t)(header_len + payload_len));
	memcpy(p + V0_SESS_ID_AT, sess_id, NW_SESS_ID_BYTES);
	p += NW_FRAME_V0_HEADER;
	if (header_len > 0) {
		put_be16(p, blocks[0].type);
		put_be16(p + 2, blocks[0].sport);
		put_be32(p + 4, (uint32_t)payload_len);
		p += NW_BLOCK_HEADER;
	}
	if (payload_len > 0)
		memcpy(p, blocks[0].data, payload_len);
	return (long)(NW_FRAME_V0_HEADER + header_len + payload_len);
}

long
nw_frame_write(uint8_t *buf, size_t cap, uint8_t version, uint16_t type,
    const uint8_t sess_id[NW_SESS_ID_BYTES], const struct nw_block *blocks, uint16_t n_blocks)
{
	switch (version) {
	case 0: return write_v0(buf, cap, type, sess_id, blocks, n_blocks);
	case 1: return write_v1(buf, cap, type, sess_id, blocks, n_blocks);
	}
	return NW_EINVAL;
}

int
nw_odd32_get(const uint8_t p[4], uint32_t *out)
{
	uint16_t high = get_be16(p), low = get_be16(p + 2);

	*out = high ? high : low;
	return high != 0 && low != 0 ? NW_EPROTO : NW_OK;
}

void
nw_odd32_put(uint8_t p[4], uint32_t value)
{
	put_be16(p, (uint16_t)value);
	put_be16(p + 2, 0);
}
