/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/incidents.h"

#include <stdlib.h>
#include <string.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/reach.h"
#include "narrows/result.h"
#include "narrows/utf8.h"

enum { ROUTES_MAX = 2000, WITNESSES_MAX = 5000 };

/* --- the query --- */

static const char *const states[] = { "open", "ended", "accepted", NULL };

static bool
take_state(void *out, const char *text)
{
	size_t i = 0;

	while (states[i] != NULL && strcmp(states[i], text) != 0)
		i++;
	strcpy(out, states[i] != NULL ? states[i] : "");
	return *text == '\0' || states[i] != NULL;
}

#define AT(member) .at = offsetof(struct incidents_query, member)

const struct param incidents_params[] = {
	{ "state", PARAM_WORD, .words = states, .take = take_state, AT(state),
	    .meaning = "Incidents in this state.", .form = "open, ended or accepted",
	    .example = "open" },
	{ "route", PARAM_TEXT, .max = SESSION_ROUTE_BYTES - 1, AT(route),
	    .meaning = "The route as the list of routes has it.", .form = "text",
	    .example = "dtn1%20-%3E%20dtn2" },
	{ "program", PARAM_TEXT, .max = SESSION_FILTER_BYTES - 1, AT(program),
	    .meaning = "Program that moved the data.", .form = "text", .example = "rsync" },
	{ "session", PARAM_NUMBER, 1, INT64_MAX, AT(session_id),
	    .meaning = "The incident with this first session.", .form = "a number",
	    .example = "26" },
	{ "from", .also = "since", .take = session_filter_take_time, AT(since_wall_ns),
	    .meaning = "Incidents that went on at this time or later.",
	    .form = "ISO 8601, or a span before now", .example = "7d" },
	{ "before", PARAM_NUMBER, 1, INT64_MAX, AT(before_wall_ns),
	    .meaning = "Incidents that began before.",
	    .form = "nanoseconds since 1970, as next_before of the page before has them",
	    .example = "1795162331250000000" },
	{ "limit", PARAM_NUMBER, 1, INCIDENTS_LIMIT_MAX, AT(limit),
	    .meaning = "Entries of a page, 50 if missing.", .form = "1 to 1000", .example = "50" },
	{ .name = NULL },
};

bool
incidents_query_parse(struct incidents_query *q, const char *query)
{
	const struct param *p;
	struct evkeyvalq fields;
	struct evkeyval *field;
	bool ok = true;

	*q = (struct incidents_query){ .limit = INCIDENTS_MAX };
	if (query == NULL || *query == '\0')
		return true;
	if (evhttp_parse_query_str(query, &fields) != 0)
		return false;
	for (field = fields.tqh_first; field != NULL && ok; field = field->next.tqe_next)
		if ((p = param_find(incidents_params, field->key, 0)) == NULL ||
		    !param_take(p, q, field->value)) {
			q->bad = p;
			ok = false;
		}
	evhttp_clear_headers(&fields);
	return ok;
}

bool
incident_is(const json_t *o, enum result_key key, const char *word)
{
	const char *text = result_text(o, key);

	return text != NULL && strcmp(text, word) == 0;
}

/* --- other routes vouch --- */

/* Routes of the box, with the latest incidents of each. */
struct witness {
	char *route, *program;
	int64_t newest_session_id;
	/* bounds of the begin of its incidents, newest first */
	struct {
		int64_t from_wall_ns, to_wall_ns;
	} begin[4];
	size_t n_begins;
};

struct witnesses {
	struct witness *list;
	size_t n;
};

static int
on_route(void *arg, const struct nw_route_rec *rec)
{
	struct witnesses *w = arg;
	struct witness *room = realloc(w->list, (w->n + 1) * sizeof(*w->list)), *one;

	if (room == NULL)
		return NW_ENOMEM;
	w->list = room;
	one = &w->list[w->n++];
	*one = (struct witness){ .route = strdup(rec->route),
		.program = strdup(rec->program),
		.newest_session_id = rec->newest_session_id };
	return one->route != NULL && one->program != NULL ? 0 : NW_ENOMEM;
}

static int
witness_compare(const void *a, const void *b)
{
	const struct witness *x = a, *y = b;
	const int order = strcmp(x->route, y->route);

	return order != 0 ? order : strcmp(x->program, y->program);
}

