/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only file that drives mbedTLS's protocol (cert.c uses the certificate writer; mbed.h hides
 * the differences of two versions).
 *
 *	HANDSHAKE --done--> OPEN --close_notify--> CLOSED
 *	HANDSHAKE, OPEN --anything wrong--> FAILED
 *
 * Memory: mbedTLS keeps a record in each direction (34 KiB); received bytes are read in the
 * caller's memory; bytes for the wire are bounded here, so a peer that provokes answers and reads
 * none of them fails.
 */
#include "narrows/calendar.h"
#include "narrows/tls.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <arpa/inet.h>
#include <sys/random.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <mbedtls/error.h>
#include <mbedtls/md.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>

#include "narrows/err.h"
#include "narrows/hex.h"
#include "pki/mbed.h"

/* --- contexts --- */

/* In order of speed: with the processor's instructions for AES, mbedTLS seals 550 MB/s in CCM's
 * mode, without a multiplication in a field, 350 MB/s of ChaCha20 and 220 MB/s in GCM's. Without
 * such instructions, AES is the slowest, and the modes of CCM are left out. */
enum {
#ifdef MBEDTLS_TLS1_3_AES_128_GCM_SHA256
	SUITES_CCM = 2
#else
	SUITES_CCM = 1
#endif
};
static const int suites[] = {
#ifdef MBEDTLS_TLS1_3_AES_128_GCM_SHA256
	MBEDTLS_TLS1_3_AES_128_CCM_SHA256,
#endif
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_CCM,
#ifdef MBEDTLS_TLS1_3_AES_128_GCM_SHA256
	MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256, MBEDTLS_TLS1_3_AES_128_GCM_SHA256,
	MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
#endif
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, 0
};

enum {
	RECORD_TYPE_ALERT = 21,
	RECORD_TYPE_HANDSHAKE = 22,
	RECORD_ROOM_BYTES = 17 << 10,
	ALERT_RECORD_BYTES = 7
};

typedef char serial_text[NW_TLS_SERIAL_BYTES];

struct nw_tls_ctx {
	atomic_uint refs;
	bool server, pinned, any_certificate;
	uint8_t pin[NW_TLS_PIN_BYTES];
	mbedtls_ssl_config conf;
	mbedtls_x509_crt ca, cert;
	mbedtls_pk_context key;
	serial_text *revoked;
	size_t n_revoked;
};

/* Random bytes of the kernel: two threads could share a generator of ours, and a fork repeat its
 * bytes. */
int
nw_tls_random(void *unused, unsigned char *out, size_t len)
{
	ssize_t n;

	(void)unused;
	for (; len > 0; out += n, len -= (size_t)n)
		if ((n = getrandom(out, len, 0)) <= 0) {
			if (n < 0 && errno == EINTR) {
				n = 0;
				continue;
			}
			return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
		}
	return 0;
}

void
nw_tls_sha256(const void *bytes, size_t len, uint8_t out[NW_TLS_PIN_BYTES])
{
	if (mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), bytes, len, out) != 0)
		abort(); /* a library without SHA-256 has no TLS either */
}

static int
refuse_file(char why[NW_TLS_WHY_BYTES], const char *path, const char *what, int code)
{
	char text[128] = "";

	/* errno says more plainly than the library why a file cannot be read */
	if (access(path, R_OK) != 0)
		snprintf(text, sizeof(text), "%s", strerror(errno));
	else if (code != 0)
		mbedtls_strerror(code, text, sizeof(text));
	snprintf(why, NW_TLS_WHY_BYTES, "%.100s: %.50s%s%.90s", path, what,
	    text[0] != '\0' ? ": " : "", text);
	return NW_EINVAL;
}

static int
cert_load(mbedtls_x509_crt *crt, const char *path, char why[NW_TLS_WHY_BYTES])
{
	int code = mbedtls_x509_crt_parse_file(crt, path);

	return code == 0
	    ? NW_OK
	    : refuse_file(why, path, "no certificate can be read there", code < 0 ? code : 0);
}

