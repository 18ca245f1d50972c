/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XSP frames and blocks, versions 1 and 0: bytes in, structs out. No sockets, no clock, no
 * allocation.
 *
 * Parsing is stateless: the caller keeps the unread bytes and calls again with at least `need` of
 * them. Every pointer in a result points into the caller's buffer and lives as long as those bytes
 * do. Limits are checked on headers, so a hostile length is refused before memory is taken for it.
 * All functions may be called from any thread.
 */
#ifndef NARROWS_FRAME_H
#define NARROWS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NW_FRAME_V0_HEADER = 20,
	NW_FRAME_V1_HEADER = 168,
	NW_BLOCK_HEADER = 8,
	NW_SESS_ID_BYTES = 16,
	NW_FRAME_V1_PAYLOAD_SAFE = 65360, /* largest block an original peer takes */
	NW_AUTH_NAME_BYTES = 10,
	NW_HOP_ID_BYTES = 63,
	NW_NACK_TEXT_MAX_BYTES = 1000,
	NW_TOKEN_MAX_BYTES = 4096
};

enum nw_msg {
	NW_MSG_INVALID,
	NW_MSG_SESS_OPEN,
	NW_MSG_SESS_ACK,
	NW_MSG_SESS_CLOSE,
	NW_MSG_BLOCK_HEADER,
	NW_MSG_AUTH_TYPE,
	NW_MSG_AUTH_TOKEN,
	NW_MSG_SESS_NACK,
	NW_MSG_PING,
	NW_MSG_PONG,
	NW_MSG_DATA_CHAN,
	NW_MSG_NET_PATH,
	NW_MSG_APP_DATA,
	NW_MSG_SLAB_INFO,
	NW_MSG_INF_DATA,
	NW_MSG_COUNT
};

enum nw_block_type {
	NW_BLOCK_NULL,
	NW_BLOCK_HOP,
	NW_BLOCK_AUTH_TYP,
	NW_BLOCK_AUTH_TOK,
	NW_BLOCK_NACK,
	NW_BLOCK_DATA,
	NW_BLOCK_PATH,
	NW_BLOCK_SLAB
};

/* Application options: block types inside APP_DATA. Options from 0x80 are ours and go only to peers
 * that sent HELLO. */
enum nw_opt {
	NW_OPT_META = 0x20,
	NW_OPT_DATA = 0x21,
	NW_OPT_XFER_NEW = 0x30,
	NW_OPT_XFER_END = 0x31,
	NW_OPT_XFER_UPDATE = 0x32,
	NW_OPT_HELLO = 0x80,
	NW_OPT_START,
	NW_OPT_STOP,
	NW_OPT_RATE,
	NW_OPT_STATUS,
	NW_OPT_STORED,
	NW_OPT_CLOCK,
	NW_OPT_BATCH,
	NW_OPT_OPS,
	NW_OPT_LOST,   /* numbers of documents that died with an earlier life of the provider */
	NW_OPT_DIET,   /* series of the provider to be sampled at a slower interval */
	NW_OPT_VERDICT /* a question for the verdict of the provider's session, and the answers */
};

struct nw_frame_limits {
	uint32_t blocks_max;        /* blocks in one message */
	uint32_t block_max_bytes;   /* payload of one block */
	uint32_t message_max_bytes; /* header, block headers and payloads together */
	uint32_t hops_max;          /* hop records in an open */
	uint32_t hop_depth_max;
};

extern const struct nw_frame_limits nw_frame_limits_default; /* 64, 1 MiB, 4 MiB, 64, 8 */
extern const struct nw_frame_limits nw_frame_limits_preauth; /* the same, but 4 KiB in all */

struct nw_frame {
	uint8_t version; /* 0 or 1 */
	uint8_t flags;
	uint16_t type; /* enum nw_msg, or above: unknown types parse when their extent is known */
	uint16_t n_blocks; /* v0: 0 or 1; a v0 body without block header counts as a block */
	uint8_t sess_id[NW_SESS_ID_BYTES];
	const uint8_t *body; /* bytes behind the header */
	size_t body_len;
	size_t len; /* the whole message: consume this many bytes */
};

