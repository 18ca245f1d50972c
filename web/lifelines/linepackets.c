/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/lifelines/linepackets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/array.h"
#include "narrows/err.h"

/* Writes to the socket (socket.tx) are told when they end, behind the packets that they begin: no
 * point of the way. */
const char linepackets_way[] = "ip.tx,access.tx,qdisc.enqueue,qdisc.dequeue,driver.tx,access.rx,"
			       "ip.rx,transport.rx,socket.rx";
static const char written[] = "socket.tx";

enum { LABEL_BYTES = 160, NAME_BYTES = 64, BYTES_MOST = 1 << 30 /* of one event */ };

static const struct nw_attr *
attr_find(const struct nw_event *e, const char *key, enum nw_attr_type type)
{
	size_t i;

	for (i = 0; i < e->n_attrs; i++)
		if (strcmp(e->attrs[i].key, key) == 0)
			return e->attrs[i].type == type ? &e->attrs[i] : NULL;
	return NULL;
}

/* Returns false for an absent attribute, and for a value outside of 0 to max. */
static bool
number_get(const struct nw_event *e, const char *key, int64_t max, uint64_t *out)
{
	const struct nw_attr *a = attr_find(e, key, NW_ATTR_INT);

	if (a == NULL || a->v.i < 0 || a->v.i > max)
		return false;
	*out = (uint64_t)a->v.i;
	return true;
}

bool
linepackets_is(const struct nw_event *e)
{
	uint64_t n;

	return attr_find(e, "flow", NW_ATTR_TEXT) != NULL &&
	    number_get(e, "first", UINT32_MAX, &n) && number_get(e, "behind", UINT32_MAX, &n);
}

static int
socket_put(struct linepackets *p, const struct nw_event *e, const char *flow, uint32_t number,
    uint32_t host)
{
	const struct nw_attr *src = attr_find(e, "src", NW_ATTR_TEXT);
	uint64_t cookie, origin, sport;
	char from[NAME_BYTES];
	size_t i;

	if (src == NULL || !number_get(e, "sport", UINT16_MAX, &sport) ||
	    !number_get(e, "id", INT64_MAX, &cookie) ||
	    !number_get(e, "origin", UINT32_MAX, &origin))
		return NW_OK;
	snprintf(from, sizeof(from), "%.46s:%u>", src->v.text, (unsigned)sport);
	if (strncmp(flow, from, strlen(from)) != 0)
		return NW_OK; /* the socket receives */
	for (i = p->n_sockets; i-- > 0;)
		if (p->socket[i].host == host && p->socket[i].cookie == cookie)
			return NW_OK;
	if (p->n_sockets >= LINESET_NAMES_MAX)
		return NW_OK;
	if (!array_room(&p->socket, &p->cap_sockets, p->n_sockets + 1, sizeof(*p->socket)))
		return NW_ENOMEM;
	p->socket[p->n_sockets++] = (struct linesocket){ cookie, host, number, (uint32_t)origin };
	return NW_OK;
}

int
linepackets_put(
    struct linepackets *p, const struct nw_event *e, uint32_t name, uint32_t host, bool *side)
{
	const char *flow = attr_find(e, "flow", NW_ATTR_TEXT)->v.text;
	uint64_t first = 0, behind = 0;
	uint32_t number;

	number_get(e, "first", UINT32_MAX, &first);
	number_get(e, "behind", UINT32_MAX, &behind);
	*side = first == behind && behind == 0;
	if (first == behind || (uint32_t)(behind - first) > BYTES_MOST)
		return NW_OK; /* an acknowledgement, or nonsense */
	if ((number = linename_put(&p->flows, flow)) == UINT32_MAX)
		return NW_ENOMEM;
	if (number == LINESET_NAMES_MAX - 1)
		return NW_OK; /* the bytes of too many flows have no numbers in common */
	if (!array_room(&p->packet, &p->cap, p->n + 1, sizeof(*p->packet)))
		return NW_ENOMEM;
	p->packet[p->n++] = (struct linepacket){ .t_wall_ns = e->t_wall_ns,
		.first = (int64_t)first,
		.behind = (int64_t)behind,
		.flow = number,
		.name = name,
		.host = host };
	return socket_put(p, e, flow, number, host);
}

