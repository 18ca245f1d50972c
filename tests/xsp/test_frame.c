/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames, blocks and the opening messages: bytes captured between original programs, cut
 * everywhere, and bad ones. */
#include "narrows/frame.h"

#include "narrows/err.h"
#include "tests/check.h"

#define LIM (&nw_frame_limits_default)
#define SID "b5d5845e81a26da9 c0892473913e672d "

static const uint8_t sid[NW_SESS_ID_BYTES] = { 0xb5, 0xd5, 0x84, 0x5e, 0x81, 0xa2, 0x6d, 0xa9, 0xc0,
	0x89, 0x24, 0x73, 0x91, 0x3e, 0x67, 0x2d };

/* One session of an original client, and the original daemon's answers. ~N: N bytes of somebody's
 * stack; _N: zeros. */
static const char auth_frame[] =
    "01 00 0005 0001 0000 ~144 " SID "0002 0001 000a 0000 414e4f4e00 ~5";
static const char open_frame[] =
    "01 00 0001 0001 0000 ~64 9d3097cc477f0000 ~72 " SID "0001 0001 0014 0000 " SID "00000001";
static const char data_frame[] =
    "01 00 000c 0001 0000 ~144 " SID "0099 0001 000a 0000 6162636465666768696a";
static const char close_frame[] = "01 00 0003 0000 0000 ~144 " SID;
static const char ack_frame[] = "01 00 0002 0000 0000 "
				"05 _7 3132372e302e302e312f3135333036 _49 "
				"05 _7 3132372e302e302e312f3431303532 _49 " SID;
static const char ping_v0[] = "00 08 0000 " SID;
static const char pong_v0[] = "00 09 0000 " SID;
static const char nonce_v0[] = "00 06 0018 " SID "00140000 0016 27e2 56b4 c94d _12";
static const char nack_frame[] = "01 00 0007 0001 0000 _144 " SID "0004 0001 0037 0000 00330000"
				 "6661696c7572653a205061746820616374696f6e204d4f4449465920637572726"
				 "56e746c79206e6f7420737570706f72746564";

static unsigned
hex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static size_t
unhex(uint8_t *out, const char *text)
{
	size_t n = 0;

	while (*text) {
		if (*text == ' ') {
			text++;
		} else if (*text == '~' || *text == '_') {
			char kind = *text++;
			unsigned long count = strtoul(text, (char **)&text, 10);

			while (count-- > 0) {
				out[n] = kind == '_' ? 0 : (uint8_t)(n * 37 + 0xbf);
				n++;
			}
		} else {
			out[n++] = (uint8_t)(hex_digit(text[0]) << 4 | hex_digit(text[1]));
			text += 2;
		}
	}
	return n;
}

static int
parse_hex(const char *text, struct nw_frame *f, size_t *len)
{
	static uint8_t buf[8192];
	const char *why = NULL;
	size_t need = 0;

	*len = unhex(buf, text);
	return nw_frame_parse(buf, *len, LIM, f, &need, &why);
}

static void
test_capture(void)
{
	static const char *const frames[] = { auth_frame, open_frame, data_frame, close_frame };
	static const size_t lens[] = { 186, 196, 186, 168 };
	static const unsigned types[] = { NW_MSG_AUTH_TYPE, NW_MSG_SESS_OPEN, NW_MSG_APP_DATA,
		NW_MSG_SESS_CLOSE };
	uint8_t buf[1024];
	size_t i, n = 0, at = 0, need;
	const char *why;
	struct nw_frame f;

	for (i = 0; i < 4; i++)
		n += unhex(buf + n, frames[i]);
	CHECK_INT(n, 736);
	for (i = 0; i < 4; i++, at += f.len) {
		CHECK_INT(nw_frame_parse(buf + at, n - at, LIM, &f, &need, &why), NW_OK);
		CHECK_INT(f.version, 1);
		CHECK_INT(f.type, types[i]);
		CHECK_INT(f.len, lens[i]);
		CHECK_INT(f.body_len, lens[i] - NW_FRAME_V1_HEADER);
		CHECK(memcmp(f.sess_id, sid, sizeof(sid)) == 0);
	}
	CHECK_INT(at, n);
}

