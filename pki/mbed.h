/* SPDX-License-Identifier: BSD-3-Clause */
/* The differences between mbedTLS 2.28 and 3.x, so that the rest of the code knows one library. */
#ifndef XSP_MBED_H
#define XSP_MBED_H

#include <stdbool.h>
#include <string.h>

#include <mbedtls/bignum.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>

#include "narrows/tls.h"

#if MBEDTLS_VERSION_NUMBER >= 0x03000000
#include <psa/crypto.h>
#define MBED_OLD_VERSION MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION
#else
#define MBED_OLD_VERSION MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION
#endif

/* Must come first; may come again. 3.x does TLS 1.3 through PSA. */
static inline bool
mbed_start(void)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
	return psa_crypto_init() == PSA_SUCCESS;
#else
	return true;
#endif
}

static inline int
mbed_key_parse_file(mbedtls_pk_context *key, const char *path)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
	return mbedtls_pk_parse_keyfile(key, path, NULL, nw_tls_random, NULL);
#else
	return mbedtls_pk_parse_keyfile(key, path, NULL);
#endif
}

static inline int
mbed_key_parse(mbedtls_pk_context *key, const char *pem)
{
	const unsigned char *bytes = (const unsigned char *)pem;

#if MBEDTLS_VERSION_NUMBER >= 0x03000000
	return mbedtls_pk_parse_key(key, bytes, strlen(pem) + 1, NULL, 0, nw_tls_random, NULL);
#else
	return mbedtls_pk_parse_key(key, bytes, strlen(pem) + 1, NULL, 0);
#endif
}

/* Signs a SHA-256; `cap` is the room for the signature. */
static inline int
mbed_hash_sign(mbedtls_pk_context *key, const uint8_t hash[NW_TLS_PIN_BYTES], uint8_t *sig,
    size_t cap, size_t *len)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
	return mbedtls_pk_sign(
	    key, MBEDTLS_MD_SHA256, hash, NW_TLS_PIN_BYTES, sig, cap, len, nw_tls_random, NULL);
#else
	if (cap < MBEDTLS_PK_SIGNATURE_MAX_SIZE)
		return MBEDTLS_ERR_PK_BAD_INPUT_DATA;
	return mbedtls_pk_sign(
	    key, MBEDTLS_MD_SHA256, hash, NW_TLS_PIN_BYTES, sig, len, nw_tls_random, NULL);
#endif
}

/* 0: a pair. */
static inline int
mbed_key_fits(const mbedtls_x509_crt *cert, const mbedtls_pk_context *key)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
	return mbedtls_pk_check_pair(&cert->pk, key, nw_tls_random, NULL);
#else
	return mbedtls_pk_check_pair(&cert->pk, key);
#endif
}

static inline int
mbed_serial_set(mbedtls_x509write_cert *w, unsigned char *serial, size_t len)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03040000
	return mbedtls_x509write_crt_set_serial_raw(w, serial, len);
#else
	mbedtls_mpi number;
	int rc;

	mbedtls_mpi_init(&number);
	if ((rc = mbedtls_mpi_read_binary(&number, serial, len)) == 0)
		rc = mbedtls_x509write_crt_set_serial(w, &number);
	mbedtls_mpi_free(&number);
	return rc;
#endif
}

/* TLS 1.2 at least; only_12: at most, too. */
static inline void
mbed_versions_limit(mbedtls_ssl_config *conf, bool only_12)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03020000
	mbedtls_ssl_conf_min_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_2);
	if (only_12)
		mbedtls_ssl_conf_max_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_2);
#else
	mbedtls_ssl_conf_min_version(
	    conf, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
	(void)only_12; /* there is nothing newer */
#endif
}

static inline bool
mbed_is_13(const mbedtls_ssl_context *ssl)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03020000
	return mbedtls_ssl_get_version_number(ssl) == MBEDTLS_SSL_VERSION_TLS1_3;
#else
	(void)ssl;
	return false;
#endif
}

static inline void
mbed_groups_limit(mbedtls_ssl_config *conf)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03010000
	static const uint16_t groups[] = { MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1,
		MBEDTLS_SSL_IANA_TLS_GROUP_X25519, MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1,
		MBEDTLS_SSL_IANA_TLS_GROUP_NONE };

	mbedtls_ssl_conf_groups(conf, groups);
#else
	static const mbedtls_ecp_group_id groups[] = { MBEDTLS_ECP_DP_SECP256R1,
		MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_NONE };

	mbedtls_ssl_conf_curves(conf, groups);
#endif
}

/* The two bytes of the alert that ended the connection, deciphered. No version has a function for
 * these bytes. */
static inline const unsigned char *
mbed_alert(const mbedtls_ssl_context *ssl)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
	return ssl->MBEDTLS_PRIVATE(in_msg);
#else
	return ssl->in_msg;
#endif
}

/* The result of a call with nothing to report: the caller calls again. Sessions are not resumed. */
static inline bool
mbed_is_noise(int code)
{
#ifdef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
	return code == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET;
#else
	(void)code;
	return false;
#endif
}

#endif