static int
on_begin(void *arg, const struct nw_incident_rec *rec)
{
	struct witnesses *w = arg;
	struct witness key = { .route = (char *)(uintptr_t)rec->route,
		.program = (char *)(uintptr_t)rec->program },
		       *found = w->n > 0
	    ? bsearch(&key, w->list, w->n, sizeof(key), witness_compare)
	    : NULL;
	json_t *o;

	if (found == NULL || found->n_begins == sizeof(found->begin) / sizeof(found->begin[0]) ||
	    strcmp(rec->kind, "step") != 0 || (o = json_loads(rec->json, 0, NULL)) == NULL)
		return 0;
	found->begin[found->n_begins].from_wall_ns = result_ns(o, KEY_incident_from_ns);
	found->begin[found->n_begins++].to_wall_ns = result_ns(o, KEY_incident_to_ns);
	json_decref(o);
	return 0;
}

static int
witnesses_load(struct store_reader *r, int64_t since_wall_ns, struct witnesses *w)
{
	const struct nw_incident_select select = { .since_wall_ns = since_wall_ns,
		.limit = WITNESSES_MAX };
	int rc = store_routes(r, ROUTES_MAX, on_route, w);

	if (rc == NW_OK && w->n > 0) {
		qsort(w->list, w->n, sizeof(*w->list), witness_compare);
		rc = store_incidents(r, &select, on_begin, w);
	}
	return rc;
}

static void
witnesses_clear(struct witnesses *w)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		free(w->list[i].route);
		free(w->list[i].program);
	}
	free(w->list);
}

static json_t *
reach_words(const char *route, const struct nw_reach *reach)
{
	const char *to = strstr(route, " -> ");
	const int from_len = to != NULL ? (int)(to - route) : 0;
	const size_t n = reach->n_from + reach->n_to, fell = reach->n_from_fell + reach->n_to_fell;

	if (n == 0 || to == NULL)
		return json_null();
	to += strlen(" -> ");
	switch (reach->place) {
	case NW_REACH_FROM:
		return json_sprintf("Every other route over %.*s fell, too (%zu): the host %.*s.",
		    from_len, route, reach->n_from, from_len, route);
	case NW_REACH_TO:
		return json_sprintf(
		    "Every other route over %s fell, too (%zu): the host %s.", to, reach->n_to, to);
	case NW_REACH_EITHER:
		return json_sprintf("Every other route over %.*s and over %s fell, too (%zu).",
		    from_len, route, to, n);
	case NW_REACH_PATH:
		return json_sprintf("No other route over either host fell (%zu): the path between "
				    "them.",
		    n);
	case NW_REACH_UNKNOWN: break;
	}
	return json_sprintf("Other routes over its hosts: %zu of %zu fell, too.", fell, n);
}

static void
reach_put(json_t *o, const struct witnesses *w)
{
	static const char *const words[] = { [NW_REACH_UNKNOWN] = NULL,
		[NW_REACH_FROM] = "source",
		[NW_REACH_TO] = "destination",
		[NW_REACH_EITHER] = "hosts",
		[NW_REACH_PATH] = "path" };
	const char *route = result_text(o, KEY_incident_route);
	const int64_t from = result_ns(o, KEY_incident_from_ns),
		      to = result_ns(o, KEY_incident_to_ns),
		      session = (int64_t)result_number(o, KEY_incident_session);
	struct nw_reach_route *others = calloc(w->n + 1, sizeof(*others));
	struct nw_reach reach = { .place = NW_REACH_UNKNOWN };
	size_t i, k;

	for (i = 0; i < w->n && others != NULL; i++) {
		const struct witness *one = &w->list[i];

		others[i] = (struct nw_reach_route){ .route = one->route,
			.spoke = one->newest_session_id > session };
		for (k = 0; k < one->n_begins; k++)
			others[i].fell |=
			    one->begin[k].from_wall_ns <= to && from <= one->begin[k].to_wall_ns;
		others[i].spoke |= others[i].fell;
	}
	if (others != NULL && route != NULL && incident_is(o, KEY_incident_kind, "step"))
		reach = nw_reach_find(route, others, w->n);
	result_put_text(o, KEY_incident_place, words[reach.place]);
	result_set(o, KEY_incident_reach, route != NULL ? reach_words(route, &reach) : json_null());
	free(others);
}

/* --- the document --- */

