/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/openapi.h"

#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <jansson.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "web/query/frame_form.h"
#include "web/query/series_query.h"
#include "web/answer/session_filter.h"

/* --- schemas --- */

static json_t *
reference(const char *name)
{
	return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", name));
}

static json_t *
typed(const char *type, const char *meaning)
{
	return json_pack("{s:s, s:s}", "type", type, "description", meaning);
}

/* References of the result document's schema lead into this document. */
static void
references_move(json_t *v)
{
	static const char from[] = "#/$defs/";
	const char *ref = json_string_value(json_object_get(v, "$ref")), *key;
	json_t *one;
	size_t i;

	if (ref != NULL && strncmp(ref, from, sizeof(from) - 1) == 0)
		json_object_set_new(
		    v, "$ref", json_sprintf("#/components/schemas/%s", ref + sizeof(from) - 1));
	json_object_foreach(v, key, one) references_move(one);
	json_array_foreach(v, i, one) references_move(one);
}

static json_t *
schemas(void)
{
	json_t *result = result_schema(), *all = json_deep_copy(json_object_get(result, "$defs"));

	references_move(all);
	json_decref(result);
	return all;
}

/* --- paths --- */

static json_t *
parameter(
    const char *name, const char *in, const char *meaning, const char *form, const char *example)
{
	return json_pack("{s:s, s:s, s:b, s:o, s:{s:s}, s:s}", "name", name, "in", in, "required",
	    strcmp(in, "path") == 0, "description", json_sprintf("%s Form: %s.", meaning, form),
	    "schema", "type", "string", "example", example);
}

static json_t *
answers(json_t *content)
{
	static const struct {
		const char *status, *meaning;
	} faults[] = {
		{ "400", "The request is not valid; detail gives the reason." },
		{ "401", "The request needs a login or a token." },
		{ "403", "The token's role or scope does not allow the request." },
		{ "404", "Nothing has the requested name." },
		{ "405", "The path does not have the method." },
		{ "413", "The request is longer than 8 kB." },
		{ "415", "The body is not a form." },
		{ "421", "The header Host names another server." },
		{ "429", "Too many attempts: wait for the time in the header Retry-After." },
		{ "500", "The box failed to answer." },
		{ "503", "The box has no room for the answer now." },
	};
	json_t *all = json_pack("{s:{s:s, s:o}, s:{s:s}}", "200", "description", "The answer.",
	    "content", content, "304", "description", "The client has this answer.");
	size_t i;

	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		json_object_set_new(all, faults[i].status,
		    json_pack("{s:s, s:{s:{s:o}}}", "description", faults[i].meaning, "content",
			"application/problem+json", "schema", reference("problem")));
	return all;
}

static json_t *
operation(
    const char *id, const char *summary, const char *example, json_t *parameters, json_t *content)
{
	return json_pack("{s:{s:s, s:s, s:o, s:o, s:o}}", "get", "operationId", id, "summary",
	    summary, "description",
	    json_sprintf("Example: curl 'http://localhost:8080/api/v1/%s'", example), "parameters",
	    parameters, "responses", answers(content));
}

static json_t *
series_path(enum query_what what)
{
	static const struct {
		const char *id, *summary, *example;
	} words[QUERY_WHATS] = {
		[QUERY_SERIES] = { "series", "Descriptions of series.",
		    "series?event_type=nw:*&host=dtn1" },
		[QUERY_VALUES] = { "values",
		    "Values in a range of time. Several entries of one series follow in time "
		    "order.",
		    "values?session=7&field=bytes_in&format=csv" },
		[QUERY_LAST] = { "last", "Last value of each series.", "last?host=dtn1" },
		[QUERY_STATISTICS] = { "statistics",
		    "n, sum, mean, min, max and sd per step. A time is the begin of its step.",
		    "statistics?event_type=ps:*&step=1min" },
	};
	json_t *parameters = json_array(), *content = json_object(), *text;
	size_t i;

	for (i = 0; i < query_n_params; i++)
		if (query_params[i].of & 1U << what)
			json_array_append_new(parameters,
			    parameter(query_params[i].name, "query", query_params[i].meaning,
				query_params[i].form, query_params[i].example));
	text = json_pack("{s:{s:s}}", "schema", "type", "string");
	json_object_set_new(content, frame_json.content_type,
	    json_pack("{s:o}", "schema", reference("series_list")));
	json_object_set(content, frame_csv.content_type, text);
	if (what != QUERY_SERIES)
		json_object_set(content, frame_arrow.content_type, text);
	json_decref(text);
	return operation(
	    words[what].id, words[what].summary, words[what].example, parameters, content);
}

