/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where accesses go, in a file or in a memory buffer: six layouts, by the words of the first
 * benchmark of this kind (Kunkel, io-model):
 *
 *	off0         always position 0
 *	seq          one behind the other, from 0 again at the end
 *	rnd          anywhere, each position as likely
 *	rndX         from the last position on, at most X bytes to either side
 *	strideX      as seq, with a hole of X bytes between
 *	strideX,Y    the same, and at most Y bytes to either side
 *	reverseX     from the end backwards, with a hole of X bytes between
 *
 * Positions are whole: every access lies within the space. Sizes may have the suffix KiB, MiB or
 * GiB. A generator of 64 bits draws positions without favour for any.
 */
#ifndef IOMODEL_LAYOUT_H
#define IOMODEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum layout_kind {
	LAYOUT_OFF0,
	LAYOUT_SEQ,
	LAYOUT_RND,
	LAYOUT_STRIDE,
	LAYOUT_NEAR,
	LAYOUT_REVERSE,
	LAYOUT_STRIDE_NEAR
};

struct layout {
	enum layout_kind kind;
	uint64_t hole_bytes, near_bytes;
};

/* A walk over a space of space_bytes with accesses of access_bytes, which fit. */
struct layout_walk {
	struct layout layout;
	uint64_t space_bytes, access_bytes, align_bytes;
	uint64_t at; /* position of the last access */
	bool begun;
	uint64_t rng[2]; /* state of the generator */
};

/* NW_EINVAL: the word names no layout. */
int layout_parse(const char *word, struct layout *out);
/* The kind and both numbers in the form of the first benchmark: "2-0-0". */
void layout_numbers(const struct layout *l, char *to, size_t cap);

/* align_bytes: divisor of all positions; 1 for any position. */
void layout_walk_init(struct layout_walk *w, const struct layout *l, uint64_t space_bytes,
    uint64_t access_bytes, uint64_t align_bytes, uint64_t seed);
/* Position of the next access. */
uint64_t layout_walk_next(struct layout_walk *w);

/* "4096", "8MiB", "1k": bytes. Returns false for other text. */
bool bytes_parse(const char *text, uint64_t *out);

#endif