static void
test_messages(void)
{
	struct nw_frame f;
	struct nw_open open;
	struct nw_block b;
	char name[NW_AUTH_NAME_BYTES + 1];
	const uint8_t *token;
	const char *why = NULL;
	size_t len, n, cursor = 0;

	CHECK_INT(parse_hex(auth_frame, &f, &len), NW_OK);
	CHECK_INT(nw_auth_parse(&f, name, &why), NW_OK);
	CHECK_STR(name, "ANON");

	CHECK_INT(parse_hex(open_frame, &f, &len), NW_OK);
	CHECK_INT(nw_open_parse(&f, LIM, &open, &why), NW_OK);
	CHECK(memcmp(open.sess_id, sid, sizeof(sid)) == 0);
	CHECK(!open.id_differs);
	CHECK_INT(open.flags, 1);
	CHECK_INT(open.n_hops, 0);

	CHECK_INT(parse_hex(data_frame, &f, &len), NW_OK);
	CHECK(nw_frame_next_block(&f, &cursor, &b));
	CHECK_INT(b.type, 0x99);
	CHECK_INT(b.sport, 1);
	CHECK_INT(b.len, 10);
	CHECK(memcmp(b.data, "abcdefghij", 10) == 0);
	CHECK(!nw_frame_next_block(&f, &cursor, &b));

	CHECK_INT(parse_hex(ack_frame, &f, &len), NW_OK);
	CHECK_INT(f.type, NW_MSG_SESS_ACK);
	CHECK_INT(f.len, 168);
	CHECK_INT(f.n_blocks, 0);

	CHECK_INT(parse_hex(ping_v0, &f, &len), NW_OK);
	CHECK_INT(f.version, 0);
	CHECK_INT(f.type, NW_MSG_PING);
	CHECK_INT(f.len, 20);
	CHECK_INT(parse_hex(pong_v0, &f, &len), NW_OK);
	CHECK_INT(f.type, NW_MSG_PONG);

	CHECK_INT(parse_hex(nonce_v0, &f, &len), NW_OK);
	CHECK_INT(nw_token_parse(&f, &token, &n, &why), NW_OK);
	CHECK_INT(n, 20); /* a token is bytes: the last zero belongs to the token */
	CHECK_INT(token[1], 0x16);

	CHECK_INT(parse_hex(nack_frame, &f, &len), NW_OK);
	CHECK_INT(nw_token_parse(&f, &token, &n, &why), NW_OK);
	CHECK_INT(n, 51);
	CHECK(n == 51 &&
	    memcmp(token, "failure: Path action MODIFY currently not supported", n) == 0);
}

/* Any cut of a frame asks for more, never for more than the frame, and the answer does not depend
 * on the cut. */
static void
test_cuts(void)
{
	static const char *const frames[] = { auth_frame, open_frame, data_frame, close_frame,
		ack_frame, ping_v0, nonce_v0, nack_frame,
		"01 00 000c 0003 0000 _160 0021 0000 0000 0000 0020 0000 ffff 0000 0000000000000003"
		"010203 0022 0000 0001 0000 ff",
		"00 0c 000c " SID "0021 0001 00000004 01020304" };
	size_t i, len, cut, need, calls;
	const char *why;
	uint8_t buf[1024];
	struct nw_frame f;

	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		len = unhex(buf, frames[i]);
		for (cut = 0; cut < len; cut++) {
			need = 0;
			CHECK_INT(nw_frame_parse(buf, cut, LIM, &f, &need, &why), NW_EAGAIN);
			CHECK(need > cut && need <= len);
		}
		/* A stream: the next frame's bytes behind it change nothing. */
		buf[len] = 0x7f;
		CHECK_INT(nw_frame_parse(buf, len + 1, LIM, &f, &need, &why), NW_OK);
		CHECK_INT(f.len, len);
		/* Waiting for `need` each time ends at the frame's end, in one call per header. */
		for (need = 0, calls = 0;
		     calls < 20 && nw_frame_parse(buf, need, LIM, &f, &need, &why) == NW_EAGAIN;
		     calls++)
			;
		CHECK_INT(need, len);
		CHECK(calls <= 2 + 3u * f.n_blocks);
	}
}

