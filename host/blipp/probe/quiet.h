/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether this host moves data now: traffic of its interfaces, loopback apart, between two
 * looks. */
#ifndef HOST_QUIET_H
#define HOST_QUIET_H

#include <stdbool.h>
#include <stdint.h>

#include "host/blipp/probe/procfs.h"

/* A higher rate may be a transfer. */
#define QUIET_BYTES_PER_S 1e6

struct quiet { /* zero to start */
	struct procfs_file file;
	int64_t look_mono_ns; /* of the look before; 0: there was none */
	double bytes, bytes_per_s;
	bool known; /* bytes_per_s is */
};

/* Looks once; errors as procfs_read(). */
int quiet_look(struct quiet *q, struct procfs_buf *buf, int64_t now_mono_ns);
static inline bool
quiet_is(const struct quiet *q)
{
	return q->known && q->bytes_per_s < QUIET_BYTES_PER_S;
}

#endif
