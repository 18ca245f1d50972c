/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of STOMP 1.2 (stomp.github.io), the protocol of message brokers. Bytes in, structs out; no
 * socket, no allocation. Every frame is bounded before its headers are read.
 */
#ifndef NARROWS_STOMP_H
#define NARROWS_STOMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NW_STOMP_HEAD_MAX_BYTES = 16 << 10, /* of command and headers */
	NW_STOMP_BODY_MAX_BYTES = 256 << 10,
	NW_STOMP_FRAME_MAX_BYTES = NW_STOMP_HEAD_MAX_BYTES + NW_STOMP_BODY_MAX_BYTES + 1,
	NW_STOMP_HEADERS_MAX = 64,
	NW_STOMP_VALUE_BYTES = 1024 /* of a header's value, with its NUL */
};

/* A frame, on loan from the received bytes. */
struct nw_stomp_frame {
	const char *command, *headers, *body; /* without NUL at the end */
	size_t command_len, headers_len, body_len;
};

/*
 * Cuts the first frame. Line ends between frames (heart-beats) belong to the frame behind them.
 * NW_OK: *took bytes are the frame. NW_EAGAIN: the frame is not whole; *took bytes are line ends
 * that may go. NW_EPROTO or NW_ETOOBIG with static *why: the connection is of no more use.
 */
int nw_stomp_cut(
    const uint8_t *bytes, size_t len, struct nw_stomp_frame *out, size_t *took, const char **why);
bool nw_stomp_is(const struct nw_stomp_frame *f, const char *command);
/* The first header of the name, without escapes. Returns false if there is none, or if it is longer
 * than `out` (NW_STOMP_VALUE_BYTES). */
bool
nw_stomp_header(const struct nw_stomp_frame *f, const char *name, char out[NW_STOMP_VALUE_BYTES]);

/*
 * Writes a frame without body; `pairs` are names and values up to NULL. CONNECT is written without
 * escapes, as the protocol demands. Returns its length, or NW_ETOOBIG if `cap` is too small, or
 * NW_EINVAL for a value of CONNECT with a line end.
 */
long nw_stomp_write(const char *command, const char *const *pairs, char *out, size_t cap);

#endif
