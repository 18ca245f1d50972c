/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of HTTP/1.1 (RFC 9112) in the answer to one question: the server closes the
 * connection behind the answer, and the body has a length, or comes in chunks, or ends with the
 * connection. Half an answer is never taken for a whole one, except a body that ends with a
 * connection in clear, where nothing tells the two apart. Constant memory. */
#ifndef HTTPANSWER_H
#define HTTPANSWER_H

#include <stddef.h>

struct httpanswer {
	/* Source of bytes. Returns their number, 0 at the end, or a negative code with static
	 * *why; httpanswer_read returns the same code. */
	long (*recv)(void *from, void *buf, size_t cap, const char **why);
	void *from;
	/* Receiver of the body, part by part; a negative result ends the answer. */
	int (*fn)(void *arg, const char *data, size_t len);
	void *arg;
};

/* Reads one answer. *status is set before the first call of fn. NW_EPROTO: the answer is
 * malformed or cut short. *why is NULL if fn ended the answer. */
int httpanswer_read(const struct httpanswer *to, int *status, const char **why);

#endif
