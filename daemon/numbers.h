/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stored numbers of providers without connection, so that a document sent again after a long
 * absence is not stored twice. A provider takes at most 64 bytes; above the limit the provider that
 * has been away longest is forgotten. Providers are known by a hash (SHA-256, cut to 16 bytes) of
 * owner and id.
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct numbers;

struct numbers *numbers_new(size_t providers_max);
void numbers_free(struct numbers *n);
/* Remembers a number as the newest, in O(1). */
void numbers_put(struct numbers *n, const char *owner, const char *provider, uint64_t seq);
/* Takes a provider out. False if the provider is unknown. */
bool numbers_take(struct numbers *n, const char *owner, const char *provider, uint64_t *seq);

#endif
