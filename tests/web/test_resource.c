/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every resource with every role and method: the expected answers stand in a table of this test,
 * which is written by hand and not made from the rows.
 *
 *	test_resource --list    prints path, words and example of each row, for sys_manual
 */
#include "web/resource.h"

#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <jansson.h>

#include "narrows/err.h"
#include "tests/check.h"

/* The least role: * anybody, t traces, m metrics, v viewer, o operator, a admin; -: no method. */
static const struct {
	const char *path;
	char get, post;
} wanted[] = {
	{ "/", 'v', '-' },
	{ "/sessions.json", 'v', '-' },
	{ "/session/{id}", 'v', '-' },
	{ "/session/{id}.json", 'v', '-' },
	{ "/session/{id}.html", 'v', '-' },
	{ "/session/{id}.csv", 'v', '-' },
	{ "/session/{id}.ndjson", 'v', '-' },
	{ "/session/{id}.lp", 'v', '-' },
	{ "/session/{id}.xml", 'v', '-' },
	{ "/session/{id}.log", 'v', '-' },
	{ "/session/{id}.bson", 'v', '-' },
	{ "/session/{id}/lifelines", 'v', '-' },
	{ "/session/{id}/lifelines.json", 'v', '-' },
	{ "/session/{id}/lifelines.csv", 'v', '-' },
	{ "/session/{id}/lifelines.otlp.json", 'v', '-' },
	{ "/session/{id}/lifelines.svg", 'v', '-' },
	{ "/session/{number}/{figure}.csv", 'v', '-' },
	{ "/session/{number}/note", '-', 'o' },
	{ "/session/{number}/right", '-', 'o' },
	{ "/routes", 'v', '-' },
	{ "/routes.json", 'v', '-' },
	{ "/route", 'v', '-' },
	{ "/route.json", 'v', '-' },
	{ "/route.csv", 'v', '-' },
	{ "/route/{figure}.csv", 'v', '-' },
	{ "/incidents", 'v', '-' },
	{ "/incident/{number}", 'v', 'o' },
	{ "/compare", 'v', '-' },
	{ "/compare.csv", 'v', '-' },
	{ "/hosts", 'v', '-' },
	{ "/host", 'v', '-' },
	{ "/host/{figure}.csv", 'v', '-' },
	{ "/keep", 'v', '-' },
	{ "/keep.json", 'v', '-' },
	{ "/fleet", 'v', '-' },
	{ "/fleet/{figure}", 'v', '-' },
	{ "/health", 'v', '-' },
	{ "/metrics", 'm', '-' },
	{ "/readyz", 'm', '-' },
	{ "/healthz", 'm', '-' },
	{ "/login", '*', '*' },
	{ "/logout", '-', '*' },
	{ "/access", 'a', '-' },
	{ "/enroll", '*', '*' },
	{ "/traces/", '-', 't' },
	{ "/style.css", '*', '-' },
	{ "/narrows.js", '*', '-' },
	{ "/icon.svg", '*', '-' },
	{ "/api", 'v', '-' },
	{ "/api/", 'v', '-' },
	{ "/api/v1", 'v', '-' },
	{ "/api/v1/", 'v', '-' },
	{ "/api/v1/openapi.json", 'v', '-' },
	{ "/api/v1/series", 'v', '-' },
	{ "/api/v1/values", 'v', '-' },
	{ "/api/v1/last", 'v', '-' },
	{ "/api/v1/statistics", 'v', '-' },
	{ "/api/v1/sessions", 'v', '-' },
	{ "/api/v1/sessions/{id}", 'v', '-' },
	{ "/api/v1/sessions/{id}/figures", 'v', '-' },
	{ "/api/v1/sessions/{id}/figures/{figure}", 'v', '-' },
	{ "/api/v1/sessions/{id}/lifelines", 'v', '-' },
	{ "/api/v1/sessions/{id}/notes", 'v', 'o' },
	{ "/api/v1/advice", 'v', '-' },
	{ "/api/v1/health", 'v', '-' },
	{ "/api/v1/keep", 'v', '-' },
	{ "/api/v1/hosts", 'v', '-' },
	{ "/api/v1/hosts/{host}", 'v', '-' },
	{ "/api/v1/hosts/{host}/settings", 'v', '-' },
	{ "/api/v1/collectors", 'v', '-' },
	{ "/api/v1/diets", 'v', '-' },
	{ "/api/v1/expected", 'v', '-' },
	{ "/api/v1/routes", 'v', '-' },
	{ "/api/v1/route", 'v', '-' },
	{ "/api/v1/incidents", 'v', 'o' },
	{ "/api/v1/compare", 'v', '-' },
	{ "/prometheus/api/v1/{path}", 'v', 'v' },
	{ "/esmond/perfsonar/archive/{path}", 'v', '-' },
	{ "/pscheduler", '-', 'o' },
	{ "/api/{path}", 'v', '-' },
	{ "/{path}", 'v', '-' },
};
enum { WANTED = sizeof(wanted) / sizeof(wanted[0]) };

static const char roles[] = { 'n', 't', 'm', 'v', 'o',
	'a' }; /* in the order of enum account_role */

static bool
suffices(char role, char least)
{
	static const char order[] = "ntmvoa";

	return least == '*' || strchr(order, role) >= strchr(order, least);
}

/* What a role may expect of a method: `least` is the method's, `other` that of the other method. */
static int
answer_wanted(char role, char least, char other, enum method method)
{
	if (least != '-')
		return suffices(role, least) ? 0 : role == 'n' ? 401 : 403;
	if (other == '*' || suffices(role, method == METHOD_GET ? 'v' : 'o'))
		return 405;
	return role == 'n' ? 401 : 403;
}