/* Parameters of documents that are no series. */
enum shown {
	SHOWN_BEFORE,
	SHOWN_SORT,
	SHOWN_ID,
	SHOWN_ROUTE,
	SHOWN_PROGRAM,
	SHOWN_HOST,
	SHOWN_OFFSET,
	SHOWN_LIMIT,
	SHOWN_CHANGES_BEFORE,
	SHOWN_FIGURE,
	SHOWN_IDS,
	SHOWN_BY,
	SHOWN_PARAMS
};
static const struct {
	const char *name, *in, *meaning, *form, *example;
} shown_params[SHOWN_PARAMS] = {
	[SHOWN_BEFORE] = { "before", "query", "Sessions behind this one in the order of the list.",
	    "a number, as next_before of the page before has it", "120" },
	[SHOWN_SORT] = { "sort", "query",
	    "Order; by a number, sessions without that number are left out.",
	    "newest, slowest, fastest, longest or largest", "slowest" },
	[SHOWN_ID] = { "id", "path", "The session.", "a number or last", "last" },
	[SHOWN_ROUTE] = { "route", "query", "The route as the list of routes has it.", "text",
	    "dtn1%20-%3E%20dtn2" },
	[SHOWN_PROGRAM] = { "program", "query", "Program; empty for an unknown one.", "text",
	    "rsync" },
	[SHOWN_HOST] = { "host", "path", "Name of the host.", "text", "dtn1" },
	[SHOWN_OFFSET] = { "offset", "query", "So many hosts of the list are left out.",
	    "a number, as next_offset of the page before has it", "0" },
	[SHOWN_LIMIT] = { "limit", "query", "Entries of a page, 50 if missing.", "1 to 1000",
	    "50" },
	[SHOWN_CHANGES_BEFORE] = { "before", "query", "Older changes only.",
	    "nanoseconds since 1970, as next_before of the page before has them",
	    "1795162331250000000" },
	[SHOWN_FIGURE] = { "figure", "path", "Id of the figure, as the list of figures has it.",
	    "text", "p-held" },
	[SHOWN_IDS] = { "ids", "query", "Two to six sessions; the parameter may come again.",
	    "numbers with commas", "3,7" },
	[SHOWN_BY] = { "by", "query", "How the rates are lined up.", "start, bytes or clock",
	    "bytes" },
};

/* Each document but series: path, and contents of an answer. */
static const struct {
	const char *path, *id, *summary, *example, *schema;
	unsigned params; /* a bit for each of shown_params */
} documents[] = {
	{ "/api/v1/sessions", "sessions", "Sessions, newest first, a page at a time.",
	    "sessions?before=120", "sessions",
	    1U << SHOWN_BEFORE | 1U << SHOWN_LIMIT | 1U << SHOWN_SORT },
	{ "/api/v1/sessions/{id}", "session", "The result document of a session.", "sessions/last",
	    "result", 1U << SHOWN_ID },
	{ "/api/v1/sessions/{id}/figures", "figures", "The figures of a session's page.",
	    "sessions/last/figures", "figures", 1U << SHOWN_ID },
	{ "/api/v1/sessions/{id}/figures/{figure}", "figure",
	    "The numbers of a figure, as CSV: one row for each step.",
	    "sessions/last/figures/p-held", NULL, 1U << SHOWN_ID | 1U << SHOWN_FIGURE },
	{ "/api/v1/sessions/{id}/lifelines", "lifelines",
	    "What the lifelines of a session's events show.", "sessions/last/lifelines",
	    "lifelines", 1U << SHOWN_ID },
	{ "/api/v1/sessions/{id}/notes", "notes", "What people wrote about a session.",
	    "sessions/last/notes", "notes", 1U << SHOWN_ID },
	{ "/api/v1/advice", "advice", "What came of advice, by rule.", "advice", "advice_scores",
	    0 },
	{ "/api/v1/health", "health", "How the box is, as /healthz tells, with status 200.",
	    "health", "health", 0 },
	{ "/api/v1/keep", "keep", "Metrics worth keeping, by route and program.", "keep",
	    "keeplists", 0 },
	{ "/api/v1/hosts", "hosts", "Hosts, those with a silent collector first, a page at a time.",
	    "hosts?limit=10", "hosts", 1U << SHOWN_OFFSET | 1U << SHOWN_LIMIT },
	{ "/api/v1/hosts/{host}", "host",
	    "A host: facts, clock record, collectors, connections, usual metrics, metrics kept.",
	    "hosts/dtn1", "host", 1U << SHOWN_HOST },
	{ "/api/v1/hosts/{host}/settings", "settings",
	    "Settings of a host, and how they changed, a page of changes at a time.",
	    "hosts/dtn1/settings", "settings", 1U << SHOWN_HOST | 1U << SHOWN_CHANGES_BEFORE },
	{ "/api/v1/collectors", "collectors", "Cost and health of the programs that measure hosts.",
	    "collectors", "collectors", 0 },
	{ "/api/v1/diets", "diets",
	    "Series of hosts proposed for slower sampling, or sampled so: savings and risk.",
	    "diets", "diets", 0 },
	{ "/api/v1/expected", "expected",
	    "Sessions that come regularly, and whether one is missing.", "expected",
	    "expected_list", 0 },
	{ "/api/v1/routes", "routes", "Routes: programs between the same hosts, in short.",
	    "routes", "routes", 0 },
	{ "/api/v1/route", "route", "The history of a route.",
	    "route?route=dtn1%20-%3E%20dtn2&program=rsync", "route",
	    1U << SHOWN_ROUTE | 1U << SHOWN_PROGRAM },
	{ "/api/v1/compare", "compare",
	    "Sessions side by side: facts, settings that differ, metrics, and rates.",
	    "compare?ids=3,7&by=bytes", "compare", 1U << SHOWN_IDS | 1U << SHOWN_BY },
};

