/* SPDX-License-Identifier: BSD-3-Clause */
/* XXH64, after the published description of the algorithm (xxHash, doc/xxhash_spec.md). */
#include "store/codec/codec_hash.h"

#include "store/codec/codec_bytes.h"

static const uint64_t prime1 = 0x9e3779b185ebca87, prime2 = 0xc2b2ae3d27d4eb4f,
		      prime3 = 0x165667b19e3779f9, prime4 = 0x85ebca77c2b2ae63,
		      prime5 = 0x27d4eb2f165667c5;

static inline uint64_t
rotate(uint64_t v, int by)
{
	return v << by | v >> (64 - by);
}

static inline uint64_t
round_lane(uint64_t lane, uint64_t v)
{
	return rotate(lane + v * prime2, 31) * prime1;
}

static inline uint64_t
merge_lane(uint64_t h, uint64_t lane)
{
	return (h ^ round_lane(0, lane)) * prime1 + prime4;
}

uint64_t
hash_bytes(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	uint64_t lane[4] = { prime1 + prime2, prime2, 0, 0 - prime1 }, h = prime5;
	int i;

	if (len >= 32) {
		for (; end - p >= 32; p += 32) {
			for (i = 0; i < 4; i++)
				lane[i] = round_lane(lane[i], load_le64(p + 8 * i));
		}
		h = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) +
		    rotate(lane[3], 18);
		for (i = 0; i < 4; i++)
			h = merge_lane(h, lane[i]);
	}
	h += len;
	for (; end - p >= 8; p += 8)
		h = rotate(h ^ round_lane(0, load_le64(p)), 27) * prime1 + prime4;
	for (; end - p >= 4; p += 4)
		h = rotate(h ^ load_le32(p) * prime1, 23) * prime2 + prime3;
	for (; p < end; p++)
		h = rotate(h ^ *p * prime5, 11) * prime1;
	h = (h ^ h >> 33) * prime2;
	h = (h ^ h >> 29) * prime3;
	return h ^ h >> 32;
}
