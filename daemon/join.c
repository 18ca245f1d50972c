/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/join.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/box.h"
#include "daemon/session.h"
#include "narrows/caliper.h"

enum { TUPLES_MAX = 64, HOSTS_MAX = 8, SIDE_DISK = 1, SIDE_NET = 2 };
#define JOIN_NEAR_NS (30 * (int64_t)1000000000)

struct join {
	char *tuple[TUPLES_MAX];
	unsigned n_tuples;
	struct { int64_t id; unsigned sides; } host[HOSTS_MAX];
	unsigned n_hosts;
};

void
join_free(struct join *j)
{
	while (j != NULL && j->n_tuples > 0)
		free(j->tuple[--j->n_tuples]);
	free(j);
}

/* The same text from both ends. NULL: not a whole connection. */
static char *
tuple_text(const struct nw_subject *s)
{
	char a[160], b[160];
	int order;

	if (s->src == NULL || s->dst == NULL || s->sport == 0 || s->dport == 0)
		return NULL;
	snprintf(a, sizeof(a), "%.140s/%u", s->src, s->sport);
	snprintf(b, sizeof(b), "%.140s/%u", s->dst, s->dport);
	order = strcmp(a, b);
	return xasprintf("%s %s", order < 0 ? a : b, order < 0 ? b : a);
}

static unsigned
side_of(const struct nw_subject *s)
{
	if (s->type != NULL)
		return strcmp(s->type, "disk") == 0 ? SIDE_DISK : strcmp(s->type, "network") == 0 ? SIDE_NET : 0;
	return s->resource != NULL ? SIDE_DISK : s->dst != NULL ? SIDE_NET : 0;
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
has_tuple(const struct join *j, const char *tuple)
{
	unsigned i;

	for (i = 0; i < j->n_tuples; i++)
		if (strcmp(j->tuple[i], tuple) == 0)
			return true;
	return false;
}

static void
note(struct join *j, int64_t host_id, unsigned side, const char *tuple)
{
	unsigned i;

	for (i = 0; i < j->n_hosts && j->host[i].id != host_id; i++)
		;
	if (i == j->n_hosts && i < HOSTS_MAX)
		j->host[j->n_hosts++].id = host_id;
	if (i < HOSTS_MAX)
		j->host[i].sides |= side;
	if (tuple != NULL && j->n_tuples < TUPLES_MAX && !has_tuple(j, tuple))
		j->tuple[j->n_tuples++] = xstrdup(tuple);
}

/* The one session that fits; NULL when none or several do. O(sessions in memory), for senders without task only. */
static struct session *
only_match(struct box *box, const struct session *but, const char *tuple, int64_t host_id, unsigned lacks)
{
	int64_t now = nw_wall_ns();
	struct session *s, *tmp, *found = NULL;

	HASH_ITER(hh, box->sessions, s, tmp) {
		if (s == but || s->join == NULL || s->merged_into != NULL || s->state == SESSION_CLOSED)
			continue;
		if (tuple != NULL) {
			if (has_tuple(s->join, tuple))
				return s;        /* a connection is one thing */
			continue;
		}
		if (now - s->opened_wall_ns > JOIN_NEAR_NS || sides_of_host(s->join, host_id) == 0 ||
		    (sides_of_host(s->join, host_id) & lacks) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = s;
	}
	return found;
}

/* A second transfer through the same XSP session is another session: its key has a number. */
static struct session *
session_begin(struct box *box, const char *sess_id_hex, bool again)
{
	char *key = again ? xasprintf("xsp:%s#%lld", sess_id_hex, (long long)box->next.session) :
	    xasprintf("xsp:%s", sess_id_hex);
	struct session *s = session_join(box, key);

	if (s->join == NULL)
		s->join = xcalloc(1, sizeof(*s->join));
	free(key);
	return s;
}

struct session *
join_find(struct box *box, const struct join_clue *clue)
{
	struct session *s = clue->current, *other = NULL;
	unsigned side = side_of(clue->subject);
	char *tuple = tuple_text(clue->subject);

	if (s != NULL && (s->join == NULL || s->state == SESSION_CLOSED))
		s = NULL;                        /* that one has a task of its own, or has ended */
	if (tuple != NULL)
		other = only_match(box, s, tuple, 0, 0);
	if (other == NULL && s == NULL && side != 0)
		other = only_match(box, NULL, NULL, clue->host_id, side);
	if (s == NULL && other == NULL)
		s = session_begin(box, clue->sess_id_hex, clue->current != NULL);
	else if (s == NULL) {
		s = other;
		s->refs++;
	} else {
		s->refs++;
		if (other != NULL) {
			session_merge(s, other);
			s = session_now(s);
		}
	}
	/* Its two halves on this host may have begun apart. */
	if (tuple != NULL && (other = only_match(box, s, NULL, clue->host_id, side)) != NULL &&
	    sides_of_host(other->join, clue->host_id) == SIDE_DISK && (sides_of_host(s->join, clue->host_id) & SIDE_DISK) == 0)
		session_merge(other, s);
	note(s->join, clue->host_id, side, tuple);
	free(tuple);
	return s;
}
