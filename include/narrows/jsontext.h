/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text as JSON strings. Quotes, backslashes and control bytes are escaped; bytes that are not
 * UTF-8, and NUL, become U+FFFD. No allocation.
 */
#ifndef NARROWS_JSONTEXT_H
#define NARROWS_JSONTEXT_H

#include <stdio.h>

enum { JSONTEXT_CHAR_BYTES = 6 }; /* the longest form of a character */

/* A whole string with its quotes: into memory, which has room for jsontext_room(len) bytes and gets
 * no NUL, or to a stream. Returns the bytes written. */
static inline size_t
jsontext_room(size_t len)
{
	return JSONTEXT_CHAR_BYTES * len + 2;
}
size_t jsontext_write(char *out, const char *s, size_t len);
void jsontext_put(FILE *f, const char *s, size_t len);
/* The same in pieces of at most JSONTEXT_CHAR_BYTES, each without NUL. */
typedef void jsontext_fn(void *arg, const char *bytes, size_t len);
void jsontext_pieces(const char *s, size_t len, jsontext_fn *put, void *arg);

#endif
