/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As much of HTTP/1.1 (RFC 9112) as the answer to one question needs: the connection is closed
 * after it, and its body has a length, or comes in chunks, or ends with the connection. Half an
 * answer is never taken for a whole one where any of the three can tell: the last can in TLS only.
 * Constant memory.
 */
#ifndef HTTPANSWER_H
#define HTTPANSWER_H

#include <stddef.h>

struct httpanswer {
	/* Some bytes; 0: that was all; negative, with static *why: no more can be had, and that is
	 * what is returned. */
	long (*recv)(void *from, void *buf, size_t cap, const char **why);
	void *from;
	/* the body, as it comes; negative ends it */
	int (*fn)(void *arg, const char *data, size_t len);
	void *arg;
};

/* *status is set before fn is called. NW_EPROTO: not as it should be, or not to the end. why is
 * NULL if fn ended it. */
int httpanswer_read(const struct httpanswer *to, int *status, const char **why);

#endif
