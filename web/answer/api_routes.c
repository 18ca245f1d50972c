/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes and their histories, and collectors, for programs. */
#include "web/answer/api.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "narrows/csv.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/http/body.h"
#include "web/answer/active_tests.h"
#include "web/answer/collectors.h"
#include "web/answer/diet_list.h"

enum { ROUTES_MAX = 2000, CSV_SESSIONS_MAX = 5000 };

json_t *
api_text_or_null(const char *text)
{
	json_t *v = text != NULL && *text != '\0' ? json_string(text) : NULL;

	return v != NULL ? v : json_null();
}

/* Open incidents by route and program: first session of each. */
static int
on_open(void *arg, const struct nw_incident_rec *rec)
{
	json_t *key = json_sprintf("%s %s", rec->program, rec->route);
	const int rc = key != NULL &&
		json_object_set_new(
		    arg, json_string_value(key), json_integer((json_int_t)rec->session_id)) == 0
	    ? 0
	    : NW_ENOMEM;

	json_decref(key);
	return rc;
}

/* Lists in the making. */
struct listing {
	json_t *list, *open;
};

static void
incident_put(json_t *v, const struct listing *l, const struct nw_route_rec *rec)
{
	json_t *key = json_sprintf("%s %s", rec->program, rec->route),
	       *open = json_object_get(l->open, json_string_value(key));

	result_set(v, KEY_route_listed_incident, open != NULL ? json_incref(open) : json_null());
	json_decref(key);
}

static int
on_route(void *arg, const struct nw_route_rec *rec)
{
	const struct listing *l = arg;
	json_t *v = json_object();

	result_set(v, KEY_route_listed_route, api_text_or_null(rec->route));
	result_set(v, KEY_route_listed_program, api_text_or_null(rec->program));
	result_put_int(v, KEY_route_listed_n_sessions, rec->n_sessions);
	result_put_int(v, KEY_route_listed_newest_session, rec->newest_session_id);
	result_put_real(v, KEY_route_listed_bytes_per_s, rec->bytes_per_s);
	result_set(v, KEY_route_listed_stage, api_text_or_null(rec->stage));
	result_set(v, KEY_route_listed_sentence, api_text_or_null(rec->sentence));
	incident_put(v, l, rec);
	result_put_text(v, KEY_route_listed_made, fmt_iso(rec->made_wall_ns, 3).s);
	return json_array_append_new(l->list, v) == 0 ? 0 : NW_ENOMEM;
}

int
api_routes_document(struct store_reader *r, json_t **out)
{
	static const struct nw_incident_select open = { .state = "open", .limit = ROUTES_MAX };
	struct listing l = { json_array(), json_object() };
	json_t *doc = json_object();
	int rc = store_incidents(r, &open, on_open, l.open);

	if (rc == NW_OK)
		rc = store_routes(r, ROUTES_MAX, on_route, &l);
	json_decref(l.open);
	result_put_text(doc, KEY_routes_schema, "narrows-routes/1");
	result_set(doc, KEY_routes_routes, l.list);
	*out = rc == NW_OK ? doc : NULL;
	if (rc < 0)
		json_decref(doc);
	return rc;
}

int
api_routes(struct evbuffer *out, struct store_reader *r)
{
	json_t *doc;
	int rc = api_routes_document(r, &doc);

	return rc == NW_OK ? body_put_document(out, doc) : rc;
}

int
api_collectors(struct evbuffer *out, struct store_reader *r, const struct hosts_now *now)
{
	json_t *doc;
	int rc = collectors_document(r, now, 0, &doc);

	return rc == NW_OK ? body_put_document(out, doc) : rc;
}

int
api_diets(struct evbuffer *out, struct store_reader *r)
{
	json_t *doc;
	int rc = diets_document(r, nw_wall_ns(), &doc);

	return rc == NW_OK ? body_put_document(out, doc) : rc;
}

static int
on_history(void *arg, const struct nw_route_rec *rec)
{
	json_t **doc = arg;

	*doc = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL;
	return *doc != NULL ? 0 : NW_ENOMEM;
}

