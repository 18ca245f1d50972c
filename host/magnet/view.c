/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>

#include "host/magnet/owner.h"
#include "host/magnet/ring.h"
#include "narrows/err.h"
#include "narrows/magnet.h"

struct magnet_view {
	int socket;
	struct ring *ring;
};

int
magnet_view_open(
    const char *socket_path, const char *name, struct magnet_view **out, const char **why)
{
	char line[OWNER_NAME_BYTES + 8], answer[OWNER_LINE_BYTES];
	struct magnet_view *v = calloc(1, sizeof(*v));
	unsigned long long ring_bytes = 0, watermark = 0;
	int fds[OWNER_FDS], rc;

	*out = NULL;
	*why = "out of memory";
	if (v == NULL)
		return NW_ENOMEM;
	*why = "no magnet serve answers at the socket: start one, or give its socket with -S";
	if ((v->socket = owner_dial(socket_path)) < 0) {
		free(v);
		return NW_ECLOSED;
	}
	snprintf(line, sizeof(line), "open %.*s", OWNER_NAME_BYTES, name);
	*why = "the owner of the events refuses to open the view";
	rc = owner_ask(v->socket, line, answer, fds);
	if (rc == NW_OK &&
	    (fds[0] < 0 || fds[1] < 0 || sscanf(answer, "%llu %llu", &ring_bytes, &watermark) != 2))
		rc = NW_EPROTO;
	if (rc == NW_OK) {
		*why = "the ring cannot be mapped";
		rc = ring_open(fds[0], fds[1], ring_bytes, watermark, &v->ring);
	}
	if (rc < 0) {
		magnet_view_close(v);
		return rc;
	}
	*why = NULL;
	*out = v;
	return NW_OK;
}

void
magnet_view_close(struct magnet_view *v)
{
	if (v == NULL)
		return;
	ring_close(v->ring);
	close(v->socket);
	free(v);
}

int64_t
magnet_view_read(struct magnet_view *v, int timeout_ms, magnet_record_fn *fn, void *arg)
{
	const struct magnet_record *r;
	int64_t n = 0;
	int rc;

	ring_wait(v->ring, timeout_ms);
	while ((r = ring_peek(v->ring)) != NULL) {
		rc = fn(arg, r);
		ring_pass(v->ring);
		n++;
		if (rc != 0)
			return rc;
	}
	return n;
}

uint64_t
magnet_view_lost(const struct magnet_view *v)
{
	return ring_lost(v->ring);
}
