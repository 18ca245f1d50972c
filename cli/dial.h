/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection to a box that waits for what it wants: TCP, or TLS on it. For programs that have
 * nothing else to do meanwhile. Nothing waits longer than a minute without progress.
 */
#ifndef DIAL_H
#define DIAL_H

#include <stddef.h>
#include <stdint.h>

struct dial;
struct nw_tls_ctx;

/* ctx NULL: in clear. Else the server's certificate must have the name `host`. NW_EIO, NW_EPROTO:
 * *why, good until the next call. */
int dial_open(
    const char *host, uint16_t port, struct nw_tls_ctx *ctx, struct dial **out, const char **why);
void dial_close(struct dial *d);
/* All of it. */
int dial_send(struct dial *d, const void *bytes, size_t len, const char **why);
/* Some bytes; 0: the peer has ended, in TLS by saying so. */
long dial_recv(struct dial *d, void *buf, size_t cap, const char **why);

#endif
