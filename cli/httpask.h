/* SPDX-License-Identifier: BSD-3-Clause */
/* One question to a running box, in clear or in TLS. */
#ifndef HTTPASK_H
#define HTTPASK_H

#include <stddef.h>
#include <stdint.h>

enum { HTTPASK_WHY_BYTES = 320 };

typedef int httpask_fn(void *arg, const char *data, size_t len); /* negative ends it */

struct httpask {
	/* "http://host:port", "https://host:port", "host:port", "host/port"; else 80, 443 */
	const char *base;
	const char *ca_path; /* who must have signed an https server's certificate; or NULL, and */
	const uint8_t *ca_pin; /* its pin, of NW_TLS_PIN_BYTES: then nothing but https will do */
	const char *path;
	const char *body; /* NULL: GET, else POST */
};

/*
 * *status is the HTTP status, set before fn is called; the body of any status is passed to fn as it comes. Negative: what
 * fn said, or with why: NW_EINVAL: base or the CA's file is not good, NW_EIO: nobody answers,
 * NW_EPROTO: not as it should, or not to the end.
 */
int httpask(
    const struct httpask *q, httpask_fn *fn, void *arg, int *status, char why[HTTPASK_WHY_BYTES]);

#endif
