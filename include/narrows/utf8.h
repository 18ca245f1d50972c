/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NARROWS_UTF8_H
#define NARROWS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the UTF-8 character that begins the `left` bytes at s, by RFC 3629: no overlong form,
 * no surrogate, nothing above U+10FFFF. 0: no character begins there. NUL is a character. */
size_t utf8_length(const char *s, size_t left);
/* Whether all of the text is UTF-8. */
bool utf8_whole(const char *text);
/* Whether the character of len bytes at s changes how the text around is shown: C1 controls,
 * U+061C, U+200E and U+200F, U+2028 to U+202E, U+2066 to U+2069. */
bool utf8_steers(const char *s, size_t len);

#endif
