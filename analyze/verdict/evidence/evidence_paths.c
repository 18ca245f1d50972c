/* SPDX-License-Identifier: BSD-3-Clause */
/* How far the other ends were while the session worked: hops and the MTU of the way. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/xmalloc.h"

/* A probe looks every ten seconds, and the way is searched anew after each look. */
#define BEFORE_NS INT64_C(60000000000)
#define BEHIND_NS INT64_C(30000000000)

struct path_search {
	struct store_reader *reader;
	struct evidence *e;
	size_t host;
	struct evidence_path found;
	const struct nw_layout_rec *layout;
};

static double *
value_of(struct evidence_path *p, const char *field)
{
	return strcmp(field, "hops") == 0    ? &p->hops
	    : strcmp(field, "path_mtu") == 0 ? &p->mtu_bytes
					     : NULL;
}

static int
on_rows(void *arg, const struct store_block *b)
{
	struct path_search *s = arg;
	double *value;
	size_t i;
	uint32_t f;

	for (f = 0; f < b->n_fields && f < s->layout->n_fields; f++) {
		if ((value = value_of(&s->found, s->layout->fields[f])) == NULL)
			continue;
		for (i = 0; i < b->n_rows; i++)
			if (!isnan(b->columns[f][i]))
				*value = b->columns[f][i];
	}
	return 0;
}

static int
on_layout(void *arg, const struct nw_layout_rec *l)
{
	struct path_search *s = arg;

	s->layout = l;
	return store_rows(s->reader, l->id, s->e->first_wall_ns - BEFORE_NS,
	    s->e->last_wall_ns + BEHIND_NS, on_rows, s);
}

/* Whether the session moved data between the host and an address, or the address is the name of
 * another host of the session. */
static bool
is_other_end(const struct evidence *e, size_t host, const char *address)
{
	const struct evidence_connection *c;
	const size_t named = evidence_host_find(e, address);

	for (c = e->connections; c < e->connections + e->n_connections; c++)
		if (c->host == host && strcmp(c->dst, address) == 0)
			return true;
	return named < e->n_hosts && named != host;
}

static bool
is_known(const struct evidence *e, size_t host, const char *peer)
{
	size_t i;

	for (i = 0; i < e->n_paths; i++)
		if (e->paths[i].host == host && strcmp(e->paths[i].peer, peer) == 0)
			return true;
	return false;
}

/* A peer is an address, '/' and a port. */
static int
on_peer(void *arg, const struct nw_meta_rec *m)
{
	struct path_search *s = arg;
	struct evidence *e = s->e;
	json_t *subject = m->subject_json != NULL ? json_loads(m->subject_json, 0, NULL) : NULL;
	const char *peer = json_string_value(json_object_get(subject, "peer"));
	char *address =
	    xasprintf("%.*s", peer != NULL ? (int)strcspn(peer, "/") : 0, peer != NULL ? peer : "");
	int rc = NW_OK;

	s->found = (struct evidence_path){ s->host, address, NAN, NAN };
	if (e->n_paths < EVIDENCE_LIST_MAX && is_other_end(e, s->host, address) &&
	    !is_known(e, s->host, address))
		rc = store_layouts(s->reader, m->id, on_layout, s);
	if (isnan(s->found.hops) && isnan(s->found.mtu_bytes))
		free(address);
	else {
		e->paths = xreallocarray(e->paths, e->n_paths + 1, sizeof(*e->paths));
		e->paths[e->n_paths++] = s->found;
	}
	json_decref(subject);
	return rc;
}

int
evidence_paths(struct store_reader *r, struct evidence *e)
{
	struct path_search s = { .reader = r, .e = e };
	int rc = NW_OK;

	if (e->first_wall_ns == 0 || e->last_wall_ns == 0)
		return NW_OK;
	for (; s.host < e->n_hosts && rc == NW_OK; s.host++)
		rc = store_metas(r, 0, e->hosts[s.host].id, NW_TYPE_PEER, on_peer, &s);
	return rc;
}

void
evidence_paths_clear(struct evidence *e)
{
	while (e->n_paths > 0)
		free(e->paths[--e->n_paths].peer);
	free(e->paths);
}
