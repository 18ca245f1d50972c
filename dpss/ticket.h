/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server believes HMAC-SHA-256 under the secret of a grant of space, from the owner of the disks
 * to one master. Comparison takes the same time for all inputs.
 */
#ifndef NARROWS_DPSS_TICKET_H
#define NARROWS_DPSS_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TICKET_MAC_BYTES = 32, TICKET_SECRET_BYTES = 32, TICKET_SECRET_CHARS = 64 };

struct ticket {
	uint64_t session, expiry_wall_ns;
	uint32_t set;
};

/* The MAC of a ticket, and of a challenge's nonce. NW_OK, NW_ENOMEM. */
int ticket_sign(const uint8_t secret[TICKET_SECRET_BYTES], const struct ticket *t,
    uint8_t mac[TICKET_MAC_BYTES]);
int ticket_prove(const uint8_t secret[TICKET_SECRET_BYTES], const void *nonce, size_t len,
    uint8_t mac[TICKET_MAC_BYTES]);
bool ticket_equal(const uint8_t a[TICKET_MAC_BYTES], const uint8_t b[TICKET_MAC_BYTES]);

/* A secret as 64 hexadecimal digits. NW_EINVAL. */
int ticket_secret_parse(const char *text, uint8_t secret[TICKET_SECRET_BYTES]);
void
ticket_secret_print(const uint8_t secret[TICKET_SECRET_BYTES], char out[TICKET_SECRET_CHARS + 1]);

#endif
