/* SPDX-License-Identifier: BSD-3-Clause */
/* Two TLS endpoints against each other in memory: cut anywhere, refused for every reason, much data
 * both ways. */
#include "narrows/tls.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mbedtls/ssl.h>
#include <mbedtls/version.h>

#include "tests/check.h"
#include "narrows/cert.h"
#include "narrows/err.h"

static char dir[] = "/tmp/test_tls.XXXXXX";
static int64_t now_s;
static struct nw_cert ca, other_ca;
static char oldbox_pem[4096], expired_pem[4096];

static const char *
path_of(const char *name)
{
	static char paths[8][96];
	static unsigned turn;
	char *p = paths[turn++ % 8];

	snprintf(p, sizeof(paths[0]), "%s/%s", dir, name);
	return p;
}

static void
file_write(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "w");

	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0) {
		perror(name);
		exit(1);
	}
}

/* NAME.crt and NAME.key; the serial number is returned. */
static const char *
issue(const char *file, enum nw_cert_use use, const char *name, const char *names, int64_t from_s,
    int64_t to_s, const struct nw_cert *by)
{
	static char serial[NW_TLS_SERIAL_BYTES];
	struct nw_cert_opts o = { .use = use,
		.name = name,
		.names = names,
		.from_wall_s = now_s + from_s,
		.to_wall_s = now_s + to_s };
	struct nw_cert c;
	char crt[64], key[64];

	CHECK_INT(nw_cert_make(&o, by, &c), NW_OK);
	snprintf(crt, sizeof(crt), "%s.crt", file);
	snprintf(key, sizeof(key), "%s.key", file);
	file_write(crt, c.cert_pem);
	file_write(key, c.key_pem);
	memcpy(serial, c.serial, sizeof(serial));
	if (strcmp(file, "oldbox") == 0 || strcmp(file, "expired") == 0)
		strcpy(file[0] == 'o' ? oldbox_pem : expired_pem, c.cert_pem);
	nw_cert_clear(&c);
	CHECK(c.key_pem[0] == '\0');
	return serial;
}

static void
files_make(void)
{
	const struct nw_cert_opts o = { .use = NW_CERT_CA,
		.name = "Test CA",
		.from_wall_s = now_s - 60,
		.to_wall_s = now_s + 86400 };
	char line[128];

	CHECK_INT(nw_cert_make(&o, NULL, &ca), NW_OK);
	CHECK_INT(nw_cert_make(&o, NULL, &other_ca), NW_OK);
	CHECK(strcmp(ca.serial, other_ca.serial) != 0);
	file_write("ca.crt", ca.cert_pem);
	file_write("other.crt", other_ca.cert_pem);
	issue("box", NW_CERT_SERVER, "box.example", "box.example 192.0.2.7 2001:db8::7", -60, 3600,
	    &ca);
	issue("host", NW_CERT_CLIENT, "dtn1", "dtn1.example", -60, 3600, &ca);
	issue("noname", NW_CERT_CLIENT, "dtn2", NULL, -60, 3600, &ca);
	issue("wrong", NW_CERT_CLIENT, "dtn1", "dtn1.example", -60, 3600, &other_ca);
	issue("expired", NW_CERT_CLIENT, "dtn1", "dtn1.example", -3600, -60, &ca);
	issue("future", NW_CERT_CLIENT, "dtn1", "dtn1.example", 3600, 7200, &ca);
	snprintf(line, sizeof(line),
	    "valid 00ff 20300101000000 x\nrevoked %s 20300101000000 gone\n",
	    issue("revoked", NW_CERT_CLIENT, "gone", "gone.example", -60, 3600, &ca));
	file_write("list", line);
	issue("oldbox", NW_CERT_SERVER, "box.example", "box.example", -3600, -60, &ca);
}

static struct nw_tls_ctx *
context(bool server, bool ask, const char *ca_name, const char *own)
{
	struct nw_tls_opts o = { .server = server,
		.peer_certificate = ask,
		.ca_path = path_of(ca_name),
		.revoked_path = path_of("list") };
	char why[NW_TLS_WHY_BYTES], crt[64], key[64];
	struct nw_tls_ctx *c = NULL;

	if (own != NULL) {
		snprintf(crt, sizeof(crt), "%s.crt", own);
		snprintf(key, sizeof(key), "%s.key", own);
		o.cert_path = path_of(crt);
		o.key_path = path_of(key);
	}
	CHECK_INT(nw_tls_ctx_new(&o, &c, why), NW_OK);
	if (c == NULL) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return c;
}

