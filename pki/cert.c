/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Certificates are small and alike: EC P-256 with SHA-256, a random serial number of 127 bits, and
 * the extended use that keeps a host's certificate from passing for the box's. Extensions beyond
 * old versions of mbedTLS are encoded here (RFC 5280, sections 4.2.1.6 and 4.2.1.12).
 */
#include "narrows/cert.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mbedtls/asn1write.h>
#include <mbedtls/ecp.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/x509_crt.h>
#include <mbedtls/x509_csr.h>

#include "narrows/err.h"
#include "narrows/hex.h"
#include "pki/mbed.h"

enum { SERIAL_BYTES = 16, NAMES_DER_BYTES = 2048, SAN_DNS = 2, SAN_IP = 7 };

struct maker {
	mbedtls_pk_context key, ca_key;
	mbedtls_x509_crt ca;
	mbedtls_x509_csr request;
	mbedtls_x509write_cert out;
};

bool
nw_cert_name_ok(const char *name)
{
	static const char chars[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
	size_t len = strlen(name);

	return len > 0 && len <= 253 && strspn(name, chars) == len && name[0] != '.' &&
	    name[0] != '-';
}

void
nw_cert_clear(struct nw_cert *c)
{
	mbedtls_platform_zeroize(c, sizeof(*c));
}

static int
serial_set(mbedtls_x509write_cert *w, char text[NW_TLS_SERIAL_BYTES])
{
	unsigned char serial[SERIAL_BYTES];
	int rc;

	if ((rc = nw_tls_random(NULL, serial, sizeof(serial))) != 0)
		return rc;
	serial[0] = (serial[0] & 0x3f) | 0x40; /* positive, and always as long */
	nw_hex_put(text, serial, sizeof(serial));
	return mbed_serial_set(w, serial, sizeof(serial));
}

static int
validity_set(mbedtls_x509write_cert *w, int64_t from_wall_s, int64_t to_wall_s)
{
	time_t times[2] = { (time_t)from_wall_s, (time_t)to_wall_s };
	char text[2][32];
	struct tm tm;
	int i;

	for (i = 0; i < 2; i++)
		if (gmtime_r(&times[i], &tm) == NULL || tm.tm_year < 70 || tm.tm_year > 8099 ||
		    strftime(text[i], sizeof(text[i]), "%Y%m%d%H%M%S", &tm) == 0)
			return NW_EINVAL;
	return mbedtls_x509write_crt_set_validity(w, text[0], text[1]);
}

/* Encoded from the end to the beginning, as the library's writers do. */
static int
name_write(unsigned char **p, unsigned char *start, const char *name)
{
	unsigned char address[16];
	size_t len = strlen(name);
	int kind = SAN_DNS, n, total;

	if (inet_pton(AF_INET, name, address) == 1) {
		kind = SAN_IP;
		len = 4;
	} else if (inet_pton(AF_INET6, name, address) == 1) {
		kind = SAN_IP;
		len = 16;
	}
	if ((total = mbedtls_asn1_write_raw_buffer(
		 p, start, kind == SAN_IP ? address : (const unsigned char *)name, len)) < 0)
		return total;
	if ((n = mbedtls_asn1_write_len(p, start, len)) < 0)
		return n;
	total += n;
	n = mbedtls_asn1_write_tag(p, start, (unsigned char)(MBEDTLS_ASN1_CONTEXT_SPECIFIC | kind));
	return n < 0 ? n : total + n;
}

static int
names_set(mbedtls_x509write_cert *w, const char *names)
{
	unsigned char der[NAMES_DER_BYTES], *p = der + sizeof(der);
	char copy[NAMES_DER_BYTES], *name, *rest = copy;
	int n, total = 0;

	if (strlen(names) >= sizeof(copy))
		return NW_EINVAL;
	strcpy(copy, names);
	while ((name = strtok_r(rest, " ", &rest)) != NULL) {
		if (!nw_cert_name_ok(name))
			return NW_EINVAL;
		if ((n = name_write(&p, der, name)) < 0)
			return n;
		total += n;
	}
	if ((n = mbedtls_asn1_write_len(&p, der, (size_t)total)) < 0)
		return n;
	total += n;
	if ((n = mbedtls_asn1_write_tag(
		 &p, der, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE)) < 0)
		return n;
	return mbedtls_x509write_crt_set_extension(w, MBEDTLS_OID_SUBJECT_ALT_NAME,
	    MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0, p, (size_t)(total + n));
}

/* SEQUENCE { OID id-kp-serverAuth (1), OID id-kp-clientAuth (2) }, or one of the two */
static int
use_set(mbedtls_x509write_cert *w, enum nw_cert_use use)
{
	unsigned char der[] = { 0x30, 0x14, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03,
		0x01, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02 };
	size_t len = use == NW_CERT_BOTH ? sizeof(der) : 12;
	int rc;

	der[1] = (unsigned char)(len - 2);
	if (use == NW_CERT_CLIENT)
		der[11] = 2;
	if (use == NW_CERT_CA) {
		rc = mbedtls_x509write_crt_set_basic_constraints(w, 1, 0);
		return rc != 0 ? rc
			       : mbedtls_x509write_crt_set_key_usage(
				     w, MBEDTLS_X509_KU_KEY_CERT_SIGN | MBEDTLS_X509_KU_CRL_SIGN);
	}
	if ((rc = mbedtls_x509write_crt_set_basic_constraints(w, 0, -1)) != 0 ||
	    (rc = mbedtls_x509write_crt_set_key_usage(w, MBEDTLS_X509_KU_DIGITAL_SIGNATURE)) != 0)
		return rc;
	return mbedtls_x509write_crt_set_extension(w, MBEDTLS_OID_EXTENDED_KEY_USAGE,
	    MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE), 0, der, len);
}

