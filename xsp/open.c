/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages that open a session or refuse to: SESS_OPEN, AUTH_TYPE, AUTH_TOKEN, SESS_NACK.
 *
 * Original receivers act on the last block of such a message, and original senders never send two:
 * here the last block of the right type counts.
 */
#include "narrows/frame.h"

#include <string.h>

#include "narrows/err.h"
#include "xsp/wire.h"

/* A hop record: id text 63, protocol 10, padding 3, flags 4 (odd encoding), child count 2, padding
 * 2. */
enum {
	HOP_RECORD_BYTES = 84,
	HOP_FLAGS_AT = 76,
	HOP_CHILDREN_AT = 80,
	HOP_DEPTH_CEILING = 64, /* whatever the limits say: the walk's stack has a fixed size */
	HOP_FLAG_NATIVE = 1,
	OPEN_V1_BYTES = 20, /* session id 16, flags 4 */
	/* session id 16, source text 63, padding 1, session flags 4, hop flags 4 */
	OPEN_V0_BYTES = 88,
	TOKEN_LENGTH_BYTES = 4
};

static int
fail(const char **why, int rc, const char *text)
{
	*why = text;
	return rc;
}

static bool
last_block(const struct nw_frame *f, uint16_t type, struct nw_block *out)
{
	struct nw_block b;
	size_t cursor = 0;
	bool found = false;

	while (nw_frame_next_block(f, &cursor, &b)) {
		if (b.type == type) {
			*out = b;
			found = true;
		}
	}
	return found;
}

/* The records are a tree in depth-first order; children_left is the path from the top to where we
 * are. */
static int
hops_parse(const uint8_t *p, size_t len, const struct nw_frame_limits *lim, struct nw_open *out,
    const char **why)
{
	uint32_t children_left[HOP_DEPTH_CEILING], depth = 0, depth_max = lim->hop_depth_max, flags;
	size_t i, n = len / HOP_RECORD_BYTES;

	out->n_hops = out->n_native = 0;
	if (len % HOP_RECORD_BYTES != 0)
		return fail(why, NW_EPROTO, "hop list is cut");
	if (n > lim->hops_max)
		return fail(why, NW_ETOOBIG, "too many hops");
	if (depth_max > HOP_DEPTH_CEILING)
		depth_max = HOP_DEPTH_CEILING;
	for (i = 0; i < n; i++, p += HOP_RECORD_BYTES) {
		if (nw_odd32_get(p + HOP_FLAGS_AT, &flags) < 0)
			return fail(why, NW_EPROTO, "bad hop flags");
		out->n_native += (flags & HOP_FLAG_NATIVE) != 0;
		while (depth > 0 && children_left[depth - 1] == 0)
			depth--;
		if (depth > 0)
			children_left[depth - 1]--;
		if (depth + 1 > depth_max)
			return fail(why, NW_ETOOBIG, "hops nested too deep");
		if (get_be16(p + HOP_CHILDREN_AT) > n - i - 1)
			return fail(
			    why, NW_EPROTO, "hop counts more children than there are records");
		children_left[depth++] = get_be16(p + HOP_CHILDREN_AT);
	}
	while (depth > 0)
		if (children_left[--depth] != 0)
			return fail(
			    why, NW_EPROTO, "hop counts more children than there are records");
	out->n_hops = (uint32_t)n;
	return NW_OK;
}

int
nw_open_parse(const struct nw_frame *f, const struct nw_frame_limits *lim, struct nw_open *out,
    const char **why)
{
	size_t fixed = f->version == 0 ? OPEN_V0_BYTES : OPEN_V1_BYTES;
	struct nw_block b;

	if (!last_block(f, NW_BLOCK_HOP, &b))
		return fail(why, NW_EPROTO, "open without a hop block");
	if (b.len < fixed)
		return fail(why, NW_EPROTO, "hop block too short");
	memcpy(out->sess_id, b.data, NW_SESS_ID_BYTES);
	out->id_differs = memcmp(out->sess_id, f->sess_id, NW_SESS_ID_BYTES) != 0;
	out->flags = get_be32(b.data + fixed - 4);
	return hops_parse(b.data + fixed, b.len - fixed, lim, out, why);
}

void
nw_open_write(uint8_t out[20], const uint8_t sess_id[NW_SESS_ID_BYTES])
{
	memcpy(out, sess_id, NW_SESS_ID_BYTES);
	put_be32(out + OPEN_V1_BYTES - 4, HOP_FLAG_NATIVE);
}

int
nw_auth_parse(const struct nw_frame *f, char name[NW_AUTH_NAME_BYTES + 1], const char **why)
{
	struct nw_block b;
	size_t i;

	if (!last_block(f, NW_BLOCK_AUTH_TYP, &b))
		return fail(why, NW_EPROTO, "authentication without a name block");
	for (i = 0; i < b.len && i < NW_AUTH_NAME_BYTES && b.data[i] != 0; i++) {
		uint8_t c = b.data[i];

		if (c >= 'a' && c <= 'z')
			c = (uint8_t)(c - 'a' + 'A');
		if (c <= ' ' || c > '~')
			return fail(why, NW_EPROTO, "authentication name is not text");
		name[i] = (char)c;
	}
	name[i] = '\0';
	return i > 0 ? NW_OK : fail(why, NW_EPROTO, "empty authentication name");
}

int
nw_token_parse(const struct nw_frame *f, const uint8_t **data, size_t *len, const char **why)
{
	bool is_text = f->type == NW_MSG_SESS_NACK;
	struct nw_block b;
	uint32_t n;

	if (!last_block(f, is_text ? NW_BLOCK_NACK : NW_BLOCK_AUTH_TOK, &b))
		return fail(why, NW_EPROTO, "token message without a token");
	if (b.len < TOKEN_LENGTH_BYTES || nw_odd32_get(b.data, &n) < 0 ||
	    n > b.len - TOKEN_LENGTH_BYTES)
		return fail(why, NW_EPROTO, "bad token length");
	if (n > NW_TOKEN_MAX_BYTES)
		return fail(why, NW_ETOOBIG, "token too long");
	*data = b.data + TOKEN_LENGTH_BYTES;
	*len = is_text && n > 0 && (*data)[n - 1] == 0 ? n - 1 : n;
	return NW_OK;
}

size_t
nw_nack_write(uint8_t *out, size_t cap, const char *text)
{
	size_t n = strlen(text),
	       room = cap < TOKEN_LENGTH_BYTES + 1 ? 0 : cap - TOKEN_LENGTH_BYTES - 1;

	if (cap < TOKEN_LENGTH_BYTES + 1)
		return 0;
	if (n > NW_NACK_TEXT_MAX_BYTES - 1)
		n = NW_NACK_TEXT_MAX_BYTES - 1;
	if (n > room)
		n = room;
	nw_odd32_put(out, (uint32_t)n + 1);
	memcpy(out + TOKEN_LENGTH_BYTES, text, n);
	/* counted, because original clients print the text without adding a NUL */
	out[TOKEN_LENGTH_BYTES + n] = 0;
	return TOKEN_LENGTH_BYTES + n + 1;
}