static int
revoked_load(struct nw_tls_ctx *c, const char *path, char why[NW_TLS_WHY_BYTES])
{
	char line[512];
	serial_text serial, *grown;
	FILE *f = fopen(path, "re");
	int rc = NW_OK;

	if (f == NULL) {
		if (errno == ENOENT)
			return NW_OK;
		snprintf(why, NW_TLS_WHY_BYTES, "%.120s: %s", path, strerror(errno));
		return NW_EIO;
	}
	while (rc == NW_OK && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "revoked %40[0-9a-fA-F]", serial) != 1)
			continue;
		if ((grown = realloc(c->revoked, (c->n_revoked + 1) * sizeof(*grown))) == NULL) {
			rc = NW_ENOMEM;
			break;
		}
		c->revoked = grown;
		memcpy(c->revoked[c->n_revoked++], serial, sizeof(serial));
	}
	if (rc == NW_OK && ferror(f)) {
		snprintf(why, NW_TLS_WHY_BYTES, "%.120s: %s", path, strerror(errno));
		rc = NW_EIO;
	}
	fclose(f);
	return rc;
}

static int
files_load(struct nw_tls_ctx *c, const struct nw_tls_opts *o, char why[NW_TLS_WHY_BYTES])
{
	int rc, code;

	if (o->ca_path != NULL && (rc = cert_load(&c->ca, o->ca_path, why)) < 0)
		return rc;
	if (o->revoked_path != NULL && (rc = revoked_load(c, o->revoked_path, why)) < 0)
		return rc;
	if (o->cert_path == NULL)
		return NW_OK;
	if ((rc = cert_load(&c->cert, o->cert_path, why)) < 0 ||
	    (o->show_ca && (rc = cert_load(&c->cert, o->ca_path, why)) < 0))
		return rc;
	if ((code = mbed_key_parse_file(&c->key, o->key_path)) != 0)
		return refuse_file(why, o->key_path, "no private key can be read there", code);
	if ((code = mbed_key_fits(&c->cert, &c->key)) != 0)
		return refuse_file(
		    why, o->key_path, "is not the key of the certificate beside it", 0);
	if ((code = mbedtls_ssl_conf_own_cert(&c->conf, &c->cert, &c->key)) != 0)
		return refuse_file(why, o->cert_path, "cannot be used", code);
	return NW_OK;
}

static bool
processor_has_aes(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned a, b, c = 0, d;

	/* the compiler's own table would ask a dozen times, as soon as the library is loaded */
	return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_AES) != 0;
#else
	return false;
#endif
}

/* In TLS 1.3 a client has finished its handshake before the server has looked at the client's
 * certificate, and mbedTLS servers then refuse the certificate under keys that the client has left
 * (against RFC 8446 section 7.3; no client can read the refusal). A client of ours with a
 * certificate stays with 1.2, where the client hears the reason. */
static int
conf_make(struct nw_tls_ctx *c, const struct nw_tls_opts *o)
{
	bool checked = !o->server || o->peer_certificate,
	     shows = !o->server && o->cert_path != NULL;

	if (!mbed_start() ||
	    mbedtls_ssl_config_defaults(&c->conf,
		o->server ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT,
		MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT) != 0)
		return NW_ENOMEM;
	mbed_versions_limit(&c->conf, shows);
	mbed_groups_limit(&c->conf);
	mbedtls_ssl_conf_ciphersuites(&c->conf, suites + (processor_has_aes() ? 0 : SUITES_CCM));
	mbedtls_ssl_conf_cert_profile(&c->conf, &mbedtls_x509_crt_profile_next);
	mbedtls_ssl_conf_rng(&c->conf, nw_tls_random, NULL);
	mbedtls_ssl_conf_authmode(&c->conf,
	    o->any_certificate ? MBEDTLS_SSL_VERIFY_OPTIONAL
		: checked      ? MBEDTLS_SSL_VERIFY_REQUIRED
			       : MBEDTLS_SSL_VERIFY_NONE);
	mbedtls_ssl_conf_ca_chain(&c->conf, &c->ca, NULL);
#ifdef MBEDTLS_SSL_RENEGOTIATION
	mbedtls_ssl_conf_renegotiation(&c->conf, MBEDTLS_SSL_RENEGOTIATION_DISABLED);
#endif
#if defined(MBEDTLS_SSL_SESSION_TICKETS) && defined(MBEDTLS_SSL_CLI_C)
	if (!o->server)
		mbedtls_ssl_conf_session_tickets(&c->conf, MBEDTLS_SSL_SESSION_TICKETS_DISABLED);
#endif
	return NW_OK;
}

