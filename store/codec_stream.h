/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of 64-bit integers as bytes: the last step of every column. The caller makes the numbers small or alike;
 * the stream takes out their common divisor and their middle, and writes what remains in as few bits as it can. */
#ifndef STORE_CODEC_STREAM_H
#define STORE_CODEC_STREAM_H

#include "store/codec_bytes.h"

enum { STREAM_LOGS = 257 };

struct stream_token {
	uint64_t least;               /* of the numbers it stands for */
	uint32_t n_below;             /* bits that tell these apart */
};

struct stream_coder {             /* working memory; zero, then stream_reserve() */
	struct stream_token means[UINT8_MAX + 1];
	float times_log[STREAM_LOGS]; /* n log2 n */
	void *zstd_in, *zstd_out;     /* made when first needed */
	uint64_t *plain;              /* [cap] what is written: not negative, mostly small */
	uint8_t *token, *frame;       /* [cap], [bound of cap] */
	uint8_t *width;
	uint32_t cap;
	enum chunk_effort effort;
};

int stream_reserve(struct stream_coder *coder, uint32_t n);
void stream_clear(struct stream_coder *coder);

/* The coder's ZSTD_CCtx and ZSTD_DCtx, for the simple calls that take no settings from them. NULL: out of memory. */
void *stream_compressor(struct stream_coder *coder);
void *stream_decompressor(struct stream_coder *coder);

/* The largest number that all n differences are multiples of; 0 if all are equal. */
uint64_t stream_unit(const int64_t *x, uint32_t n);

/* Bits that writing these numbers would take: exact for CHUNK_HOT, from the entropy for CHUNK_COMPACT. O(n). */
uint64_t stream_cost(struct stream_coder *coder, const int64_t *x, uint32_t n);

/* NW_OK or NW_ENOMEM. O(n). */
int stream_write(struct stream_coder *coder, const int64_t *x, uint32_t n, struct chunk_buf *out);

/* NW_OK, NW_ENOMEM, or NW_ECORRUPT where there is no stream of n numbers. */
int stream_read(struct stream_coder *coder, struct byte_reader *in, int64_t *x, uint32_t n);

#endif
