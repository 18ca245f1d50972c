/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/ticket.h"

#include <mbedtls/md.h>
#include <stdio.h>
#include <string.h>

#include "dpss/pack.h"
#include "narrows/err.h"
#include "narrows/hex.h"

/* A word before the bytes keeps a proof from being a ticket. */
static int
mac_of(const uint8_t secret[TICKET_SECRET_BYTES], const char *word, const void *bytes, size_t len,
    uint8_t mac[TICKET_MAC_BYTES])
{
	struct packer p = { 0 };
	int rc;

	pack_text(&p, word);
	pack_bytes(&p, bytes, len);
	rc = p.failed ||
		mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), secret,
		    TICKET_SECRET_BYTES, p.bytes, p.len, mac) != 0
	    ? NW_ENOMEM
	    : NW_OK;
	pack_free(&p);
	return rc;
}

int
ticket_sign(const uint8_t secret[TICKET_SECRET_BYTES], const struct ticket *t,
    uint8_t mac[TICKET_MAC_BYTES])
{
	struct packer p = { 0 };
	int rc;

	pack_u64(&p, t->session);
	pack_u32(&p, t->set);
	pack_u64(&p, t->expiry_wall_ns);
	rc = p.failed ? NW_ENOMEM : mac_of(secret, "ticket", p.bytes, p.len, mac);
	pack_free(&p);
	return rc;
}

int
ticket_prove(const uint8_t secret[TICKET_SECRET_BYTES], const void *nonce, size_t len,
    uint8_t mac[TICKET_MAC_BYTES])
{
	return mac_of(secret, "proof", nonce, len, mac);
}

bool
ticket_equal(const uint8_t a[TICKET_MAC_BYTES], const uint8_t b[TICKET_MAC_BYTES])
{
	unsigned differ = 0;
	size_t i;

	for (i = 0; i < TICKET_MAC_BYTES; i++)
		differ |= (unsigned)(a[i] ^ b[i]);
	return differ == 0;
}

int
ticket_secret_parse(const char *text, uint8_t secret[TICKET_SECRET_BYTES])
{
	if (strlen(text) != TICKET_SECRET_CHARS || !nw_hex_take(text, secret, TICKET_SECRET_BYTES))
		return NW_EINVAL;
	return NW_OK;
}

void
ticket_secret_print(const uint8_t secret[TICKET_SECRET_BYTES], char out[TICKET_SECRET_CHARS + 1])
{
	nw_hex_put(out, secret, TICKET_SECRET_BYTES);
}
