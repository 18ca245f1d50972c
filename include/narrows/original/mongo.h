/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents in BSON by the calls of MongoDB's first C driver, as in the original examples: int32,
 * int64, double, boolean and text, without nesting. Programs with more to say use libbson. A
 * document belongs to one thread at a time.
 */
#ifndef NARROWS_ORIGINAL_MONGO_H
#define NARROWS_ORIGINAL_MONGO_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BSON_ERROR = -1, BSON_OK = 0 };

typedef struct {
	char *bytes; /* length and elements; from malloc() */
	size_t len, room;
	int failed; /* memory was short: no call has an effect any more */
} bson;

static inline void
bson_put_(bson *b, const void *bytes, size_t len)
{
	size_t room = b->room > 0 ? b->room : 64;
	char *grown = b->bytes;

	while (room - b->len < len && room < INT32_MAX)
		room *= 2;
	if (b->failed || room - b->len < len ||
	    (room > b->room && (grown = realloc(b->bytes, room)) == NULL)) {
		b->failed = 1;
		return;
	}
	b->bytes = grown;
	b->room = room;
	memcpy(b->bytes + b->len, bytes, len);
	b->len += len;
}

/* An integer in the byte order of BSON. */
static inline void
bson_put_int_(bson *b, uint64_t v, size_t len)
{
	unsigned char bytes[8];
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = (unsigned char)(v >> (8 * i));
	bson_put_(b, bytes, len);
}

static inline int
bson_put_name_(bson *b, char type, const char *name)
{
	bson_put_(b, &type, 1);
	bson_put_(b, name, strlen(name) + 1);
	return b->failed ? BSON_ERROR : BSON_OK;
}

static inline int
bson_init(bson *b)
{
	memset(b, 0, sizeof(*b));
	bson_put_int_(b, 0, 4);
	return b->failed ? BSON_ERROR : BSON_OK;
}

static inline int
bson_append_double(bson *b, const char *name, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	bson_put_name_(b, 1, name);
	bson_put_int_(b, bits, 8);
	return b->failed ? BSON_ERROR : BSON_OK;
}

static inline int
bson_append_int(bson *b, const char *name, int v)
{
	bson_put_name_(b, 16, name);
	bson_put_int_(b, (uint32_t)v, 4);
	return b->failed ? BSON_ERROR : BSON_OK;
}

static inline int
bson_append_long(bson *b, const char *name, int64_t v)
{
	bson_put_name_(b, 18, name);
	bson_put_int_(b, (uint64_t)v, 8);
	return b->failed ? BSON_ERROR : BSON_OK;
}

static inline int
bson_append_bool(bson *b, const char *name, int v)
{
	bson_put_name_(b, 8, name);
	bson_put_int_(b, v != 0, 1);
	return b->failed ? BSON_ERROR : BSON_OK;
}

/* The first len bytes of the text. */
static inline int
bson_append_string_n(bson *b, const char *name, const char *text, size_t len)
{
	bson_put_name_(b, 2, name);
	bson_put_int_(b, len + 1, 4);
	bson_put_(b, text, len);
	bson_put_(b, "", 1);
	return b->failed ? BSON_ERROR : BSON_OK;
}

static inline int
bson_append_string(bson *b, const char *name, const char *text)
{
	return bson_append_string_n(b, name, text, strlen(text));
}

/* Ends the document; bson_data() and bson_size() hold from then on. */
static inline int
bson_finish(bson *b)
{
	size_t i;

	bson_put_(b, "", 1);
	for (i = 0; i < 4 && !b->failed; i++)
		b->bytes[i] = (char)(b->len >> (8 * i));
	return b->failed ? BSON_ERROR : BSON_OK;
}

static inline const char *
bson_data(const bson *b)
{
	return b->bytes;
}

static inline int
bson_size(const bson *b)
{
	return b->failed ? 0 : (int)b->len;
}

static inline void
bson_destroy(bson *b)
{
	free(b->bytes);
	memset(b, 0, sizeof(*b));
}

/* Prints a finished document's length and bytes, for people. */
static inline void
bson_print(const bson *b)
{
	int i;

	printf("%d bytes:", bson_size(b));
	for (i = 0; i < bson_size(b); i++)
		printf(" %02x", (unsigned char)b->bytes[i]);
	putchar('\n');
}

#endif
