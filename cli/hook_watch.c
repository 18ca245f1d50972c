/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events:
 *	verdict.changed	a session's verdict names another stage than the route's session before,
 *			both with medium confidence at least
 *	slower.begins	a session ran at 1.5 times less than the usual rate of its route, and the
 *			session before did not
 *	slower.ends	the opposite
 *	incident.begins	sessions of a route are slower than usual
 *	incident.named	a recorded change is named as its cause, for the first time
 *	incident.ends	the sessions are usual again, or their rate is accepted as usual
 *	health.lost	a part of the box is not well
 *	health.back	the part is well again
 *	session.missing	a session that comes regularly did not begin
 *	session.back	one began again
 *	collector.silent	a host's collector says nothing for five minutes
 *	collector.back	the collector speaks again
 *	clock.lost	the box's clock is not synchronised any more
 *	clock.back	the clock is synchronised again
 *	archive.session	a session between two hosts is over, for archives alone
 */
#include "cli/hook/hook.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/query.h"
#include "cli/source.h"
#include "narrows/clock.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/web.h"
#include "narrows/xmalloc.h"

/* A route is slow from 1.5 times on, and no longer slow below 1.2 times. */
static const double SLOW = 1.5, SLOW_NO_MORE = 1.2;
enum { PAGES_MAX = 200, ROUTES_MAX = 10000 };

struct watching {
	json_t *memory;
	void (*fn)(void *arg, json_t *event);
	void *arg;
	bool first;              /* nothing is remembered: nothing is told */
	int64_t started_wall_ns; /* of the box; 0: not known */
};

static json_t *
object_of(json_t *memory, const char *key)
{
	json_t *o = json_object_get(memory, key);

	if (json_is_object(o))
		return o;
	json_object_set_new(memory, key, json_object());
	return json_object_get(memory, key);
}

static const char *
text_of(const json_t *o, enum result_key key)
{
	const char *text = result_text(o, key);

	return text != NULL ? text : "";
}

/* The path of the page about the event's subject. */
static void
link_put(json_t *about)
{
	const json_t *session = result_get(about, KEY_hook_event_session),
		     *expected = result_get(about, KEY_hook_event_expected),
		     *collector = result_get(about, KEY_hook_event_collector),
		     *incident = result_get(about, KEY_hook_event_incident);
	char *path, *query = NULL;

	if (incident != NULL)
		path = xstrdup(result_text(incident, KEY_incident_page) != NULL
			? result_text(incident, KEY_incident_page)
			: "/incidents");
	else if (session != NULL)
		path = xasprintf("/session/%.0f", result_number(session, KEY_listed_id));
	else if (expected != NULL) {
		query_add(&query, "route", text_of(expected, KEY_expected_route));
		query_add(&query, "program", text_of(expected, KEY_expected_program));
		path = xasprintf("/?%s", query);
	} else if (collector != NULL) {
		query_add(&query, "host", text_of(collector, KEY_collector_host));
		path = xasprintf("/host?%s", query);
	} else
		path = xstrdup("/health");
	result_put_text(about, KEY_hook_event_link, path);
	free(query);
	free(path);
}

static void
tell(const struct watching *w, const char *event, json_t *about)
{
	if (w->first) {
		json_decref(about);
		return;
	}
	result_put_text(about, KEY_hook_event_event, event);
	result_put_text(about, KEY_hook_event_time, fmt_iso_ns(nw_wall_ns()).s);
	link_put(about);
	w->fn(w->arg, about);
}

/* The subject of an event: a value. */
static json_t *
about_new(enum result_key key, json_t *value)
{
	json_t *about = json_object();

	result_set(about, key, value);
	return about;
}

/* --- sessions --- */

