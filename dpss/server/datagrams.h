/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of one session by UDP, to the address of the client's connection. One thread sends. */
#ifndef NARROWS_DPSS_DATAGRAMS_H
#define NARROWS_DPSS_DATAGRAMS_H

#include <stdint.h>

#include "dpss/channel.h"
#include "dpss/rtp.h"

struct datagrams;

/* pace_bytes_per_s 0: no limit. NW_EIO, NW_ENOMEM. */
int datagrams_new(const struct channel *w, uint16_t port, uint64_t key, uint64_t pace_bytes_per_s,
    struct datagrams **out);
void datagrams_free(struct datagrams *d); /* NULL is fine */
/* All packets of a block, whose data and numbers `block` has; losses are not repaired. */
void datagrams_send(struct datagrams *d, const struct rtp_packet *block);

#endif
