/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of incidents: each once, whatever the order of sessions, judgements and restarts. */
#include "cli/hook/hook.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/result.h"
#include "tests/check.h"

static const int64_t DAY_NS = INT64_C(86400) * 1000000000;
static json_t *memory;
static char told[400]; /* "begins 26, named 26" since the last look */

static void
on_event(void *arg, const char *event, json_t *about)
{
	const json_t *incident = result_get(about, KEY_hook_event_incident);
	const size_t len = strlen(told);

	(void)arg;
	snprintf(told + len, sizeof(told) - len, "%s%s %.0f %s", len > 0 ? ", " : "",
	    strchr(event, '.') + 1, result_number(incident, KEY_incident_session),
	    result_text(incident, KEY_incident_state));
	json_decref(about);
}

/* An incident that begins with a session at a day, between that and the day before. */
struct shown {
	const char *route, *state;
	int session, day;
	bool named;
};

static void
look(const struct shown *list, size_t n, const char *wanted)
{
	json_t *doc = json_object(), *incidents = json_array(), *o;
	char page[40], *text;
	size_t i;

	for (i = 0; i < n; i++) {
		o = json_object();
		snprintf(page, sizeof(page), "/incident/%d", list[i].session);
		result_put_text(o, KEY_incident_route, list[i].route);
		result_put_text(o, KEY_incident_program, "rsync");
		result_put_text(o, KEY_incident_kind, "step");
		result_put_text(o, KEY_incident_state, list[i].state);
		result_put_text(o, KEY_incident_page, page);
		result_put_int(o, KEY_incident_session, list[i].session);
		result_put_int(o, KEY_incident_n_named, list[i].named);
		result_put_ns(o, KEY_incident_at_ns, list[i].day * DAY_NS);
		result_put_ns(o, KEY_incident_from_ns, (list[i].day - 1) * DAY_NS);
		result_put_ns(o, KEY_incident_to_ns, list[i].day * DAY_NS);
		json_array_append_new(incidents, o);
	}
	result_set(doc, KEY_incidents_incidents, incidents);
	told[0] = '\0';
	hook_incidents(memory, false, doc, 1000 * DAY_NS, on_event, NULL);
	CHECK_STR(told, wanted);
	json_decref(doc);
	/* as after a restart: from the file */
	text = json_dumps(memory, 0);
	json_decref(memory);
	memory = json_loads(text, 0, NULL);
	free(text);
}

static void
story(void)
{
	memory = json_object();
	/* what was there before the first look is remembered, and its end is told */
	look((struct shown[]){ { "a -> b", "open", 3, 990, false } }, 1, "");
	look((struct shown[]){ { "a -> b", "ended", 3, 990, true } }, 1,
	    "named 3 ended, ends 3 ended");
	look((struct shown[]){ { "a -> b", "ended", 3, 990, true } }, 1, "");
	/* of the list's order the oldest is told first */
	look((struct shown[]){ { "a -> c", "open", 30, 996, false },
		 { "a -> b", "open", 26, 995, true }, { "a -> b", "ended", 3, 990, true } },
	    3, "begins 26 open, named 26 open, begins 30 open");
	/* a late session moves the begin by a day; the causes change */
	look((struct shown[]){ { "a -> c", "open", 30, 996, true },
		 { "a -> b", "open", 25, 994, true }, { "a -> b", "ended", 3, 990, true } },
	    3, "named 30 open");
	look((struct shown[]){ { "a -> c", "accepted", 30, 996, true },
		 { "a -> b", "open", 25, 994, false }, { "a -> b", "ended", 3, 990, true } },
	    3, "ends 30 accepted");
	/* judged anew, the accepted one is open again: nothing more is told of it */
	look((struct shown[]){ { "a -> c", "open", 30, 996, true },
		 { "a -> b", "ended", 25, 994, true }, { "a -> b", "ended", 3, 990, true } },
	    3, "ends 25 ended");
	/* another incident of the same route, and one that is no incident any more */
	look((struct shown[]){ { "a -> b", "open", 40, 999, false },
		 { "a -> b", "ended", 25, 994, true } },
	    2, "begins 40 open");
	look((struct shown[]){ { "a -> b", "ended", 25, 994, true } }, 1, "ends 40 withdrawn");
	look((struct shown[]){ { "a -> b", "ended", 25, 994, true } }, 1, "");
	json_decref(memory);
}

/* More incidents than a page has: what the page lacks has not ended. */
static void
part_of_a_list(void)
{
	json_t *doc = json_object();

	memory = json_pack("{s:[]}", "incidents");
	look((struct shown[]){ { "a -> b", "open", 26, 995, false } }, 1, "begins 26 open");
	result_set(doc, KEY_incidents_incidents, json_array());
	result_put_ns(doc, KEY_incidents_next_before, 5);
	told[0] = '\0';
	hook_incidents(memory, false, doc, 1000 * DAY_NS, on_event, NULL);
	CHECK_STR(told, "");
	json_decref(doc);
	json_decref(memory);
}

/* An incident of long ago is forgotten once the list lacks it, and not told again until then. */
static void
memory_is_bounded(void)
{
	memory = json_pack("{s:[]}", "incidents");
	look((struct shown[]){ { "a -> b", "ended", 26, 800, false } }, 1,
	    "begins 26 ended, ends 26 ended");
	look((struct shown[]){ { "a -> b", "ended", 26, 800, false } }, 1, "");
	CHECK_INT(json_array_size(json_object_get(memory, "incidents")), 1);
	look(NULL, 0, "");
	CHECK_INT(json_array_size(json_object_get(memory, "incidents")), 0);
	json_decref(memory);
}

int
main(void)
{
	story();
	part_of_a_list();
	memory_is_bounded();
	return check_done("hook_incidents");
}
