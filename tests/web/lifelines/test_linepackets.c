/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of the kernel in lifelines: an object's last byte at each point, on two hosts; sequence
 * numbers that wrap, packets that are sent again or missing in the recording, recordings alone. */
#include "web/lifelines/linepackets.h"

#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"

enum { IP_TX, IP_RX, SOCKET_TX, DROP, NAMES, SENDER = 0, RECEIVER = 1, HOSTS, LINES = 4 };
#define NEVER  -1
#define COOKIE 77
#define ORIGIN UINT32_C(0xffffff00) /* the stream's 256th byte has the number 0 */

static struct lineset_names names; /* in the order of the enum */

static void
packet_put(struct linepackets *p, uint32_t name, int64_t t, uint32_t from, uint32_t to)
{
	struct nw_attr a[] = { { .key = "id", .type = NW_ATTR_INT, .v.i = COOKIE },
		{ .key = "src", .type = NW_ATTR_TEXT, .v.text = "10.0.0.1" },
		{ .key = "sport", .type = NW_ATTR_INT, .v.i = 7070 },
		{ .key = "flow", .type = NW_ATTR_TEXT, .v.text = "10.0.0.1:7070>10.0.0.2:900" },
		{ .key = "first", .type = NW_ATTR_INT, .v.i = (uint32_t)(ORIGIN + from) },
		{ .key = "behind", .type = NW_ATTR_INT, .v.i = (uint32_t)(ORIGIN + to) },
		{ .key = "origin", .type = NW_ATTR_INT, .v.i = ORIGIN } };
	struct nw_event e = { .t_wall_ns = t, .attrs = a, .n_attrs = sizeof(a) / sizeof(a[0]) };
	bool side;

	if (name == IP_RX)
		e.n_attrs--; /* a receiver's IP layer has no socket at hand */
	CHECK(linepackets_is(&e));
	CHECK_INT(linepackets_put(p, &e, name, name == IP_RX ? RECEIVER : SENDER, &side), NW_OK);
	CHECK(!side);
}

static void
tie(struct linepackets *p, uint32_t line, int64_t t, int64_t first, int64_t behind)
{
	struct nw_attr a[] = { { .key = "cookie", .type = NW_ATTR_INT, .v.i = COOKIE },
		{ .key = "first", .type = NW_ATTR_INT, .v.i = first },
		{ .key = "behind", .type = NW_ATTR_INT, .v.i = behind } };
	struct nw_event e = { .t_wall_ns = t, .attrs = a, .n_attrs = 3 };
	bool taken = false;

	CHECK(!linepackets_is(&e));
	CHECK_INT(linepackets_tie(p, &e, line, SENDER, &taken), NW_OK);
	CHECK(taken);
	e.n_attrs = 2;
	CHECK_INT(linepackets_tie(p, &e, line, SENDER, &taken), NW_OK);
	CHECK(!taken);
}

struct seen {
	int64_t t[LINES][NAMES];
	char label[LINES][64], flow[64];
	uint32_t n;
};

static int
on_point(void *arg, int64_t t, uint32_t line, uint32_t name, uint32_t host)
{
	struct seen *s = arg;

	CHECK(line < LINES && name < NAMES && host < HOSTS);
	CHECK_INT(host, name == IP_RX ? RECEIVER : SENDER);
	s->t[line][name] = t;
	return NW_OK;
}

static int
on_line(void *arg, const char *label, const char *flow, uint32_t *line)
{
	struct seen *s = arg;

	CHECK(s->n < LINES);
	snprintf(s->label[s->n], sizeof(s->label[0]), "%s", label);
	snprintf(s->flow, sizeof(s->flow), "%s", flow);
	*line = s->n++;
	return NW_OK;
}

static void
seen_init(struct seen *s)
{
	memset(s, 0, sizeof(*s));
	memset(s->t, 0xff, sizeof(s->t)); /* NEVER */
}

