/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TLS as a machine: bytes from the wire in, bytes for the wire out, no sockets. The box (XSP and
 * HTTPS) and libnarrows share the machine.
 *
 * TLS 1.2 at least, 1.3 where the library has it; ephemeral keys and authenticated ciphers only, no
 * renegotiation, no resumption. A client always checks the server, which must have a certificate of
 * the CA with the name that the client called.
 *
 * A context belongs to no thread and is counted; one endpoint belongs to one thread.
 */
#ifndef NARROWS_TLS_H
#define NARROWS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NW_TLS_WHY_BYTES = 256,
	NW_TLS_NAME_BYTES = 256,
	NW_TLS_SERIAL_BYTES = 41,        /* 20 bytes in hexadecimal */
	NW_TLS_PIN_BYTES = 32,           /* SHA-256 of a certificate */
	NW_TLS_OUT_MAX_BYTES = 128 << 10 /* most bytes that an endpoint keeps for the wire */
};

struct nw_tls_ctx;
struct nw_tls;

struct nw_tls_opts {
	bool server;
	bool peer_certificate; /* server: only peers with a certificate of the CA */
	/* Any certificate is taken, or none: the caller knows the peer by nw_tls_peer_pin() alone.
	 * There is no CA. */
	bool any_certificate;
	bool show_ca; /* server: sends the CA, for clients with the CA's pin alone */
	/* client: pin of a CA that is good when the server shows it; or NULL */
	const uint8_t *ca_pin;
	const char *ca_path; /* PEM, as the next two; needed unless peers are not checked */
	const char *cert_path, *key_path; /* NULL, NULL: we have none (a client, or a test) */
	const char *revoked_path; /* lines "revoked SERIAL ..."; NULL or not there: none are */
};

/* NW_EIO, NW_EINVAL, NW_ENOMEM: why names the file and the fault, without any content of the
 * file. */
int
nw_tls_ctx_new(const struct nw_tls_opts *opts, struct nw_tls_ctx **out, char why[NW_TLS_WHY_BYTES]);
struct nw_tls_ctx *nw_tls_ctx_hold(struct nw_tls_ctx *c);
void nw_tls_ctx_release(struct nw_tls_ctx *c); /* NULL is fine */

/* Holds the context. peer_name: for a client, the host name or address that the server's
 * certificate must have. */
int nw_tls_new(struct nw_tls_ctx *c, const char *peer_name, struct nw_tls **out);
void nw_tls_free(struct nw_tls *t);

/* Bytes from the wire, on loan until nw_tls_handshake() or nw_tls_read() says NW_EAGAIN or
 * fails. */
void nw_tls_feed(struct nw_tls *t, const uint8_t *bytes, size_t len);
/* Goes on as far as the bytes go. NW_OK: open. NW_EAGAIN: needs more bytes. NW_EPROTO: over, and
 * why says why. */
int nw_tls_handshake(struct nw_tls *t);
/* Fills buf as far as the bytes go. How many, or NW_EAGAIN, NW_ECLOSED (the peer said goodbye),
 * NW_EPROTO. */
long nw_tls_read(struct nw_tls *t, uint8_t *buf, size_t cap);
/* Takes at most a record of plain text. Returns the bytes taken, or NW_EFULL: send first.
 * NW_ECLOSED, NW_EPROTO. */
long nw_tls_write(struct nw_tls *t, const uint8_t *bytes, size_t len);
void
nw_tls_close(struct nw_tls *t); /* says goodbye; the caller then sends the bytes for the wire */

/* The bytes for the wire, good until the next call on t. The caller then says how many have
 * gone. */
size_t nw_tls_output(const struct nw_tls *t, const uint8_t **bytes);
void nw_tls_sent(struct nw_tls *t, size_t len);

bool nw_tls_is_open(const struct nw_tls *t);
/* The name in the peer's certificate (the first DNS name, else the common name), "" without a
 * certificate. Only characters of host names. Until the handshake is over the name is a claim. */
const char *nw_tls_peer_name(const struct nw_tls *t);
/* The pin of the peer's certificate, whose key the peer has. Returns false before the end of the
 * handshake, and for a peer without a certificate. */
bool nw_tls_peer_pin(const struct nw_tls *t, uint8_t out[NW_TLS_PIN_BYTES]);
/* Addresses that the peer's certificate lists besides its name, separated by blanks; NULL: none. On
 * loan until nw_tls_free(). */
const char *nw_tls_peer_addresses(const struct nw_tls *t);
/* The reason of a failure or end; static text. */
const char *nw_tls_why(const struct nw_tls *t);
/* NULL, or the reason why the peer's certificate is no longer good: expired, or revoked in `now`, a
 * newer context. */
const char *
nw_tls_distrust(const struct nw_tls *t, const struct nw_tls_ctx *now, int64_t now_wall_ns);

void nw_tls_sha256(const void *bytes, size_t len, uint8_t out[NW_TLS_PIN_BYTES]);
/* Random bytes for the library's keys, in the form of the library's callbacks. */
int nw_tls_random(void *unused, unsigned char *out, size_t len);

#endif