/* Carries what `from` has for the wire to `to`, at most `piece` bytes at a time. Returns how
 * many. */
static size_t
carry(struct nw_tls *from, struct nw_tls *to, size_t piece, int (*step)(struct nw_tls *))
{
	const uint8_t *bytes;
	size_t n, all = 0;

	while ((n = nw_tls_output(from, &bytes)) > 0) {
		n = n < piece ? n : piece;
		nw_tls_feed(to, bytes, n);
		step(to);
		nw_tls_sent(from, n);
		all += n;
	}
	return all;
}

/* In TLS 1.3 a client may be open and hear only then that it is not wanted. */
static int
advance(struct nw_tls *t)
{
	int rc = nw_tls_handshake(t);
	uint8_t byte;

	return rc == NW_OK ? (int)nw_tls_read(t, &byte, 1) : rc;
}

/* Until neither has anything to say. */
static void
shake(struct nw_tls *client, struct nw_tls *server, size_t piece)
{
	advance(client);
	while (carry(client, server, piece, advance) + carry(server, client, piece, advance) > 0)
		continue;
}

static void
pair_make(struct nw_tls_ctx *c, struct nw_tls_ctx *s, const char *name, struct nw_tls **client,
    struct nw_tls **server)
{
	CHECK_INT(nw_tls_new(c, name, client), NW_OK);
	CHECK_INT(nw_tls_new(s, NULL, server), NW_OK);
	nw_tls_ctx_release(c);
	nw_tls_ctx_release(s);
}

static void
test_cut_anywhere(void)
{
	struct nw_tls_ctx *cc = context(false, true, "ca.crt", "host"),
			  *sc = context(true, true, "ca.crt", "box");
	size_t piece;

	for (piece = 1; piece < 1500; piece += piece < 12 ? 1 : 131) {
		struct nw_tls *c, *s;
		uint8_t buf[64];
		const uint8_t *bytes;
		size_t n;

		pair_make(nw_tls_ctx_hold(cc), nw_tls_ctx_hold(sc), "box.example", &c, &s);
		CHECK_INT(nw_tls_write(c, buf, 1), NW_ECLOSED);
		CHECK_INT(nw_tls_read(c, buf, sizeof(buf)), NW_EAGAIN);
		shake(c, s, piece);
		CHECK(nw_tls_is_open(c) && nw_tls_is_open(s));
		CHECK_STR(nw_tls_peer_name(s), "dtn1.example");
		CHECK_STR(nw_tls_peer_name(c), "box.example");
		CHECK_INT(nw_tls_write(c, (const uint8_t *)"hello", 5), 5);
		while ((n = nw_tls_output(c, &bytes)) > 0) {
			nw_tls_feed(s, bytes, 1);
			CHECK_INT(nw_tls_read(s, buf, sizeof(buf)), n > 1 ? NW_EAGAIN : 5);
			nw_tls_sent(c, 1);
		}
		CHECK(memcmp(buf, "hello", 5) == 0);
		nw_tls_close(s);
		n = nw_tls_output(s, &bytes);
		nw_tls_feed(c, bytes, n);
		CHECK_INT(nw_tls_read(c, buf, sizeof(buf)), NW_ECLOSED);
		CHECK_STR(nw_tls_why(c), "the peer closed");
		CHECK_INT(nw_tls_write(s, buf, 1), NW_ECLOSED);
		nw_tls_free(c);
		nw_tls_free(s);
	}
	nw_tls_ctx_release(cc);
	nw_tls_ctx_release(sc);
}