static int
issuer_set(struct maker *m, const struct nw_cert *ca, const char *subject)
{
	char issuer[512];
	int rc;

	if (ca == NULL) {
		mbedtls_x509write_crt_set_issuer_key(&m->out, &m->key);
		return mbedtls_x509write_crt_set_issuer_name(&m->out, subject);
	}
	if ((rc = mbed_key_parse(&m->ca_key, ca->key_pem)) != 0 ||
	    (rc = mbedtls_x509_crt_parse(
		 &m->ca, (const unsigned char *)ca->cert_pem, strlen(ca->cert_pem) + 1)) != 0 ||
	    (rc = mbedtls_x509_dn_gets(issuer, sizeof(issuer), &m->ca.subject)) < 0)
		return rc;
	mbedtls_x509write_crt_set_issuer_key(&m->out, &m->ca_key);
	return mbedtls_x509write_crt_set_issuer_name(&m->out, issuer);
}

static int
key_make(mbedtls_pk_context *key)
{
	int rc = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));

	return rc != 0 ? rc
		       : mbedtls_ecp_gen_key(
			     MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*key), nw_tls_random, NULL);
}

static bool
request_parse(mbedtls_x509_csr *out, const char *pem)
{
	return mbedtls_x509_csr_parse(out, (const unsigned char *)pem, strlen(pem) + 1) == 0 &&
	    mbedtls_pk_can_do(&out->pk, MBEDTLS_PK_ECKEY) && mbedtls_pk_get_bitlen(&out->pk) == 256;
}

/* The key of a request. The CA does not check that the sender has the private half: a certificate
 * is of no use without the private key. */
static int
request_take(struct maker *m, const char *pem)
{
	if (!request_parse(&m->request, pem))
		return NW_EINVAL;
	mbedtls_x509write_crt_set_subject_key(&m->out, &m->request.pk);
	return 0;
}

static int
subject_key_set(struct maker *m, const char *request_pem)
{
	int rc;

	if (request_pem != NULL)
		return request_take(m, request_pem);
	if ((rc = key_make(&m->key)) == 0)
		mbedtls_x509write_crt_set_subject_key(&m->out, &m->key);
	return rc;
}

static int
cert_write(
    struct maker *m, const struct nw_cert_opts *o, const struct nw_cert *ca, struct nw_cert *out)
{
	mbedtls_x509write_cert *w = &m->out;
	char subject[300];
	int rc;

	if (strpbrk(o->name, ",=+\\\"#;<>") != NULL || strlen(o->name) > 253)
		return NW_EINVAL;
	snprintf(subject, sizeof(subject), "CN=%.253s", o->name);
	mbedtls_x509write_crt_set_version(w, MBEDTLS_X509_CRT_VERSION_3);
	mbedtls_x509write_crt_set_md_alg(w, MBEDTLS_MD_SHA256);
	if ((rc = subject_key_set(m, o->request_pem)) != 0 ||
	    (rc = issuer_set(m, ca, subject)) != 0 ||
	    (rc = mbedtls_x509write_crt_set_subject_name(w, subject)) != 0 ||
	    (rc = serial_set(w, out->serial)) != 0 ||
	    (rc = validity_set(w, o->from_wall_s, o->to_wall_s)) != 0 ||
	    (rc = use_set(w, o->use)) != 0 ||
	    (o->names != NULL && (rc = names_set(w, o->names)) != 0) ||
	    (rc = mbedtls_x509write_crt_set_subject_key_identifier(w)) != 0 ||
	    (rc = mbedtls_x509write_crt_set_authority_key_identifier(w)) != 0 ||
	    (rc = mbedtls_x509write_crt_pem(w, (unsigned char *)out->cert_pem,
		 sizeof(out->cert_pem), nw_tls_random, NULL)) != 0)
		return rc;
	return o->request_pem != NULL ? 0
				      : mbedtls_pk_write_key_pem(&m->key,
					    (unsigned char *)out->key_pem, sizeof(out->key_pem));
}

