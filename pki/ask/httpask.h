/* SPDX-License-Identifier: BSD-3-Clause */
/* One question to a running box, in clear or in TLS. */
#ifndef HTTPASK_H
#define HTTPASK_H

#include <stddef.h>
#include <stdint.h>

enum { HTTPASK_WHY_BYTES = 320 };

/* a negative result ends the answer */
typedef int httpask_fn(void *arg, const char *data, size_t len);

struct httpask {
	/* "http://host:port", "https://host:port", "host:port", "host/port"; else 80, 443 */
	const char *base;
	/* file of the CA behind an https server's certificate, or NULL with ca_pin */
	const char *ca_path;
	/* pin of that CA, NW_TLS_PIN_BYTES; with a pin only https is accepted */
	const uint8_t *ca_pin;
	const char *path;
	const char *body; /* NULL: GET, else POST */
	/* the caller's token, or NULL; only TLS and loopback carry a token */
	const char *token;
	/* Further lines of the question, each with CR LF, or NULL. With them the body is JSON. */
	const char *lines;
};

/* Asks, and passes the body to fn part by part, whatever the HTTP status. *status is set before
 * fn is called. Returns fn's negative result, or a code with why: NW_EINVAL for a bad base or CA
 * file, NW_EIO without an answer, NW_EPROTO for a malformed answer or one cut short. */
int httpask(
    const struct httpask *q, httpask_fn *fn, void *arg, int *status, char why[HTTPASK_WHY_BYTES]);

#endif
