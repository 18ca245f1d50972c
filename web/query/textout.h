/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of an answer on its way out, gathered into large writes. */
#ifndef NARROWS_WEB_TEXTOUT_H
#define NARROWS_WEB_TEXTOUT_H

#include <stddef.h>

#include "web/query/out_stream.h"

enum { TEXTOUT_BYTES = 32768 };

struct textout {
	stream_write_fn *write;
	void *write_arg;
	size_t n_bytes; /* put since textout_begin() */
	size_t len;
	char text[TEXTOUT_BYTES];
};

/* Begins a slice: what is put goes to `write` from now on. */
void textout_begin(struct textout *o, stream_write_fn *write, void *arg);
/* NW_OK, or what `write` says. */
int textout_put(struct textout *o, const char *text, size_t len);
int textout_puts(struct textout *o, const char *text);
/* The number as fmt_exact_put() prints numbers. */
int textout_exact(struct textout *o, double v);
/* Writes what has gathered. */
int textout_flush(struct textout *o);

#endif
