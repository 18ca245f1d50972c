/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns of names, as in SQL's GLOB: '*' stands for any text, '?' for any byte, [a-c] for a byte
 * of a set, [^a-c] for all other bytes, all else for itself.
 */
#ifndef NARROWS_WEB_GLOB_H
#define NARROWS_WEB_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the whole text matches. Time in proportion to the product of both lengths at most. */
bool glob_match(const char *pattern, const char *text);
/* Length of the pattern's start without '*', '?' and '['. */
size_t glob_prefix(const char *pattern);

#endif
