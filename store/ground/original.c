/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/original.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>
#include <zstd_errors.h>

enum { LEVEL = 6, MARK_BYTES = 4 };
static const uint8_t mark[MARK_BYTES] = { 0x28, 0xb5, 0x2f, 0xfd };

struct original_codec {
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
	uint8_t *bytes;
	size_t cap;
};

struct original_codec *
original_codec_new(void)
{
	struct original_codec *o = calloc(1, sizeof(*o));

	if (o != NULL && (o->pack = ZSTD_createCCtx()) != NULL &&
	    (o->unpack = ZSTD_createDCtx()) != NULL &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(o->pack, ZSTD_c_compressionLevel, LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(o->pack, ZSTD_c_checksumFlag, 1)) &&
	    !ZSTD_isError(ZSTD_CCtx_loadDictionary(
		o->pack, original_dictionary, original_dictionary_bytes)) &&
	    !ZSTD_isError(ZSTD_DCtx_loadDictionary(
		o->unpack, original_dictionary, original_dictionary_bytes)))
		return o;
	original_codec_free(o);
	return NULL;
}

void
original_codec_free(struct original_codec *o)
{
	if (o == NULL)
		return;
	ZSTD_freeCCtx(o->pack);
	ZSTD_freeDCtx(o->unpack);
	free(o->bytes);
	free(o);
}

static int
room(struct original_codec *o, size_t len)
{
	uint8_t *grown;

	if (len <= o->cap)
		return NW_OK;
	if ((grown = realloc(o->bytes, len)) == NULL)
		return NW_ENOMEM;
	o->bytes = grown;
	o->cap = len;
	return NW_OK;
}

static bool
is_marked(struct original_bytes in)
{
	return in.len >= MARK_BYTES && memcmp(in.bytes, mark, MARK_BYTES) == 0;
}

int
original_pack(struct original_codec *o, struct original_bytes in, struct original_bytes *out)
{
	size_t n;
	int rc;

	*out = in;
	if (in.len == 0 || (in.len > ORIGINAL_MAX_BYTES && !is_marked(in)))
		return NW_OK;
	if ((rc = room(o, ZSTD_compressBound(in.len))) != NW_OK)
		return rc;
	n = ZSTD_compress2(o->pack, o->bytes, o->cap, in.bytes, in.len);
	if (ZSTD_isError(n))
		return NW_ENOMEM;
	if (n < in.len || is_marked(in))
		*out = (struct original_bytes){ o->bytes, n };
	return NW_OK;
}

int
original_unpack(struct original_codec *o, struct original_bytes in, struct original_bytes *out)
{
	unsigned long long size;
	size_t n;
	int rc;

	*out = in;
	if (!is_marked(in))
		return NW_OK;
	*out = (struct original_bytes){ NULL, 0 };
	size = ZSTD_getFrameContentSize(in.bytes, in.len);
	if (size > INT32_MAX) /* and the codes of errors */
		return NW_ECORRUPT;
	if ((rc = room(o, (size_t)size + 1)) != NW_OK)
		return rc;
	n = ZSTD_decompressDCtx(o->unpack, o->bytes, (size_t)size, in.bytes, in.len);
	if (ZSTD_isError(n))
		return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? NW_ENOMEM
									    : NW_ECORRUPT;
	*out = (struct original_bytes){ o->bytes, n };
	return NW_OK;
}
