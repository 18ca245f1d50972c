/* SPDX-License-Identifier: BSD-3-Clause */
/* Certificates over HTTPS for hosts with a token: the box's side of `narrows-host join`. */
#ifndef ENROLL_H
#define ENROLL_H

#include <stddef.h>

/*
 * arg is the struct box; body has the token's secret, a line end, a request for a certificate.
 * Returns an HTTP status. With 200, out is the host's name, a line end, its certificate and the
 * CA's; otherwise a sentence. With body NULL, out has a line "port N", the port for hosts, and a
 * line "clock N", nanoseconds since 1970. The web thread calls.
 */
int enroll_answer(void *arg, const char *peer, const char *body, char *out, size_t cap);

#endif
