/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The far end of the bandwidth sensor: takes bytes for a short while, and says how many came how
 * fast. The sink greets with a line, reads until the sender has no more, and answers with a line:
 *
 *     narrows-bandwidth ready | narrows-bandwidth busy
 *     BYTES NANOSECONDS BEST            of bytes per second, over tenths of a second
 *
 * One sender at a time, within bounds of bytes and time; a host that moves data says busy, and so
 * does every host for a while after a sender, so that no sender keeps the host busy.
 */
#ifndef HOST_BANDWIDTH_SINK_H
#define HOST_BANDWIDTH_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "host/blipp/probe/quiet.h"

#define BANDWIDTH_READY "narrows-bandwidth ready\n"
#define BANDWIDTH_BUSY  "narrows-bandwidth busy\n"

enum { BANDWIDTH_PORT = 5010 };
#define BANDWIDTH_BYTES_MAX   (INT64_C(1) << 30)
#define BANDWIDTH_PATIENCE_NS INT64_C(15000000000)
#define BANDWIDTH_PAUSE_NS    INT64_C(10000000000) /* between two senders */

struct bandwidth_sink {
	int listen_fd, fd;     /* -1: none */
	int64_t begun_mono_ns; /* of the connection */
	int64_t pause_mono_ns; /* end of the pause after a connection; 0: there was no connection */
	int64_t first_mono_ns, last_mono_ns;
	int64_t bytes;
	/* the present stretch, and the best stretch */
	int64_t stretch_mono_ns, stretch_bytes;
	double best_bytes_per_s;
};

void bandwidth_sink_init(struct bandwidth_sink *s);
/* address: "192.0.2.1/5010", in numbers. Both descriptors are put into epoll_fd. NW_EIO with
 * errno. */
int bandwidth_sink_open(struct bandwidth_sink *s, const char *address, int epoll_fd);
void bandwidth_sink_close(struct bandwidth_sink *s);
/* Goes on where input is ready. */
void
bandwidth_sink_ready(struct bandwidth_sink *s, int epoll_fd, bool may_begin, int64_t now_mono_ns);
/* Ends a connection that takes too long. */
void bandwidth_sink_look(struct bandwidth_sink *s, int64_t now_mono_ns);
/* Ends the connection on its way, if there is a connection, without an answer. */
void bandwidth_sink_yield(struct bandwidth_sink *s, int64_t now_mono_ns);

#endif
