/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/report_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/claim/claim.h"
#include "cli/cmd.h"
#include "cli/last.h"
#include "cli/source.h"
#include "narrows/err.h"
#include "narrows/result.h"
#include "narrows/terminal.h"

struct tally {
	int64_t session;
	const char *route; /* NULL: the fault is a session's */
	size_t documents, faults;
};

static void
on_fault(void *arg, const char *of, const char *text)
{
	const struct tally *t = arg;

	if (t->route != NULL)
		printf("route %s", terminal_text(t->route));
	else
		printf("session %" PRId64, t->session);
	if (*of != '\0')
		printf(", %s", terminal_text(of));
	printf(": %s\n", terminal_text(text));
}

/* A report of another box, or a document of an older one, has no records of this box. */
static int
document_check(struct tally *t, const char *text)
{
	json_t *doc = json_loads(text, 0, NULL);

	if (doc == NULL)
		return command_failed(NULL, "a result document does not parse");
	t->session =
	    json_integer_value(result_get(result_get(doc, KEY_result_session), KEY_session_id));
	if (result_list(doc, KEY_result_claims) != NULL &&
	    result_get(doc, KEY_result_imported) == NULL) {
		t->documents++;
		t->faults += claims_check(doc, on_fault, t);
	}
	json_decref(doc);
	return 0;
}

static int
session_check(struct tally *t, struct source *s, int64_t id)
{
	char *text = source_result(s, id);
	int rc = text != NULL ? document_check(t, text) : COMMAND_FAILED;

	free(text);
	return rc;
}

/* The histories of the routes: their sentences have records, too. */
static int
routes_check(struct tally *t, struct source *s)
{
	json_t *all = source_routes(s), *row, *doc;
	const char *program;
	size_t i;
	int rc = all != NULL ? 0 : COMMAND_FAILED;

	json_array_foreach(result_list(all, KEY_routes_routes), i, row)
	{
		program = result_text(row, KEY_route_listed_program);
		doc = rc == 0 ? source_route(s, result_text(row, KEY_route_listed_route),
				    program != NULL ? program : "")
			      : NULL;
		rc = doc != NULL ? rc : COMMAND_FAILED;
		t->route = result_text(row, KEY_route_listed_route);
		t->documents += json_array_size(result_list(doc, KEY_route_claims)) > 0;
		t->faults += doc != NULL ? claims_check(doc, on_fault, t) : 0;
		json_decref(doc);
	}
	t->route = NULL;
	json_decref(all);
	return rc;
}

static int
all_check(struct tally *t, struct source *s)
{
	int64_t before = 0;
	int rc = 0;

	do {
		json_t *page = source_sessions(s, before, ""), *row;
		size_t i;

		if (page == NULL)
			return COMMAND_FAILED;
		json_array_foreach(result_get(page, KEY_sessions_sessions), i,
		    row) if (rc == 0 && result_text(row, KEY_listed_sentence) != NULL) rc =
		    session_check(t, s, json_integer_value(result_get(row, KEY_listed_id)));
		before = json_integer_value(result_get(page, KEY_sessions_next_before));
		json_decref(page);
	} while (before != 0 && rc == 0);
	return rc == 0 ? routes_check(t, s) : rc;
}

static int
input_check(struct tally *t)
{
	char *line = NULL;
	size_t size = 0;
	int rc = 0;

	while (rc == 0 && getline(&line, &size, stdin) > 0)
		rc = document_check(t, line);
	free(line);
	return rc;
}

int
report_check(struct source *s, const char *what)
{
	struct tally t = { 0 };
	int64_t id;
	int rc;

	if (strcmp(what, "-") == 0)
		rc = input_check(&t);
	else if (strcmp(what, "all") == 0)
		rc = all_check(&t, s);
	else if ((rc = last_or_number(s, what, &id)) < 0)
		return rc == NW_EINVAL ? COMMAND_MISUSED : COMMAND_FAILED;
	else
		rc = session_check(&t, s, id);
	if (rc == 0)
		printf("%zu documents checked, %zu contradictions\n", t.documents, t.faults);
	return rc != 0 ? rc : t.faults > 0;
}
