/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/route/routeincidents.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/put/resultdoc_put.h"
#include "analyze/verdict/put/resultdoc_usual.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/xmalloc.h"

enum { BEFORE_MAX = 20, CAUSES_MAX = 10, DOCUMENTS_MAX = 5, SHOWING_BEFORE = 100 };
static const double CAUSE_MIN = 0.01; /* weight of a candidate that is listed */

/* --- stages --- */

/* The stage of most of n sessions; NULL: no stage, or none of most. */
static const char *
stage_of_most(const struct past_session *const *session, size_t n)
{
	size_t i, j, same;

	for (i = 0; i < n; i++) {
		for (same = j = 0; j < n; j++)
			same += session[i]->stage != NULL && session[j]->stage != NULL &&
			    strcmp(session[i]->stage, session[j]->stage) == 0;
		if (2 * same > n)
			return session[i]->stage;
	}
	return NULL;
}

static void
stages_put(json_t *o, const struct routeincidents_ask *ask, const struct nw_incident *in)
{
	const struct past_session *session = ask->past->session, *picked[PAST_MAX];
	size_t i, n = 0;

	for (i = in->begin; i-- > 0 && n < BEFORE_MAX;)
		if (nw_story_incident_of(ask->story, i) == NULL)
			picked[n++] = &session[i];
	put_text(o, KEY_incident_stage_before, stage_of_most(picked, n));
	for (n = 0, i = in->begin; i < in->end && i < ask->story->n; i++)
		picked[n++] = &session[i];
	put_text(o, KEY_incident_stage_since, stage_of_most(picked, n));
}

/* --- causes --- */

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	(void)s;
	*(json_t **)arg = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;
	return 1;
}

/* Whether a session's document explains this incident. */
static bool
explains(const json_t *doc, const struct incident_told *told)
{
	const json_t *own = result_get(result_get(doc, KEY_result_usual), KEY_usual_incident);
	const int64_t at = result_ns(own, KEY_incident_at_ns);

	return result_get(doc, KEY_result_changed) != NULL && at >= told->from_wall_ns &&
	    at <= told->to_wall_ns;
}

static void
causes_put(json_t *o, const json_t *changed, int64_t session_id)
{
	json_t *list = json_array(), *row;
	size_t i;

	json_array_foreach(result_list(changed, KEY_changed_differences), i, row)
	{
		if (result_number(row, KEY_difference_weight) >= CAUSE_MIN &&
		    json_array_size(list) < CAUSES_MAX)
			json_array_append(list, row);
	}
	result_set(o, KEY_incident_causes_session, json_integer(session_id));
	put_text(o, KEY_incident_cause, result_text(changed, KEY_changed_sentence));
	result_set(o, KEY_incident_n_named,
	    json_incref((json_t *)(uintptr_t)result_get(changed, KEY_changed_n_named)));
	put_real(o, KEY_incident_unexplained, result_number(changed, KEY_changed_unexplained));
	result_set(o, KEY_incident_causes, list);
}

/* The causes as the newest session of the incident with a document has them. A drift is searched
 * for no cause. */
static int
causes_find(json_t *o, const struct routeincidents_ask *ask, const struct nw_incident *in,
    const struct incident_told *told)
{
	size_t i = in->end < ask->story->n ? in->end : ask->story->n,
	       to = i > in->begin + DOCUMENTS_MAX ? i - DOCUMENTS_MAX : in->begin;
	bool found = in->kind != NW_INCIDENT_STEP;
	json_t *doc;
	int rc = NW_OK;

	while (rc == NW_OK && !found && i-- > to) {
		doc = NULL;
		rc = store_session_get(ask->r, ask->past->session[i].id, on_session, &doc);
		if ((found = explains(doc, told)))
			causes_put(
			    o, result_get(doc, KEY_result_changed), ask->past->session[i].id);
		json_decref(doc);
		rc = rc == NW_ENOTFOUND ? NW_OK : rc;
	}
	if (json_object_get(o, result_key_name(KEY_incident_causes)) == NULL) {
		result_set(o, KEY_incident_causes_session, json_null());
		put_text(o, KEY_incident_cause, NULL);
		put_count(o, KEY_incident_n_named, 0);
		put_text(o, KEY_incident_unexplained, NULL);
		result_set(o, KEY_incident_causes, json_array());
	}
	return rc;
}

/* --- cards --- */

static void
advice_put(json_t *o, const struct routeincidents_ask *ask, const struct nw_incident *in)
{
	json_t *list = json_array(), *card;
	size_t i, k;

	json_array_foreach(ask->advice, i, card)
	{
		const double id = result_number(card, KEY_route_advice_session);

		for (k = in->begin; k < in->end && k < ask->story->n; k++)
			if ((double)ask->past->session[k].id == id) {
				json_array_append(list, card);
				break;
			}
	}
	result_set(o, KEY_incident_advice, list);
}

/* --- acceptances --- */

struct accepting {
	json_t *o;
	int64_t t_wall_ns;
};