static const struct {
	/* why NULL: it must be open */
	const char *client_ca, *client, *server, *name, *client_why, *server_why;
} meetings[] = {
	{ "ca.crt", "host", "box", "box.example", NULL, NULL },
	{ "ca.crt", "host", "box", "BOX.example", NULL, NULL },
	{ "ca.crt", "host", "box", "192.0.2.7", NULL, NULL },
	{ "ca.crt", "host", "box", "2001:db8:0::7", NULL, NULL },
	{ "ca.crt", "noname", "box", "box.example", NULL, NULL },
	{ "ca.crt", NULL, "box", "box.example", "needs a certificate", "shows no certificate" },
	{ "ca.crt", "wrong", "box", "box.example", "from a CA it does not trust",
	    "not from our CA" },
	{ "ca.crt", "expired", "box", "box.example", "it has expired", "has expired" },
	{ "ca.crt", "future", "box", "box.example", "refuses our certificate", "not valid yet" },
	{ "ca.crt", "revoked", "box", "box.example", "it was revoked", "was revoked" },
	{ "ca.crt", "box", "box", "box.example", "refuses our certificate", "another use" },
	{ "ca.crt", "host", "box", "box.example.net", "for another name",
	    "refuses our certificate" },
	{ "ca.crt", "host", "box", "192.0.2.8", "for another name", "refuses our certificate" },
	{ "ca.crt", "host", "host", "dtn1.example", "it needs a certificate, or ciphers",
	    "not acceptable" },
	{ "other.crt", "host", "box", "box.example", "not from our CA", "a CA it does not trust" },
	{ "ca.crt", "host", "oldbox", "box.example", "has expired", "it has expired" },
};

static void
check_end(const struct nw_tls *t, const char *why, const char *who, size_t number)
{
	bool good = why == NULL ? nw_tls_is_open(t)
				: !nw_tls_is_open(t) && strstr(nw_tls_why(t), why) != NULL;

	CHECK(good);
	if (!good)
		fprintf(stderr, "meeting %zu, %s: %s\n", number, who, nw_tls_why(t));
}

static void
test_meetings(void)
{
	size_t i;

	for (i = 0; i < sizeof(meetings) / sizeof(meetings[0]); i++) {
		struct nw_tls *c, *s;
		uint8_t byte;

		pair_make(context(false, true, meetings[i].client_ca, meetings[i].client),
		    context(true, true, "ca.crt", meetings[i].server), meetings[i].name, &c, &s);
		shake(c, s, 4096);
		check_end(c, meetings[i].client_why, "client", i);
		check_end(s, meetings[i].server_why, "server", i);
		if (meetings[i].server_why != NULL) {
			CHECK_INT(nw_tls_handshake(s), NW_EPROTO);
			CHECK_INT(nw_tls_read(s, &byte, 1), NW_EPROTO);
		}
		nw_tls_free(c);
		nw_tls_free(s);
	}
}

/* A browser has no certificate. Without one it is TLS 1.3 where the library has it. */
static void
test_unasked(void)
{
	static const struct {
		const char *ca, *server, *name, *client_why, *server_why;
	} visits[] = {
		{ "ca.crt", "box", "box.example", NULL, NULL },
		{ "other.crt", "box", "box.example", "not from our CA", "a CA it does not trust" },
		{ "ca.crt", "box", "box.example.net", "for another name",
		    "refuses our certificate" },
		{ "ca.crt", "oldbox", "box.example", "has expired", "it has expired" },
	};
	size_t i;

	for (i = 0; i < sizeof(visits) / sizeof(visits[0]); i++) {
		struct nw_tls *c, *s;

		pair_make(context(false, true, visits[i].ca, NULL),
		    context(true, false, "ca.crt", visits[i].server), visits[i].name, &c, &s);
		shake(c, s, 4096);
		check_end(c, visits[i].client_why, "visitor", i);
		check_end(s, visits[i].server_why, "its server", i);
		CHECK_STR(nw_tls_peer_name(s), "");
		nw_tls_free(c);
		nw_tls_free(s);
	}
}

