/* SPDX-License-Identifier: BSD-3-Clause */
/* Which sessions go to an archive, and what of them. */
#include "cli/hook/hook.h"

#include <string.h>

#include "tests/check.h"

static json_t *
event_new(const char *session)
{
	return json_pack("{s:s s:s s:o}", "event", HOOK_ARCHIVE, "link", "https://box/session/7",
	    "session", json_loads(session, 0, NULL));
}

static char *
document_of(const char *session)
{
	json_t *event = event_new(session), *doc = hook_archive_document(event);
	char *text = doc != NULL ? json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	json_decref(doc);
	json_decref(event);
	return text;
}

static void
test_document(void)
{
	static const char whole[] =
	    "{\"id\":7,\"route\":\"a -> "
	    "b\",\"task_id\":\"t\",\"program\":\"x\",\"start\":\"S\",\"end\":\"E\",\"bytes\":10,"
	    "\"bytes_per_s\":5,\"duration_s\":2,\"exit_status\":%s}";
	char session[400], *good, *failed, *less, *local;

	snprintf(session, sizeof(session), whole, "0");
	good = document_of(session);
	CHECK(good != NULL &&
	    strstr(good,
		"\"result\":{\"bytes-sent\":10,\"succeeded\":true,\"throughput\":40.0,\"time\":"
		"\"PT2.000S\"}") != NULL);
	CHECK(good != NULL &&
	    strstr(good,
		"\"run\":{\"added\":\"S\",\"duration\":\"PT2.000S\",\"end-time\":\"E\",\"href\":"
		"\"https://box/session/7\",\"start-time\":\"S\"}") != NULL);
	snprintf(session, sizeof(session), whole, "12");
	failed = document_of(session);
	CHECK(failed != NULL &&
	    strstr(failed, "\"error\":\"the program ended with status 12\",\"succeeded\":false") !=
		NULL);
	/* the same id for the same session, another for another */
	CHECK(good != NULL && failed != NULL &&
	    memcmp(strstr(good, "\"id\":"), strstr(failed, "\"id\":"), 43) == 0);
	less = document_of("{\"id\":8,\"route\":\"a -> b\"}");
	CHECK(less != NULL && strstr(less, "\"bytes-sent\":null") != NULL);
	CHECK(less != NULL && good != NULL &&
	    memcmp(strstr(good, "\"id\":"), strstr(less, "\"id\":"), 43) != 0);
	local = document_of("{\"id\":9,\"route\":\"a (local)\"}");
	CHECK(local == NULL);
	free(good);
	free(failed);
	free(less);
	free(local);
}

static void
test_wanted(void)
{
	static const struct {
		const char *format, *routes, *hosts, *event, *route;
		bool wanted;
	} cases[] = {
		{ "event", "any", "any", HOOK_ARCHIVE, "a -> b", false },
		{ "event", "any", "any", "verdict.changed", "a -> b", true },
		{ "event", "any", "a b", "verdict.changed", "a -> c", false },
		{ "event", "any", "a b", "health.lost", NULL, true },
		{ "pscheduler", "any", "any", HOOK_ARCHIVE, "a -> b", true },
		{ "pscheduler", "any", "any", "verdict.changed", "a -> b", false },
		{ "pscheduler", "a -> c", "any", HOOK_ARCHIVE, "a -> b", false },
		{ "pscheduler", "any", "b a", HOOK_ARCHIVE, "a -> b", true },
		{ "pscheduler", "any", "b a", HOOK_ARCHIVE, "a -> bb", false },
		{ "pscheduler", "any", "bb a", HOOK_ARCHIVE, "a -> b", false },
		{ "pscheduler", "any", "", HOOK_ARCHIVE, "a -> b", false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct hook h = { .format = (char *)(uintptr_t)cases[i].format,
			.events = (char *)(uintptr_t) "verdict health",
			.routes = (char *)(uintptr_t)cases[i].routes,
			.hosts = (char *)(uintptr_t)cases[i].hosts };

		CHECK_INT(hook_wants(&h, cases[i].event, cases[i].route), cases[i].wanted);
	}
}

int
main(void)
{
	test_document();
	test_wanted();
	return check_done("test_hook_archive");
}