int
nw_tls_ctx_new(const struct nw_tls_opts *opts, struct nw_tls_ctx **out, char why[NW_TLS_WHY_BYTES])
{
	struct nw_tls_ctx *c = calloc(1, sizeof(*c));
	int rc;

	snprintf(why, NW_TLS_WHY_BYTES, "%s", nw_strerror(NW_ENOMEM));
	if (c == NULL)
		return NW_ENOMEM;
	atomic_init(&c->refs, 1);
	c->server = opts->server;
	c->any_certificate = opts->any_certificate;
	if ((c->pinned = opts->ca_pin != NULL))
		memcpy(c->pin, opts->ca_pin, sizeof(c->pin));
	mbedtls_ssl_config_init(&c->conf);
	mbedtls_x509_crt_init(&c->ca);
	mbedtls_x509_crt_init(&c->cert);
	mbedtls_pk_init(&c->key);
	if ((rc = conf_make(c, opts)) < 0 || (rc = files_load(c, opts, why)) < 0) {
		nw_tls_ctx_release(c);
		return rc;
	}
	*out = c;
	return NW_OK;
}

struct nw_tls_ctx *
nw_tls_ctx_hold(struct nw_tls_ctx *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void
nw_tls_ctx_release(struct nw_tls_ctx *c)
{
	if (c == NULL || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return;
	mbedtls_ssl_config_free(&c->conf);
	mbedtls_x509_crt_free(&c->ca);
	mbedtls_x509_crt_free(&c->cert);
	mbedtls_pk_free(&c->key);
	free(c->revoked);
	free(c);
}

static bool
is_revoked(const struct nw_tls_ctx *c, const char *serial)
{
	size_t i;

	for (i = 0; i < c->n_revoked; i++)
		if (strcasecmp(c->revoked[i], serial) == 0)
			return true;
	return false;
}

/* --- endpoints --- */

enum tls_state { TLS_HANDSHAKE, TLS_OPEN, TLS_CLOSED, TLS_FAILED };

enum { ADDRESSES_BYTES = 512 };

struct nw_tls {
	struct nw_tls_ctx *ctx;
	mbedtls_ssl_context ssl;
	enum tls_state state;
	const char *why;
	bool begun;        /* the first byte was looked at */
	bool heard;        /* something of the peer was read */
	const uint8_t *in; /* on loan */
	size_t in_len;
	uint8_t in_last[ALERT_RECORD_BYTES]; /* the newest bytes */
	uint8_t *out;
	size_t out_at, out_len, out_cap;
	char wanted
	    [NW_TLS_NAME_BYTES]; /* client: the name that the server's certificate must have */
	char addresses[ADDRESSES_BYTES]; /* of the peer's certificate, as are the next three */
	char name[NW_TLS_NAME_BYTES];
	serial_text serial;
	int64_t expires_wall_s;
	uint32_t faults; /* faults of the peer's certificate: MBEDTLS_X509_BADCERT_* */
	bool has_pin;
	uint8_t pin[NW_TLS_PIN_BYTES]; /* of the peer's certificate */
};

/* --- the peer's certificate --- */

static bool
is_name_char(unsigned char ch)
{
	return (ch >= '0' && ch <= '9') || ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'z') ||
	    ch == '.' || ch == '-' || ch == '_' || ch == ':';
}

/* Names go to logs and become hosts: anything unusual is no name. */
static void
name_take(char out[NW_TLS_NAME_BYTES], const unsigned char *p, size_t len)
{
	size_t i;

	if (len == 0 || len >= NW_TLS_NAME_BYTES)
		return;
	for (i = 0; i < len; i++)
		if (!is_name_char(p[i]))
			return;
	memcpy(out, p, len);
	out[len] = '\0';
}

enum { SAN_DNS = 2, SAN_IP = 7 };

static bool
names_address(const mbedtls_x509_buf *san, const char *wanted)
{
	unsigned char address[16];

	return (san->len == 4 && inet_pton(AF_INET, wanted, address) == 1 &&
		   memcmp(address, san->p, 4) == 0) ||
	    (san->len == 16 && inet_pton(AF_INET6, wanted, address) == 1 &&
		memcmp(address, san->p, 16) == 0);
}

/* No wildcards: a certificate is for one machine. The common name counts only without alternative
 * names (RFC 6125). */
static bool
certificate_names(const mbedtls_x509_crt *crt, const char *wanted, const char *first_name)
{
	const mbedtls_x509_sequence *s = &crt->subject_alt_names;
	char name[NW_TLS_NAME_BYTES];

	if (s->buf.p == NULL)
		return strcasecmp(first_name, wanted) == 0;
	for (; s != NULL; s = s->next) {
		int kind = s->buf.tag & MBEDTLS_ASN1_TAG_VALUE_MASK;

		name[0] = '\0';
		if (kind == SAN_DNS)
			name_take(name, s->buf.p, s->buf.len);
		if ((kind == SAN_IP && names_address(&s->buf, wanted)) ||
		    (name[0] != '\0' && strcasecmp(name, wanted) == 0))
			return true;
	}
	return false;
}

/* Appends an address of the certificate, if there is room. */
static void
address_take(char out[ADDRESSES_BYTES], const mbedtls_x509_buf *san)
{
	size_t len = strlen(out);
	char text[INET6_ADDRSTRLEN];

	if ((san->len != 4 && san->len != 16) ||
	    inet_ntop(san->len == 4 ? AF_INET : AF_INET6, san->p, text, sizeof(text)) == NULL ||
	    len + 1 + strlen(text) >= ADDRESSES_BYTES)
		return;
	snprintf(out + len, ADDRESSES_BYTES - len, "%s%s", len > 0 ? " " : "", text);
}

static void
certificate_note(struct nw_tls *t, mbedtls_x509_crt *crt)
{
	const mbedtls_x509_sequence *s = &crt->subject_alt_names;
	const mbedtls_asn1_named_data *cn;
	const mbedtls_x509_time *end = &crt->valid_to;
	const struct calendar until = { end->year, end->mon, end->day, end->hour, end->min,
		end->sec, 0 };

	t->name[0] = t->addresses[0] = '\0';
	for (; s != NULL && s->buf.p != NULL; s = s->next) {
		int kind = s->buf.tag & MBEDTLS_ASN1_TAG_VALUE_MASK;

		if (kind == SAN_DNS && t->name[0] == '\0')
			name_take(t->name, s->buf.p, s->buf.len);
		if (kind == SAN_IP)
			address_take(t->addresses, &s->buf);
	}
	cn = mbedtls_asn1_find_named_data(
	    &crt->subject, MBEDTLS_OID_AT_CN, MBEDTLS_OID_SIZE(MBEDTLS_OID_AT_CN));
	if (t->name[0] == '\0' && cn != NULL)
		name_take(t->name, cn->val.p, cn->val.len);
	nw_hex_put(t->serial, crt->serial.p, crt->serial.len < 20 ? crt->serial.len : 20);
	if (!calendar_seconds(&until, &t->expires_wall_s))
		t->expires_wall_s = INT64_MAX; /* the certificate has no valid date */
}

static bool
is_pinned(const struct nw_tls_ctx *c, const mbedtls_x509_crt *crt)
{
	uint8_t pin[NW_TLS_PIN_BYTES];

	nw_tls_sha256(crt->raw.p, crt->raw.len, pin);
	return memcmp(pin, c->pin, sizeof(pin)) == 0;
}

static int
on_certificate(void *arg, mbedtls_x509_crt *crt, int depth, uint32_t *flags)
{
	struct nw_tls *t = arg;

	if (depth > 0) {
		if (t->ctx->pinned && is_pinned(t->ctx, crt))
			*flags &= ~(uint32_t)MBEDTLS_X509_BADCERT_NOT_TRUSTED;
		t->faults |=
		    *flags; /* a fault of the authority is a fault of every certificate below */
		return 0;
	}
	certificate_note(t, crt);
	nw_tls_sha256(crt->raw.p, crt->raw.len, t->pin);
	t->has_pin = true;
	if (t->ctx->any_certificate)
		return 0; /* no authority has a say */
	if (is_revoked(t->ctx, t->serial))
		*flags |= MBEDTLS_X509_BADCERT_REVOKED;
	if (t->name[0] == '\0' || (!t->ctx->server && !certificate_names(crt, t->wanted, t->name)))
		*flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
	t->faults |= *flags;
	return 0;
}

/* --- bytes --- */

static void
last_note(uint8_t last[ALERT_RECORD_BYTES], const unsigned char *bytes, size_t len)
{
	size_t n = len < ALERT_RECORD_BYTES ? len : ALERT_RECORD_BYTES;

	memmove(last, last + n, ALERT_RECORD_BYTES - n);
	memcpy(last + ALERT_RECORD_BYTES - n, bytes + len - n, n);
}

static int
on_wire_read(void *arg, unsigned char *buf, size_t len)
{
	struct nw_tls *t = arg;

	if (t->in_len == 0)
		return MBEDTLS_ERR_SSL_WANT_READ;
	if (!t->begun) {
		t->begun = true;
		if (t->in[0] != RECORD_TYPE_HANDSHAKE &&
		    (t->ctx->server || t->in[0] != RECORD_TYPE_ALERT)) {
			t->why = "the peer does not speak TLS: plain bytes on a TLS port";
			return MBEDTLS_ERR_SSL_INVALID_RECORD;
		}
	}
	if (len > t->in_len)
		len = t->in_len;
	memcpy(buf, t->in, len);
	t->in += len;
	t->in_len -= len;
	last_note(t->in_last, buf, len);
	return (int)len;
}

static int
on_wire_write(void *arg, const unsigned char *buf, size_t len)
{
	struct nw_tls *t = arg;
	size_t cap = t->out_cap > 0 ? t->out_cap : 4096;
	uint8_t *out;

	if (t->out_at > 0) {
		memmove(t->out, t->out + t->out_at, t->out_len - t->out_at);
		t->out_len -= t->out_at;
		t->out_at = 0;
	}
	if (len > NW_TLS_OUT_MAX_BYTES - t->out_len) {
		t->why = "the peer does not read answers";
		return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
	}
	while (cap < t->out_len + len)
		cap *= 2;
	if (cap > t->out_cap) {
		if ((out = realloc(t->out, cap)) == NULL)
			return MBEDTLS_ERR_SSL_ALLOC_FAILED;
		t->out = out;
		t->out_cap = cap;
	}
	memcpy(t->out + t->out_len, buf, len);
	t->out_len += len;
	return (int)len;
}

/* --- why --- */

static const char *
fault_text(const struct nw_tls *t)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} faults[] = {
		{ MBEDTLS_X509_BADCERT_MISSING, "the peer shows no certificate" },
		{ MBEDTLS_X509_BADCERT_NOT_TRUSTED, "the peer's certificate is not from our CA" },
		{ MBEDTLS_X509_BADCERT_REVOKED, "its certificate was revoked" },
		{ MBEDTLS_X509_BADCERT_EXPIRED, "its certificate has expired" },
		{ MBEDTLS_X509_BADCERT_FUTURE,
		    "the peer's certificate is not valid yet: check both clocks" },
		{ MBEDTLS_X509_BADCERT_CN_MISMATCH, "its certificate is for another name" },
		{ MBEDTLS_X509_BADCERT_KEY_USAGE | MBEDTLS_X509_BADCERT_EXT_KEY_USAGE,
		    "its certificate is for another use" },
	};
	size_t i;

	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (t->faults & faults[i].flag)
			return faults[i].text;
	return "its certificate is not acceptable";
}