/* A client that knows only the CA's pin. */
static void
test_pin(void)
{
	static const struct {
		bool show, ours;
		const char *name, *why;
	} cases[] = {
		{ true, true, "box.example", NULL },
		{ true, true, "box.example.net", "for another name" },
		{ true, false, "box.example", "not from our CA" },
		{ false, true, "box.example", "not from our CA" },
	};
	struct nw_tls_opts so = { .server = true,
		.ca_path = path_of("ca.crt"),
		.cert_path = path_of("box.crt"),
		.key_path = path_of("box.key") };
	struct nw_tls_ctx *sc = NULL, *cc = NULL;
	char why[NW_TLS_WHY_BYTES];
	uint8_t pin[NW_TLS_PIN_BYTES];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nw_tls_opts co = { .ca_pin = pin };
		struct nw_tls *c, *s;

		CHECK_INT(nw_cert_pin(cases[i].ours ? ca.cert_pem : other_ca.cert_pem, pin), NW_OK);
		so.show_ca = cases[i].show;
		CHECK_INT(nw_tls_ctx_new(&so, &sc, why), NW_OK);
		CHECK_INT(nw_tls_ctx_new(&co, &cc, why), NW_OK);
		pair_make(cc, sc, cases[i].name, &c, &s);
		shake(c, s, 4096);
		check_end(c, cases[i].why, "pin", i);
		nw_tls_free(c);
		nw_tls_free(s);
	}
	CHECK_INT(nw_cert_pin("nothing", pin), NW_EINVAL);
}

/* Ends without a CA know each other by pins, of certificates that each made for itself. */
static void
test_any_certificate(void)
{
	uint8_t pin[NW_TLS_PIN_BYTES], want[NW_TLS_PIN_BYTES];
	struct nw_tls_opts so = { .server = true,
		.any_certificate = true,
		.cert_path = path_of("oldbox.crt"),
		.key_path = path_of("oldbox.key") };
	struct nw_tls_opts co = { .any_certificate = true,
		.cert_path = path_of("expired.crt"),
		.key_path = path_of("expired.key") };
	struct nw_tls_ctx *sc = NULL, *cc = NULL;
	char why[NW_TLS_WHY_BYTES];
	struct nw_tls *c, *s;
	unsigned i;

	for (i = 0; i < 2; i++) {
		if (i == 1)
			co.cert_path = co.key_path = NULL;
		CHECK_INT(nw_tls_ctx_new(&so, &sc, why), NW_OK);
		CHECK_INT(nw_tls_ctx_new(&co, &cc, why), NW_OK);
		pair_make(cc, sc, "anything.example", &c, &s);
		CHECK(!nw_tls_peer_pin(c, pin)); /* before the handshake */
		shake(c, s, 4096);
		CHECK_STR(nw_tls_why(c), "");
		CHECK_STR(nw_tls_why(s), "");
		CHECK(nw_tls_is_open(c) && nw_tls_is_open(s));
		CHECK(nw_tls_peer_pin(c, pin));
		CHECK_INT(nw_cert_pin(oldbox_pem, want), NW_OK);
		CHECK(memcmp(pin, want, sizeof(pin)) == 0);
		CHECK(nw_tls_peer_pin(s, pin) == (i == 0));
		CHECK_INT(nw_cert_pin(expired_pem, want), NW_OK);
		CHECK(i == 1 || memcmp(pin, want, sizeof(pin)) == 0);
		nw_tls_free(c);
		nw_tls_free(s);
	}
}

static void
test_signatures(void)
{
	char bytes[] = "windows of a transfer", signature[NW_CERT_SIGNATURE_BYTES], digit;

	CHECK_INT(nw_cert_sign(ca.key_pem, bytes, sizeof(bytes), signature), NW_OK);
	CHECK(nw_cert_signed(ca.cert_pem, bytes, sizeof(bytes), signature));
	CHECK(!nw_cert_signed(other_ca.cert_pem, bytes, sizeof(bytes), signature));
	CHECK(!nw_cert_signed(ca.cert_pem, bytes, sizeof(bytes) - 1, signature));
	bytes[3] ^= 1;
	CHECK(!nw_cert_signed(ca.cert_pem, bytes, sizeof(bytes), signature));
	bytes[3] ^= 1;
	digit = signature[20];
	signature[20] = digit == '0' ? '1' : '0';
	CHECK(!nw_cert_signed(ca.cert_pem, bytes, sizeof(bytes), signature));
	signature[20] = 'G';
	CHECK(!nw_cert_signed(ca.cert_pem, bytes, sizeof(bytes), signature));
	CHECK(!nw_cert_signed(ca.cert_pem, bytes, sizeof(bytes), ""));
	CHECK(!nw_cert_signed("nothing", bytes, sizeof(bytes), signature));
	CHECK_INT(nw_cert_sign("nothing", bytes, sizeof(bytes), signature), NW_EINVAL);
}

