/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that asks over HTTPS for its certificate with a token: what `narrows join` sends, and
 * gets. */
#ifndef ENROLL_H
#define ENROLL_H

#include <stddef.h>

/*
 * arg is the struct box. body: the token's secret, a line end, a request for a certificate. Returns
 * an HTTP status; with
 * 200 out is the host's name, a line end, its certificate and the CA's; else a sentence. From the web thread.
 */
int enroll_answer(void *arg, const char *peer, const char *body, char *out, size_t cap);

#endif