/* The reason in words for an alert of the peer (RFC 5246 section 7.2). */
static const char *
alert_text(const unsigned char alert[2])
{
	switch (alert[0] == MBEDTLS_SSL_ALERT_LEVEL_FATAL ? alert[1] : 0) {
	case MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE:
	case 116: /* RFC 8446: certificate_required */
		return "the peer refuses: it needs a certificate, or ciphers missing here";
	case MBEDTLS_SSL_ALERT_MSG_BAD_CERT:
	case MBEDTLS_SSL_ALERT_MSG_UNSUPPORTED_CERT:
	case MBEDTLS_SSL_ALERT_MSG_CERT_UNKNOWN: return "the peer refuses our certificate";
	case MBEDTLS_SSL_ALERT_MSG_CERT_REVOKED:
		return "the peer refuses our certificate: it was revoked";
	case MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED:
		return "the peer refuses our certificate: it has expired";
	case MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA:
		return "the peer refuses our certificate: it is from a CA it does not trust";
	case MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION: return "the peer refuses our version of TLS";
	}
	return "the peer ended the TLS session with an alert";
}

/* The reason for bytes that do not decipher. TLS 1.3 has two more reasons than 1.2: a client that
 * refuses the server says so before the client uses its keys, and the behaviour of servers that
 * conf_make() describes. */
