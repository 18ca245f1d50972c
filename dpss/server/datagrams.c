/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/datagrams.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"

struct datagrams {
	int fd;
	uint64_t key, pace_bytes_per_s;
	int64_t free_mono_ns; /* when the pace allows the next packet */
	uint16_t sequence;
};

int
datagrams_new(const struct channel *w, uint16_t port, uint64_t key, uint64_t pace_bytes_per_s,
    struct datagrams **out)
{
	struct datagrams *d = calloc(1, sizeof(*d));
	int rc;

	if (d == NULL)
		return NW_ENOMEM;
	*d = (struct datagrams){ .fd = -1, .key = key, .pace_bytes_per_s = pace_bytes_per_s };
	if ((rc = channel_datagrams(w, port, &d->fd)) != NW_OK) {
		free(d);
		return rc;
	}
	*out = d;
	return NW_OK;
}

void
datagrams_free(struct datagrams *d)
{
	if (d == NULL)
		return;
	close(d->fd);
	free(d);
}

static void
pace(struct datagrams *d, size_t bytes)
{
	int64_t now = nw_mono_ns();
	struct timespec t;

	if (d->pace_bytes_per_s == 0)
		return;
	if (d->free_mono_ns < now)
		d->free_mono_ns = now;
	t = (struct timespec){ d->free_mono_ns / 1000000000, d->free_mono_ns % 1000000000 };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	d->free_mono_ns += (int64_t)(1e9 * (double)bytes / (double)d->pace_bytes_per_s);
}

void
datagrams_send(struct datagrams *d, const struct rtp_packet *block)
{
	struct rtp_packet one = *block;
	struct packer p = { 0 };
	struct iovec iov[2];
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	one.key = d->key;
	for (one.offset = 0; one.offset < one.len; one.offset += RTP_DATA_BYTES) {
		one.data_len =
		    one.len - one.offset < RTP_DATA_BYTES ? one.len - one.offset : RTP_DATA_BYTES;
		one.sequence = d->sequence++;
		p.len = 0;
		rtp_pack(&p, &one);
		if (p.failed)
			break;
		iov[0] = (struct iovec){ p.bytes, p.len };
		iov[1] =
		    (struct iovec){ (void *)(uintptr_t)(block->data + one.offset), one.data_len };
		pace(d, p.len + one.data_len);
		if (sendmsg(d->fd, &m, MSG_NOSIGNAL) < 0)
			continue; /* as lost as in the network */
	}
	pack_free(&p);
}