static int
on_incident(void *arg, const struct nw_incident_rec *rec)
{
	json_t *o = json_loads(rec->json, 0, NULL);

	return o == NULL || json_array_append_new(arg, o) == 0 ? 0 : NW_ENOMEM;
}

static int
list_load(struct store_reader *r, const struct incidents_query *q, json_t *list)
{
	const struct nw_incident_select select = { .route = q->route[0] != '\0' ? q->route : NULL,
		.program = q->program[0] != '\0' ? q->program : NULL,
		.state = q->state[0] != '\0' ? q->state : NULL,
		.session_id = q->session_id,
		.since_wall_ns = q->since_wall_ns,
		.before_wall_ns = q->before_wall_ns,
		.limit = (size_t)q->limit };

	return store_incidents(r, &select, on_incident, list);
}

/* The earliest begin of the listed incidents. */
static int64_t
earliest_of(const json_t *list)
{
	return result_ns(json_array_get(list, json_array_size(list) - 1), KEY_incident_from_ns);
}

int
incidents_document(struct store_reader *r, const struct incidents_query *q, json_t **out)
{
	json_t *doc = json_object(), *list = json_array(), *o;
	struct witnesses w = { .n = 0 };
	uint64_t n_open = 0;
	size_t i;
	int rc = list_load(r, q, list);

	if (rc == NW_OK)
		rc = store_incidents_open(r, &n_open);
	if (rc == NW_OK && json_array_size(list) > 0)
		rc = witnesses_load(r, earliest_of(list), &w);
	json_array_foreach(list, i, o) reach_put(o, &w);
	witnesses_clear(&w);
	result_put_text(doc, KEY_incidents_schema, "narrows-incidents/1");
	result_put_int(doc, KEY_incidents_n_open, (int64_t)n_open);
	result_put_ns(doc, KEY_incidents_next_before,
	    json_array_size(list) == (size_t)q->limit
		? result_ns(json_array_get(list, json_array_size(list) - 1), KEY_incident_at_ns)
		: 0);
	result_set(doc, KEY_incidents_incidents, list);
	*out = rc == NW_OK ? doc : NULL;
	if (rc < 0)
		json_decref(doc);
	return rc;
}

/* --- acceptances --- */

const struct param acceptance_fields[] = {
	{ "session", PARAM_NUMBER, 1, INT64_MAX, .meaning = "First session of the open incident.",
	    .form = "a number", .example = "26" },
	{ "why", .max = STORE_ACCEPTANCE_BYTES, .min = 1,
	    .meaning = "Why the rate is usual from now on.", .form = "1 to 500 bytes of UTF-8",
	    .example = "moved to the slower link" },
	{ .name = NULL },
};

static int
on_accepted(void *arg, const struct nw_incident_rec *rec)
{
	struct nw_acceptance_rec *a = arg;

	if (strcmp(rec->kind, "step") != 0)
		return 0;
	a->route = strdup(rec->route);
	a->program = strdup(rec->program);
	return a->route != NULL && a->program != NULL ? 1 : NW_ENOMEM;
}

int
acceptance_find(struct store_reader *r, struct nw_acceptance_rec *a)
{
	const struct nw_incident_select select = {
		.session_id = a->session_id, .state = "open", .limit = 10
	};
	int rc = store_incidents(r, &select, on_accepted, a);

	return rc == NW_OK && a->route == NULL ? NW_ENOTFOUND : rc;
}

int
incident_accept(struct store_reader *r, const char *store_path, int64_t session_id, const char *who,
    const char *text, const char **why)
{
	struct nw_acceptance_rec a = { .session_id = session_id,
		.t_wall_ns = nw_wall_ns(),
		.who = who,
		.why = text != NULL ? text : "" };
	char reason[STORE_WHY_BYTES];
	int rc;

	*why = "why: 1 to 500 bytes of UTF-8";
	if (a.why[strspn(a.why, " \t\r\n")] == '\0' || strlen(a.why) > STORE_ACCEPTANCE_BYTES ||
	    !utf8_whole(a.why))
		return NW_EINVAL;
	*why = NULL;
	if ((rc = acceptance_find(r, &a)) == NW_OK)
		rc = store_acceptance_add_soon(store_path, &a, reason);
	if (rc == NW_ENOTFOUND)
		*why = "No open incident begins with this session; a drift cannot be accepted.";
	free((char *)(uintptr_t)a.route);
	free((char *)(uintptr_t)a.program);
	return rc;
}