static const char *
garbled_text(const struct nw_tls *t)
{
	static const uint8_t alert[] = { RECORD_TYPE_ALERT, 3, 3, 0, 2 };

	if (t->state == TLS_HANDSHAKE && memcmp(t->in_last, alert, sizeof(alert)) == 0)
		return alert_text(t->in_last + sizeof(alert));
	if (!t->ctx->server && !t->heard && mbed_is_13(&t->ssl))
		return "the peer ended the TLS session at once: it probably needs a certificate "
		       "(narrows enroll)";
	return "bytes were changed on the way";
}

static const char *
code_text(const struct nw_tls *t, int code)
{
	switch (code) {
	case MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE: return "the peer shows no certificate";
	case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED: return fault_text(t);
	case MBED_OLD_VERSION: return "the peer speaks TLS older than 1.2";
	case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE: return alert_text(mbed_alert(&t->ssl));
	case MBEDTLS_ERR_SSL_ALLOC_FAILED: return "out of memory";
	case MBEDTLS_ERR_SSL_INVALID_MAC: return garbled_text(t);
	}
	if (t->faults != 0)
		return fault_text(t);
	return t->state == TLS_HANDSHAKE ? "its TLS handshake is not acceptable"
					 : "its TLS bytes are wrong";
}

static int
fail(struct nw_tls *t, int code)
{
	uint32_t faults = t->state == TLS_HANDSHAKE ? mbedtls_ssl_get_verify_result(&t->ssl) : 0;

	if (faults != UINT32_MAX) /* UINT32_MAX: the certificate is not checked yet */
		t->faults |= faults;
	if (code == MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE) /* the library tells only us */
		(void)mbedtls_ssl_send_alert_message(&t->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
		    MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE);
	if (t->why == NULL)
		t->why = code_text(t, code);
	t->state = TLS_FAILED;
	t->in_len = 0;
	return NW_EPROTO;
}