/* A certificate for a key that stays in place. */
static void
test_request(void)
{
	struct nw_cert_opts o = { .use = NW_CERT_CLIENT,
		.name = "dtn9",
		.names = "dtn9",
		.from_wall_s = now_s - 60,
		.to_wall_s = now_s + 3600 };
	struct nw_cert asked, made;
	struct nw_tls *c, *s;

	CHECK_INT(nw_cert_request("somebody else", &asked), NW_OK);
	CHECK(strstr(asked.cert_pem, "BEGIN CERTIFICATE REQUEST") != NULL &&
	    strstr(asked.key_pem, "BEGIN EC PRIVATE KEY") != NULL);
	CHECK(strlen(asked.cert_pem) < 700);
	o.request_pem = asked.cert_pem;
	CHECK_INT(nw_cert_make(&o, &ca, &made), NW_OK);
	CHECK(made.key_pem[0] == '\0' && strlen(made.serial) == 32);
	file_write("asked.key", asked.key_pem);
	file_write("asked.crt", made.cert_pem);
	pair_make(context(false, true, "ca.crt", "asked"), context(true, true, "ca.crt", "box"),
	    "box.example", &c, &s);
	shake(c, s, 4096);
	CHECK(nw_tls_is_open(s));
	CHECK_STR(nw_tls_peer_name(s), "dtn9");
	nw_tls_free(c);
	nw_tls_free(s);
	o.request_pem = ca.cert_pem;
	CHECK_INT(nw_cert_make(&o, &ca, &made), NW_EINVAL);
	o.request_pem = "";
	CHECK_INT(nw_cert_make(&o, &ca, &made), NW_EINVAL);
	CHECK(made.cert_pem[0] == '\0');
}

static void
test_distrust(void)
{
	struct nw_tls *c, *s;
	struct nw_tls_ctx *later;
	char line[128];

	snprintf(line, sizeof(line), "revoked %s 20300101000000 x\n",
	    issue("soon", NW_CERT_CLIENT, "soon", "soon", -60, 3600, &ca));
	pair_make(context(false, true, "ca.crt", "soon"), context(true, true, "ca.crt", "box"),
	    "box.example", &c, &s);
	shake(c, s, 4096);
	CHECK(nw_tls_is_open(s));
	later = context(true, true, "ca.crt", "box");
	CHECK(nw_tls_distrust(s, later, now_s * 1000000000) == NULL);
	CHECK(nw_tls_distrust(s, later, (now_s + 3598) * 1000000000) == NULL);
	CHECK_STR(
	    nw_tls_distrust(s, later, (now_s + 3602) * 1000000000), "its certificate has expired");
	nw_tls_ctx_release(later);
	file_write("list", line);
	later = context(true, true, "ca.crt", "box");
	CHECK_STR(nw_tls_distrust(s, later, now_s * 1000000000), "its certificate was revoked");
	nw_tls_ctx_release(later);
	nw_tls_free(c);
	nw_tls_free(s);
}

/* The beginnings of what is no TLS, or none of today. */
static void
test_strangers(void)
{
	/* a TLS 1.0 ClientHello with one old cipher suite */
	static const uint8_t hello10[] = { 22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 1, 1, 2, 3, 4, 5, 6, 7,
		8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
		29, 30, 31, 32, 0, 0, 2, 0, 47, 1, 0 };
	static const struct {
		const void *bytes;
		size_t len;
		const char *why;
	} strangers[] = {
		{ hello10, sizeof(hello10), "TLS older than 1.2" },
		{ "\x01\x00\x00\x05\x00\x01", 6, "plain bytes" },
		{ "\x00", 1, "plain bytes" },
		{ "GET / HTTP/1.1\r\n\r\n", 18, "plain bytes" },
		{ "\x15\x03\x03\x00\x02\x02\x28", 7, "plain bytes" },
		{ "\x16\xff\xff\xff\xff\xff\xff", 7, "not acceptable" },
		{ "\x16\x03\x03\xff\xff\x01\x00", 7, "not acceptable" },
	};
	size_t i;

	for (i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
		struct nw_tls_ctx *ctx = context(true, true, "ca.crt", "box");
		struct nw_tls *s;

		CHECK_INT(nw_tls_new(ctx, NULL, &s), NW_OK);
		nw_tls_ctx_release(ctx);
		nw_tls_feed(s, strangers[i].bytes, strangers[i].len);
		CHECK_INT(nw_tls_handshake(s), NW_EPROTO);
		check_end(s, strangers[i].why, "stranger", i);
		nw_tls_free(s);
	}
}

