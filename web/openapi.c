/* SPDX-License-Identifier: BSD-3-Clause */
/* The OpenAPI document of /api/v1, made from the tables of queries and of result keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <jansson.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "web/query/frame_form.h"
#include "web/query/series_query.h"
#include "web/resource.h"

/* --- schemas --- */

static json_t *
reference(const char *name)
{
	return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", name));
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
param_schema(const struct param *p)
{
	json_t *v = json_pack("{s:s}", "type", p->type == PARAM_NUMBER ? "integer" : "string");
	size_t i;

	if (p->type == PARAM_NUMBER)
		json_object_set_new(v, "minimum", json_integer(p->min));
	if (p->type == PARAM_NUMBER && p->max > 0)
		json_object_set_new(v, "maximum", json_integer(p->max));
	if (p->type == PARAM_TEXT && p->max > 0)
		json_object_set_new(v, "maxLength", json_integer(p->max));
	if (p->type == PARAM_WORD)
		json_object_set_new(v, "enum", json_array());
	for (i = 0; p->type == PARAM_WORD && p->words[i] != NULL; i++)
		json_array_append_new(json_object_get(v, "enum"), json_string(p->words[i]));
	return v;
}

static json_t *
parameter(const struct param *p, const char *in)
{
	return json_pack("{s:s, s:s, s:b, s:o, s:o, s:s}", "name", p->name, "in", in, "required",
	    strcmp(in, "path") == 0, "description",
	    json_sprintf("%s Form: %s.", p->meaning, p->form), "schema", param_schema(p), "example",
	    p->example);
}

/* A parameter of the query, and its second name as another parameter, which is deprecated. */
static void
parameter_append(json_t *all, const struct param *p)
{
	struct param second = *p;
	json_t *v;

	json_array_append_new(all, parameter(p, "query"));
	if (p->also == NULL)
		return;
	second.name = p->also;
	v = parameter(&second, "query");
	json_object_set_new(v, "description", json_sprintf("The same as %s.", p->name));
	json_object_set_new(v, "deprecated", json_true());
	json_array_append_new(all, v);
}

/* Parameters of the path, then those of the query. */
static json_t *
parameters_of(const struct resource *r)
{
	static const struct param in_path[] = {
		{ "id", .meaning = "The session.", .form = "a number or last", .example = "last" },
		{ "figure", .max = ROUTE_FIGURE_BYTES - 1,
		    .meaning = "Id of the figure, as the list of figures has it.", .form = "text",
		    .example = "p-held" },
		{ "host", .max = ROUTE_HOST_BYTES - 1, .meaning = "Name of the host.",
		    .form = "text", .example = "dtn1" },
		{ .name = NULL },
	};
	const struct param *p;
	json_t *all = json_array();
	char name[32];
	size_t i;

	for (p = in_path; p->name != NULL; p++) {
		snprintf(name, sizeof(name), "{%s}", p->name);
		if (strstr(r->path, name) != NULL)
			json_array_append_new(all, parameter(p, "path"));
	}
	for (i = 0; i < RESOURCE_PARAMS_MAX && r->params[i] != NULL; i++)
		for (p = r->params[i]; p->name != NULL; p++)
			if (param_is_of(p, (unsigned)r->form))
				parameter_append(all, p);
	return all;
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
text_content(void)
{
	return json_pack("{s:{s:s}}", "schema", "type", "string");
}

/* What the answer may consist of; series have further forms. */
static json_t *
content_of(const struct resource *r)
{
	json_t *content = json_object();

	json_object_set_new(content, r->type,
	    r->document != NULL ? json_pack("{s:o}", "schema", reference(r->document))
				: text_content());
	if (r->answer == answer_series)
		json_object_set_new(content, frame_csv.content_type, text_content());
	if (r->answer == answer_series && r->form != QUERY_SERIES)
		json_object_set_new(content, frame_arrow.content_type, text_content());
	return content;
}

/* "-d text=tuned sessions/last/notes" as a command of curl. */
static json_t *
example_of(const char *example)
{
	const char *blank = strrchr(example, ' '), *address = blank != NULL ? blank + 1 : example;

	return json_sprintf("Example: curl %.*s'http://localhost:8080/api/v1/%s'",
	    (int)(address - example), example, address);
}

static json_t *
read_operation(const struct resource *r)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "operationId", r->id, "summary", r->words,
	    "description", example_of(r->example), "parameters", parameters_of(r), "responses",
	    answers(content_of(r)));
}

static json_t *
form_schema(const struct param *fields)
{
	json_t *properties = json_object(), *one;
	const struct param *p;

	for (p = fields; p->name != NULL; p++) {
		one = param_schema(p);
		json_object_set_new(
		    one, "description", json_sprintf("%s Form: %s.", p->meaning, p->form));
		json_object_set_new(properties, p->name, one);
	}
	return json_pack("{s:s, s:[s], s:o}", "type", "object", "required", fields->name,
	    "properties", properties);
}

static json_t *
form_operation(const struct resource *r)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:{s:b, s:{s:{s:o}}}, s:o}", "operationId",
	    r->post_id, "summary", r->post_words, "description", example_of(r->post_example),
	    "parameters", parameters_of(r), "requestBody", "required", 1, "content",
	    "application/x-www-form-urlencoded", "schema", form_schema(r->fields), "responses",
	    answers(content_of(r)));
}

static json_t *
paths(const struct ask *q)
{
	json_t *all = json_object(), *one;
	size_t i;

	for (i = 0; i < q->n_resources; i++) {
		const struct resource *r = &q->resources[i];

		if (r->id == NULL)
			continue;
		json_object_set_new(all, r->path, one = json_object());
		json_object_set_new(one, "get", read_operation(r));
		if (r->post_id != NULL)
			json_object_set_new(one, "post", form_operation(r));
	}
	return all;
}

int
answer_openapi(struct ask *q)
{
	json_t *doc = json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:{s:o}}", "openapi", "3.1.0",
	    "info", "title", "Narrows", "version", NW_VERSION, "description",
	    "Measurements and verdicts of one box.", "paths", paths(q), "components", "schemas",
	    schemas());
	char *text = doc != NULL ? json_dumps(doc, JSON_INDENT(1)) : NULL;
	int rc = text != NULL && evbuffer_add(q->body, text, strlen(text)) == 0 ? NW_OK : NW_ENOMEM;

	free(text);
	json_decref(doc);
	return rc;
}