/* --- life --- */

int
nw_tls_new(struct nw_tls_ctx *c, const char *peer_name, struct nw_tls **out)
{
	struct nw_tls *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NW_ENOMEM;
	t->ctx = nw_tls_ctx_hold(c);
	mbedtls_ssl_init(&t->ssl);
	if (peer_name != NULL)
		name_take(t->wanted, (const unsigned char *)peer_name, strlen(peer_name));
	/* on_certificate() compares names: old versions of the library cannot compare addresses */
	if (mbedtls_ssl_setup(&t->ssl, &c->conf) != 0 ||
	    mbedtls_ssl_set_hostname(&t->ssl, NULL) != 0) {
		nw_tls_free(t);
		return NW_ENOMEM;
	}
	mbedtls_ssl_set_verify(&t->ssl, on_certificate, t);
	mbedtls_ssl_set_bio(&t->ssl, t, on_wire_write, on_wire_read, NULL);
	*out = t;
	return NW_OK;
}

void
nw_tls_free(struct nw_tls *t)
{
	if (t == NULL)
		return;
	mbedtls_ssl_free(&t->ssl);
	nw_tls_ctx_release(t->ctx);
	free(t->out);
	free(t);
}

void
nw_tls_feed(struct nw_tls *t, const uint8_t *bytes, size_t len)
{
	t->in = bytes;
	t->in_len = t->state == TLS_HANDSHAKE || t->state == TLS_OPEN ? len : 0;
}

