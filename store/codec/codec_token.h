/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as tokens: the length of a number goes through zstd, the lower bits stand beside the
 * frame. */
#ifndef STORE_CODEC_TOKEN_H
#define STORE_CODEC_TOKEN_H

#include "store/codec/codec_bytes.h"

enum {
	TOKEN_LOGS = 257,
	TOKEN_FEW = 256 /* runs up to this length are written without zstd */
};

struct token_meaning {
	uint64_t least; /* least number of the token */
	uint64_t below; /* mask of the bits below the token */
};

struct token_coder { /* working memory; zero, then token_reserve() */
	struct token_meaning means[UINT8_MAX + 1];
	uint8_t n_below[UINT8_MAX + 1];  /* number of bits below each token */
	float times_log[TOKEN_LOGS];     /* n log2 n */
	void *compressor, *decompressor; /* made when first needed */
	uint8_t *token, *frame;
	uint32_t cap;
};

int token_reserve(struct token_coder *coder, uint32_t n);
void token_clear(struct token_coder *coder);

/* The coder's ZSTD_CCtx and ZSTD_DCtx, for calls that take no settings from the context. NULL
 * without memory. */
void *token_compressor(struct token_coder *coder);
void *token_decompressor(struct token_coder *coder);

/* An estimate of the bits of n_all numbers, by a sample of n. */
uint64_t token_cost(const struct token_coder *coder, const uint64_t *v, uint32_t n, uint32_t n_all);

/* The most bytes of n numbers during writing. */
size_t token_bound(uint32_t n);

/* Into reserved room; without zstd if n is at most TOKEN_FEW. NW_OK or NW_ENOMEM. */
int token_write(struct token_coder *coder, const uint64_t *v, uint32_t n, struct chunk_buf *out);

/* few: the tokens were written without zstd. NW_OK, NW_ENOMEM or NW_ECORRUPT. */
int
token_read(struct token_coder *coder, struct byte_reader *in, uint64_t *v, uint32_t n, bool few);

#endif
