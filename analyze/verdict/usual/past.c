/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/usual/past.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/evidence/hostaddresses.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/splitmix.h"
#include "narrows/xmalloc.h"

struct loading {
	struct past *out;
	size_t n_rows; /* of the store */
	int64_t except_id, before_wall_ns;
	char *showing; /* sessions of the open step's record, or NULL */
};

static int
on_acceptance(void *arg, const struct nw_acceptance_rec *a)
{
	struct loading *l = arg;
	struct past *p = l->out;

	if (a->t_wall_ns > l->before_wall_ns)
		return 1;
	p->accepted_wall_ns =
	    xreallocarray(p->accepted_wall_ns, p->n_accepted + 1, sizeof(*p->accepted_wall_ns));
	p->accepted_wall_ns[p->n_accepted++] = a->t_wall_ns;
	return 0;
}

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct loading *l = arg;
	struct past *p = l->out;

	l->n_rows++;
	if (res == NULL || s->id == l->except_id || s->closed_wall_ns == 0)
		return 0;
	if (res->exit_status > 0) {
		p->n_failed++;
		return 0;
	}
	if (!(isfinite(res->bytes_per_s) && res->bytes_per_s > 0))
		return 0;
	p->session = xreallocarray(p->session, p->n + 1, sizeof(*p->session));
	p->session[p->n++] = (struct past_session){ .id = s->id,
		.start_wall_ns = res->start_wall_ns,
		.bytes_per_s = res->bytes_per_s,
		.bytes = res->bytes,
		.stage = xstrdup(res->stage) };
	return 0;
}

static int
session_order(const void *a, const void *b)
{
	const struct past_session *x = a, *y = b;

	return x->start_wall_ns != y->start_wall_ns ? (x->start_wall_ns > y->start_wall_ns) * 2 - 1
						    : (x->id > y->id) - (x->id < y->id);
}

static void
past_cut(struct past *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(p->session[i].stage);
	p->n -= n;
	if (n > 0)
		memmove(p->session, p->session + n, p->n * sizeof(*p->session));
}

/* The oldest session with the least hash: the first session stays the same, whatever comes, until
 * the window has passed. */
static size_t
first_of_old(const struct past *p)
{
	uint64_t least = UINT64_MAX, seed, hash;
	size_t i, first = 0;

	for (i = 0; i < PAST_SLACK; i++) {
		seed = (uint64_t)p->session[i].id;
		if ((hash = nw_splitmix(&seed)) < least) {
			least = hash;
			first = i;
		}
	}
	return first;
}

/* Sorts the sessions of all names of the route, and keeps the latest. */
static void
past_settle(struct past *p, bool is_old)
{
	if (p->n > 0)
		qsort(p->session, p->n, sizeof(*p->session), session_order);
	past_cut(p, p->n > PAST_MAX ? p->n - PAST_MAX : 0);
	if (is_old && p->n > 2 * PAST_SLACK)
		past_cut(p, first_of_old(p));
}

/* Loads the sessions of earlier names of a route: one end measured, the other one an address of its
 * host. */
static int
other_names_load(struct store_reader *r, const char *route, const char *program,
    int64_t before_wall_ns, struct loading *l)
{
	static const char arrow[] = " -> ";
	const char *to = strstr(route, arrow);
	struct host_addresses known;
	const struct host_address *a;
	size_t from_len;
	char *name;
	int rc;

	if (to == NULL)
		return NW_OK;
	from_len = (size_t)(to - route);
	to += sizeof(arrow) - 1;
	rc = host_addresses_load(r, &known);
	for (a = known.list; a < known.list + known.n && rc == NW_OK; a++) {
		const char *host = host_addresses_find(&known, a->address);

		if (host == NULL || host != a->host)
			continue; /* another host has the address, or it was here before */
		name = strcmp(host, to) == 0
		    ? xasprintf("%.*s%s%s", (int)from_len, route, arrow, a->address)
		    : strlen(host) == from_len && memcmp(host, route, from_len) == 0
		    ? xasprintf("%s%s%s", a->address, arrow, to)
		    : NULL;
		if (name != NULL)
			rc = store_sessions_of_route(
			    r, name, program, before_wall_ns, PAST_MAX, on_session, l);
		free(name);
	}
	host_addresses_clear(&known);
	return rc;
}

/* --- incidents that are over --- */

/* So many sessions before an incident show the incident again. */
enum { SHOWN_AGAIN = 100, KEPT_MAX = 1000 };

static size_t
sessions_before(const struct past *p, int64_t t_wall_ns)
{
	size_t i;

	for (i = 0; i < p->n && p->session[i].start_wall_ns < t_wall_ns; i++)
		;
	return i;
}

static void
kept_add(struct past *p, const struct nw_incident_rec *rec)
{
	p->kept = xreallocarray(p->kept, p->n_kept + 1, sizeof(*p->kept));
	memmove(p->kept + 1, p->kept, p->n_kept++ * sizeof(*p->kept));
	p->kept[0] = (struct past_kept){ .json = xstrdup(rec->json),
		.begin_wall_ns = rec->begin_wall_ns,
		.end_wall_ns = rec->end_wall_ns,
		.accepted = strcmp(rec->state, "accepted") == 0 };
}

