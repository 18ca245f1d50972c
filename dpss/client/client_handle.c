/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle's knowledge of its set, and the way to the master: the ground of the
 * client's other files. */
#include <stdio.h>

#include "dpss/client/client.h"
#include "narrows/err.h"

/* --- geometry --- */

struct dpss_layout
dpss_layout_of(const struct dpss *d)
{
	return d->layout;
}

uint64_t
dpss_blocks(const struct dpss *d)
{
	return (d->layout.bytes + d->layout.block_bytes - 1) / d->layout.block_bytes;
}

uint64_t
client_blocks_all(const struct dpss *d)
{
	uint64_t blocks = dpss_blocks(d), k = d->layout.parity;

	return k == 0 ? blocks : blocks + (blocks + k - 1) / k;
}

uint32_t
dpss_block_len(const struct dpss *d, uint64_t logical)
{
	uint64_t from = logical * d->layout.block_bytes;

	if (logical >= dpss_blocks(d)) /* parity is as long as the longest of its group */
		return d->layout.block_bytes;
	return d->layout.bytes - from < d->layout.block_bytes ? (uint32_t)(d->layout.bytes - from)
							      : d->layout.block_bytes;
}

const char *
dpss_why(const struct dpss *d)
{
	return d->why;
}

uint64_t
dpss_copies_missed(const struct dpss *d)
{
	return d->copies_missed;
}

size_t
dpss_servers(const struct dpss *d)
{
	size_t i, n = 0;

	for (i = 0; i < DPSS_SERVERS_MAX; i++)
		n += d->servers[i].alive;
	return n;
}

int
client_fail(struct dpss *d, int rc, const char *why)
{
	snprintf(d->why, sizeof(d->why), "%s", why);
	return rc;
}

int
client_master_send(struct dpss *d, uint16_t type, struct packer *p)
{
	int rc = NW_ECLOSED;

	pthread_mutex_lock(&d->master_sending);
	if (!d->master_away)
		rc = channel_send(d->master, type, p);
	pthread_mutex_unlock(&d->master_sending);
	pack_free(p);
	return rc;
}