int
nw_cert_make(const struct nw_cert_opts *opts, const struct nw_cert *ca, struct nw_cert *out)
{
	struct maker m;
	int rc;

	memset(out, 0, sizeof(*out));
	mbedtls_pk_init(&m.key);
	mbedtls_pk_init(&m.ca_key);
	mbedtls_x509_crt_init(&m.ca);
	mbedtls_x509_csr_init(&m.request);
	mbedtls_x509write_crt_init(&m.out);
	rc = mbed_start() ? cert_write(&m, opts, ca, out) : NW_EIO;
	mbedtls_x509write_crt_free(&m.out);
	mbedtls_x509_csr_free(&m.request);
	mbedtls_x509_crt_free(&m.ca);
	mbedtls_pk_free(&m.ca_key);
	mbedtls_pk_free(&m.key);
	if (rc == 0)
		return NW_OK;
	nw_cert_clear(out);
	return rc == NW_EINVAL ? NW_EINVAL : NW_EIO;
}

int
nw_cert_request(const char *name, struct nw_cert *out)
{
	mbedtls_x509write_csr w;
	mbedtls_pk_context key;
	char subject[300];
	int rc = NW_EIO;

	memset(out, 0, sizeof(*out));
	snprintf(subject, sizeof(subject), "CN=%.253s", name);
	mbedtls_pk_init(&key);
	mbedtls_x509write_csr_init(&w);
	mbedtls_x509write_csr_set_md_alg(&w, MBEDTLS_MD_SHA256);
	if (mbed_start() && key_make(&key) == 0 &&
	    mbedtls_x509write_csr_set_subject_name(&w, subject) == 0) {
		mbedtls_x509write_csr_set_key(&w, &key);
		if (mbedtls_x509write_csr_pem(&w, (unsigned char *)out->cert_pem,
			sizeof(out->cert_pem), nw_tls_random, NULL) == 0 &&
		    mbedtls_pk_write_key_pem(
			&key, (unsigned char *)out->key_pem, sizeof(out->key_pem)) == 0)
			rc = NW_OK;
	}
	mbedtls_x509write_csr_free(&w);
	mbedtls_pk_free(&key);
	if (rc < 0)
		nw_cert_clear(out);
	return rc;
}

bool
nw_cert_is_request(const char *pem)
{
	mbedtls_x509_csr request;
	bool good;

	mbedtls_x509_csr_init(&request);
	good = mbed_start() && request_parse(&request, pem);
	mbedtls_x509_csr_free(&request);
	return good;
}

int
nw_cert_pin(const char *cert_pem, uint8_t out[NW_TLS_PIN_BYTES])
{
	mbedtls_x509_crt crt;
	int rc;

	mbedtls_x509_crt_init(&crt);
	rc =
	    mbedtls_x509_crt_parse(&crt, (const unsigned char *)cert_pem, strlen(cert_pem) + 1) == 0
	    ? NW_OK
	    : NW_EINVAL;
	if (rc == NW_OK)
		nw_tls_sha256(crt.raw.p, crt.raw.len, out);
	mbedtls_x509_crt_free(&crt);
	return rc;
}

int
nw_cert_sign(
    const char *key_pem, const void *bytes, size_t len, char signature[NW_CERT_SIGNATURE_BYTES])
{
	uint8_t hash[NW_TLS_PIN_BYTES], sig[MBEDTLS_PK_SIGNATURE_MAX_SIZE];
	mbedtls_pk_context key;
	size_t n = 0;
	int rc;

	nw_tls_sha256(bytes, len, hash);
	mbedtls_pk_init(&key);
	rc = mbed_start() && mbed_key_parse(&key, key_pem) == 0 ? NW_OK : NW_EINVAL;
	if (rc == NW_OK &&
	    (mbed_hash_sign(&key, hash, sig, sizeof(sig), &n) != 0 ||
		2 * n >= NW_CERT_SIGNATURE_BYTES))
		rc = NW_EIO;
	mbedtls_pk_free(&key);
	if (rc == NW_OK)
		nw_hex_put(signature, sig, n);
	return rc;
}

bool
nw_cert_signed(const char *cert_pem, const void *bytes, size_t len, const char *signature)
{
	uint8_t hash[NW_TLS_PIN_BYTES], sig[NW_CERT_SIGNATURE_BYTES / 2];
	size_t n = strlen(signature) / 2;
	mbedtls_x509_crt crt;
	bool good;

	if (n == 0 || n > sizeof(sig) || strlen(signature) != 2 * n ||
	    !nw_hex_take(signature, sig, n))
		return false;
	nw_tls_sha256(bytes, len, hash);
	mbedtls_x509_crt_init(&crt);
	good = mbed_start() &&
	    mbedtls_x509_crt_parse(&crt, (const unsigned char *)cert_pem, strlen(cert_pem) + 1) ==
		0 &&
	    mbedtls_pk_verify(&crt.pk, MBEDTLS_MD_SHA256, hash, sizeof(hash), sig, n) == 0;
	mbedtls_x509_crt_free(&crt);
	return good;
}
