/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events as the file keeps them: a byte, the version 1, then a Zstandard frame with checksum of a
 * block (base/eventpack.c) of at most NW_EVENT_KEPT_BYTES.
 */
#ifndef STORE_EVENTCODEC_H
#define STORE_EVENTCODEC_H

#include <stddef.h>
#include <stdint.h>

struct event_codec;
struct event_codec *event_codec_new(void); /* NULL: no memory */
void event_codec_free(struct event_codec *c);
/* *out is on loan until the next call. NW_ENOMEM. */
int event_pack(
    struct event_codec *c, const uint8_t *block, size_t len, const uint8_t **out, size_t *out_len);
/* Unpacks into *block, which is malloc'ed or grown there and stays the caller's. NW_ECORRUPT,
 * NW_EVERSION, NW_ENOMEM. */
int event_unpack(struct event_codec *c, const uint8_t *bytes, size_t len, uint8_t **block,
    size_t *cap, size_t *block_len);

#endif