static void
test_malformed(void)
{
	static const struct {
		const char *bytes;
		int rc;
		const char *why;
	} cases[] = {
		{ "02", NW_EPROTO, "unknown protocol version" },
		{ "17 03 03 00ff", NW_EPROTO, "unknown protocol version" }, /* TLS 1.3 tickets */
		{ "ff", NW_EPROTO, "unknown protocol version" },
		{ "47455420", NW_EPROTO, "unknown protocol version" }, /* "GET " */
		{ "01 00 000c ffff 0000 _160", NW_ETOOBIG, "too many blocks in a message" },
		{ "01 00 000c 0041 0000 _160", NW_ETOOBIG, "too many blocks in a message" },
		{ "01 00 000c 0001 0000 _160 0020 0001 ffff 0000 ffffffffffffffff", NW_ETOOBIG,
		    "block too long" },
		{ "01 00 000c 0001 0000 _160 0020 0001 ffff 0000 7fffffffffffffff", NW_ETOOBIG,
		    "block too long" },
		{ "01 00 000c 0001 0000 _160 0020 0001 ffff 0000 0000000000100001", NW_ETOOBIG,
		    "block too long" },
		{ "00 0c 0007 _16 00200001000000", NW_EPROTO,
		    "v0 body too short for its block header" },
		{ "00 0c 0009 _16 0020 0001 00000002 61", NW_EPROTO,
		    "v0 block length differs from the body's" },
		{ "00 0c 0009 _16 0020 0001 00000000 61", NW_EPROTO,
		    "v0 block length differs from the body's" },
		{ "00 0b 0009 _16 0006 0001 ffffffff 61", NW_EPROTO,
		    "v0 block length differs from the body's" },
	};
	uint8_t buf[1024];
	struct nw_frame f;
	const char *why;
	size_t i, len, need;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		why = "";
		len = unhex(buf, cases[i].bytes);
		CHECK_INT(nw_frame_parse(buf, len, LIM, &f, &need, &why), cases[i].rc);
		CHECK_STR(why, cases[i].why);
	}
}

static const struct {
	const char *bytes, *why;
} bad_contents[] = {
	{ "01 00 0005 0000 0000 _160", "authentication without a name block" },
	{ "01 00 0005 0001 0000 _160 0002 0001 0000 0000", "empty authentication name" },
	{ "01 00 0005 0001 0000 _160 0002 0001 000a 0000 _10", "empty authentication name" },
	{ "01 00 0005 0001 0000 _160 0002 0001 000a 0000 0d0a ff _7",
	    "authentication name is not text" },
	{ "01 00 0005 0001 0000 _160 0003 0001 000a 0000 414e4f4e _6",
	    "authentication without a name block" },
	{ "00 05 0000 _16", "authentication without a name block" },
	{ "01 00 0001 0000 0000 _160", "open without a hop block" },
	{ "01 00 0001 0001 0000 _160 0001 0001 0000 0000", "hop block too short" },
	{ "01 00 0001 0001 0000 _160 0001 0001 0013 0000 _19", "hop block too short" },
	{ "01 00 0001 0001 0000 _160 0001 0001 0015 0000 _21", "hop list is cut" },
	{ "01 00 0001 0001 0000 _160 0001 0001 0067 0000 _103", "hop list is cut" },
	{ "01 00 0001 0001 0000 _160 0001 0001 0068 0000 _20 _76 00010001 _4", "bad hop flags" },
	{ "01 00 0001 0001 0000 _160 0001 0001 0068 0000 _20 _80 ffff _2",
	    "hop counts more children than there are records" },
	{ "01 00 0001 0001 0000 _160 0001 0001 00bc 0000 _20 _80 0001 _2 _80 0001 _2",
	    "hop counts more children than there are records" },
	{ "00 01 0057 _16 _87", "hop block too short" },
	{ "01 00 0006 0000 0000 _160", "token message without a token" },
	{ "01 00 0006 0001 0000 _160 0003 0001 0000 0000", "bad token length" },
	{ "01 00 0006 0001 0000 _160 0003 0001 0003 0000 _3", "bad token length" },
	{ "01 00 0006 0001 0000 _160 0003 0001 0005 0000 00020000 61", "bad token length" },
	{ "01 00 0006 0001 0000 _160 0003 0001 0005 0000 ffff0000 61", "bad token length" },
	{ "01 00 0006 0001 0000 _160 0003 0001 0005 0000 00010001 61", "bad token length" },
	{ "01 00 0006 0001 0000 _160 0003 0001 1006 0000 10010000 _4098", "token too long" },
	{ "01 00 0007 0001 0000 _160 0004 0001 0004 0000 00000001", "bad token length" },
};

