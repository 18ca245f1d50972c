/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stage of a transfer alone, in the pattern of the transfer's program: operations of the same
 * size and steps, with the program's own pauses. Files are those of scratch.h: without a name,
 * removed however the process ends. Bytes are sent to a blipp that listens for them
 * (bandwidth_sink.h), and to no other peer. Each function blocks.
 *
 * Bytes count as written when they are on the device, and as read only if no page of the file was
 * in memory before. The order's bounds and the configuration's hold both.
 */
#ifndef HOST_REPLAY_H
#define HOST_REPLAY_H

#include "host/blipp/probe/series.h"
#include "narrows/order.h"

struct sockaddr;

struct replay_result {
	uint64_t bytes;      /* 0: no number */
	int64_t calls_ns;    /* of the operations alone */
	int64_t took_ns;     /* with the pauses */
	uint64_t cost_bytes; /* all that was written, read or sent for the number */
	int64_t cost_ns;
};

/* NW_EIO: no such directory, a file system without such files, or a failed operation; NW_EFULL:
 * less than twice the bytes are free; NW_ENOMEM */
int
replay_file(const struct nw_replay *p, const struct scratch_conf *of, struct replay_result *out);
/* NW_EIO: no blipp listens there; NW_EFULL: the blipp there is busy */
int replay_send(const struct nw_replay *p, const struct bandwidth_conf *of,
    const struct sockaddr *to, unsigned to_len, struct replay_result *out);

#endif
