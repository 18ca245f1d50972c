/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A result document as the file keeps it. Long lists of numbers, the timeline above all, become
 * columns of chunks; the rest is text, compressed with a dictionary. Every byte of the document
 * comes back. Without its numbers a document can still be read, with empty lists.
 *
 * text:     the version, 1 or 2, as a byte; then a Zstandard frame, by the dictionary of that
 *           version and with checksum, of the document, in which a list of numbers is '[', byte 1,
 *           the number of its chunk from 32 on, the style of its numbers, ']'
 * numbers:  chunks, each behind its length (uint32, little endian); a chunk holds the lists of one
 *           length, in the order of the document, with times 0, 1, 2, ...; null is NaN
 */
#ifndef STORE_DOCUMENT_H
#define STORE_DOCUMENT_H

#include "store/codec/chunk.h"

enum { DOCUMENT_MAX_BYTES = 64 << 20, DOCUMENT_VERSIONS = 2 };

struct document_codec;
/* NULL: no memory */
struct document_codec *document_codec_new(void);
void document_codec_free(struct document_codec *d);

/* The two parts of a document, on loan until the next call with the same codec. */
struct document_parts {
	const uint8_t *text, *numbers;
	size_t text_len, numbers_len; /* numbers_len 0: a document without long lists */
};
/* NW_ENOMEM, NW_ETOOBIG */
int
document_pack(struct document_codec *d, const char *json, size_t len, struct document_parts *out);
/* *json is on loan until the next call with the same codec, and NUL terminated. NW_ECORRUPT,
 * NW_EVERSION, NW_ENOMEM. */
int document_unpack(
    struct document_codec *d, const struct document_parts *in, const char **json, size_t *len);
/* The same with all long lists empty: every number is decoded, none is printed, which takes most of
 * the time. */
int document_unpack_brief(
    struct document_codec *d, const struct document_parts *in, const char **json, size_t *len);

/* The dictionary of each version. */
struct document_dictionary {
	const char *bytes;
	size_t len;
};
extern const struct document_dictionary document_dictionaries[DOCUMENT_VERSIONS];

#endif
