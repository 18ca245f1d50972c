/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One XSP session: from the open message to the end of its connection. It knows who sends (origin)
 * and turns documents into rows of the current batch.
 */
#ifndef XSESS_H
#define XSESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct box;
struct peer;
struct xsess;

struct xsess *xsess_open(struct box *box, struct peer *peer, const uint8_t sess_id[16],
    const char *peer_name, const char *peer_address);
/* Frees it; reason goes to the store and is static text. */
void xsess_close(struct xsess *x, const char *reason);

/* One application block. NW_OK, or a negative code with static *why: the caller ends the
 * connection. */
int xsess_block(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len, const char **why);

/* Tells a provider that said HELLO what is on disk. */
void xsess_stored(struct xsess *x, uint64_t stored_seq);
/* Tells it why nothing is stored now (box->trouble), or that it is over. */
void xsess_trouble(struct xsess *x);
/* Ends the connection from our side. */
void xsess_abort(struct xsess *x, const char *why);

#endif
