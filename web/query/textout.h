/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of an answer on its way out, gathered into large writes. */
#ifndef NARROWS_WEB_TEXTOUT_H
#define NARROWS_WEB_TEXTOUT_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/format.h"
#include "web/query/out_stream.h"

enum { TEXTOUT_BYTES = 32768, TEXTOUT_NUMBERS = 256, TEXTOUT_ROOM = 512 };

/* A number written lately. */
struct textout_number {
	uint64_t bits;
	size_t len; /* of the text; 0 for an unused place */
	char text[FMT_EXACT_ROOM];
};

/* All zero before the first textout_begin(). */
struct textout {
	stream_write_fn *write;
	void *write_arg;
	size_t n_bytes; /* put since textout_begin() */
	size_t len;
	char text[TEXTOUT_BYTES];
	/* answers repeat numbers, and to find a text takes a tenth of the time of making one */
	struct textout_number number[TEXTOUT_NUMBERS];
};

/* Begins a slice: what is put goes to `write` from now on. */
void textout_begin(struct textout *o, stream_write_fn *write, void *arg);
/* NW_OK, or what `write` says. */
int textout_put(struct textout *o, const char *text, size_t len);
int textout_puts(struct textout *o, const char *text);
/* The number as fmt_exact_put() prints numbers. */
int textout_exact(struct textout *o, double v);
int textout_int(struct textout *o, int64_t v);
/* For many small pieces in a row: *at gets a place for TEXTOUT_ROOM bytes, into which the caller
 * writes; textout_took() says where the bytes end. Nothing else is put in between. */
int textout_room(struct textout *o, char **at);
void textout_took(struct textout *o, const char *end);
/* Writes a number, as fmt_exact_put(), to a place with FMT_EXACT_ROOM bytes. Returns its end. */
char *textout_number(struct textout *o, char *at, double v);
/* Writes what has gathered. */
int textout_flush(struct textout *o);

#endif
