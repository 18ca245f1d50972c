/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include <uthash.h>

#include "daemon/ends.h"
#include "daemon/session.h"
#include "narrows/address.h"
#include "narrows/clock.h"

enum { ENDS_MAX = 2048 };
/* Largest delay of the other end of an ended transfer. Later, a connection with the same
 * addresses and ports is another connection. */
#define LATE_NS (30 * INT64_C(1000000000))

struct end {
	char *key; /* "address/port address/port": this end's first */
	char *owner;
	struct session *session; /* a reference */
	bool is_agent;
	struct end *newer;
	UT_hash_handle hh;
};

struct ends {
	struct end *by_key;
	struct end *oldest, *newest;
	unsigned n;
	struct ends *announced; /* connections by hearsay, with bounds of their own; or NULL */
};

struct ends *
ends_new(void)
{
	struct ends *e = xcalloc(1, sizeof(*e));

	e->announced = xcalloc(1, sizeof(*e));
	return e;
}

static void
end_forget_oldest(struct ends *e)
{
	struct end *end = e->oldest;

	e->oldest = end->newer;
	if (e->oldest == NULL)
		e->newest = NULL;
	e->n--;
	if (end->key != NULL)
		HASH_DEL(e->by_key, end);
	session_release(end->session);
	free(end->key);
	free(end->owner);
	free(end);
}

void
ends_free(struct ends *e)
{
	if (e == NULL)
		return;
	ends_free(e->announced);
	while (e->oldest != NULL)
		end_forget_oldest(e);
	free(e);
}

static char *
key_of(const char *a, unsigned a_port, const char *b, unsigned b_port)
{
	return xasprintf("%.140s/%u %.140s/%u", a, a_port, b, b_port);
}

static bool
is_at(const struct session_guest *guest, const char *address)
{
	return guest->address != NULL &&
	    (session_guest_is(guest, address) || address_is_loopback(guest->address));
}

static bool
is_current(const struct session *s)
{
	return s->state != SESSION_CLOSED || nw_wall_ns() - s->closed_wall_ns < LATE_NS;
}

/* A later word on the same end of the same connection takes the place of the first. */
static void
end_put(struct ends *e, char *key, struct session *s, const struct ends_sender *sender)
{
	struct end *end;

	HASH_FIND_STR(e->by_key, key, end);
	if (end != NULL) {
		HASH_DEL(e->by_key, end); /* its place in the row of ages stays */
		free(end->key);
		end->key = NULL;
	}
	if (e->n == ENDS_MAX)
		end_forget_oldest(e);
	end = xcalloc(1, sizeof(*end));
	end->key = key;
	end->owner = xstrdup(sender->guest->owner);
	end->session = s;
	end->is_agent = sender->is_agent;
	s->refs++;
	if (e->newest != NULL)
		e->newest->newer = end;
	else
		e->oldest = end;
	e->newest = end;
	e->n++;
	HASH_ADD_KEYPTR(hh, e->by_key, end->key, strlen(end->key), end);
}

/* The agent's session becomes part of the other session; of two such sessions, the newer. A closed
 * session never does: the open one becomes part of it. */
static void
ends_join(struct session *s, bool is_agent, struct end *other)
{
	struct session *o = other->session = session_now(other->session), *into;

	if (o == s || !is_current(o) || !is_current(s))
		return;
	if (s->state == SESSION_CLOSED || o->state == SESSION_CLOSED)
		into = s->state == SESSION_CLOSED ? s : o;
	else
		into = is_agent && (!other->is_agent || s->id > o->id) ? o : s;
	if (into == s && o->state != SESSION_CLOSED)
		session_merge(o, s);
	else if (into == o && s->state != SESSION_CLOSED)
		session_merge(s, o);
}

/* The end of a connection, named either way round; NULL without one. */
static struct end *
end_either(struct ends *e, const struct nw_subject *subject)
{
	char *key = key_of(subject->src, subject->sport, subject->dst, subject->dport);
	struct end *end;

	HASH_FIND_STR(e->by_key, key, end);
	free(key);
	if (end == NULL) {
		key = key_of(subject->dst, subject->dport, subject->src, subject->sport);
		HASH_FIND_STR(e->by_key, key, end);
		free(key);
	}
	if (end != NULL)
		end->session = session_now(end->session);
	return end;
}

struct session *
ends_find(struct ends *e, const struct nw_subject *subject)
{
	struct end *end = e != NULL ? end_either(e, subject) : NULL;

	return end != NULL && is_current(end->session) ? end->session : NULL;
}

void
ends_announce(struct ends *e, struct session *s, const struct nw_subject *subject)
{
	const struct session_guest guest = { .owner = SESSION_ANNOUNCER };
	const struct ends_sender sender = { .guest = &guest };

	if (e != NULL)
		end_put(e->announced,
		    key_of(subject->src, subject->sport, subject->dst, subject->dport), s, &sender);
}

void
ends_note(struct ends *e, struct session *s, const struct ends_sender *sender,
    const struct nw_subject *subject)
{
	struct end *other;
	char *key;

	if (e == NULL || subject->src == NULL || subject->dst == NULL || subject->sport == 0 ||
	    subject->dport == 0 || !is_at(sender->guest, subject->src))
		return;
	end_put(e, key_of(subject->src, subject->sport, subject->dst, subject->dport), s, sender);
	key = key_of(subject->dst, subject->dport, subject->src, subject->sport);
	HASH_FIND_STR(e->by_key, key, other);
	free(key);
	if (other != NULL && (sender->is_agent || other->is_agent) &&
	    strcmp(other->owner, sender->guest->owner) != 0)
		ends_join(s, sender->is_agent, other);
	s = session_now(s);
	if ((other = end_either(e->announced, subject)) != NULL && other->session != s &&
	    is_current(other->session) &&
	    strcmp(session_get_owner(other->session), SESSION_ANNOUNCER) == 0)
		session_merge(other->session, s);
}