static int
span_put(struct linepackets *p, const struct linespan *s)
{
	if (!array_room(&p->span, &p->cap_spans, p->n_spans + 1, sizeof(*p->span)))
		return NW_ENOMEM;
	p->span[p->n_spans++] = *s;
	return NW_OK;
}

int
linepackets_tie(
    struct linepackets *p, const struct nw_event *e, uint32_t line, uint32_t host, bool *taken)
{
	struct linespan s = { .t_wall_ns = e->t_wall_ns, .line = line, .host = host };
	uint64_t first;

	*taken = number_get(e, "cookie", INT64_MAX, &s.cookie) &&
	    number_get(e, "first", INT64_MAX, &first) &&
	    number_get(e, "behind", INT64_MAX, &s.behind);
	return *taken && first < s.behind ? span_put(p, &s) : NW_OK;
}

/* --- in order --- */

static int
by_group(const void *a, const void *b)
{
	const struct linepacket *x = a, *y = b;

	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return (x->t_wall_ns > y->t_wall_ns) - (x->t_wall_ns < y->t_wall_ns);
}

static bool
is_one_group(const struct linepacket *x, const struct linepacket *y)
{
	return x->flow == y->flow && x->name == y->name && x->host == y->host;
}

/* Sequence numbers without wrapping: a number lies within 2^31 of the one before. */
static void
settle(struct linepackets *p)
{
	struct linepacket *x, *before;
	uint32_t len;
	size_t i;

	if (p->n > 1)
		qsort(p->packet, p->n, sizeof(*p->packet), by_group);
	for (i = 0; i < p->n; i++) {
		x = &p->packet[i];
		len = (uint32_t)x->behind - (uint32_t)x->first;
		before = i > 0 && is_one_group(x, x - 1) ? x - 1 : NULL;
		if (before != NULL)
			x->first =
			    before->first + (int32_t)((uint32_t)x->first - (uint32_t)before->first);
		x->behind = x->first + len;
		x->reached =
		    before != NULL && before->reached > x->behind ? before->reached : x->behind;
	}
}

/* --- joining --- */

/* The first of n packets, rising in time, not before t; the last one if all are before. */
static size_t
packet_at(const struct linepacket *v, size_t n, int64_t t)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (v[mid].t_wall_ns < t)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n ? low : n - 1;
}

