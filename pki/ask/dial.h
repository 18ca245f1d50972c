/* SPDX-License-Identifier: BSD-3-Clause */
/* A blocking connection to a box, TCP or TLS over TCP, for programs without other work
 * meanwhile. No call waits longer than a minute without progress. */
#ifndef DIAL_H
#define DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dial;
struct nw_tls_ctx;

/* ctx NULL: in clear. Else the server's certificate must have the name `host`. NW_EIO, NW_EPROTO:
 * *why, good until the next call. */
int dial_open(
    const char *host, uint16_t port, struct nw_tls_ctx *ctx, struct dial **out, const char **why);
/* The server's end of an accepted connection, which belongs to the dial also after a failure. */
int dial_accept(int fd, struct nw_tls_ctx *ctx, struct dial **out, const char **why);
/* The pin of the peer's certificate (nw_tls_peer_pin()); false: there is none. */
bool dial_peer_pin(const struct dial *d, uint8_t pin[32]);
void dial_close(struct dial *d);
/* Sends all the bytes. */
int dial_send(struct dial *d, const void *bytes, size_t len, const char **why);
/* Some bytes; 0: the peer has ended, in TLS by saying so. */
long dial_recv(struct dial *d, void *buf, size_t cap, const char **why);

#endif
