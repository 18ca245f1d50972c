/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/join.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/box.h"
#include "daemon/session.h"
#include "narrows/address.h"
#include "narrows/clock.h"

enum { MARKS_MAX = 128, HOSTS_MAX = 8, UUID_CHARS = 36 };

/* Sides of a transfer on a host; the _SOME sides come from notices without a direction. */
enum { DISK_READ = 1, NET_WRITE = 2, DISK_WRITE = 4, NET_READ = 8, DISK_SOME = 16, NET_SOME = 32 };

static const struct {
	unsigned side, same, other_half;
} sides[] = {
	{ DISK_READ, DISK_READ | DISK_SOME, NET_WRITE | NET_SOME },
	{ NET_WRITE, NET_WRITE | NET_SOME, DISK_READ | DISK_SOME },
	{ DISK_WRITE, DISK_WRITE | DISK_SOME, NET_READ | NET_SOME },
	{ NET_READ, NET_READ | NET_SOME, DISK_WRITE | DISK_SOME },
	{ DISK_SOME, DISK_READ | DISK_WRITE | DISK_SOME, NET_WRITE | NET_READ | NET_SOME },
	{ NET_SOME, NET_WRITE | NET_READ | NET_SOME, DISK_READ | DISK_WRITE | DISK_SOME },
};
#define JOIN_NEAR_NS (30 * (int64_t)1000000000)

struct join {
	/* text of connections and transfers: a session with an equal mark is part of the same
	 * transfer */
	char *mark[MARKS_MAX];
	unsigned n_marks;
	struct {
		int64_t id;
		unsigned sides;
	} host[HOSTS_MAX];
	unsigned n_hosts;
};

static void
join_free(struct join *j)
{
	while (j != NULL && j->n_marks > 0)
		free(j->mark[--j->n_marks]);
	free(j);
}

/* A sender is believed that a connection is its own if the sender has the address of one of the
 * connection's ends, or speaks from the box's machine. */
static bool
is_at_end(const struct session_guest *guest, const struct nw_subject *s)
{
	return guest->address != NULL &&
	    (address_is_loopback(guest->address) || session_guest_is(guest, s->src) ||
		session_guest_is(guest, s->dst));
}

/* The same text from both ends, NULL without a whole connection of the sender's. */
static char *
tuple_text(const struct session_guest *guest, const struct nw_subject *s)
{
	char a[160], b[160];
	int order;

	if (s->src == NULL || s->dst == NULL || s->sport == 0 || s->dport == 0 ||
	    !is_at_end(guest, s))
		return NULL;
	snprintf(a, sizeof(a), "%.140s/%u", s->src, s->sport);
	snprintf(b, sizeof(b), "%.140s/%u", s->dst, s->dport);
	order = strcmp(a, b);
	return xasprintf("%s %s", order < 0 ? a : b, order < 0 ? b : a);
}

/* NULL without a transfer id, or for an id that is not unique in the world. */
static char *
xfer_text(const struct join_clue *clue)
{
	return clue->xfer_id != NULL && strlen(clue->xfer_id) == UUID_CHARS
	    ? xasprintf("xfer %s", clue->xfer_id)
	    : NULL;
}

static unsigned
side_of(const struct join_clue *clue)
{
	const struct nw_subject *s = clue->subject;
	bool reads = strstr(clue->event_type, "read") != NULL,
	     writes = strstr(clue->event_type, "write") != NULL;

	if (s->type != NULL ? strcmp(s->type, "disk") == 0 : s->resource != NULL)
		return reads == writes ? DISK_SOME : reads ? DISK_READ : DISK_WRITE;
	if (s->type != NULL ? strcmp(s->type, "network") == 0 : s->dst != NULL)
		return reads == writes ? NET_SOME : reads ? NET_READ : NET_WRITE;
	return 0;
}

static unsigned
sides_of_host(const struct join *j, int64_t host_id)
{
	unsigned i;

	for (i = 0; i < j->n_hosts; i++)
		if (j->host[i].id == host_id)
			return j->host[i].sides;
	return 0;
}

static bool
has_mark(const struct join *j, const char *mark)
{
	unsigned i;

	for (i = 0; mark != NULL && i < j->n_marks; i++)
		if (strcmp(j->mark[i], mark) == 0)
			return true;
	return false;
}

static void
note_mark(struct join *j, const char *mark)
{
	if (mark != NULL && j->n_marks < MARKS_MAX && !has_mark(j, mark))
		j->mark[j->n_marks++] = xstrdup(mark);
}

