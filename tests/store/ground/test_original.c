/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/original.h"

#include "tests/check.h"
#include "tests/chunkdata.h"

static struct original_codec *codec;

static void
round_trip(const uint8_t *bytes, size_t len, size_t most)
{
	struct original_bytes in = { bytes, len }, packed, out;
	uint8_t *kept;
	size_t i;

	CHECK_INT(original_pack(codec, in, &packed), NW_OK);
	CHECK(packed.len <= most);
	kept = malloc(packed.len + 1);
	memcpy(kept, packed.bytes, packed.len);
	packed.bytes = kept;
	CHECK_INT(original_unpack(codec, packed, &out), NW_OK);
	CHECK(out.len == len && memcmp(out.bytes, bytes, len) == 0);
	for (i = 0; i < 50 && packed.len > 8; i++) {
		kept[4 + random_below(packed.len - 4)] ^= (uint8_t)(1 + random_below(255));
		original_unpack(codec, packed, &out); /* an error or other bytes, nothing worse */
	}
	free(kept);
}

int
main(int argc, char **argv)
{
	static const char words[] =
	    "\x40\x01\x00\x00\x03mids\x00{\"collectionInterval\":1,"
	    "\"datumSchema\":\"http://unis.incntre.iu.edu/schema/20120709/datum#\"}"
	    "nl:tools:calipers:summary:read nl:tools:calipers:summary:write";
	static const uint8_t marked[] = { 0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3 };
	static uint8_t noise[5000];
	size_t i;

	random_start(argc, argv);
	codec = original_codec_new();
	CHECK(codec != NULL);
	round_trip((const uint8_t *)words, sizeof(words) - 1, 110);
	round_trip(marked, sizeof(marked), 40);
	round_trip(marked, 4, 40);
	round_trip((const uint8_t *)"", 0, 0);
	for (i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)random_bits();
	round_trip(noise, sizeof(noise), sizeof(noise));
	CHECK_INT(original_unpack(codec, (struct original_bytes){ marked, sizeof(marked) },
		      &(struct original_bytes){ 0 }),
	    NW_ECORRUPT);
	original_codec_free(codec);
	return check_done("original");
}
