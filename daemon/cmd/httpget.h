/* SPDX-License-Identifier: BSD-3-Clause */
/* One GET from a running box. */
#ifndef HTTPGET_H
#define HTTPGET_H

#include <stddef.h>

typedef int httpget_fn(void *arg, const char *data, size_t len);   /* negative ends it */

/*
 * base is "http://host:port", "host:port" or "host/port". *status is the HTTP status, set before fn is called; the body of
 * any status is passed to fn as it comes. NW_EINVAL: an address that does not parse; NW_ECLOSED: nobody answers, or not
 * to the end.
 */
int httpget(const char *base, const char *path, httpget_fn *fn, void *arg, int *status);

#endif
