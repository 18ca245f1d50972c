/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of a block that goes by UDP: the header of RTP (RFC 3550, payload type 96, the marker on
 * the last packet of a block, a clock of 90 kHz), then the block's names, then data. All
 * packets of a block but the last have RTP_DATA_BYTES. The key is a secret of the client's, told on
 * its connection: packets of strangers lack the key.
 */
#ifndef NARROWS_DPSS_RTP_H
#define NARROWS_DPSS_RTP_H

#include <stddef.h>
#include <stdint.h>

#include "dpss/pack.h"
#include "dpss/proto.h"

enum {
	RTP_DATA_BYTES = 1344,
	RTP_HEAD_BYTES = 12 + 40 + 8 * DPSS_TIMES,
	RTP_PACKET_BYTES = RTP_HEAD_BYTES + RTP_DATA_BYTES
};

struct rtp_packet {
	uint16_t sequence;
	uint32_t source; /* of the sender */
	uint64_t key, logical, stamp_wall_ns;
	uint32_t list, sum, len, offset; /* of the block; offset: of the data in the packet */
	uint64_t times[DPSS_TIMES];
	const uint8_t *data;
	size_t data_len;
};

/* The head of a packet, to be followed by the data. */
void rtp_pack(struct packer *p, const struct rtp_packet *r);
/* NW_EPROTO: not a packet of a block, or its numbers do not fit each other. data is on loan. */
int rtp_unpack(const void *bytes, size_t len, struct rtp_packet *out);

#endif