static void
note_side(struct join *j, int64_t host_id, unsigned side)
{
	unsigned i;

	for (i = 0; i < j->n_hosts && j->host[i].id != host_id; i++)
		;
	if (i == HOSTS_MAX)
		return;
	if (i == j->n_hosts)
		j->host[j->n_hosts++].id = host_id;
	if (side & (DISK_READ | DISK_WRITE)) /* the direction of the notice is known now */
		j->host[i].sides &= ~(unsigned)DISK_SOME;
	if (side & (NET_READ | NET_WRITE))
		j->host[i].sides &= ~(unsigned)NET_SOME;
	j->host[i].sides |= side;
}

static void
merge(struct session *from, struct session *into)
{
	unsigned i;

	session_merge(from, into);
	for (i = 0; i < from->join->n_hosts; i++)
		note_side(into->join, from->join->host[i].id, from->join->host[i].sides);
	for (i = 0; i < from->join->n_marks; i++)
		note_mark(into->join, from->join->mark[i]);
}

/* True if `have` can be the other half, on the same host, of a transfer with `side`. */
static bool
is_other_half(unsigned have, unsigned side)
{
	size_t i;

	for (i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
		if (sides[i].side == side)
			return (have & sides[i].other_half) != 0 && (have & sides[i].same) == 0;
	return false;
}

/* True if no host has the same side in both. */
static bool
can_be_one(const struct join *a, const struct join *b)
{
	unsigned i, have;
	size_t k;

	for (i = 0; i < a->n_hosts; i++) {
		have = sides_of_host(b, a->host[i].id);
		for (k = 0; k < sizeof(sides) / sizeof(sides[0]); k++)
			if ((a->host[i].sides & sides[k].side) != 0 && (have & sides[k].same) != 0)
				return false;
	}
	return true;
}

static bool
is_candidate(const struct session *s, const struct session *but)
{
	return s != but && s->join != NULL && s->merged_into == NULL && s->state != SESSION_CLOSED;
}

/* O(sessions in memory) like other_half(); only for senders without task. */
static struct session *
marked(struct box *box, const struct session *but, const char *mark, const char *other_mark)
{
	struct session *s, *tmp;

	if (mark == NULL && other_mark == NULL)
		return NULL;
	HASH_ITER (hh, box->sessions, s, tmp)
		if (is_candidate(s, but) &&
		    (has_mark(s->join, mark) || has_mark(s->join, other_mark)))
			return s;
	return NULL;
}

/* The only session with the other half on the host; NULL if no session or several fit. */
static struct session *
other_half(struct box *box, const struct session *but, int64_t host_id, unsigned side)
{
	int64_t now = nw_wall_ns();
	struct session *s, *tmp, *found = NULL;

	HASH_ITER (hh, box->sessions, s, tmp) {
		if (!is_candidate(s, but) || now - s->opened_wall_ns > JOIN_NEAR_NS ||
		    !is_other_half(sides_of_host(s->join, host_id), side))
			continue;
		if (found != NULL)
			return NULL;
		found = s;
	}
	return found;
}

/* A second transfer through an XSP session is another session, with a number in the key. */
static struct session *
session_begin(struct box *box, const struct join_clue *clue)
{
	const char *hex = clue->sess_id_hex;
	char *key = clue->current != NULL
	    ? xasprintf("xsp:%s#%lld", hex, (long long)box->next.session)
	    : xasprintf("xsp:%s", hex);
	struct session *s = session_join(box, key, clue->guest);

	if (s->join == NULL) {
		s->join = xcalloc(1, sizeof(*s->join));
		s->join_free = join_free;
	}
	free(key);
	return s;
}

/* Merges sessions that began apart and have the other halves of s on the host. */
static void
halves_join(struct box *box, struct session *s, int64_t host_id)
{
	struct session *other;
	size_t i;

	for (i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
		if ((sides_of_host(s->join, host_id) & sides[i].side) != 0 &&
		    (other = other_half(box, s, host_id, sides[i].side)) != NULL &&
		    can_be_one(other->join, s->join))
			merge(other, s);
}

struct session *
join_find(struct box *box, const struct join_clue *clue)
{
	struct session *s = clue->current, *other;
	unsigned side = side_of(clue);
	char *tuple = tuple_text(clue->guest, clue->subject), *xfer = xfer_text(clue);

	if (s != NULL && (s->join == NULL || s->state == SESSION_CLOSED))
		s = NULL; /* a session with a task of its own, or a closed session */
	other = marked(box, s, tuple, xfer);
	if (other == NULL && s == NULL && side != 0)
		other = other_half(box, NULL, clue->host_id, side);
	if (s == NULL && other == NULL)
		s = session_begin(box, clue);
	else if (s == NULL) {
		s = other;
		s->refs++;
	} else {
		s->refs++;
		if (other != NULL) {
			merge(s, other);
			s = session_now(s);
		}
	}
	note_side(s->join, clue->host_id, side);
	note_mark(s->join, tuple);
	note_mark(s->join, xfer);
	if (side != 0)
		halves_join(box, s, clue->host_id);
	free(tuple);
	free(xfer);
	return s;
}