struct nw_block {
	uint16_t type; /* enum nw_block_type, or enum nw_opt in APP_DATA */
	uint16_t sport;
	const uint8_t *data; /* not NULL even when len is 0 */
	size_t len;
};

/*
 * Looks for one whole message at the start of buf.
 * NW_OK: *out is filled. NW_EAGAIN: *need, above len, is the length from which a call may succeed.
 * NW_EPROTO, NW_ETOOBIG: the stream cannot be continued; *why is static text. O(blocks).
 */
int nw_frame_parse(const uint8_t *buf, size_t len, const struct nw_frame_limits *lim,
    struct nw_frame *out, size_t *need, const char **why);

/* Walks the blocks of a parsed frame in wire order. Start with *cursor = 0. False after the last
 * one. */
bool nw_frame_next_block(const struct nw_frame *f, size_t *cursor, struct nw_block *out);

/*
 * Writes a frame with n blocks; EIDs are zero, lengths from 65,535 on take the extended form (v1
 * only). v0 takes at most one block, in the form of the message type in v0. Returns the length, or
 * NW_ETOOBIG when cap is too small or v0 cannot carry the blocks. With buf NULL: the length only.
 */
long nw_frame_write(uint8_t *buf, size_t cap, uint8_t version, uint16_t type,
    const uint8_t sess_id[NW_SESS_ID_BYTES], const struct nw_block *blocks, uint16_t n_blocks);

/*
 * Appends a block to a v1 frame that nw_frame_write() has written at the start of buf, len bytes
 * long. Returns the new length, or NW_ETOOBIG when cap is too small. With buf NULL: the length
 * only.
 */
long nw_frame_append(uint8_t *buf, size_t len, size_t cap, const struct nw_block *block);

/* A sender joins no more blocks or bytes in a message; a box of these limits takes them. */
enum { NW_FRAME_JOINED_BLOCKS = 16, NW_FRAME_JOINED_BYTES = 8192 };

/* SESS_OPEN */
struct nw_open {
	uint8_t sess_id[NW_SESS_ID_BYTES]; /* id in the HOP block; wins over the header's id */
	bool id_differs;                   /* the header said another id */
	uint32_t flags;
	uint32_t n_hops;   /* hop records beyond us, all depths */
	uint32_t n_native; /* hops that speak XSP: a forwarder would have to open these in turn */
};
int nw_open_parse(const struct nw_frame *f, const struct nw_frame_limits *lim, struct nw_open *out,
    const char **why);

/* Builds the payload of a HOP block without hop records, for a session whose only hop is the peer:
 * 20 bytes. */
void nw_open_write(uint8_t out[20], const uint8_t sess_id[NW_SESS_ID_BYTES]);

/* AUTH_TYPE: the name in upper case; bytes behind the sender's NUL are ignored. NW_EPROTO when
 * there is no usable name. */
int nw_auth_parse(const struct nw_frame *f, char name[NW_AUTH_NAME_BYTES + 1], const char **why);

/* AUTH_TOKEN and SESS_NACK share a layout. *data points into the frame; the final NUL of a NACK is
 * not counted. */
int nw_token_parse(const struct nw_frame *f, const uint8_t **data, size_t *len, const char **why);
/* Payload of a NACK block from text (cut at NW_NACK_TEXT_MAX_BYTES). Returns bytes written, at most
 * cap. */
size_t nw_nack_write(uint8_t *out, size_t cap, const char *text);

/* The odd 32-bit encoding of tokens, flags and NACK: 16 bits of value in either half, the other
 * half zero. */
int nw_odd32_get(const uint8_t p[4], uint32_t *out);
void nw_odd32_put(uint8_t p[4], uint32_t value);

#endif
