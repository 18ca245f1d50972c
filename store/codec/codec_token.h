/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as tokens: how long a number is goes through zstd, its lower bits go beside. */
#ifndef STORE_CODEC_TOKEN_H
#define STORE_CODEC_TOKEN_H

#include "store/codec/codec_bytes.h"

enum { TOKEN_LOGS = 257 };

struct token_meaning {
	uint64_t least; /* of the numbers it stands for */
	uint64_t below; /* mask of the bits that tell these apart */
};

struct token_coder { /* working memory; zero, then token_reserve() */
	struct token_meaning means[UINT8_MAX + 1];
	uint8_t n_below[UINT8_MAX + 1];  /* how many these bits are */
	float times_log[TOKEN_LOGS];     /* n log2 n */
	void *compressor, *decompressor; /* made when first needed */
	uint8_t *token, *frame;
	uint32_t cap;
};

int token_reserve(struct token_coder *coder, uint32_t n);
void token_clear(struct token_coder *coder);

/* The coder's ZSTD_CCtx and ZSTD_DCtx, for the simple calls that take no settings from them. NULL:
 * out of memory. */
void *token_compressor(struct token_coder *coder);
void *token_decompressor(struct token_coder *coder);

/* About how many bits n_all numbers take, of which n are seen. */
uint64_t token_cost(const struct token_coder *coder, const uint64_t *v, uint32_t n, uint32_t n_all);

/* The most bytes that n numbers take while being written. */
size_t token_bound(uint32_t n);

/* Into reserved room. NW_OK or NW_ENOMEM. */
int token_write(struct token_coder *coder, const uint64_t *v, uint32_t n, struct chunk_buf *out);

/* NW_OK, NW_ENOMEM or NW_ECORRUPT. */
int token_read(struct token_coder *coder, struct byte_reader *in, uint64_t *v, uint32_t n);

#endif