static int
on_acceptance(void *arg, const struct nw_acceptance_rec *a)
{
	const struct accepting *q = arg;

	if (a->t_wall_ns != q->t_wall_ns)
		return 0;
	put_text(q->o, KEY_incident_accepted, fmt_iso(a->t_wall_ns, 3).s);
	put_text(q->o, KEY_incident_accepted_by, a->who);
	put_text(q->o, KEY_incident_accepted_why, a->why);
	return 1;
}

static int
acceptance_put(json_t *o, const struct routeincidents_ask *ask, const struct incident_told *told)
{
	struct accepting q = { o, told->accepted_wall_ns };

	put_text(o, KEY_incident_accepted, NULL);
	put_text(o, KEY_incident_accepted_by, NULL);
	put_text(o, KEY_incident_accepted_why, NULL);
	return told->accepted_wall_ns == 0
	    ? NW_OK
	    : store_acceptances(ask->r, ask->route, ask->program, on_acceptance, &q);
}

/* --- the objects --- */

static int
incident_doc(const struct routeincidents_ask *ask, size_t i, json_t **out)
{
	const struct nw_incident *in = &ask->story->incident[i];
	const struct incident_told *told = &ask->told[i];
	json_t *o = resultdoc_incident(told);
	char *page = xasprintf("/incident/%" PRId64, told->session_id);
	int rc;

	put_text(o, KEY_incident_route, ask->route);
	put_text(o, KEY_incident_program, ask->program[0] != '\0' ? ask->program : NULL);
	put_text(o, KEY_incident_page, page);
	free(page);
	put_count(o, KEY_incident_n_earlier, in->begin);
	stages_put(o, ask, in);
	if ((rc = acceptance_put(o, ask, told)) == NW_OK)
		rc = causes_find(o, ask, in, told);
	advice_put(o, ask, in);
	*out = o;
	return rc;
}

int
routeincidents_doc(const struct routeincidents_ask *ask, json_t **out)
{
	json_t *list = json_array(), *o;
	int rc = NW_OK;
	size_t i;

	for (i = 0; i < ask->past->n_kept; i++)
		if ((o = json_loads(ask->past->kept[i].json, 0, NULL)) != NULL)
			json_array_append_new(list, o);
	for (i = 0; i < ask->story->n_incidents && rc == NW_OK; i++) {
		rc = incident_doc(ask, i, &o);
		json_array_append_new(list, o);
	}
	*out = list;
	return rc;
}

/* --- records --- */

/* The sessions of an open step and of its level before, for the time after they expire. */
static char *
showing_of(const struct routeincidents_ask *ask, const json_t *o)
{
	const struct past_session *picked[PAST_MAX];
	const struct nw_incident *in;
	size_t *level, n_level, i, n = 0;
	char *text;

	for (i = 0; i < ask->story->n_incidents; i++)
		if (ask->told[i].kind == NW_INCIDENT_STEP &&
		    ask->told[i].state == NW_INCIDENT_OPEN &&
		    (double)ask->told[i].session_id == result_number(o, KEY_incident_session))
			break;
	if (i == ask->story->n_incidents)
		return NULL;
	in = &ask->story->incident[i];
	level = xcalloc(ask->story->n + 1, sizeof(*level));
	n_level = nw_story_level(ask->story, in->begin, level);
	for (i = n_level > SHOWING_BEFORE ? n_level - SHOWING_BEFORE : 0; i < n_level; i++)
		picked[n++] = &ask->past->session[level[i]];
	for (i = in->begin; i < ask->story->n && n < PAST_MAX; i++)
		picked[n++] = &ask->past->session[i];
	free(level);
	text = past_showing(picked, n);
	return text;
}

struct nw_incident_rec *
routeincidents_records(const struct routeincidents_ask *ask, const json_t *list, size_t *n)
{
	struct nw_incident_rec *rec = xcalloc(json_array_size(list) + 1, sizeof(*rec));
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o) rec[i] = (struct nw_incident_rec){ .route = ask->route,
		.program = ask->program,
		.session_id = (int64_t)result_number(o, KEY_incident_session),
		.kind = xstrdup(result_text(o, KEY_incident_kind)),
		.state = xstrdup(result_text(o, KEY_incident_state)),
		.begin_wall_ns = result_ns(o, KEY_incident_at_ns),
		.end_wall_ns = result_ns(o, KEY_incident_end_ns),
		.json = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(12)),
		.from_wall_ns = result_ns(o, KEY_incident_from_ns),
		.to_wall_ns = result_ns(o, KEY_incident_to_ns),
		.sessions = showing_of(ask, o) };
	*n = i;
	return rec;
}

void
routeincidents_free(struct nw_incident_rec *rec, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		free((char *)(uintptr_t)rec[i].kind);
		free((char *)(uintptr_t)rec[i].state);
		free((char *)(uintptr_t)rec[i].json);
		free((char *)(uintptr_t)rec[i].sessions);
	}
	free(rec);
}
