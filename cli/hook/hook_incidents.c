/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An incident makes at most three events: the begin, the first name of a cause, and the end. The
 * memory has under "incidents" an array with an entry for each incident of the past: "incident" as
 * last seen, without lists, and the flags "named" and "ended".
 *
 * Late sessions and new judgements may move the begin of an incident. So two incidents of a route
 * are the same if either begin lies within the bounds of the other. An incident that no longer
 * exists has ended.
 */
#include "cli/hook/hook.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/result.h"
#include "narrows/xmalloc.h"
#include "send/memory.h"

enum { ENTRIES_MAX = 5000 };
/* Age of an incident that is forgotten once the list lacks it. */
static const int64_t FORGET_NS = INT64_C(2) * HOOK_INCIDENTS_DAYS * 86400 * 1000000000;

struct telling {
	bool first;
	hook_event_fn *fn;
	void *arg;
};

static bool
is_text(const json_t *a, const json_t *b, enum result_key key)
{
	const char *x = result_text(a, key), *y = result_text(b, key);

	return (x == NULL && y == NULL) || (x != NULL && y != NULL && strcmp(x, y) == 0);
}

static bool
is_within(int64_t t, const json_t *o)
{
	return result_ns(o, KEY_incident_from_ns) <= t && t <= result_ns(o, KEY_incident_to_ns);
}

static bool
is_same(const json_t *a, const json_t *b)
{
	return is_text(a, b, KEY_incident_route) && is_text(a, b, KEY_incident_program) &&
	    is_text(a, b, KEY_incident_kind) &&
	    (is_within(result_ns(a, KEY_incident_at_ns), b) ||
		is_within(result_ns(b, KEY_incident_at_ns), a));
}

static json_t *
entry_find(json_t *entries, const json_t *incident)
{
	json_t *entry;
	size_t i;

	json_array_foreach(entries, i, entry)
	{
		if (is_same(json_object_get(entry, "incident"), incident))
			return entry;
	}
	return NULL;
}

/* The incident without what is long. A new reference. */
static json_t *
remembered(const json_t *incident)
{
	json_t *o = json_copy((json_t *)(uintptr_t)incident);

	json_object_del(o, result_key_name(KEY_incident_causes));
	json_object_del(o, result_key_name(KEY_incident_advice));
	return o;
}

static void
tell(const struct telling *t, const char *event, const json_t *incident)
{
	json_t *about;

	if (t->first)
		return;
	about = json_object();
	result_set(about, KEY_hook_event_incident, json_deep_copy(incident));
	t->fn(t->arg, event, about);
}

static void
flag_set(const struct telling *t, json_t *entry, const char *flag, bool is, const char *event,
    const json_t *incident)
{
	if (!is || json_is_true(json_object_get(entry, flag)))
		return;
	json_object_set_new(entry, flag, json_true());
	tell(t, event, incident);
}

static void
incident_look(const struct telling *t, json_t *entries, const json_t *incident)
{
	const char *state = result_text(incident, KEY_incident_state);
	json_t *entry = entry_find(entries, incident);

	if (entry == NULL) {
		entry = json_object();
		json_array_append_new(entries, entry);
		tell(t, "incident.begins", incident);
	}
	json_object_set_new(entry, "incident", remembered(incident));
	json_object_set_new(entry, "seen", json_true());
	flag_set(t, entry, "named", result_number(incident, KEY_incident_n_named) > 0,
	    "incident.named", incident);
	flag_set(t, entry, "ended", state != NULL && strcmp(state, "open") != 0, "incident.ends",
	    incident);
}

/* Ends what the box does not list any more, and forgets what ended long ago. */
static void
entries_tidy(const struct telling *t, json_t *entries, bool is_whole, int64_t now_wall_ns)
{
	json_t *entry, *incident;
	size_t i = json_array_size(entries);
	bool seen;

	while (i-- > 0) {
		entry = json_array_get(entries, i);
		incident = json_object_get(entry, "incident");
		seen = json_object_del(entry, "seen") == 0;
		if (seen || !is_whole)
			continue;
		if (!json_is_true(json_object_get(entry, "ended")))
			result_put_text(incident, KEY_incident_state, "withdrawn");
		flag_set(t, entry, "ended", true, "incident.ends", incident);
		if (result_ns(incident, KEY_incident_to_ns) < now_wall_ns - FORGET_NS)
			json_array_remove(entries, i);
	}
	while (json_array_size(entries) > ENTRIES_MAX)
		json_array_remove(entries, 0);
}

void
hook_incidents(json_t *memory, bool first, const json_t *doc, int64_t now_wall_ns,
    hook_event_fn *fn, void *arg)
{
	json_t *entries = json_object_get(memory, "incidents"), *incident;
	/* a memory of an earlier release knows no incidents, and tells none of the past */
	const struct telling t = { first || entries == NULL, fn, arg };
	size_t i = json_array_size(result_list(doc, KEY_incidents_incidents));

	entries = memory_list(memory, "incidents");
	while (i-- > 0) {
		incident = json_array_get(result_list(doc, KEY_incidents_incidents), i);
		if (result_ns(incident, KEY_incident_at_ns) > 0)
			incident_look(&t, entries, incident);
	}
	entries_tidy(&t, entries, result_ns(doc, KEY_incidents_next_before) == 0, now_wall_ns);
}