static void
open_pair(const char *own, struct nw_tls **c, struct nw_tls **s)
{
	pair_make(context(false, true, "ca.crt", own), context(true, own != NULL, "ca.crt", "box"),
	    "box.example", c, s);
	shake(*c, *s, 4096);
	CHECK(nw_tls_is_open(*c) && nw_tls_is_open(*s));
}

/* Writes until it is full, reads all, both ways, 16 MiB in all. */
static void
test_bulk(const char *own)
{
	static uint8_t sent[40000], got[100000];
	struct nw_tls *ends[2];
	const uint8_t *wire;
	uint64_t in[2] = { 0, 0 }, out[2] = { 0, 0 };
	bool same = true;
	size_t i, len;
	int from;
	long n;

	open_pair(own, &ends[0], &ends[1]);
	while (in[0] + in[1] < 16 << 20)
		for (from = 0; from < 2; from++) {
			for (;;) {
				for (i = 0; i < sizeof(sent); i++)
					sent[i] = (uint8_t)((out[from] + i) * 2654435761u >> 24);
				if ((n = nw_tls_write(ends[from], sent, sizeof(sent))) < 0)
					break;
				out[from] += (uint64_t)n;
			}
			CHECK_INT(n, NW_EFULL);
			len = nw_tls_output(ends[from], &wire);
			CHECK(len <= NW_TLS_OUT_MAX_BYTES);
			nw_tls_feed(ends[!from], wire, len);
			while ((n = nw_tls_read(ends[!from], got, sizeof(got))) > 0)
				for (i = 0; i < (size_t)n; i++, in[from]++)
					same = same &&
					    got[i] == (uint8_t)(in[from] * 2654435761u >> 24);
			CHECK_INT(n, NW_EAGAIN);
			nw_tls_sent(ends[from], len);
			CHECK(in[from] == out[from]);
		}
	CHECK(same);
	nw_tls_free(ends[0]);
	nw_tls_free(ends[1]);
}

/* One byte changed on the way: nothing of that record is handed out. */
static void
test_changed(const char *own)
{
	struct nw_tls *c, *s;
	const uint8_t *wire;
	uint8_t copy[256], got[64];
	size_t len;

	open_pair(own, &c, &s);
	CHECK_INT(nw_tls_write(c, (const uint8_t *)"measurement", 11), 11);
	len = nw_tls_output(c, &wire);
	CHECK(len < sizeof(copy));
	memcpy(copy, wire, len);
	copy[len - 3] ^= 1;
	nw_tls_feed(s, copy, len);
	CHECK_INT(nw_tls_read(s, got, sizeof(got)), NW_EPROTO);
	CHECK_STR(nw_tls_why(s), "bytes were changed on the way");
	nw_tls_free(c);
	nw_tls_free(s);
}

#ifdef MBEDTLS_SSL_RENEGOTIATION
struct wires {
	uint8_t to[65536], from[65536];
	size_t to_len, from_len;
};

static int
on_send(void *arg, const unsigned char *buf, size_t len)
{
	struct wires *w = arg;

	memcpy(w->to + w->to_len, buf, len);
	w->to_len += len;
	return (int)len;
}

static int
on_recv(void *arg, unsigned char *buf, size_t len)
{
	struct wires *w = arg;

	if (w->from_len == 0)
		return MBEDTLS_ERR_SSL_WANT_READ;
	if (len > w->from_len)
		len = w->from_len;
	memcpy(buf, w->from, len);
	memmove(w->from, w->from + len, w->from_len -= len);
	return (int)len;
}

static long
serve(struct nw_tls *s, struct wires *w)
{
	const uint8_t *out;
	uint8_t plain[64];
	long n;

	nw_tls_feed(s, w->to, w->to_len);
	n = nw_tls_handshake(s) == NW_OK ? nw_tls_read(s, plain, sizeof(plain)) : NW_EAGAIN;
	w->to_len = 0;
	w->from_len = nw_tls_output(s, &out);
	memcpy(w->from, out, w->from_len);
	nw_tls_sent(s, w->from_len);
	return n;
}

/* A client that wants to shake hands again gets a word of refusal, however often it asks, and no
 * second handshake. */