static json_t *
session_about(const json_t *s)
{
	static const enum result_key keys[] = { KEY_listed_id, KEY_listed_route, KEY_listed_program,
		KEY_listed_label, KEY_listed_task_id, KEY_listed_start, KEY_listed_end,
		KEY_listed_bytes, KEY_listed_bytes_per_s, KEY_listed_usual, KEY_listed_stage,
		KEY_listed_confidence, KEY_listed_sentence, KEY_listed_duration_s,
		KEY_listed_exit_status };
	json_t *copy = json_object(), *v;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if ((v = json_object_get(s, result_key_name(keys[i]))) != NULL)
			result_set(copy, keys[i], json_incref(v));
	return about_new(KEY_hook_event_session, copy);
}

static bool
is_sure(const json_t *s)
{
	const char *confidence = result_text(s, KEY_listed_confidence);

	return result_text(s, KEY_listed_stage) != NULL && confidence != NULL &&
	    (strcmp(confidence, "high") == 0 || strcmp(confidence, "medium") == 0);
}

static void
verdict_look(const struct watching *w, json_t *route, const json_t *s)
{
	const char *stage = result_text(s, KEY_listed_stage),
		   *before = json_string_value(json_object_get(route, "stage"));
	json_t *about;

	if (!is_sure(s))
		return;
	if (before != NULL && strcmp(before, stage) != 0) {
		about = session_about(s);
		result_put_text(about, KEY_hook_event_stage_before, before);
		tell(w, "verdict.changed", about);
	}
	json_object_set_new(route, "stage", json_string(stage));
}

static void
speed_look(const struct watching *w, json_t *route, const json_t *s)
{
	bool was = json_is_true(json_object_get(route, "slow"));
	double usual = result_number(s, KEY_listed_usual);

	if (!isfinite(usual) || (was ? usual >= SLOW_NO_MORE : usual < SLOW))
		return;
	tell(w, was ? "slower.ends" : "slower.begins", session_about(s));
	json_object_set_new(route, "slow", json_boolean(!was));
}

static void
session_look(const struct watching *w, const json_t *s)
{
	const char *route = result_text(s, KEY_listed_route),
		   *program = result_text(s, KEY_listed_program);
	json_t *routes = object_of(w->memory, "routes"), *known;
	char *key;

	/* a verdict that another box made is no news of this box's routes */
	if (route == NULL || result_bool(s, KEY_listed_imported) == 1)
		return;
	key = xasprintf("%s %s", program != NULL ? program : "?", route);
	if (json_object_get(routes, key) == NULL && json_object_size(routes) >= ROUTES_MAX)
		json_object_clear(routes);
	known = object_of(routes, key);
	free(key);
	verdict_look(w, known, s);
	speed_look(w, known, s);
	if (strstr(route, " -> ") != NULL)
		tell(w, HOOK_ARCHIVE, session_about(s));
}

static void
on_incident(void *arg, const char *event, json_t *about)
{
	tell(arg, event, about);
}

static void
incidents_look(struct watching *w, struct source *src)
{
	char *query = xasprintf("limit=1000&from=%dd", HOOK_INCIDENTS_DAYS);
	json_t *doc = source_incidents(src, query);

	if (doc != NULL)
		hook_incidents(w->memory, w->first, doc, nw_wall_ns(), on_incident, w);
	json_decref(doc);
	free(query);
}

/* A session is looked at once: when it is over and has its verdict. */
static bool
is_ready(const json_t *s)
{
	const char *state = result_text(s, KEY_listed_state);

	return state != NULL && strcmp(state, "closed") == 0 &&
	    result_bool(s, KEY_listed_analysed) == 1;
}

/* Puts what is newer than `since` in front of the list, oldest first. Returns false if the page
 * does not reach back to `since`. */
static bool
page_take(const json_t *page, int64_t since, json_t *newer)
{
	size_t i;
	json_t *s;

	json_array_foreach(result_list(page, KEY_sessions_sessions), i, s)
	{
		if ((int64_t)result_number(s, KEY_listed_id) <= since)
			return true;
		json_array_insert(newer, 0, s);
	}
	return false;
}