static int
on_incident(void *arg, const struct nw_incident_rec *rec)
{
	struct loading *l = arg;
	struct past *p = l->out;
	json_t *o;
	double n_earlier;

	if (strcmp(rec->kind, "step") != 0 || rec->begin_wall_ns >= l->before_wall_ns)
		return 0;
	if (strcmp(rec->state, "open") == 0) {
		free(l->showing);
		l->showing = xstrdup(rec->sessions);
		return 0;
	}
	o = json_loads(rec->json, 0, NULL);
	n_earlier = result_number(o, KEY_incident_n_earlier);
	json_decref(o);
	if (isfinite(n_earlier) &&
	    (double)sessions_before(p, rec->begin_wall_ns) < fmin(n_earlier, SHOWN_AGAIN))
		kept_add(p, rec);
	return 0;
}

static bool
is_left_out(const struct past *p, int64_t start_wall_ns)
{
	const struct past_kept *k;

	for (k = p->kept; k < p->kept + p->n_kept; k++)
		if (k->accepted
			? start_wall_ns < k->begin_wall_ns
			: start_wall_ns >= k->begin_wall_ns && start_wall_ns < k->end_wall_ns)
			return true;
	return false;
}

/* --- an incident that is open --- */

char *
past_showing(const struct past_session *const *session, size_t n)
{
	json_t *list = json_array();
	char *text;
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(list,
		    json_pack("[IIffs?]", (json_int_t)session[i]->id,
			(json_int_t)session[i]->start_wall_ns, session[i]->bytes_per_s,
			isfinite(session[i]->bytes) ? session[i]->bytes : 0, session[i]->stage));
	text = json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_decref(list);
	return text;
}

static int
on_number(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	(void)res;
	*(int64_t *)arg = s->id;
	return 1;
}

/* Whether the store has no session of this number any more. */
static bool
is_expired(struct store_reader *r, int64_t id)
{
	int64_t found = 0;

	return store_sessions(r, id + 1, 1, on_number, &found) == NW_OK && found != id;
}

static bool
is_loaded(const struct past *p, int64_t id)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->session[i].id == id)
			return true;
	return false;
}

/* Adds the sessions that have expired since the step's record was written. */
static void
expired_add(struct store_reader *r, struct loading *l)
{
	json_t *list = l->showing != NULL ? json_loads(l->showing, 0, NULL) : NULL, *o;
	struct past *p = l->out;
	json_int_t id, start;
	double rate, bytes;
	json_t *stage;
	size_t i, n = p->n;

	json_array_foreach(list, i, o)
	{
		if (json_unpack(o, "[IIFFo]", &id, &start, &rate, &bytes, &stage) != 0 ||
		    id == l->except_id || start >= l->before_wall_ns || !(rate > 0) ||
		    !isfinite(rate) || is_loaded(p, id) || !is_expired(r, id))
			continue;
		p->session = xreallocarray(p->session, p->n + 1, sizeof(*p->session));
		p->session[p->n++] = (struct past_session){ .id = id,
			.start_wall_ns = start,
			.bytes_per_s = rate,
			.bytes = bytes,
			.stage = xstrdup(json_string_value(stage)) };
	}
	json_decref(list);
	if (p->n > n)
		past_settle(p, false);
}

static int
incidents_keep(struct store_reader *r, const char *route, const char *program, struct loading *l)
{
	const struct nw_incident_select select = {
		.route = route, .program = program, .limit = KEPT_MAX
	};
	struct past *p = l->out;
	size_t i, n = p->n;
	int rc = store_incidents(r, &select, on_incident, l);

	for (p->n = i = 0; i < n; i++)
		if (is_left_out(p, p->session[i].start_wall_ns))
			free(p->session[i].stage);
		else
			p->session[p->n++] = p->session[i];
	if (rc == NW_OK)
		expired_add(r, l);
	free(l->showing);
	l->showing = NULL;
	return rc;
}

int
past_load(struct store_reader *r, const char *route, const char *program, int64_t before_wall_ns,
    int64_t except_id, struct past *out)
{
	struct loading l = { .out = out, .except_id = except_id, .before_wall_ns = before_wall_ns };
	int rc;

	*out = (struct past){ 0 };
	route = route != NULL ? route : "";
	program = program != NULL ? program : "";
	rc = store_sessions_of_route(r, route, program, before_wall_ns, PAST_MAX, on_session, &l);
	if (rc == NW_OK)
		rc = other_names_load(r, route, program, before_wall_ns, &l);
	if (rc == NW_OK)
		rc = store_acceptances(r, route, program, on_acceptance, &l);
	if (rc == NW_OK) {
		past_settle(out, l.n_rows >= PAST_MAX);
		rc = incidents_keep(r, route, program, &l);
	}
	if (rc < 0)
		past_clear(out);
	return rc;
}

void
past_clear(struct past *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		free(p->session[i].stage);
	for (i = 0; i < p->n_kept; i++)
		free(p->kept[i].json);
	free(p->kept);
	free(p->session);
	free(p->accepted_wall_ns);
	*p = (struct past){ 0 };
}

bool
past_is_alike(const struct past_session *s, double bytes)
{
	return !(s->bytes > 10 * bytes) && !(s->bytes * 10 < bytes);
}
