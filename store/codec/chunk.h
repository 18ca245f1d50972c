/* SPDX-License-Identifier: BSD-3-Clause */
/* A chunk: a stretch of rows of one metadata, compressed. A chunk has one time column for all
 * fields, one column of doubles per field, and optionally one column of opaque bytes per row
 * ("attachments": histograms). Every bit of every value comes back: NaN payloads, infinities,
 * denormals and signed zeros are values like any other. The bytes are little endian, versioned and
 * closed by a checksum; chunk.c specifies the bytes. Decoding trusts nothing: any input gives NW_OK
 * or an error, in time and memory bounded by the limits below. No call touches a file, a clock or a
 * global; a struct chunk_codec belongs to one thread at a time. */
#ifndef STORE_CHUNK_H
#define STORE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/err.h"

enum {
	CHUNK_ROWS_MAX = 65536,
	CHUNK_COLUMNS_MAX = 20480, /* columns of a roll-up of 4096 fields */
	/* most times, columns and attachments of one chunk; a larger chunk is NW_ETOOBIG */
	CHUNK_DECODED_MAX_BYTES = 64 << 20
};

enum chunk_effort {
	CHUNK_HOT,    /* bit packed: cheap enough for the ingest path */
	CHUNK_COMPACT /* entropy coded and across columns: about a third smaller, for rewriting */
};

/* A view of rows; it owns nothing. Rows are kept in the order given; times need not be sorted, but
 * cost less then. */
struct chunk_columns {
	uint32_t n_rows, n_columns;
	const int64_t *t_wall_ns;   /* [n_rows] */
	const double *const *value; /* [n_columns][n_rows] */
	/* [n_rows] ends of each row's bytes, never falling; NULL: none at all */
	const uint32_t *attachment_end;
	/* row r owns [r ? attachment_end[r - 1] : 0, attachment_end[r]) */
	const uint8_t *attachment;
	/* number of the metadata, or 0 for none. Chunks with one number are alike: the codec
	 * tries the plans of the last chunk first */
	uint64_t kind;
	/* number of the metadata's layout (the same fields), or 0 for none. A metadata new to
	 * the codec begins with the plans of another metadata of its family */
	uint64_t family;
};

/* The head of a chunk, read without decoding the rows. */
struct chunk_head {
	uint32_t n_rows, n_columns;
	int64_t t_min_wall_ns, t_max_wall_ns; /* 0, 0 without rows */
	enum chunk_effort effort;
	bool has_attachments;
	size_t decoded_bytes; /* of everything; at most CHUNK_DECODED_MAX_BYTES */
};

/* Encoded bytes. The owner of the struct sets all to zero before first use and calls
 * chunk_buf_clear() in the end. The buffer grows, and the next chunk_encode() uses the buffer
 * again. */
struct chunk_buf {
	uint8_t *bytes;
	size_t len, cap;
};

/* Decoded rows. The owner of the struct sets all to zero before first use and calls
 * chunk_rows_clear() in the end. `is` points into memory that the next chunk_decode() into the same
 * struct uses again. */
struct chunk_rows {
	struct chunk_columns is;
	void *mem;
	size_t cap;
};

/* Choice of the pieces to decode. An unwanted column has value[c] == NULL afterwards; unwanted
 * times and attachments are NULL too. */
struct chunk_want {
	bool times, attachments;
	const uint32_t *columns; /* NULL: all */
	uint32_t n_columns;
};

/* Working memory of encoding and decoding, used again and again: 80 bytes per row and some MB.
 * NULL: out of memory. */
struct chunk_codec *chunk_codec_new(void);
void chunk_codec_free(struct chunk_codec *codec);

/* Replaces the content of `out`. NW_ETOOBIG: over a limit above. NW_EINVAL: attachment ends that
 * fall. NW_ENOMEM. */
int chunk_encode(struct chunk_codec *codec, const struct chunk_columns *in,
    enum chunk_effort effort, struct chunk_buf *out);

/* NW_OK, NW_ECORRUPT, NW_EVERSION (a newer chunk than this program knows) or NW_ETOOBIG. Checks the
 * bounds of the head, not the checksum. */
int chunk_read_head(const uint8_t *bytes, size_t len, struct chunk_head *head);

/* Checks the checksum and decodes the pieces in `want` (NULL: everything). Errors as above,
 * NW_ENOMEM, and NW_ENOTFOUND for a wanted column that the chunk does not have; then out->is has no
 * rows. A column written as a function of other columns costs the decoding of those, too. */
int chunk_decode(struct chunk_codec *codec, const uint8_t *bytes, size_t len,
    const struct chunk_want *want, struct chunk_rows *out);

void chunk_buf_clear(struct chunk_buf *buf);
void chunk_rows_clear(struct chunk_rows *rows);

#endif