/* Whole frames whose contents are wrong; the ones that killed the original daemon are among
 * them. */
static void
test_bad_contents(void)
{
	char name[NW_AUTH_NAME_BYTES + 1];
	const uint8_t *token;
	struct nw_frame f;
	struct nw_open open;
	const char *why;
	size_t i, len, n;
	int rc = NW_OK;

	for (i = 0; i < sizeof(bad_contents) / sizeof(bad_contents[0]); i++) {
		CHECK_INT(parse_hex(bad_contents[i].bytes, &f, &len), NW_OK);
		CHECK_INT(f.len, len);
		why = "";
		if (f.type == NW_MSG_AUTH_TYPE)
			rc = nw_auth_parse(&f, name, &why);
		else if (f.type == NW_MSG_SESS_OPEN)
			rc = nw_open_parse(&f, LIM, &open, &why);
		else
			rc = nw_token_parse(&f, &token, &n, &why);
		CHECK(rc < 0);
		CHECK_STR(why, bad_contents[i].why);
	}
	/* These parse: the frames are only empty. */
	CHECK_INT(parse_hex("01 00 000c 0000 0000 _160", &f, &len), NW_OK);
	CHECK(!nw_frame_next_block(&f, &(size_t){ 0 }, &(struct nw_block){ 0 }));
	CHECK_INT(parse_hex("01 00 000a 0000 0000 _160", &f, &len), NW_OK);
	CHECK_INT(parse_hex("01 00 ffff 0000 0000 _160", &f, &len), NW_OK);
	CHECK_INT(f.type, 0xffff);
}

static void
test_tolerance(void)
{
	char name[NW_AUTH_NAME_BYTES + 1];
	struct nw_frame f;
	struct nw_open open;
	const uint8_t *token;
	const char *why = NULL;
	size_t len, n;

	/* Flags, reserved and sport have any value. */
	CHECK_INT(
	    parse_hex("01 ff 0005 0001 ffff ~144 " SID "0002 ffff 000a ffff 616e6f6e00 bfbfbfbfbf",
		&f, &len),
	    NW_OK);
	CHECK_INT(f.flags, 0xff);
	CHECK_INT(nw_auth_parse(&f, name, &why), NW_OK);
	CHECK_STR(name, "ANON");
	/* Ten letters leave no room for a NUL; a short block needs none. */
	CHECK_INT(parse_hex("00 05 000a _16 5452555354545255"
			    "5354",
		      &f, &len),
	    NW_OK);
	CHECK_INT(nw_auth_parse(&f, name, &why), NW_OK);
	CHECK_STR(name, "TRUSTTRUST");
	CHECK_INT(parse_hex("00 05 0004 _16 70617373", &f, &len), NW_OK);
	CHECK_INT(nw_auth_parse(&f, name, &why), NW_OK);
	CHECK_STR(name, "PASS");
	/* The hop block's session id wins. */
	CHECK_INT(
	    parse_hex("01 00 0001 0001 0000 _160 0001 0001 0014 0000 " SID "00000001", &f, &len),
	    NW_OK);
	CHECK_INT(nw_open_parse(&f, LIM, &open, &why), NW_OK);
	CHECK(open.id_differs);
	CHECK(memcmp(open.sess_id, sid, sizeof(sid)) == 0);
	/* Of two blocks the last one acts. */
	CHECK_INT(
	    parse_hex(
		"01 00 0005 0002 0000 _160 0002 0000 0003 0000 535348 0002 0000 0004 0000 414e4f4e",
		&f, &len),
	    NW_OK);
	CHECK_INT(nw_auth_parse(&f, name, &why), NW_OK);
	CHECK_STR(name, "ANON");
	/* Length of a big-endian host. */
	CHECK_INT(
	    parse_hex("01 00 0006 0001 0000 _160 0003 0001 0006 0000 00000002 6162", &f, &len),
	    NW_OK);
	CHECK_INT(nw_token_parse(&f, &token, &n, &why), NW_OK);
	CHECK(n == 2 && memcmp(token, "ab", 2) == 0);
}

