/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metadata as received, as the file keeps them: a Zstandard frame with a dictionary and a checksum.
 * A document that begins with the mark of a frame is always packed; any other document may stand as
 * it came, as in files of older versions.
 */
#ifndef STORE_ORIGINAL_H
#define STORE_ORIGINAL_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/err.h"

enum { ORIGINAL_MAX_BYTES = 16 << 20 }; /* longer documents stand unpacked */

struct original_codec;
/* NULL: no memory */
struct original_codec *original_codec_new(void);
void original_codec_free(struct original_codec *o);

/* Bytes on loan: the caller's own, or the codec's until the next call with the same codec. */
struct original_bytes {
	const uint8_t *bytes;
	size_t len;
};
/* NW_ENOMEM */
int original_pack(struct original_codec *o, struct original_bytes in, struct original_bytes *out);
/* NW_ENOMEM, NW_ECORRUPT */
int original_unpack(struct original_codec *o, struct original_bytes in, struct original_bytes *out);

extern const char original_dictionary[];
extern const size_t original_dictionary_bytes;

#endif
