/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What "magnet record" wrote (narrows/magnet.h has the bytes): every record of a kernel's point is
 * an event with a time of its own, on the host's wall clock. The name is the point's; id is the
 * socket, request or thread. A packet that is no segment of TCP has packet.id: both ends, and the
 * identification of IP. An event of bytes of a TCP stream has flow (both ends, in the direction
 * of the bytes) and the sequence numbers first and behind: lifelines find the packets of an
 * object's bytes by these, on both hosts.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/err.h"
#include "narrows/event.h"
#include "narrows/magnet.h"
#include "narrows/xmalloc.h"

enum { ATTRS_MAX = 16, FLOW_BYTES = 2 * (INET6_ADDRSTRLEN + 8) + 8 };

struct recording {
	struct import *im;
	struct magnet_stream header;
	struct magnet_point_name names[MAGNET_POINTS_MAX]; /* by id */
	struct nw_attr attrs[ATTRS_MAX];
	size_t n_attrs;
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN], flow[FLOW_BYTES];
};

bool
import_is_magnet(const struct import *im)
{
	const size_t len = sizeof(MAGNET_MAGIC) - 1;

	return (size_t)(im->end - im->bytes) >= sizeof(struct magnet_stream) &&
	    memcmp(im->bytes, MAGNET_MAGIC, len) == 0;
}

static void
put_int(struct recording *r, const char *key, uint64_t v)
{
	r->attrs[r->n_attrs++] = (struct nw_attr){
		.key = key, .type = NW_ATTR_INT, .is_id = nw_event_key_is_id(key), .v.i = (int64_t)v
	};
}

static void
put_text(struct recording *r, const char *key, const char *text)
{
	r->attrs[r->n_attrs++] =
	    (struct nw_attr){ .key = key, .type = NW_ATTR_TEXT, .v.text = text };
}

static void
put_ends(struct recording *r, int family, const void *src, const void *dst, uint16_t sport,
    uint16_t dport)
{
	inet_ntop(family, src, r->src, sizeof(r->src));
	inet_ntop(family, dst, r->dst, sizeof(r->dst));
	put_text(r, "src", r->src);
	put_int(r, "sport", sport);
	put_text(r, "dst", r->dst);
	put_int(r, "dport", dport);
}

/* The IP packet, and the bytes of the stream with their direction. */
static void
put_packet(struct recording *r, unsigned protocol, bool inward, uint16_t sport, uint16_t dport,
    uint16_t ip_id, const struct magnet_bytes *b)
{
	const char *from = inward ? r->dst : r->src, *to = inward ? r->src : r->dst;

	int n = snprintf(r->flow, sizeof(r->flow), "%s:%u>%s:%u", from, inward ? dport : sport, to,
	    inward ? sport : dport);

	if (protocol != IPPROTO_TCP) {
		if (ip_id == 0)
			return;
		snprintf(r->flow + n, sizeof(r->flow) - (size_t)n, " %u", ip_id);
		put_text(r, "packet.id", r->flow);
		r->attrs[r->n_attrs - 1].is_id = true;
		return;
	}
	put_text(r, "flow", r->flow);
	put_int(r, "first", b->first);
	put_int(r, "behind", b->behind);
	if (b->has_origin)
		put_int(r, "origin", b->origin);
}

/* Three numbers, whose names depend on the form. */
static void
put_three(struct recording *r, const char *const names[3], const uint64_t v[3])
{
	size_t i;

	for (i = 0; i < 3; i++)
		put_int(r, names[i], v[i]);
}

/* Copies a payload of at least so many bytes, and zeros behind it; false if the record is
 * shorter. */
static bool
payload_get(const struct magnet_record *h, const char *bytes, void *out, size_t size, size_t least)
{
	size_t n = h->size_bytes - sizeof(*h);

	if (n < least)
		return false;
	memset(out, 0, size);
	memcpy(out, bytes + sizeof(*h), n < size ? n : size);
	return true;
}