static void
check_row(const struct resource *r, char get, char post)
{
	size_t i;

	for (i = 0; i < sizeof(roles); i++) {
		enum account_role role = (enum account_role)i;
		char open = get == '*' || post == '*' ? '*' : '-';
		int got[] = { resource_access(r, METHOD_GET, role),
			resource_access(r, METHOD_POST, role),
			resource_access(r, METHOD_OTHER, role) };

		CHECK_INT(got[METHOD_GET], answer_wanted(roles[i], get, post, METHOD_GET));
		CHECK_INT(got[METHOD_POST], answer_wanted(roles[i], post, get, METHOD_POST));
		CHECK_INT(got[METHOD_OTHER], answer_wanted(roles[i], '-', open, METHOD_OTHER));
	}
	CHECK_STR(resource_allow(r),
	    r->body == BODY_JSON ? "POST, PUT"
		: post == '-'    ? "GET, HEAD"
		: get == '-'     ? "POST"
				 : "GET, HEAD, POST");
}

static void
test_access(void)
{
	size_t i, k;

	CHECK_INT(resources_count, WANTED);
	for (i = 0; i < resources_count; i++) {
		for (k = 0; k < WANTED; k++)
			if (strcmp(wanted[k].path, resources[i].path) == 0)
				break;
		CHECK(k < WANTED);
		if (k < WANTED)
			check_row(&resources[i], wanted[k].get, wanted[k].post);
		if (k == WANTED || check_failed > 0)
			fprintf(stderr, "  %s\n", resources[i].path);
	}
	CHECK_INT(
	    resource_access(&(struct resource){ .path = "/" }, METHOD_GET, ACCOUNT_ADMIN), 405);
	CHECK_INT(
	    resource_access(&(struct resource){ .path = "/" }, METHOD_POST, ACCOUNT_ADMIN), 405);
}

/* A form or a document that changes something comes from no page of another site. An enrolment
 * brings a token instead, and forms of Prometheus only read. */
static void
test_forms(void)
{
	static const char *const others[] = { "/enroll", "/prometheus/api/v1/{path}" };
	size_t i;

	for (i = 0; i < resources_count; i++) {
		const struct resource *r = &resources[i];
		bool is_other = strcmp(r->path, others[0]) == 0 || strcmp(r->path, others[1]) == 0;

		CHECK(r->post == GRANT_NONE || (r->body != BODY_ANY) == !is_other);
		CHECK((r->post == GRANT_NONE) == (r->take == take_nothing));
	}
}

/* Every row can be reached: the path with an example for each name is the row's own. */
static void
test_paths(void)
{
	static const char *const names[][2] = { { "{id}", "last" }, { "{number}", "7" },
		{ "{figure}", "p-held" }, { "{host}", "dtn1" }, { "{path}", "x/y" } };
	size_t i, k;

	for (i = 0; i < resources_count; i++) {
		char path[256] = "", *brace;
		const char *rest = resources[i].path;

		while ((brace = strchr(rest, '{')) != NULL) {
			strncat(path, rest, (size_t)(brace - rest));
			for (k = 0; strncmp(brace, names[k][0], strlen(names[k][0])) != 0;)
				k++;
			strcat(path, names[k][1]);
			rest = brace + strlen(names[k][0]);
		}
		strcat(path, rest);
		CHECK_STR(route_parse(path).resource->path, resources[i].path);
	}
}

/* The OpenAPI document has each operation, and each schema that a row names. */
static void
test_description(void)
{
	struct evbuffer *b = evbuffer_new();
	static struct ask q;
	json_t *doc, *schemas, *paths;
	size_t i, n = 0;

	q.resources = resources;
	q.n_resources = resources_count;
	q.body = b;
	CHECK_INT(answer_openapi(&q), NW_OK);
	evbuffer_add(b, "", 1);
	doc = json_loads((const char *)evbuffer_pullup(b, -1), 0, NULL);
	schemas = json_object_get(json_object_get(doc, "components"), "schemas");
	paths = json_object_get(doc, "paths");
	for (i = 0; i < resources_count; i++) {
		const struct resource *r = &resources[i];
		char example[256];

		CHECK(r->document == NULL || json_object_get(schemas, r->document) != NULL);
		CHECK((json_object_get(paths, r->path) != NULL) == (r->id != NULL));
		CHECK(
		    (r->words != NULL) == (r->answer != answer_nothing || r->take != take_nothing));
		if (r->id == NULL)
			continue;
		n++;
		CHECK(r->words != NULL && r->example != NULL);
		snprintf(example, sizeof(example), "/api/v1/%.*s", (int)strcspn(r->example, "?"),
		    r->example);
		CHECK_STR(route_parse(example).resource->path, r->path);
	}
	CHECK_INT(json_object_size(paths), n);
	json_decref(doc);
	evbuffer_free(b);
}

static void
list_row(const struct resource *r)
{
	if (r->words != NULL)
		printf("%s\t%s\t%s\n", r->path, r->words, r->example != NULL ? r->example : "");
	if (r->post_words != NULL)
		printf("%s (POST)\t%s\t%s\n", r->path, r->post_words, r->post_example);
}

int
main(int argc, char **argv)
{
	size_t i;

	if (argc > 1 && strcmp(argv[1], "--list") == 0) {
		for (i = 0; i < resources_count; i++)
			list_row(&resources[i]);
		return 0;
	}
	test_access();
	test_forms();
	test_paths();
	test_description();
	return check_done("test_resource");
}