/* The first packet of a group that carries the byte; n: none. */
static size_t
packet_of(const struct linepacket *v, size_t n, uint32_t sequence, int64_t t)
{
	int64_t near = v[packet_at(v, n, t)].first, byte;
	size_t low = 0, high = n, mid;

	byte = near + (int32_t)(sequence - (uint32_t)near);
	while (low < high) {
		mid = (low + high) / 2;
		if (v[mid].reached <= byte)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && v[low].first <= byte ? low : n;
}

static const struct linesocket *
socket_of(const struct linepackets *p, const struct linespan *s)
{
	size_t i;

	for (i = 0; i < p->n_sockets; i++)
		if (p->socket[i].host == s->host && p->socket[i].cookie == s->cookie)
			return &p->socket[i];
	return NULL;
}

static bool
name_is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);
	const char *at = strstr(list, name);

	for (; at != NULL; at = strstr(at + 1, name))
		if ((at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
			return len > 0;
	return false;
}

static int
by_flow(const void *a, const void *b)
{
	const struct linespan *x = a, *y = b;

	return (x->flow > y->flow) - (x->flow < y->flow);
}

/* Finds the flow and the last byte of each span. */
static void
spans_settle(struct linepackets *p)
{
	const struct linesocket *socket;
	struct linespan *s;

	for (s = p->span; s < p->span + p->n_spans; s++) {
		socket = socket_of(p, s);
		s->flow = socket != NULL ? socket->flow : LINESET_NAMES_MAX;
		s->sequence = socket != NULL ? socket->origin + (uint32_t)s->behind - 1 : 0;
	}
	if (p->n_spans > 1)
		qsort(p->span, p->n_spans, sizeof(*p->span), by_flow);
}

/* All spans of the group's flow at the group's point; from: the first span of the flow. */
static int
group_join(const struct linepackets *p, const struct linepacket *v, size_t n, size_t from,
    linepackets_point_fn *put, void *arg)
{
	const struct linespan *s = p->span + from;
	size_t at;
	int rc = NW_OK;

	for (; rc == NW_OK && s < p->span + p->n_spans && s->flow == v->flow; s++) {
		at = packet_of(v, n, s->sequence, s->t_wall_ns);
		if (at < n)
			rc = put(arg, v[at].t_wall_ns, s->line, v->name, v->host);
	}
	return rc;
}

int
linepackets_join(
    struct linepackets *p, const struct lineset_names *names, linepackets_point_fn *put, void *arg)
{
	size_t i, n, from = 0;
	int rc = NW_OK;

	settle(p);
	spans_settle(p);
	for (i = 0; i < p->n && rc == NW_OK; i += n) {
		while (from < p->n_spans && p->span[from].flow < p->packet[i].flow)
			from++;
		for (n = 1; i + n < p->n && is_one_group(&p->packet[i], &p->packet[i + n]); n++)
			continue;
		if (name_is_listed(linepackets_way, names->text[p->packet[i].name]))
			rc = group_join(p, &p->packet[i], n, from, put, arg);
	}
	return rc;
}

/* --- recordings alone --- */

/* The name whose events become objects; LINESET_NAMES_MAX: none. */
static uint32_t
name_of_objects(const struct linepackets *p, const struct lineset_names *names)
{
	const char *at = written;
	char word[NAME_BYTES];
	size_t i, len;

	while (*at != '\0') {
		len = strcspn(at, ",");
		snprintf(word, sizeof(word), "%.*s", (int)len, at);
		for (i = 0; i < p->n; i++)
			if (strcmp(names->text[p->packet[i].name], word) == 0)
				return p->packet[i].name;
		at = at == written ? linepackets_way : at + len + (at[len] == ',');
	}
	return LINESET_NAMES_MAX;
}

/* A socket without origin: the flow's own numbers count. */
static int
socket_of_flow(struct linepackets *p, const struct linepacket *x, struct linespan *s)
{
	size_t i;

	s->cookie = UINT64_MAX - x->flow;
	s->behind = (uint32_t)x->behind;
	for (i = 0; i < p->n_sockets; i++)
		if (p->socket[i].cookie == s->cookie && p->socket[i].host == x->host)
			return NW_OK;
	if (!array_room(&p->socket, &p->cap_sockets, p->n_sockets + 1, sizeof(*p->socket)))
		return NW_ENOMEM;
	p->socket[p->n_sockets++] = (struct linesocket){ s->cookie, x->host, x->flow, 0 };
	return NW_OK;
}

int
linepackets_lines(
    struct linepackets *p, const struct lineset_names *names, linepackets_make_fn *make, void *arg)
{
	uint32_t name = name_of_objects(p, names);
	const struct linepacket *x;
	struct linespan s;
	char label[LABEL_BYTES];
	size_t i;
	int rc = NW_OK;

	settle(p);
	for (i = 0; rc == NW_OK && i < p->n; i++) {
		x = &p->packet[i];
		if (x->name != name ||
		    (i > 0 && is_one_group(x, x - 1) && x->behind <= x[-1].reached))
			continue; /* another layer, or a packet that is sent again */
		snprintf(label, sizeof(label), "%.120s %" PRIu32, p->flows.text[x->flow],
		    (uint32_t)x->first);
		s = (struct linespan){ .t_wall_ns = x->t_wall_ns, .host = x->host };
		if ((rc = socket_of_flow(p, x, &s)) == NW_OK)
			rc = make(arg, label, p->flows.text[x->flow], &s.line);
		if (rc == NW_OK)
			rc = span_put(p, &s);
	}
	return rc;
}

void
linepackets_clear(struct linepackets *p)
{
	linenames_clear(&p->flows);
	free(p->packet);
	free(p->socket);
	free(p->span);
	*p = (struct linepackets){ .n = 0 };
}