/* Builds an open whose hop records have these child counts; every second one speaks XSP. */
static int
open_with_hops(
    const unsigned *children, size_t n_hops, const struct nw_frame_limits *lim, struct nw_open *out)
{
	static uint8_t hop[20 + 100 * 84], frame[sizeof(hop) + 200];
	struct nw_block b = { NW_BLOCK_HOP, 1, hop, 20 + n_hops * 84 };
	struct nw_frame f;
	const char *why;
	size_t i, need;
	long len;

	memset(hop, 0, sizeof(hop));
	nw_open_write(hop, sid);
	for (i = 0; i < n_hops; i++) {
		memcpy(hop + 20 + i * 84, "127.0.0.1/15602", 15);
		nw_odd32_put(hop + 20 + i * 84 + 76, i % 2 == 0);
		hop[20 + i * 84 + 81] = (uint8_t)children[i];
	}
	len = nw_frame_write(frame, sizeof(frame), 1, NW_MSG_SESS_OPEN, sid, &b, 1);
	CHECK(len > 0);
	CHECK_INT(nw_frame_parse(frame, (size_t)len, LIM, &f, &need, &why), NW_OK);
	return nw_open_parse(&f, lim, out, &why);
}

static void
test_hops(void)
{
	static const unsigned chain[] = { 1, 1, 1, 1, 1, 1, 1, 0 };
	static const unsigned too_deep[] = { 1, 1, 1, 1, 1, 1, 1, 1, 0 };
	static const unsigned tree[] = { 2, 1, 0, 0, 3, 0, 0, 0, 0 };
	static const unsigned open_end[] = { 2, 0 };
	static const unsigned flat[65];
	static unsigned deep[99];
	const struct nw_frame_limits wide = { 64, 1 << 20, 4 << 20, 1000, 1000 };
	struct nw_open o;
	size_t i;

	CHECK_INT(open_with_hops(chain, 8, LIM, &o), NW_OK);
	CHECK_INT(o.n_hops, 8);
	CHECK_INT(o.n_native, 4);
	CHECK_INT(open_with_hops(too_deep, 9, LIM, &o), NW_ETOOBIG);
	CHECK_INT(open_with_hops(tree, 9, LIM, &o), NW_OK);
	CHECK_INT(o.n_hops, 9);
	CHECK_INT(o.n_native, 5);
	CHECK_INT(open_with_hops(open_end, 2, LIM, &o), NW_EPROTO);
	CHECK_INT(open_with_hops(flat, 64, LIM, &o), NW_OK);
	CHECK_INT(open_with_hops(flat, 65, LIM, &o), NW_ETOOBIG);
	for (i = 0; i < 98; i++)
		deep[i] = 1;
	CHECK_INT(open_with_hops(deep, 99, &wide, &o), NW_ETOOBIG);
}

/* A block that is added makes the frame of both blocks. */
static void
test_append(void)
{
	static const size_t lens[] = { 0, 1, 0xfffe, 0xffff, 70000 };
	static uint8_t payload[70000], want[150000], got[150000];
	struct nw_block b[2] = { { .type = NW_OPT_META, .sport = 1, .data = payload },
		{ .type = NW_OPT_DATA, .sport = 2, .data = payload } };
	size_t i, len;
	long n;

	for (i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		b[0].len = lens[4 - i];
		b[1].len = lens[i];
		n = nw_frame_write(want, sizeof(want), 1, NW_MSG_APP_DATA, sid, b, 2);
		len = (size_t)nw_frame_write(got, sizeof(got), 1, NW_MSG_APP_DATA, sid, b, 1);
		CHECK_INT(nw_frame_append(NULL, len, 0, &b[1]), n);
		CHECK_INT(nw_frame_append(got, len, (size_t)n - 1, &b[1]), NW_ETOOBIG);
		CHECK_INT(nw_frame_append(got, len, (size_t)n, &b[1]), n);
		CHECK(memcmp(got, want, (size_t)n) == 0);
	}
}

