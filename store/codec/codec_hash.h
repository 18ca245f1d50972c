/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_CODEC_HASH_H
#define STORE_CODEC_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH64 with seed 0: about 10 GB/s, so that every read can check its chunk. The hash finds bit rot
 * and torn writes; an adversary can forge the hash. */
uint64_t hash_bytes(const uint8_t *p, size_t len);

#endif
