/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/flatbuf.h"

#include <string.h>

void
flatbuf_init(struct flatbuf *b)
{
	b->used = 0;
	b->overflow = false;
}

static void
push(struct flatbuf *b, const void *bytes, size_t n)
{
	if (n > FLATBUF_BYTES - b->used) {
		b->overflow = true;
		return;
	}
	b->used += n;
	memcpy(b->bytes + FLATBUF_BYTES - b->used, bytes, n);
}

static void
push_le(struct flatbuf *b, int64_t v, size_t size)
{
	uint8_t bytes[8];
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = (uint8_t)((uint64_t)v >> 8 * i);
	push(b, bytes, size);
}

/* Pads so that the buffer is aligned to `size` once `more` bytes have been written. */
static void
align(struct flatbuf *b, size_t size, size_t more)
{
	static const uint8_t zeros[8];

	push(b, zeros, (size - (b->used + more) % size) % size);
}

/* An offset counts from itself to a place that is nearer to the end. */
static void
push_ref(struct flatbuf *b, size_t place)
{
	align(b, 4, 4);
	push_le(b, (int64_t)(b->used + 4 - place), 4);
}

size_t
flatbuf_string(struct flatbuf *b, const char *text)
{
	size_t len = strlen(text);

	align(b, 4, len + 1);
	push(b, text, len + 1);
	push_le(b, (int64_t)len, 4);
	return b->used;
}

/* The count stands before the first of the n elements. */
static size_t
vector_end(struct flatbuf *b, size_t n)
{
	push_le(b, (int64_t)n, 4);
	return b->used;
}

size_t
flatbuf_refs(struct flatbuf *b, const size_t *places, size_t n)
{
	const size_t n_refs = n;

	align(b, 4, 4 * n);
	while (n-- > 0)
		push_ref(b, places[n]);
	return vector_end(b, n_refs);
}

size_t
flatbuf_pairs(struct flatbuf *b, const int64_t (*pairs)[2], size_t n)
{
	size_t i;

	align(b, 8, 16 * n);
	for (i = n; i-- > 0;) {
		push_le(b, pairs[i][1], 8);
		push_le(b, pairs[i][0], 8);
	}
	return vector_end(b, n);
}

void
flatbuf_table(struct flatbuf *b, size_t n_fields)
{
	memset(b->field, 0, sizeof(b->field));
	b->n_fields = n_fields;
	b->table_end = b->used;
}

void
flatbuf_scalar(struct flatbuf *b, size_t field, int64_t v, size_t size)
{
	align(b, size, size);
	push_le(b, v, size);
	b->field[field] = b->used;
}

void
flatbuf_ref(struct flatbuf *b, size_t field, size_t place)
{
	push_ref(b, place);
	b->field[field] = b->used;
}

/* A table begins with the distance back to the list of its fields' offsets, written before it. */
size_t
flatbuf_table_end(struct flatbuf *b)
{
	size_t table, i;
	int64_t distance;

	align(b, 4, 4);
	push_le(b, 0, 4);
	table = b->used;
	for (i = b->n_fields; i-- > 0;)
		push_le(b, b->field[i] != 0 ? (int64_t)(table - b->field[i]) : 0, 2);
	push_le(b, (int64_t)(table - b->table_end), 2);
	push_le(b, (int64_t)(4 + 2 * b->n_fields), 2);
	distance = (int64_t)(b->used - table);
	for (i = 0; i < 4 && !b->overflow; i++)
		b->bytes[FLATBUF_BYTES - table + i] = (uint8_t)(distance >> 8 * i);
	return table;
}

const uint8_t *
flatbuf_finish(struct flatbuf *b, size_t root, size_t *len)
{
	align(b, 8, 4);
	push_ref(b, root);
	*len = b->used;
	return b->overflow ? NULL : b->bytes + FLATBUF_BYTES - b->used;
}
