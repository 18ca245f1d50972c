/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-time tokens: a host exchanges a token for its first certificate, so no files are carried by
 * hand.
 *
 *	PIN.SECRET         64 and 32 hexadecimal digits: the SHA-256 of the CA's certificate, and
 *	                   128 random bits
 *
 * By the pin the host knows the box, by the secret the box knows the host. The box keeps a SHA-256
 * of the secret, in the file tokens below the directory of the CA, one line a token: "open|used
 * HASH EXPIRES FOR NAME [ADDRESS ...]", times in seconds.
 */
#ifndef NARROWS_TOKEN_H
#define NARROWS_TOKEN_H

#include <stdint.h>

#include "narrows/conftable.h"
#include "narrows/ca.h"

enum {
	TOKEN_SECRET_CHARS = 32,
	TOKEN_TEXT_BYTES = 2 * NW_TLS_PIN_BYTES + 1 + TOKEN_SECRET_CHARS + 1
};

struct token_grant {
	char host[NW_TLS_NAME_BYTES];
	struct nw_cert cert; /* without key */
	char ca_pem[4096];
};

/* Makes a token for an enrolment without a request, to be used until the given time. NW_EINVAL,
 * NW_EIO. */
int token_make(const char *tls_dir, const struct ca_enrolment *e, int64_t until_wall_s,
    char out[TOKEN_TEXT_BYTES], char why[CONF_WHY_BYTES]);
/* Marks the token as used and then makes the certificate, in this order, so a token never makes
 * two. NW_ECONFLICT: the token is unknown, used, or too old; why says which. NW_EINVAL: the text is
 * no request; the token then stays good. */
int token_redeem(const char *tls_dir, const char *secret, const char *request_pem,
    int64_t now_wall_s, struct token_grant *out, char why[CONF_WHY_BYTES]);
/* Splits a token into pin and secret. NW_EINVAL. */
int
token_parse(const char *text, uint8_t pin[NW_TLS_PIN_BYTES], char secret[TOKEN_SECRET_CHARS + 1]);

#endif