/* The sessions behind `since`, oldest first; of a first look the newest page alone. */
static json_t *
sessions_since(struct source *src, int64_t since)
{
	json_t *newer = json_array(), *page;
	int64_t before = 0;
	bool reached = false;
	int pages;

	for (pages = 0; pages < PAGES_MAX && !reached; pages++) {
		if ((page = source_sessions(src, before, "")) == NULL) {
			json_decref(newer);
			return NULL;
		}
		reached = page_take(page, since, newer) || since == 0;
		before = (int64_t)result_number(page, KEY_sessions_next_before);
		reached = reached || before <= 0;
		json_decref(page);
	}
	return newer;
}

/* Looks at each session once it is ready. A session that is open for long hides no later one:
 * "waiting" says which sessions behind "session" were looked at. */
static bool
sessions_look(const struct watching *w, struct source *src)
{
	int64_t since = (int64_t)json_integer_value(json_object_get(w->memory, "session"));
	json_t *newer = sessions_since(src, since), *waiting = object_of(w->memory, "waiting"), *s;
	char id[24];
	size_t i;

	if (newer == NULL)
		return false;
	json_array_foreach(newer, i, s)
	{
		int64_t number = (int64_t)result_number(s, KEY_listed_id);

		snprintf(id, sizeof(id), "%lld", (long long)number);
		if (is_ready(s)) {
			if (json_object_get(waiting, id) == NULL)
				session_look(w, s);
			json_object_set_new(waiting, id, json_true());
		} else
			json_object_set_new(waiting, id, json_false());
	}
	/* what is done up to the oldest that is not is forgotten */
	json_array_foreach(newer, i, s)
	{
		snprintf(id, sizeof(id), "%lld", (long long)result_number(s, KEY_listed_id));
		if (!json_is_true(json_object_get(waiting, id)))
			break;
		json_object_del(waiting, id);
		json_object_set_new(w->memory, "session",
		    json_integer((json_int_t)result_number(s, KEY_listed_id)));
	}
	json_decref(newer);
	return true;
}

/* --- the box --- */

static void
part_look(const struct watching *w, json_t *known, const char *part, const char *state)
{
	const char *before = json_string_value(json_object_get(known, part));
	bool was_well = before == NULL || strcmp(before, "ok") == 0,
	     is_well = strcmp(state, "ok") == 0;
	json_t *about;

	if (was_well != is_well) {
		about = about_new(KEY_hook_event_part, json_string(part));
		result_put_text(about, KEY_hook_event_why, is_well ? before : state);
		tell(w, is_well ? "health.back" : "health.lost", about);
	}
	json_object_set_new(known, part, json_string(state));
}

/* Tells when what the key names becomes bad, and when it is good again. */
static void
state_look(const struct watching *w, const char *list, const char *key, bool bad,
    const char *events[2], json_t *about)
{
	json_t *known = object_of(w->memory, list);
	bool was_bad = json_object_get(known, key) != NULL;

	if (bad == was_bad || (bad && json_object_size(known) >= ROUTES_MAX)) {
		json_decref(about);
		return;
	}
	if (bad)
		json_object_set_new(known, key, json_true());
	else
		json_object_del(known, key);
	tell(w, events[bad ? 0 : 1], about);
}

static void
clock_look(const struct watching *w, const json_t *doc)
{
	static const char *events[] = { "clock.lost", "clock.back" };
	const json_t *clock = result_get(doc, KEY_health_clock);
	const char *part = result_text(result_get(doc, KEY_health_parts), KEY_health_parts_clock);
	bool lost = part != NULL && strcmp(part, "ok") != 0;
	json_t *about;

	/* a box that has just started does not know of a loss, and of no return */
	if (!lost && result_bool(clock, KEY_clock_synchronised) != 1)
		return;
	about = about_new(KEY_hook_event_clock, json_deep_copy(clock));
	result_put_text(about, KEY_hook_event_why, part != NULL ? part : "ok");
	state_look(w, "clock", "box", lost, events, about);
}