static void
test_limits(void)
{
	struct nw_frame_limits lim = { 2, 100, 400, 64, 8 };
	uint8_t payload[200] = { 0 }, buf[1024];
	struct nw_block b[3] = { { 0x20, 0, payload, 100 }, { 0x21, 0, payload, 100 },
		{ 0x21, 0, payload, 0 } };
	struct nw_frame f;
	const char *why;
	size_t need, cut;
	long len;

	len = nw_frame_write(buf, sizeof(buf), 1, NW_MSG_APP_DATA, sid, b, 2);
	CHECK_INT(len, 168 + 108 + 108);
	CHECK_INT(nw_frame_parse(buf, (size_t)len, &lim, &f, &need, &why), NW_OK);
	lim.message_max_bytes = 383;
	/* Refused with the first block header: nobody buffers the rest. */
	for (cut = 176; cut <= (size_t)len; cut++)
		CHECK(nw_frame_parse(buf, cut, &lim, &f, &need, &why) ==
		    (cut < 284 ? NW_EAGAIN : NW_ETOOBIG));
	lim.message_max_bytes = 283;
	CHECK_INT(nw_frame_parse(buf, 176, &lim, &f, &need, &why), NW_ETOOBIG);
	lim.message_max_bytes = 400;
	lim.block_max_bytes = 99;
	CHECK_INT(nw_frame_parse(buf, 176, &lim, &f, &need, &why), NW_ETOOBIG);
	lim.block_max_bytes = 100;
	CHECK(nw_frame_write(buf, sizeof(buf), 1, NW_MSG_APP_DATA, sid, b, 3) > 0);
	CHECK_INT(nw_frame_parse(buf, 168, &lim, &f, &need, &why), NW_ETOOBIG);

	b[0].len = 101;
	CHECK_INT(nw_frame_write(buf, sizeof(buf), 0, NW_MSG_AUTH_TOKEN, sid, b, 1), 121);
	CHECK_INT(nw_frame_parse(buf, 20, &lim, &f, &need, &why), NW_ETOOBIG);
	lim.block_max_bytes = 101;
	CHECK_INT(nw_frame_parse(buf, 20, &lim, &f, &need, &why), NW_EAGAIN);
	CHECK_INT(need, 121);
	lim.message_max_bytes = 120;
	CHECK_INT(nw_frame_parse(buf, 20, &lim, &f, &need, &why), NW_ETOOBIG);

	/* Before authentication 4 KiB in all. */
	CHECK(nw_frame_limits_preauth.message_max_bytes == 4096);
	CHECK_INT(unhex(buf, "01 00 0006 0001 0000 _160 0003 0001 0f51 0000"), 176);
	CHECK_INT(nw_frame_parse(buf, 176, &nw_frame_limits_preauth, &f, &need, &why), NW_ETOOBIG);
	CHECK_INT(unhex(buf, "01 00 0006 0001 0000 _160 0003 0001 0f50 0000"), 176);
	CHECK_INT(nw_frame_parse(buf, 176, &nw_frame_limits_preauth, &f, &need, &why), NW_EAGAIN);
	CHECK_INT(need, 4096);
}

