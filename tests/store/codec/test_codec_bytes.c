/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_bytes.h"

static const struct {
	uint64_t v;
	const char *bytes;
	size_t len;
} varints[] = {
	{ 0, "\x00", 1 },
	{ 127, "\x7f", 1 },
	{ 128, "\x80\x01", 2 },
	{ 300, "\xac\x02", 2 },
	{ UINT32_MAX, "\xff\xff\xff\xff\x0f", 5 },
	{ UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10 },
};

static void
test_varints(void)
{
	struct chunk_buf buf = { 0 };
	struct byte_reader in;
	size_t i, cut;

	for (i = 0; i < sizeof(varints) / sizeof(varints[0]); i++) {
		buf.len = 0;
		CHECK_INT(buf_reserve(&buf, VARINT_MAX_BYTES), NW_OK);
		write_varint(&buf, varints[i].v);
		CHECK(
		    buf.len == varints[i].len && memcmp(buf.bytes, varints[i].bytes, buf.len) == 0);
		in = (struct byte_reader){ buf.bytes, buf.bytes + buf.len, false };
		CHECK(read_varint(&in) == varints[i].v && !in.bad && reader_left(&in) == 0);
		for (cut = 0; cut < buf.len; cut++) {
			in = (struct byte_reader){ buf.bytes, buf.bytes + cut, false };
			read_varint(&in);
			CHECK(in.bad);
		}
	}
	chunk_buf_clear(&buf);
}

static void
test_signed(void)
{
	static const int64_t values[] = { 0, -1, 1, -2, 63, -64, 64, INT64_MAX, INT64_MIN };
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		CHECK(unfold_sign(fold_sign(values[i])) == values[i]);
	CHECK(fold_sign(0) == 0 && fold_sign(-1) == 1 && fold_sign(1) == 2);
	CHECK(fold_sign(INT64_MIN) == UINT64_MAX);
	CHECK(wrap_sub(INT64_MIN, 1) == INT64_MAX && wrap_add(INT64_MAX, 1) == INT64_MIN);
}

/* A reader that has failed stays failed, reads zeros and never moves past its end. */
static void
test_reader(void)
{
	static const uint8_t endless[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff },
			     over[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				     0x02 };
	struct byte_reader in = { endless, endless + sizeof(endless), false };

	CHECK(read_varint(&in) == 0 && in.bad);
	in = (struct byte_reader){ over, over + sizeof(over), false };
	CHECK(read_varint(&in) == 0 && in.bad);
	in = (struct byte_reader){ over, over + 2, false };
	CHECK(read_bytes(&in, 3) == NULL && in.bad && in.at == over);
	CHECK(read_u8(&in) == 0 && read_bytes(&in, 0) == NULL);
}

static void
test_reserve(void)
{
	struct chunk_buf buf = { 0 };

	CHECK_INT(buf_reserve(&buf, 100), NW_OK);
	CHECK(buf.cap >= 100);
	write_bytes(&buf, "abc", 3);
	CHECK_INT(buf_reserve(&buf, 100000), NW_OK);
	CHECK(buf.cap >= 100003 && memcmp(buf.bytes, "abc", 3) == 0);
	CHECK_INT(buf_reserve(&buf, SIZE_MAX - 2), NW_ETOOBIG);
	CHECK(buf.len == 3 && buf.cap >= 100003);
	chunk_buf_clear(&buf);
}

int
main(void)
{
	test_varints();
	test_signed();
	test_reader();
	test_reserve();
	return check_done("codec_bytes");
}
