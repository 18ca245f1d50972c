/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In place of TLS in the collector that nwrun has inside: the libraries of TLS would be loaded, and
 * their memory copied and given back, for each program that is measured. Where the box wants TLS,
 * nwrun loads the collector of nwrun-collect.so (host/nwrun/collector.c), and so no endpoint is
 * ever made here. `make host-static` leaves this file out.
 */
#include <stdio.h>
#include <stdlib.h>

#include "host/nwrun/collector.h"
#include "narrows/err.h"
#include "narrows/tls.h"

const char collector_plain = 1;

int
nw_tls_ctx_new(const struct nw_tls_opts *opts, struct nw_tls_ctx **out, char why[NW_TLS_WHY_BYTES])
{
	(void)opts;
	*out = NULL;
	snprintf(why, NW_TLS_WHY_BYTES, "this collector has no TLS");
	return NW_EUNSUPPORTED;
}

void
nw_tls_ctx_release(struct nw_tls_ctx *c)
{
	(void)c;
}

/* A connection without an endpoint ends, too. */
void
nw_tls_free(struct nw_tls *t)
{
	(void)t;
}

int
nw_tls_new(struct nw_tls_ctx *c, const char *peer_name, struct nw_tls **out)
{
	(void)c, (void)peer_name, (void)out;
	abort();
}

void
nw_tls_feed(struct nw_tls *t, const uint8_t *bytes, size_t len)
{
	(void)t, (void)bytes, (void)len;
	abort();
}

int
nw_tls_handshake(struct nw_tls *t)
{
	(void)t;
	abort();
}

long
nw_tls_read(struct nw_tls *t, uint8_t *buf, size_t cap)
{
	(void)t, (void)buf, (void)cap;
	abort();
}

long
nw_tls_write(struct nw_tls *t, const uint8_t *bytes, size_t len)
{
	(void)t, (void)bytes, (void)len;
	abort();
}

size_t
nw_tls_output(const struct nw_tls *t, const uint8_t **bytes)
{
	(void)t, (void)bytes;
	abort();
}

void
nw_tls_sent(struct nw_tls *t, size_t len)
{
	(void)t, (void)len;
	abort();
}

const char *
nw_tls_why(const struct nw_tls *t)
{
	(void)t;
	abort();
}