static void
test_write_v1(void)
{
	static const size_t lens[] = { 0, 1, 65360, 65534, 65535, 65536, 70000, 1 << 20 };
	static uint8_t payload[1 << 20], buf[(1 << 20) + 1024], want[1024];
	struct nw_frame f;
	struct nw_block b[2], got;
	const char *why;
	size_t i, need, cursor;
	long len;

	for (i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		b[0] = (struct nw_block){ NW_OPT_DATA, 1, payload, lens[i] };
		b[1] = (struct nw_block){ NW_OPT_META, 2, NULL, 0 };
		len = nw_frame_write(buf, sizeof(buf), 1, NW_MSG_APP_DATA, sid, b, 2);
		CHECK_INT(len, 168 + 16 + lens[i] + (lens[i] >= 65535 ? 8 : 0));
		CHECK_INT(nw_frame_write(NULL, 0, 1, NW_MSG_APP_DATA, sid, b, 2), len);
		CHECK_INT(nw_frame_write(buf, (size_t)len - 1, 1, NW_MSG_APP_DATA, sid, b, 2),
		    NW_ETOOBIG);
		CHECK_INT(nw_frame_parse(buf, (size_t)len, LIM, &f, &need, &why), NW_OK);
		cursor = 0;
		CHECK(nw_frame_next_block(&f, &cursor, &got));
		CHECK_INT(got.type, NW_OPT_DATA);
		CHECK(got.len == lens[i] && memcmp(got.data, payload, got.len) == 0);
		CHECK(nw_frame_next_block(&f, &cursor, &got));
		CHECK_INT(got.type, NW_OPT_META);
		CHECK_INT(got.sport, 2);
		CHECK(got.len == 0 && got.data != NULL);
		CHECK(!nw_frame_next_block(&f, &cursor, &got));
	}
	/* Byte for byte what an original client sends, with zeros for the stack. */
	b[0] = (struct nw_block){ 0x99, 1, (const uint8_t *)"abcdefghij", 10 };
	len = nw_frame_write(buf, sizeof(buf), 1, NW_MSG_APP_DATA, sid, b, 1);
	CHECK_INT(unhex(want,
		      "01 00 000c 0001 0000 _144 " SID "0099 0001 000a 0000 6162636465666768696a"),
	    186);
	CHECK(len == 186 && memcmp(buf, want, 186) == 0);
	CHECK_INT(nw_frame_write(buf, sizeof(buf), 1, NW_MSG_SESS_ACK, sid, NULL, 0), 168);
	CHECK_INT(nw_frame_write(buf, sizeof(buf), 2, NW_MSG_SESS_ACK, sid, NULL, 0), NW_EINVAL);
	b[0] = (struct nw_block){ NW_BLOCK_HOP, 1, payload, 20 };
	nw_open_write(payload, sid);
	CHECK_INT(nw_frame_write(buf, sizeof(buf), 1, NW_MSG_SESS_OPEN, sid, b, 1), 196);
	unhex(want, "01 00 0001 0001 0000 _144 " SID "0001 0001 0014 0000 " SID "00000001");
	CHECK(memcmp(buf, want, 196) == 0);
}

static void
test_write_v0(void)
{
	static const struct {
		uint16_t type, block_type;
	} cases[] = {
		{ NW_MSG_AUTH_TYPE, NW_BLOCK_AUTH_TYP },
		{ NW_MSG_AUTH_TOKEN, NW_BLOCK_AUTH_TOK },
		{ NW_MSG_SESS_NACK, NW_BLOCK_NACK },
		{ NW_MSG_SESS_OPEN, NW_BLOCK_HOP },
		{ NW_MSG_APP_DATA, NW_OPT_DATA },
		{ NW_MSG_NET_PATH, NW_BLOCK_PATH },
		{ NW_MSG_DATA_CHAN, NW_BLOCK_DATA },
		{ NW_MSG_SLAB_INFO, NW_BLOCK_SLAB },
		{ NW_MSG_PING, NW_BLOCK_NULL },
	};
	static uint8_t payload[65536], buf[70000];
	struct nw_block b = { 0, 1, payload, 88 }, got;
	struct nw_frame f;
	struct nw_open open;
	const char *why;
	size_t i, need, cursor;
	long len;
	bool app;

	/* a SESS_OPEN body of v0: the id, no hops, the last of four flag bytes is NATIVE */
	memcpy(payload, sid, sizeof(sid));
	payload[87] = 1;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		app = cases[i].type == NW_MSG_APP_DATA || cases[i].type == NW_MSG_NET_PATH;
		b.type = cases[i].block_type;
		len = nw_frame_write(buf, sizeof(buf), 0, cases[i].type, sid, &b, 1);
		CHECK_INT(len, 20 + 88 + (app ? 8 : 0));
		CHECK_INT(nw_frame_write(NULL, 0, 0, cases[i].type, sid, &b, 1), len);
		CHECK_INT(
		    nw_frame_write(buf, (size_t)len - 1, 0, cases[i].type, sid, &b, 1), NW_ETOOBIG);
		CHECK_INT(nw_frame_parse(buf, (size_t)len, LIM, &f, &need, &why), NW_OK);
		CHECK_INT(f.n_blocks, 1);
		cursor = 0;
		CHECK(nw_frame_next_block(&f, &cursor, &got));
		CHECK_INT(got.type, cases[i].block_type);
		CHECK_INT(got.sport, app ? 1 : 0);
		CHECK(got.len == 88 && memcmp(got.data, payload, 88) == 0);
		CHECK(!nw_frame_next_block(&f, &cursor, &got));
		if (cases[i].type == NW_MSG_SESS_OPEN) {
			CHECK_INT(nw_open_parse(&f, LIM, &open, &why), NW_OK);
			CHECK(!open.id_differs && open.flags == 1 && open.n_hops == 0);
		}
	}
	b = (struct nw_block){ NW_OPT_DATA, 1, payload, 65527 };
	CHECK_INT(nw_frame_write(buf, sizeof(buf), 0, NW_MSG_APP_DATA, sid, &b, 1), 20 + 65535);
	CHECK_INT(nw_frame_parse(buf, 20 + 65535, LIM, &f, &need, &why), NW_OK);
	b.len++;
	CHECK_INT(nw_frame_write(buf, sizeof(buf), 0, NW_MSG_APP_DATA, sid, &b, 1), NW_ETOOBIG);
	CHECK_INT(nw_frame_write(
		      buf, sizeof(buf), 0, NW_MSG_APP_DATA, sid, (struct nw_block[2]){ { 0 } }, 2),
	    NW_ETOOBIG);
	CHECK_INT(nw_frame_write(buf, sizeof(buf), 0, 256, sid, NULL, 0), NW_ETOOBIG);
	CHECK_INT(nw_frame_write(buf, sizeof(buf), 0, NW_MSG_PONG, sid, NULL, 0), 20);
}

