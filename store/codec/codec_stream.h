/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of 64-bit integers as bytes: the last step of every column. The caller makes the numbers
 * small or alike; the stream takes out their common divisor and their middle, and writes the
 * remainder in as few bits as possible. */
#ifndef STORE_CODEC_STREAM_H
#define STORE_CODEC_STREAM_H

#include "store/codec/codec_token.h"

struct stream_coder { /* working memory; zero, then stream_reserve(), then say the effort */
	struct token_coder tokens;
	uint64_t *plain; /* [cap] numbers to write: not negative, mostly small */
	uint8_t *width;  /* width of each block */
	uint32_t cap;
	enum chunk_effort effort;
};

int stream_reserve(struct stream_coder *coder, uint32_t n);
void stream_clear(struct stream_coder *coder);

/* Bits for writing the numbers: exact for CHUNK_HOT, from the entropy for CHUNK_COMPACT. O(n). */
uint64_t stream_cost(struct stream_coder *coder, const int64_t *x, uint32_t n);

/* NW_OK or NW_ENOMEM. O(n). */
int stream_write(struct stream_coder *coder, const int64_t *x, uint32_t n, struct chunk_buf *out);

/* NW_OK, NW_ENOMEM, or NW_ECORRUPT where there is no stream of n numbers. */
int stream_read(struct stream_coder *coder, struct byte_reader *in, int64_t *x, uint32_t n);

#endif
