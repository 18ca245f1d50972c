/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text of others on a terminal. Such text must not move the cursor, colour or retitle the terminal,
 * turn the direction of other text, or forge a line.
 *
 * Two measures stand together. Every program begins with terminal_guard(), which replaces steering
 * bytes in all that stdio writes to a terminal. A guard cannot tell a foreign newline from the
 * program's own: lines for people print foreign text by terminal_text().
 */
#ifndef NARROWS_TERMINAL_H
#define NARROWS_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Guards stdout and stderr, each if it is a terminal. Control bytes but tab and newline, and bytes
 * that are no UTF-8, become '?'; characters that steer (utf8_steers()) become \uXXXX, so JSON stays
 * exact. Once, first in main(); fileno() of a guarded stream fails. */
void terminal_guard(void);
/* Returns true if the stream is guarded. */
bool terminal_shows(const FILE *f);
/* Writes a sequence of the program's own past the guard. */
void terminal_steer(FILE *f, const char *sequence);
/* Foreign text on a line for people: as the guard, tab and newline become '?', too. 1023 bytes at
 * most. On loan until the eighth next call of the thread. */
const char *terminal_text(const char *s);
/* Writes a text of any length as a cell of a machine's format: to a guarded stream without control
 * bytes, elsewhere exactly. */
void terminal_put(FILE *f, const char *text);

#endif
