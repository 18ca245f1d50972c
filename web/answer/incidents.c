/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/incidents.h"

#include <stdlib.h>
#include <string.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/reach.h"
#include "narrows/result.h"
#include "narrows/utf8.h"

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

struct vouching {
	struct nw_reach_route *list;
	size_t n;
};

static int
on_vouch(void *arg, const struct nw_vouch_rec *rec)
{
	struct vouching *v = arg;
	void *room = realloc(v->list, (v->n + 1) * sizeof(*v->list));

	if (room == NULL)
		return NW_ENOMEM;
	v->list = room;
	v->list[v->n] = (struct nw_reach_route){
		.route = strdup(rec->route), .fell = rec->fell, .spoke = rec->spoke || rec->fell
	};
	return v->list[v->n++].route != NULL ? 0 : NW_ENOMEM;
}

static void
vouching_clear(struct vouching *v)
{
	while (v->n > 0)
		free((char *)(uintptr_t)v->list[--v->n].route);
	free(v->list);
}

/* What the routes over the hosts of an incident's route tell of its place. */
static int
reach_find(struct store_reader *r, const json_t *o, struct nw_reach *out)
{
	const char *route = result_text(o, KEY_incident_route),
		   *to = route != NULL ? strstr(route, " -> ") : NULL;
	const struct nw_incident_rec of = { .session_id =
						(int64_t)result_number(o, KEY_incident_session),
		.from_wall_ns = result_ns(o, KEY_incident_from_ns),
		.to_wall_ns = result_ns(o, KEY_incident_to_ns) };
	struct vouching v = { .n = 0 };
	char *from;
	int rc = NW_ENOMEM;

	*out = (struct nw_reach){ .place = NW_REACH_UNKNOWN };
	if (to == NULL || !incident_is(o, KEY_incident_kind, "step"))
		return NW_OK;
	if ((from = strndup(route, (size_t)(to - route))) != NULL)
		rc = store_vouching(r, from, to + strlen(" -> "), &of, on_vouch, &v);
	if (rc == NW_OK)
		*out = nw_reach_find(route, v.list, v.n);
	vouching_clear(&v);
	free(from);
	return rc;
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

static int
reach_put(struct store_reader *r, json_t *o)
{
	static const char *const words[] = { [NW_REACH_UNKNOWN] = NULL,
		[NW_REACH_FROM] = "source",
		[NW_REACH_TO] = "destination",
		[NW_REACH_EITHER] = "hosts",
		[NW_REACH_PATH] = "path" };
	const char *route = result_text(o, KEY_incident_route);
	struct nw_reach reach;
	int rc = reach_find(r, o, &reach);

	result_put_text(o, KEY_incident_place, words[reach.place]);
	result_set(o, KEY_incident_reach, route != NULL ? reach_words(route, &reach) : json_null());
	return rc;
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

static int
on_experiments(void *arg, int64_t made_wall_ns, const char *json)
{
	(void)made_wall_ns;
	*(json_t **)arg = json_loads(json, 0, NULL);
	return 1;
}

int
incidents_document(struct store_reader *r, const struct incidents_query *q, json_t **out)
{
	json_t *doc = json_object(), *list = json_array(), *experiments = NULL, *o;
	uint64_t n_open = 0;
	size_t i;
	int rc = list_load(r, q, list);

	if (rc == NW_OK)
		rc = store_incidents_open(r, &n_open);
	json_array_foreach(list, i, o) rc = rc == NW_OK ? reach_put(r, o) : rc;
	result_put_text(doc, KEY_incidents_schema, "narrows-incidents/1");
	result_put_int(doc, KEY_incidents_n_open, (int64_t)n_open);
	result_put_ns(doc, KEY_incidents_next_before,
	    json_array_size(list) == (size_t)q->limit
		? result_ns(json_array_get(list, json_array_size(list) - 1), KEY_incident_at_ns)
		: 0);
	if (rc == NW_OK && q->before_wall_ns == 0 && q->session_id == 0 && q->state[0] == '\0' &&
	    q->route[0] == '\0' && q->program[0] == '\0')
		rc = store_experiments(r, on_experiments, &experiments);
	result_set(doc, KEY_incidents_incidents, list);
	result_set(doc, KEY_incidents_experiments, experiments != NULL ? experiments : json_null());
	*out = rc == NW_OK ? doc : NULL;
	if (rc < 0)
		json_decref(doc);
	return rc;
}

/* --- of a session --- */

static bool
is_inside(const json_t *incident, int64_t start_wall_ns)
{
	const int64_t begin = result_ns(incident, KEY_incident_at_ns),
		      end = result_ns(incident, KEY_incident_end_ns);

	return begin > 0 && begin <= start_wall_ns && (end <= 0 || start_wall_ns < end);
}

const json_t *
incidents_of_session(const json_t *doc, int64_t start_wall_ns)
{
	const json_t *row, *found = NULL;
	size_t i;

	json_array_foreach(result_list(doc, KEY_incidents_incidents), i, row)
	{
		if (is_inside(row, start_wall_ns) &&
		    (found == NULL || incident_is(row, KEY_incident_kind, "step")))
			found = row;
	}
	return found;
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
	struct nw_acceptance_rec a = {
		.session_id = session_id, .who = who, .why = text != NULL ? text : ""
	};
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