static void
test_nack(void)
{
	uint8_t out[2048], frame[2048];
	struct nw_block b = { NW_BLOCK_NACK, 1, out, 0 };
	struct nw_frame f;
	const uint8_t *text;
	const char *why;
	char longer[1200];
	size_t n, need;
	int version;

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	CHECK_INT(nw_nack_write(out, 4, "no"), 0);
	CHECK_INT(nw_nack_write(out, 6, "no"), 6);
	CHECK(memcmp(out, "\0\2\0\0n\0", 6) == 0);
	CHECK_INT(nw_nack_write(out, sizeof(out), longer), 4 + NW_NACK_TEXT_MAX_BYTES);
	b.len = nw_nack_write(out, sizeof(out), "not today");
	CHECK_INT(b.len, 4 + 10);
	for (version = 0; version < 2; version++) {
		long len = nw_frame_write(
		    frame, sizeof(frame), (uint8_t)version, NW_MSG_SESS_NACK, sid, &b, 1);

		CHECK_INT(nw_frame_parse(frame, (size_t)len, LIM, &f, &need, &why), NW_OK);
		CHECK_INT(nw_token_parse(&f, &text, &n, &why), NW_OK);
		CHECK(n == 9 && memcmp(text, "not today", 9) == 0);
	}
}

static void
test_small(void)
{
	static const struct {
		uint8_t bytes[4];
		int rc;
		uint32_t value;
	} odd[] = {
		{ { 0, 5, 0, 0 }, NW_OK, 5 },
		{ { 0, 0, 0, 5 }, NW_OK, 5 },
		{ { 0, 0, 0, 0 }, NW_OK, 0 },
		{ { 0xff, 0xff, 0, 0 }, NW_OK, 65535 },
		{ { 0, 5, 0, 5 }, NW_EPROTO, 0 },
		{ { 1, 0, 1, 0 }, NW_EPROTO, 0 },
	};
	uint8_t p[4];
	uint32_t v;
	size_t i;

	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		CHECK_INT(nw_odd32_get(odd[i].bytes, &v), odd[i].rc);
		if (odd[i].rc == NW_OK)
			CHECK_INT(v, odd[i].value);
	}
	nw_odd32_put(p, 51);
	CHECK(memcmp(p, "\0\063\0\0", 4) == 0);
}

int
main(void)
{
	test_capture();
	test_messages();
	test_cuts();
	test_malformed();
	test_bad_contents();
	test_tolerance();
	test_hops();
	test_append();
	test_limits();
	test_write_v1();
	test_write_v0();
	test_nack();
	test_small();
	return check_done("frame");
}
