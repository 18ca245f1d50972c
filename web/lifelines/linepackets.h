/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets in lifelines. Recordings of the kernel (magnet) have events of bytes of TCP streams, with
 * the same sequence numbers on both hosts. A program's event that names a socket and a range of the
 * socket's stream ties an object to those bytes: the object's line passes each point of the kernel
 * when a packet with the object's last byte does.
 */
#ifndef LINESET_LINEPACKETS_H
#define LINESET_LINEPACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/event.h"
#include "narrows/lifeline.h"
#include "web/lifelines/lineset.h"

/* The points of a packet's way, in order, divided by commas. */
extern const char linepackets_way[];

struct linepacket {
	int64_t t_wall_ns;
	int64_t first, behind; /* of the bytes, without wrapping; valid when joined */
	int64_t reached;       /* largest `behind` of the group so far */
	uint32_t flow, name, host;
};

struct linesocket { /* the sending socket of a flow on a host */
	uint64_t cookie;
	uint32_t host, flow;
	uint32_t origin; /* sequence number of the first byte of the stream */
};

struct linespan { /* bytes of an object */
	int64_t t_wall_ns;
	uint64_t cookie, behind; /* behind: place in the stream behind the last byte */
	uint32_t line, host;
	uint32_t flow, sequence; /* of the last byte, when joined; LINESET_NAMES_MAX: no flow */
};

struct linepackets {
	struct lineset_names flows;
	struct linepacket *packet;
	struct linesocket *socket;
	struct linespan *span;
	size_t n, cap, n_sockets, cap_sockets, n_spans, cap_spans;
};

/* Returns true for an event of the kernel with a place in a stream. */
bool linepackets_is(const struct nw_event *e);
/* Keeps such an event. *side: the event has no bytes, and belongs to the host alone. */
int linepackets_put(
    struct linepackets *p, const struct nw_event *e, uint32_t name, uint32_t host, bool *side);
/* Keeps the bytes of a line if the event names a socket and a range; *taken tells. */
int linepackets_tie(
    struct linepackets *p, const struct nw_event *e, uint32_t line, uint32_t host, bool *taken);

/* Where no object is tied: the writes to sockets, else the packets at the first point of the way
 * that the recording has. make() adds a line with a label and a server. */
typedef int linepackets_make_fn(void *arg, const char *label, const char *flow, uint32_t *line);
int linepackets_lines(
    struct linepackets *p, const struct lineset_names *names, linepackets_make_fn *make, void *arg);

/* Calls put for each point that a line's last byte passes. */
typedef int
linepackets_point_fn(void *arg, int64_t t_wall_ns, uint32_t line, uint32_t name, uint32_t host);
int linepackets_join(
    struct linepackets *p, const struct lineset_names *names, linepackets_point_fn *put, void *arg);
void linepackets_clear(struct linepackets *p);

#endif