int
api_route_document(struct store_reader *r, const char *route, const char *program, json_t **out)
{
	int rc;

	*out = NULL;
	rc = store_route_get(r, route, program, on_history, out);
	if (rc == NW_OK)
		rc = active_tests_add(r, route, *out);
	if (rc < 0) {
		json_decref(*out);
		*out = NULL;
	}
	return rc;
}

/* A route that no session has taken is a history of no session. */
int
api_route_or_none(
    struct evbuffer *out, struct store_reader *r, const char *route, const char *program)
{
	json_t *doc;
	int rc = api_route(out, r, route, program);

	if (rc != NW_ENOTFOUND)
		return rc;
	doc = json_object();
	result_put_text(doc, KEY_route_schema, "narrows-route/1");
	result_set(doc, KEY_route_route, api_text_or_null(route));
	result_set(doc, KEY_route_program, api_text_or_null(program));
	result_put_int(doc, KEY_route_n_sessions, 0);
	return body_put_document(out, doc);
}

int
api_route(struct evbuffer *out, struct store_reader *r, const char *route, const char *program)
{
	json_t *doc;
	int rc = api_route_document(r, route, program, &doc);

	return rc == NW_OK ? body_put_document(out, doc) : rc;
}

static void
csv_number(struct evbuffer *out, double v)
{
	evbuffer_add_printf(out, ",%s", isfinite(v) ? fmt_exact(v).s : "");
}

static int
on_csv(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct evbuffer *out = arg;

	if (res == NULL)
		return 0;
	evbuffer_add_printf(out, "%lld,%s,%s", (long long)s->id, fmt_iso_ns(res->start_wall_ns).s,
	    fmt_int(res->start_wall_ns).s);
	csv_number(out, (double)res->duration_ns / 1e9);
	csv_number(out, res->bytes);
	csv_number(out, res->bytes_per_s);
	csv_number(out, res->usual);
	csv_number(out, res->exit_status);
	return evbuffer_add_printf(out, ",%s,%s\r\n", res->stage != NULL ? res->stage : "",
		   res->confidence != NULL ? res->confidence : "") >= 0
	    ? 0
	    : NW_ENOMEM;
}

int
api_route_csv(struct evbuffer *out, struct store_reader *r, const char *route, const char *program)
{
	evbuffer_add_printf(out,
	    "session,start,start_ns,duration_s,bytes,bytes_per_s,usual_over_rate,exit_status,stage,"
	    "confidence\r\n");
	return store_sessions_of_route(r, route, program, INT64_MAX, CSV_SESSIONS_MAX, on_csv, out);
}

static void
csv_compared(FILE *f, const json_t *row)
{
	const json_t *numbers = result_list(row, KEY_compare_row_numbers), *v;
	static const enum result_key texts[] = { KEY_compare_row_group, KEY_compare_row_name,
		KEY_compare_row_host, KEY_compare_row_unit };
	const char *text;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if ((text = result_text(row, texts[i])) != NULL)
			csv_cell(f, text, CSV_SAFE);
		fputc(',', f);
	}
	fputs(result_bool(row, KEY_compare_row_differs) == 1 ? "true" : "false", f);
	json_array_foreach(result_list(row, KEY_compare_row_values), i, v)
	{
		const json_t *number = json_array_get(numbers, i);

		fputc(',', f);
		if (json_is_number(number))
			fputs(fmt_exact(json_number_value(number)).s, f);
		else if (json_is_string(v))
			csv_cell(f, json_string_value(v), CSV_SAFE);
	}
	fputs("\r\n", f);
}

int
api_compare_csv(struct evbuffer *out, const json_t *doc)
{
	char *text = NULL;
	size_t len = 0, i;
	FILE *f = open_memstream(&text, &len);
	const json_t *v;
	int rc;

	if (f == NULL)
		return NW_ENOMEM;
	fputs("group,name,host,unit,differs", f);
	json_array_foreach(result_list(doc, KEY_compare_sessions), i, v)
	    fprintf(f, ",session_%s", fmt_int(json_integer_value(v)).s);
	fputs("\r\n", f);
	json_array_foreach(result_list(doc, KEY_compare_rows), i, v) csv_compared(f, v);
	rc = fclose(f) == 0 && evbuffer_add(out, text, len) == 0 ? NW_OK : NW_ENOMEM;
	free(text);
	return rc;
}