static void
test_again(void)
{
	static struct wires w;
	struct nw_tls_ctx *ctx = context(true, false, "ca.crt", "box");
	mbedtls_ssl_config conf;
	mbedtls_ssl_context c;
	struct nw_tls *s;
	int rc;

	mbedtls_ssl_config_init(&conf);
	mbedtls_ssl_init(&c);
	CHECK_INT(mbedtls_ssl_config_defaults(&conf, MBEDTLS_SSL_IS_CLIENT,
		      MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT),
	    0);
	mbedtls_ssl_conf_rng(&conf, nw_tls_random, NULL);
	mbedtls_ssl_conf_authmode(&conf, MBEDTLS_SSL_VERIFY_NONE);
	mbedtls_ssl_conf_renegotiation(&conf, MBEDTLS_SSL_RENEGOTIATION_ENABLED);
#if MBEDTLS_VERSION_NUMBER >= 0x03020000
	/* 1.3 has no such thing */
	mbedtls_ssl_conf_max_tls_version(&conf, MBEDTLS_SSL_VERSION_TLS1_2);
#endif
	CHECK_INT(mbedtls_ssl_setup(&c, &conf), 0);
	mbedtls_ssl_set_bio(&c, &w, on_send, on_recv, NULL);
	CHECK_INT(nw_tls_new(ctx, NULL, &s), NW_OK);
	while ((rc = mbedtls_ssl_handshake(&c)) == MBEDTLS_ERR_SSL_WANT_READ)
		serve(s, &w);
	CHECK_INT(rc, 0);
	serve(s, &w);
	CHECK(nw_tls_is_open(s));
	CHECK_INT(mbedtls_ssl_renegotiate(&c), MBEDTLS_ERR_SSL_WANT_READ);
	CHECK(w.to_len > 40);
	CHECK_INT(serve(s, &w), NW_EAGAIN);
	CHECK(w.from_len < 64);
	CHECK(mbedtls_ssl_renegotiate(&c) != 0);
	mbedtls_ssl_free(&c);
	mbedtls_ssl_config_free(&conf);
	nw_tls_free(s);
	nw_tls_ctx_release(ctx);
}
#else
static void
test_again(void)
{
}
#endif

static void
test_files(void)
{
	struct {
		struct nw_tls_opts o;
		int rc;
		const char *why;
	} wrong[] = {
		{ { .ca_path = path_of("none.crt") }, NW_EINVAL, "none.crt: no certificate" },
		{ { .ca_path = path_of("host.key") }, NW_EINVAL, "host.key: no certificate" },
		{ { .ca_path = path_of("ca.crt"),
		      .cert_path = path_of("host.crt"),
		      .key_path = path_of("none.key") },
		    NW_EINVAL, "none.key: no private key" },
		{ { .ca_path = path_of("ca.crt"),
		      .cert_path = path_of("host.crt"),
		      .key_path = path_of("box.key") },
		    NW_EINVAL, "is not the key of" },
	};
	char why[NW_TLS_WHY_BYTES];
	struct nw_tls_ctx *c;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_INT(nw_tls_ctx_new(&wrong[i].o, &c, why), wrong[i].rc);
		CHECK(strstr(why, wrong[i].why) != NULL);
	}
	CHECK(nw_cert_name_ok("dtn1.example") && nw_cert_name_ok("10.0.0.1") &&
	    nw_cert_name_ok("2001:db8::1"));
	CHECK(!nw_cert_name_ok("") && !nw_cert_name_ok("a b") && !nw_cert_name_ok("../x") &&
	    !nw_cert_name_ok("a/b") && !nw_cert_name_ok("-o") && !nw_cert_name_ok("a,CN=b"));
}

static void
cleanup(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		perror(command);
}

int
main(void)
{
	now_s = time(NULL);
	if (mkdtemp(dir) == NULL)
		return 1;
	atexit(cleanup);
	files_make();
	test_files();
	test_cut_anywhere();
	test_meetings();
	test_unasked();
	test_pin();
	test_any_certificate();
	test_signatures();
	test_request();
	test_distrust();
	test_strangers();
	test_bulk("host");
	test_bulk(NULL);
	test_changed("host");
	test_changed(NULL);
	test_again();
	return check_done("tls");
}
