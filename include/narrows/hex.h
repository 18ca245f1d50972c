/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes as hexadecimal digits, two for each byte, in lower case. */
#ifndef NARROWS_HEX_H
#define NARROWS_HEX_H

#include <stdbool.h>
#include <stddef.h>

/* Writes 2 n digits and a NUL. */
void nw_hex_put(char *out, const void *bytes, size_t n);

/* Reads 2 n digits, whatever follows them; takes the lower case alone. Returns false, with `out`
 * half written, for another character or a short text. */
bool nw_hex_take(const char *text, void *out, size_t n);

#endif