static void
expected_look(const struct watching *w, struct source *src)
{
	static const char *events[] = { "session.missing", "session.back" };
	json_t *doc = source_expected(src), *e;
	size_t i;
	char *key;

	json_array_foreach(result_list(doc, KEY_expected_list_expected), i, e)
	{
		const char *program = result_text(e, KEY_expected_program),
			   *route = result_text(e, KEY_expected_route);

		if (program == NULL || route == NULL)
			continue;
		key = xasprintf("%s %s", program, route);
		state_look(w, "missing", key, result_bool(e, KEY_expected_missing) == 1, events,
		    about_new(KEY_hook_event_expected, json_incref(e)));
		free(key);
	}
	json_decref(doc);
}

/* A collector that is gone is forgotten; an awaited collector keeps its state. */
static void
collector_look(const struct watching *w, const char *key, int64_t at_wall_ns, json_t *c)
{
	static const char *events[] = { "collector.silent", "collector.back" };
	enum collector_state state = collector_state(at_wall_ns, w->started_wall_ns, nw_wall_ns());

	if (state == COLLECTOR_GONE)
		json_object_del(object_of(w->memory, "silent"), key);
	else if (state != COLLECTOR_AWAITED)
		state_look(w, "silent", key, state == COLLECTOR_SILENT, events,
		    about_new(KEY_hook_event_collector, json_incref(c)));
}

static void
collectors_look(const struct watching *w, struct source *src)
{
	json_t *doc = source_collectors(src), *c;
	size_t i;
	char *key;

	json_array_foreach(result_list(doc, KEY_collectors_collectors), i, c)
	{
		const char *host = result_text(c, KEY_collector_host),
			   *name = result_text(c, KEY_collector_name),
			   *at = result_text(c, KEY_collector_at);

		if (host == NULL || name == NULL || at == NULL || fmt_parse_iso(at) == 0)
			continue;
		key = xasprintf("%s %s", name, host);
		collector_look(w, key, fmt_parse_iso(at), c);
		free(key);
	}
	json_decref(doc);
}

static bool
health_look(struct watching *w, struct source *src)
{
	json_t *known = object_of(w->memory, "parts"), *doc, *parts, *state;
	char *text;
	const char *part, *started;
	int status;

	if ((text = source_health(src, &status)) == NULL) {
		part_look(w, known, "box", "the box does not answer");
		return false;
	}
	doc = json_loads(text, 0, NULL);
	free(text);
	if (doc == NULL) {
		part_look(w, known, "box", "the answer is no document of health");
		return false;
	}
	part_look(w, known, "box", "ok");
	if ((started = result_text(doc, KEY_health_started)) != NULL)
		w->started_wall_ns = fmt_parse_iso(started);
	clock_look(w, doc);
	parts = json_object_get(doc, result_key_name(KEY_health_parts));
	/* the clock has events of its own */
	json_object_del(parts, result_key_name(KEY_health_parts_clock));
	json_object_foreach(parts, part, state)
	    part_look(w, known, part, json_is_string(state) ? json_string_value(state) : "?");
	json_decref(doc);
	return true;
}

bool
hook_watch(struct source *s, json_t *memory, void (*fn)(void *arg, json_t *event), void *arg)
{
	struct watching w = {
		.memory = memory,
		.fn = fn,
		.arg = arg,
		.first = json_object_get(memory, "session") == NULL,
	};
	bool well = health_look(&w, s);

	if (!well || !sessions_look(&w, s))
		return false;
	incidents_look(&w, s);
	expected_look(&w, s);
	collectors_look(&w, s);
	if (json_object_get(memory, "session") == NULL)
		json_object_set_new(memory, "session", json_integer(0));
	return true;
}
