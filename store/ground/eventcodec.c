/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/eventcodec.h"

#include <stdlib.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "narrows/err.h"
#include "narrows/event.h"

enum { VERSION = 1, LEVEL = 3 };

struct event_codec {
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
	uint8_t *out;
	size_t cap_out;
};

struct event_codec *
event_codec_new(void)
{
	struct event_codec *c = calloc(1, sizeof(*c));

	if (c != NULL && (c->pack = ZSTD_createCCtx()) != NULL &&
	    (c->unpack = ZSTD_createDCtx()) != NULL &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(c->pack, ZSTD_c_compressionLevel, LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(c->pack, ZSTD_c_checksumFlag, 1)))
		return c;
	event_codec_free(c);
	return NULL;
}

void
event_codec_free(struct event_codec *c)
{
	if (c == NULL)
		return;
	ZSTD_freeCCtx(c->pack);
	ZSTD_freeDCtx(c->unpack);
	free(c->out);
	free(c);
}

static int
room(uint8_t **p, size_t *cap, size_t n)
{
	uint8_t *grown;

	if (n <= *cap)
		return NW_OK;
	if ((grown = realloc(*p, n)) == NULL)
		return NW_ENOMEM;
	*p = grown;
	*cap = n;
	return NW_OK;
}

int
event_pack(
    struct event_codec *c, const uint8_t *block, size_t len, const uint8_t **out, size_t *out_len)
{
	size_t bound = 1 + ZSTD_compressBound(len), n;

	if (room(&c->out, &c->cap_out, bound) != NW_OK)
		return NW_ENOMEM;
	c->out[0] = VERSION;
	n = ZSTD_compress2(c->pack, c->out + 1, c->cap_out - 1, block, len);
	if (ZSTD_isError(n))
		return NW_ENOMEM;
	*out = c->out;
	*out_len = 1 + n;
	return NW_OK;
}

int
event_unpack(struct event_codec *c, const uint8_t *bytes, size_t len, uint8_t **block, size_t *cap,
    size_t *block_len)
{
	unsigned long long size;
	size_t n;

	if (len < 1 || bytes[0] == 0)
		return NW_ECORRUPT;
	if (bytes[0] > VERSION)
		return NW_EVERSION;
	size = ZSTD_getFrameContentSize(bytes + 1, len - 1);
	if (size > NW_EVENT_KEPT_BYTES) /* and the codes of errors */
		return NW_ECORRUPT;
	if (room(block, cap, (size_t)size + 1) != NW_OK)
		return NW_ENOMEM;
	n = ZSTD_decompressDCtx(c->unpack, *block, *cap, bytes + 1, len - 1);
	if (ZSTD_isError(n))
		return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? NW_ENOMEM
									    : NW_ECORRUPT;
	*block_len = n;
	return NW_OK;
}