static bool
is_want(int code)
{
	return code == MBEDTLS_ERR_SSL_WANT_READ || code == MBEDTLS_ERR_SSL_WANT_WRITE;
}

int
nw_tls_handshake(struct nw_tls *t)
{
	int code;

	if (t->state != TLS_HANDSHAKE)
		return t->state == TLS_OPEN ? NW_OK : NW_EPROTO;
	do
		code = mbedtls_ssl_handshake(&t->ssl);
	while (mbed_is_noise(code));
	if (is_want(code))
		return NW_EAGAIN;
	if (code != 0)
		return fail(t, code);
	t->state = TLS_OPEN;
	return NW_OK;
}

long
nw_tls_read(struct nw_tls *t, uint8_t *buf, size_t cap)
{
	size_t got = 0;
	int code = 0;

	while (got < cap && t->state == TLS_OPEN) {
		code = mbedtls_ssl_read(&t->ssl, buf + got, cap - got);
		if (code > 0)
			got += (size_t)code;
		else if (is_want(code))
			break;
		else if (code == 0 || code == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) {
			t->state = TLS_CLOSED;
			t->why = "the peer closed";
			t->in_len = 0;
		} else if (!mbed_is_noise(code))
			fail(t, code);
	}
	if (got > 0) {
		t->heard = true;
		return (long)got;
	}
	return t->state == TLS_CLOSED ? NW_ECLOSED : t->state == TLS_FAILED ? NW_EPROTO : NW_EAGAIN;
}

long
nw_tls_write(struct nw_tls *t, const uint8_t *bytes, size_t len)
{
	int n;

	if (t->state != TLS_OPEN)
		return t->state == TLS_FAILED ? NW_EPROTO : NW_ECLOSED;
	if (t->out_len - t->out_at + RECORD_ROOM_BYTES > NW_TLS_OUT_MAX_BYTES)
		return NW_EFULL;
	n = mbedtls_ssl_write(&t->ssl, bytes, len);
	return n >= 0 ? n : fail(t, n);
}

void
nw_tls_close(struct nw_tls *t)
{
	if (t->state != TLS_OPEN)
		return;
	(void)mbedtls_ssl_close_notify(&t->ssl);
	t->state = TLS_CLOSED;
	t->why = "we closed";
}

size_t
nw_tls_output(const struct nw_tls *t, const uint8_t **bytes)
{
	*bytes = t->out != NULL ? t->out + t->out_at : NULL;
	return t->out_len - t->out_at;
}

void
nw_tls_sent(struct nw_tls *t, size_t len)
{
	t->out_at += len;
	if (t->out_at == t->out_len)
		t->out_at = t->out_len = 0;
}

bool
nw_tls_is_open(const struct nw_tls *t)
{
	return t->state == TLS_OPEN;
}

const char *
nw_tls_peer_name(const struct nw_tls *t)
{
	return t->name;
}

bool
nw_tls_peer_pin(const struct nw_tls *t, uint8_t out[NW_TLS_PIN_BYTES])
{
	if (!t->has_pin || t->state != TLS_OPEN)
		return false;
	memcpy(out, t->pin, NW_TLS_PIN_BYTES);
	return true;
}

const char *
nw_tls_peer_addresses(const struct nw_tls *t)
{
	return t->addresses[0] != '\0' ? t->addresses : NULL;
}

const char *
nw_tls_why(const struct nw_tls *t)
{
	return t->why != NULL ? t->why : "";
}

const char *
nw_tls_distrust(const struct nw_tls *t, const struct nw_tls_ctx *now, int64_t now_wall_ns)
{
	if (t->serial[0] == '\0')
		return NULL;
	if (is_revoked(now, t->serial))
		return "its certificate was revoked";
	return now_wall_ns / 1000000000 > t->expires_wall_s ? "its certificate has expired" : NULL;
}
