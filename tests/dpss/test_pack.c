/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages come back as they were packed, and a short or long one is noticed wherever it is cut. */
#include "dpss/pack.h"

#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"

static void
message(struct packer *p)
{
	pack_u8(p, 0xfe);
	pack_u16(p, 0xfedc);
	pack_u32(p, 0xfedcba98);
	pack_u64(p, UINT64_C(0xfedcba9876543210));
	pack_text(p, "r\xc3\xbcstig");
	pack_bytes(p, "abc", 3);
}

static void
unpack(struct unpacker *u, char text[32])
{
	const uint8_t *bytes;

	CHECK(unpack_u8(u) == 0xfe || u->failed);
	CHECK(unpack_u16(u) == 0xfedc || u->failed);
	CHECK(unpack_u32(u) == 0xfedcba98 || u->failed);
	CHECK(unpack_u64(u) == UINT64_C(0xfedcba9876543210) || u->failed);
	unpack_text(u, text, 32);
	bytes = unpack_bytes(u, 3);
	CHECK(u->failed ? bytes == NULL : memcmp(bytes, "abc", 3) == 0);
}

static void
test_round_trip(void)
{
	struct packer p = { 0 };
	struct unpacker u;
	char text[32];
	size_t len;

	message(&p);
	for (len = 0; len <= p.len; len++) {
		u = unpack_of(p.bytes, len);
		unpack(&u, text);
		CHECK_INT(unpack_end(&u), len == p.len ? NW_OK : NW_EPROTO);
	}
	CHECK_STR(text, "r\xc3\xbcstig");
	u = unpack_of(p.bytes, p.len);
	unpack_u8(&u);
	CHECK_INT(unpack_end(&u), NW_EPROTO);
	pack_free(&p);
}

static void
test_hostile(void)
{
	static const uint8_t nul[] = { 0, 3, 'a', 0, 'b' }, longer[] = { 0xff, 0xff, 'a' };
	struct unpacker u = unpack_of(nul, sizeof(nul));
	char text[4];

	unpack_text(&u, text, sizeof(text));
	CHECK(u.failed);
	CHECK_STR(text, "");
	u = unpack_of(longer, sizeof(longer));
	unpack_text(&u, text, sizeof(text));
	CHECK(u.failed);
	u = unpack_of(nul, sizeof(nul));
	CHECK(unpack_has(&u, 5, 1) && !unpack_has(&u, UINT64_MAX, 20));
}

int
main(void)
{
	test_round_trip();
	test_hostile();
	return check_done("test_pack");
}
