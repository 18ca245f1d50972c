/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys and certificates as PEM text, for a site's own CA. No files, no clock. Any thread. */
#ifndef NARROWS_CERT_H
#define NARROWS_CERT_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/tls.h"

/* NW_CERT_BOTH: of a program that is a server to some and a client to others. */
enum nw_cert_use { NW_CERT_CA, NW_CERT_SERVER, NW_CERT_CLIENT, NW_CERT_BOTH };

struct nw_cert_opts {
	enum nw_cert_use use;
	const char *name;  /* common name */
	const char *names; /* alternative names and addresses, separated by blanks; NULL: none */
	int64_t from_wall_s, to_wall_s; /* valid, both included; years 1970 to 9999 */
	/* request for a certificate of its key; nothing else of the request counts. NULL: a new
	 * key */
	const char *request_pem;
};

struct nw_cert {
	/* EC P-256, SEC1; "" if the host made the key. The caller clears the text after use. */
	char key_pem[512];
	char cert_pem[4096];
	char serial[NW_TLS_SERIAL_BYTES]; /* as in nw_tls_opts.revoked_path */
};

/* True for 1 to 253 characters of host names and addresses. */
bool nw_cert_name_ok(const char *name);
/* A new key and its certificate, signed by the CA, or by itself when ca is NULL. NW_EINVAL,
 * NW_EIO. */
int nw_cert_make(const struct nw_cert_opts *opts, const struct nw_cert *ca, struct nw_cert *out);
/* A new key, and in place of a certificate the request for a certificate. NW_EIO. */
int nw_cert_request(const char *name, struct nw_cert *out);
/* Is the text a request that nw_cert_make() takes? */
bool nw_cert_is_request(const char *pem);
/* The pin of a CA: SHA-256 of the certificate. NW_EINVAL: the text is no certificate. */
int nw_cert_pin(const char *cert_pem, uint8_t out[NW_TLS_PIN_BYTES]);
void nw_cert_clear(struct nw_cert *c); /* overwrites */

/* Digits of a signature as text, with the NUL. */
enum { NW_CERT_SIGNATURE_BYTES = 2 * 1024 + 1 };
/* Signs bytes with a private key, as hexadecimal digits. NW_EINVAL: the text is no key. NW_EIO. */
int nw_cert_sign(
    const char *key_pem, const void *bytes, size_t len, char signature[NW_CERT_SIGNATURE_BYTES]);
/* True if the key behind the certificate made the signature of these bytes. The dates of the
 * certificate do not count. */
bool nw_cert_signed(const char *cert_pem, const void *bytes, size_t len, const char *signature);

#endif
