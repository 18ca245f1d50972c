/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An exchange as bytes between the caller and narrows-send: lines "name value", an empty line, and
 * the body. The answer is a line with the HTTP status, and the body; the exit status of
 * narrows-send is 0 after a whole answer, else minus the code, with the reason on standard error.
 */
#ifndef SEND_TEXT_H
#define SEND_TEXT_H

#include "send/exchange.h"

/* The head of a question: all but the body. free() the text. NW_EINVAL for control characters,
 * which would begin lines of their own; NW_ENOMEM. */
int sendtext_write(const struct exchange *x, char **text, size_t *len);
/* Reads a whole question. The texts of *x point into `bytes`, which is changed; bytes[len] must be
 * there and 0. NW_EPROTO. */
int sendtext_read(char *bytes, size_t len, struct exchange *x);

#endif
