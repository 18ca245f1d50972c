/* SPDX-License-Identifier: BSD-3-Clause */
/* One GET from a running box, in clear or in TLS. */
#ifndef HTTPGET_H
#define HTTPGET_H

#include <stddef.h>

enum { HTTPGET_WHY_BYTES = 320 };

typedef int httpget_fn(void *arg, const char *data, size_t len);   /* negative ends it */

/*
 * base is "http://host:port", "https://host:port", "host:port" or "host/port"; without port 80 or 443. ca_path: who must
 * have signed the certificate of an https server. *status is the HTTP status, set before fn is called; the body of any
 * status is passed to fn as it comes. Negative: what fn said, or with why: NW_EINVAL: base or the CA's file is not good,
 * NW_EIO: nobody answers, NW_EPROTO: not as it should, or not to the end.
 */
int httpget(const char *base, const char *ca_path, const char *path, httpget_fn *fn, void *arg, int *status,
    char why[HTTPGET_WHY_BYTES]);

#endif