/* Three objects of 200 bytes; the second straddles the wrap of the numbers, and the packet with its
 * last byte is sent twice, because the first one was lost on the way. */
static void
test_objects(void)
{
	struct linepackets p = { .n = 0 };
	struct seen s;

	packet_put(&p, IP_TX, 10, 0, 150);
	packet_put(&p, IP_TX, 11, 150, 300);
	packet_put(&p, IP_TX, 12, 300, 450);
	packet_put(&p, IP_TX, 30, 300, 450);
	packet_put(&p, IP_RX, 110, 0, 150);
	packet_put(&p, IP_RX, 111, 150, 300);
	packet_put(&p, IP_RX, 131, 300, 450);
	packet_put(&p, DROP, 99, 300, 450);
	tie(&p, 0, 9, 0, 200);
	tie(&p, 1, 9, 200, 400);
	tie(&p, 2, 9, 400, 600);
	seen_init(&s);
	CHECK_INT(linepackets_join(&p, &names, on_point, &s), NW_OK);
	CHECK_INT(s.t[0][IP_TX], 11);
	CHECK_INT(s.t[0][IP_RX], 111);
	CHECK_INT(s.t[1][IP_TX], 12);
	CHECK_INT(s.t[1][IP_RX], 131);
	CHECK_INT(s.t[1][DROP], NEVER);
	CHECK_INT(s.t[2][IP_TX], NEVER); /* the recording ends before */
	linepackets_clear(&p);
}

/* A packet that the recording lost gives its object no time, and no neighbour's time. */
static void
test_lost(void)
{
	struct linepackets p = { .n = 0 };
	struct seen s;

	packet_put(&p, IP_TX, 10, 0, 100);
	packet_put(&p, IP_TX, 12, 200, 300);
	tie(&p, 0, 9, 0, 100);
	tie(&p, 1, 9, 100, 200);
	tie(&p, 2, 9, 200, 300);
	seen_init(&s);
	CHECK_INT(linepackets_join(&p, &names, on_point, &s), NW_OK);
	CHECK_INT(s.t[0][IP_TX], 10);
	CHECK_INT(s.t[1][IP_TX], NEVER);
	CHECK_INT(s.t[2][IP_TX], 12);
	linepackets_clear(&p);
}

/* Without objects, writes to the socket are the lines; without those, the packets. */
static void
test_alone(void)
{
	struct linepackets p = { .n = 0 };
	struct seen s;
	int writes;

	for (writes = 0; writes < 2; writes++) {
		packet_put(&p, IP_TX, 10, 0, 150);
		packet_put(&p, IP_TX, 11, 150, 300);
		packet_put(&p, IP_TX, 30, 150, 300);
		packet_put(&p, IP_RX, 110, 0, 150);
		if (writes)
			packet_put(&p, SOCKET_TX, 13, 0, 300);
		seen_init(&s);
		CHECK_INT(linepackets_lines(&p, &names, on_line, &s), NW_OK);
		CHECK_INT(linepackets_join(&p, &names, on_point, &s), NW_OK);
		CHECK_INT(s.n, writes ? 1 : 2);
		CHECK_STR(s.label[0], "10.0.0.1:7070>10.0.0.2:900 4294967040");
		CHECK_STR(s.flow, "10.0.0.1:7070>10.0.0.2:900");
		CHECK_INT(s.t[0][IP_TX], writes ? 11 : 10);
		CHECK_INT(s.t[0][IP_RX], writes ? NEVER : 110);
		linepackets_clear(&p);
	}
}

int
main(void)
{
	static const char *const words[NAMES] = { "ip.tx", "ip.rx", "socket.tx", "packet.drop" };
	uint32_t i;

	for (i = 0; i < NAMES; i++)
		CHECK_INT(linename_put(&names, words[i]), i);
	test_objects();
	test_lost();
	test_alone();
	linenames_clear(&names);
	return check_done("test_linepackets");
}
