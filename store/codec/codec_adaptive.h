/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens of short runs by arithmetic coding with probabilities that follow the tokens: nothing but
 * the middle token stands in front, where zstd would need tables longer than the run. */
#ifndef STORE_CODEC_ADAPTIVE_H
#define STORE_CODEC_ADAPTIVE_H

#include "store/codec/codec_bytes.h"

/* Room for n tokens below n_tokens during writing. */
size_t adaptive_bound(uint32_t n, unsigned n_tokens);
/* Returns the number of bytes. */
size_t adaptive_write(const uint8_t *token, uint32_t n, uint8_t *out);
/* Any bytes give n tokens below n_tokens, or NW_ECORRUPT. */
int adaptive_read(const uint8_t *bytes, size_t len, unsigned n_tokens, uint8_t *token, uint32_t n);

#endif
