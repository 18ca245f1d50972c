/* SPDX-License-Identifier: BSD-3-Clause */
/* XXH64: published values, and zstd, which closes a frame with the low half of the same sum. */
#include <zstd.h>

#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_bytes.h"
#include "store/codec/codec_hash.h"

static uint32_t
zstd_sum(ZSTD_CCtx *cctx, const uint8_t *bytes, size_t len)
{
	static uint8_t frame[8192];
	size_t n = ZSTD_compress2(cctx, frame, sizeof(frame), bytes, len);

	CHECK(!ZSTD_isError(n) && n > 4);
	return ZSTD_isError(n) ? 0 : load_le32(frame + n - 4);
}

int
main(int argc, char **argv)
{
	ZSTD_CCtx *cctx = ZSTD_createCCtx();
	uint8_t bytes[300];
	size_t len;

	random_start(argc, argv);
	CHECK(hash_bytes((const uint8_t *)"", 0) == UINT64_C(0xef46db3751d8e999));
	CHECK(hash_bytes((const uint8_t *)"abc", 3) == UINT64_C(0x44bc2cf5ad770999));
	CHECK(!ZSTD_isError(ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, 1)));
	for (len = 0; len < sizeof(bytes); len++)
		bytes[len] = (uint8_t)random_bits();
	for (len = 0; len <= sizeof(bytes); len++)
		CHECK((uint32_t)hash_bytes(bytes, len) == zstd_sum(cctx, bytes, len));
	ZSTD_freeCCtx(cctx);
	return check_done("codec_hash");
}