static json_t *
document_path(size_t i)
{
	json_t *parameters = json_array();
	size_t k;

	for (k = 0; k < SHOWN_PARAMS; k++)
		if (documents[i].params & 1U << k)
			json_array_append_new(parameters,
			    parameter(shown_params[k].name, shown_params[k].in,
				shown_params[k].meaning, shown_params[k].form,
				shown_params[k].example));
	for (k = 0; k < session_params_count && strcmp(documents[i].id, "sessions") == 0; k++)
		json_array_append_new(parameters,
		    parameter(session_params[k].name, "query", session_params[k].meaning,
			session_params[k].form, session_params[k].example));
	return operation(documents[i].id, documents[i].summary, documents[i].example, parameters,
	    json_pack(
		"{s:{s:o}}", frame_json.content_type, "schema", reference(documents[i].schema)));
}

/* A new note: no other request changes anything. */
static json_t *
note_operation(void)
{
	json_t *content =
		   json_pack("{s:{s:o}}", frame_json.content_type, "schema", reference("notes")),
	       *form = json_pack("{s:s, s:[s], s:{s:o, s:o}}", "type", "object", "required", "text",
		   "properties", "text", typed("string", "1 to 2000 bytes."), "at",
		   typed("string", "Seconds since the session's begin, or ISO 8601."));

	return json_pack("{s:s, s:s, s:s, s:[o], s:{s:b, s:{s:{s:o}}}, s:o}", "operationId",
	    "note_add", "summary", "Keeps a note with a session, for operators.", "description",
	    "Example: curl -d text=tuned -d at=12 "
	    "'http://localhost:8080/api/v1/sessions/last/notes'",
	    "parameters",
	    parameter(shown_params[SHOWN_ID].name, "path", shown_params[SHOWN_ID].meaning,
		shown_params[SHOWN_ID].form, shown_params[SHOWN_ID].example),
	    "requestBody", "required", 1, "content", "application/x-www-form-urlencoded", "schema",
	    form, "responses", answers(content));
}

static json_t *
paths(void)
{
	json_t *all = json_pack("{s:o, s:o, s:o, s:o}", "/api/v1/series", series_path(QUERY_SERIES),
	    "/api/v1/values", series_path(QUERY_VALUES), "/api/v1/last", series_path(QUERY_LAST),
	    "/api/v1/statistics", series_path(QUERY_STATISTICS));
	size_t i;

	for (i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
		json_object_set_new(all, documents[i].path, document_path(i));
	json_object_set_new(
	    json_object_get(all, "/api/v1/sessions/{id}/notes"), "post", note_operation());
	return all;
}

int
openapi_write(struct evbuffer *out)
{
	json_t *doc = json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:{s:o}}", "openapi", "3.1.0",
	    "info", "title", "Narrows", "version", NW_VERSION, "description",
	    "Measurements and verdicts of one box.", "paths", paths(), "components", "schemas",
	    schemas());
	char *text = doc != NULL ? json_dumps(doc, JSON_INDENT(1)) : NULL;
	int rc = text != NULL && evbuffer_add(out, text, strlen(text)) == 0 ? NW_OK : NW_ENOMEM;

	free(text);
	json_decref(doc);
	return rc;
}
