/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NARROWS_UTF8_H
#define NARROWS_UTF8_H

#include <stddef.h>

/* Length of the UTF-8 character that begins the `left` bytes at s, by RFC 3629: no overlong form,
 * no surrogate, nothing above U+10FFFF. 0: no character begins there. NUL is a character. */
size_t utf8_length(const char *s, size_t left);

#endif
