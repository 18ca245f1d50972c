/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A box as the fleet of others: takes rows of sites over HTTPS, and keeps them in a fleet of its
 * own. The site is the name in the peer's certificate, whatever the rows say. A process of its own
 * serves each connection, so that a slow or broken site stops no other.
 */
#ifndef FLEET_RECEIVE_H
#define FLEET_RECEIVE_H

#include <signal.h>

#include "fleet/fleet.h"

enum {
	RECEIVE_BODY_MAX_BYTES = 256 << 20,
	RECEIVE_HEAD_MAX_BYTES = 8 << 10,
	RECEIVE_AT_ONCE_MAX = 128,
	RECEIVE_HELLO_MAX_S = 15, /* until the certificate is known */
	RECEIVE_MAX_S = 300       /* for all of a connection */
};

/* Listens at "address/port" until *stop, and tells `ready` the address as bound. Uses tls_dir,
 * takes and fleet of the configuration; a renewed or revoked certificate counts from the next
 * connection on. NW_EINVAL, NW_EIO with why. */
int receive_run(const struct fleet_conf *c, const char *listen, volatile sig_atomic_t *stop,
    void (*ready)(const char *address), char why[FLEET_WHY_BYTES]);

/* --- a request --- */

enum receive_what { RECEIVE_ROWS, RECEIVE_SITE, RECEIVE_GONE, RECEIVE_ASK };
struct receive_head {
	enum receive_what what;
	size_t body_bytes;
};
/* Reads the head of a request, with its empty line, which a peer sent. Returns 0 or the status of
 * a refusal: 400, 404, 405, 411, 413. */
int receive_head(const char *text, size_t len, struct receive_head *head);
/* Does what a site asks. conf->site is the site. Returns the status of HTTP, with the answer;
 * free() *answer, which may be NULL. */
int receive_do(const struct fleet_conf *conf, const struct receive_head *head, const char *body,
    char **answer, size_t *len);

#endif