static void
put_payload(struct recording *r, const struct magnet_record *h, const char *bytes)
{
	static const char *const task[] = { "task.pid", "task.tid", "other" },
				 *const block[] = { "device", "sector", "block_bytes" },
				 *const memory[] = { "address", "error", "size" },
				 *const fields[] = { "v1", "v2", "v3" };
	union {
		struct magnet_flow4 f4;
		struct magnet_flow6 f6;
		struct magnet_task t;
		struct magnet_block b;
		struct magnet_memory m;
		struct magnet_fields f;
	} u;

	if (h->form == MAGNET_FLOW4 &&
	    payload_get(h, bytes, &u, sizeof(u.f4), MAGNET_FLOW4_LEAST)) {
		put_ends(r, AF_INET, u.f4.src, u.f4.dst, u.f4.sport, u.f4.dport);
		put_packet(
		    r, u.f4.protocol, u.f4.inward, u.f4.sport, u.f4.dport, u.f4.ip_id, &u.f4.bytes);
	} else if (h->form == MAGNET_FLOW6 &&
	    payload_get(h, bytes, &u, sizeof(u.f6), MAGNET_FLOW6_LEAST)) {
		put_ends(r, AF_INET6, u.f6.src, u.f6.dst, u.f6.sport, u.f6.dport);
		put_packet(
		    r, u.f6.protocol, u.f6.inward, u.f6.sport, u.f6.dport, u.f6.ip_id, &u.f6.bytes);
	} else if (h->form == MAGNET_TASK && payload_get(h, bytes, &u, sizeof(u.t), sizeof(u.t)))
		put_three(r, task, (uint64_t[]){ u.t.pid, u.t.tid, u.t.other });
	else if (h->form == MAGNET_BLOCK && payload_get(h, bytes, &u, sizeof(u.b), sizeof(u.b)))
		put_three(r, block, (uint64_t[]){ u.b.device, u.b.sector, u.b.bytes });
	else if (h->form == MAGNET_MEMORY && payload_get(h, bytes, &u, sizeof(u.m), sizeof(u.m)))
		put_three(r, memory, (uint64_t[]){ u.m.address, u.m.error, u.m.size });
	else if (h->form == MAGNET_FIELDS && payload_get(h, bytes, &u, sizeof(u.f), sizeof(u.f)))
		put_three(r, fields, u.f.v);
}

/* A record as an event. Returns false for no event, and for a point missing in the header. */
static bool
record_event(
    struct recording *r, const struct magnet_record *h, const char *bytes, struct nw_event *e)
{
	uint64_t t = h->t_mono_ns - r->header.t_mono_ns + r->header.t_wall_ns;

	if (h->point == POINT_STREAM || h->point >= MAGNET_POINTS_MAX ||
	    r->names[h->point].name[0] == '\0' || (int64_t)t < 0)
		return false;
	r->n_attrs = 0;
	put_int(r, "id", h->id);
	/* a socket is no object on its way, a packet is */
	r->attrs[0].is_id = h->form != MAGNET_FLOW4 && h->form != MAGNET_FLOW6;
	put_int(r, "cpu", h->cpu);
	put_int(r, "pid", h->pid);
	put_int(r, "tid", h->tid);
	put_int(r, "seq", h->seq);
	put_int(r, "value", (uint64_t)(int64_t)h->value);
	put_payload(r, h, bytes);
	*e = (struct nw_event){ .t_wall_ns = (int64_t)t,
		.host = r->im->host,
		.program = "magnet",
		.name = r->names[h->point].name,
		.n_attrs = r->n_attrs,
		.attrs = r->attrs };
	return true;
}

static int
bad(struct import *im, const char *at, const char *why)
{
	return stat_fail(im->err, NW_EPROTO, "%s: byte %td: %s", im->name, at - im->bytes, why);
}

static int
header_take(struct recording *r, const char **at)
{
	struct import *im = r->im;
	struct magnet_point_name name;
	uint32_t i;

	memcpy(&r->header, im->bytes, sizeof(r->header));
	*at = im->bytes + sizeof(r->header);
	if (r->header.byte_order != MAGNET_BYTE_ORDER)
		return bad(im, im->bytes, "a host of another byte order recorded this");
	if (r->header.header_bytes != sizeof(r->header) || r->header.n_points > MAGNET_POINTS_MAX)
		return bad(im, im->bytes, "the header is of another version");
	for (i = 0; i < r->header.n_points; i++, *at += sizeof(name)) {
		if ((size_t)(im->end - *at) < sizeof(name))
			return bad(im, *at, "the recording ends within its header");
		memcpy(&name, *at, sizeof(name));
		name.name[sizeof(name.name) - 1] = '\0';
		if (name.id < MAGNET_POINTS_MAX)
			r->names[name.id] = name;
	}
	return NW_OK;
}

/* A record that a kill cut short ends the recording, and is no fault. */
static int
records_take(struct recording *r, const char *at)
{
	struct import_events to = { .im = r->im };
	struct magnet_record h;
	struct nw_event e;
	int rc = import_events_begin(&to, r->im->host);

	for (; rc == NW_OK && (size_t)(r->im->end - at) >= sizeof(h); at += h.size_bytes) {
		memcpy(&h, at, sizeof(h));
		if (h.size_bytes < sizeof(h)) {
			rc = bad(r->im, at, "a record shorter than its beginning");
			break;
		}
		if ((size_t)(r->im->end - at) < h.size_bytes)
			break;
		if (record_event(r, &h, at, &e) && (rc = import_events_put(&to, &e)) == NW_EINVAL) {
			r->im->n_bad_lines++;
			rc = NW_OK;
		}
	}
	return import_events_end(&to, rc);
}

int
import_magnet(struct import *im)
{
	struct recording *r;
	const char *at;
	int rc;

	if (!import_is_magnet(im))
		return bad(im, im->bytes, "no recording of magnet");
	r = xcalloc(1, sizeof(*r));
	r->im = im;
	if ((rc = header_take(r, &at)) == NW_OK)
		rc = records_take(r, at);
	free(r);
	return rc;
}
