/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small writer of FlatBuffers, enough for the metadata of Apache Arrow. A buffer grows from its
 * end to its begin, so an object is written after everything that it refers to. A place is the
 * number of bytes from the buffer's end.
 */
#ifndef NARROWS_WEB_FLATBUF_H
#define NARROWS_WEB_FLATBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FLATBUF_BYTES = 8192, FLATBUF_FIELDS = 8 };

struct flatbuf {
	uint8_t bytes[FLATBUF_BYTES];
	size_t used;
	bool overflow; /* the buffer was too small: its content is useless */
	/* table in hand */
	size_t table_end, n_fields;
	size_t field[FLATBUF_FIELDS]; /* place of each, 0 for an absent field */
};

void flatbuf_init(struct flatbuf *b);

size_t flatbuf_string(struct flatbuf *b, const char *text);
/* A vector of n places of tables. */
size_t flatbuf_refs(struct flatbuf *b, const size_t *places, size_t n);
/* A vector of n pairs of 64 bits, the structs of Arrow. */
size_t flatbuf_pairs(struct flatbuf *b, const int64_t (*pairs)[2], size_t n);

/* A table: begin, then its fields, then end. Tables do not nest. */
void flatbuf_table(struct flatbuf *b, size_t n_fields);
/* A scalar of 1, 2, 4 or 8 bytes. */
void flatbuf_scalar(struct flatbuf *b, size_t field, int64_t v, size_t size);
void flatbuf_ref(struct flatbuf *b, size_t field, size_t place);
size_t flatbuf_table_end(struct flatbuf *b);

/* The whole buffer, whose length is a multiple of 8. NULL after an overflow. */
const uint8_t *flatbuf_finish(struct flatbuf *b, size_t root, size_t *len);

#endif
