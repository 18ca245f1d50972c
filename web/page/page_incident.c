/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of incidents, and the page of a single one. */
#include "web/page/page.h"

#include <math.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/incident.h"
#include "narrows/result.h"
#include "web/answer/incidents.h"
#include "web/page/html_table.h"

/* --- pieces --- */

static void
write_route_link(struct html *h, const json_t *o)
{
	const char *program = result_text(o, KEY_incident_program);

	html_raw(h, "<a");
	page_route_href(h, "/route", result_text(o, KEY_incident_route), program);
	html_raw(h, ">");
	page_route(h, result_text(o, KEY_incident_route));
	html_raw(h, "</a> (");
	page_name(h, program != NULL ? program : "unknown program");
	html_raw(h, ")");
}

static void
write_session(struct html *h, double number)
{
	if (isnan(number))
		return;
	html_raw(h, "<a href=\"/session/");
	html_int(h, (int64_t)number);
	html_raw(h, "\">session ");
	html_int(h, (int64_t)number);
	html_raw(h, "</a>");
}

static const char *
stage_words(const json_t *o, enum result_key key)
{
	const char *stage = result_text(o, key);

	return stage != NULL ? result_stage_words(stage) : "no stage in most verdicts";
}

/* --- the list --- */

static void
column_incident(struct html *h, const json_t *row)
{
	html_raw(h, "<a");
	html_attr(h, "href", result_text(row, KEY_incident_page));
	html_raw(h, ">");
	html_text(h, result_text(row, KEY_incident_sentence));
	html_raw(h, "</a>");
	if (result_text(row, KEY_incident_cause) == NULL)
		return;
	html_raw(h, "<span class=\"under soft\">");
	html_text(h, result_text(row, KEY_incident_cause));
	html_raw(h, "</span>");
}

static void
column_began(struct html *h, const json_t *row)
{
	page_time(h, result_ns(row, KEY_incident_at_ns));
}

TABLE_TEXT(column_state, KEY_incident_state)
TABLE_NUMBER(column_ratio, KEY_incident_ratio, fmt_ratio)

static void
write_experiments(struct html *h, const json_t *experiments)
{
	const json_t *list = result_list(experiments, KEY_experiments_experiments), *row;
	size_t i;

	if (experiments == NULL)
		return;
	html_raw(h, "<section id=\"experiments\"><h2>Natural experiments</h2>");
	json_array_foreach(list, i, row)
	{
		html_raw(h, "<p>");
		html_text(h, result_text(row, KEY_experiment_sentence));
		html_raw(h, "</p>");
	}
	html_raw(h, "<p class=\"note\">");
	html_text(h, result_text(experiments, KEY_experiments_sentence));
	html_raw(h, " The daily analysis made this, ");
	page_stamp(h, result_text(experiments, KEY_experiments_made));
	html_raw(h, ".</p></section>");
}

int
page_incidents(struct html *h, struct store_reader *r, const struct incidents_query *q)
{
	static const struct table_column columns[] = {
		{ "Incident", column_incident, false },
		{ "Route", write_route_link, false },
		{ "Began", column_began, false },
		{ "State", column_state, false },
		{ "Times slower", column_ratio, true },
	};
	json_t *doc;
	const json_t *list;
	int rc = incidents_document(r, q, &doc);

	if (rc < 0)
		return rc;
	list = result_list(doc, KEY_incidents_incidents);
	page_begin(h, &(struct page_frame){ .title = "Incidents", .tab = PAGE_ROUTES });
	html_raw(h, "<h1 class=\"page\">Incidents</h1><p>");
	html_int(h, (int64_t)result_number(doc, KEY_incidents_n_open));
	html_raw(h,
	    " open. An incident is a stretch of sessions that are slower than usual on their route."
	    "</p>");
	if (json_array_size(list) == 0)
		html_raw(h, "<p>No incident of this kind so far.</p>");
	else
		table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
	write_experiments(h, result_get(doc, KEY_incidents_experiments));
	html_raw(h,
	    "<p class=\"note\">The same as JSON: <a href=\"/api/v1/incidents\">"
	    "/api/v1/incidents</a></p>");
	page_end(h);
	json_decref(doc);
	return NW_OK;
}

/* --- what is slower now, on the list of sessions --- */

enum { SLOWER_NOW_MAX = 3 };

int
incidents_slower_now(struct html *h, struct store_reader *r)
{
	static const struct incidents_query q = { .state = "open", .limit = SLOWER_NOW_MAX };
	const json_t *row;
	json_t *doc;
	double n;
	size_t i;
	int rc = incidents_document(r, &q, &doc);

	if (rc < 0)
		return rc;
	if ((n = result_number(doc, KEY_incidents_n_open)) >= 1) {
		html_raw(h, "<section class=\"missing\" id=\"slower-now\"><h2>Slower now</h2><ul>");
		json_array_foreach(result_list(doc, KEY_incidents_incidents), i, row)
		{
			html_raw(h, "<li>");
			write_route_link(h, row);
			html_raw(h, ": ");
			column_incident(h, row);
			html_raw(h, "</li>");
		}
		html_raw(h, "</ul>");
	}
	if (n > SLOWER_NOW_MAX) {
		html_raw(h, "<p class=\"note\">And ");
		html_int(h, (int64_t)n - SLOWER_NOW_MAX);
		html_raw(h, " more: <a href=\"/incidents?state=open\">all open incidents</a></p>");
	}
	if (n >= 1)
		html_raw(h, "</section>");
	json_decref(doc);
	return NW_OK;
}

/* --- one incident --- */

static void
write_facts(struct html *h, const json_t *o)
{
	html_raw(h, "<dl class=\"items\">");
	page_item(h, "State", result_text(o, KEY_incident_state));
	html_raw(h, "<div><dt>First session</dt><dd>");
	write_session(h, result_number(o, KEY_incident_session));
	html_raw(h, ", ");
	page_time(h, result_ns(o, KEY_incident_at_ns));
	html_raw(h, "</dd></div><div><dt>Began between</dt><dd>");
	page_time(h, result_ns(o, KEY_incident_from_ns));
	html_raw(h, " and ");
	page_time(h, result_ns(o, KEY_incident_to_ns));
	html_raw(h, "</dd></div>");
	page_item(h, "Sessions", fmt_int((int64_t)result_number(o, KEY_incident_n_sessions)).s);
	page_item(h, "Usual rate", fmt_bytes_per_s(result_number(o, KEY_incident_before)).s);
	page_item(h, "Rate since", fmt_bytes_per_s(result_number(o, KEY_incident_since)).s);
	page_item(h, "Limited before by", stage_words(o, KEY_incident_stage_before));
	page_item(h, "Limited since by", stage_words(o, KEY_incident_stage_since));
	if (result_text(o, KEY_incident_reach) != NULL)
		page_item(h, "Other routes", result_text(o, KEY_incident_reach));
	if (!isnan(result_number(o, KEY_incident_end_session))) {
		html_raw(h, "<div><dt>First session after it</dt><dd>");
		write_session(h, result_number(o, KEY_incident_end_session));
		html_raw(h, "</dd></div>");
	}
	html_raw(h, "</dl>");
}

static void
column_cause(struct html *h, const json_t *row)
{
	html_text(h, result_text(row, KEY_difference_sentence));
}

TABLE_TEXT(column_host, KEY_difference_host)
TABLE_NUMBER(column_weight, KEY_difference_weight, fmt_share)

static void
write_causes(struct html *h, const json_t *o)
{
	static const struct table_column columns[] = {
		{ "Change", column_cause, false },
		{ "Host", column_host, false },
		{ "Weight", column_weight, true },
	};
	const json_t *list = result_list(o, KEY_incident_causes);

	html_raw(h, "<section id=\"cause\"><h2>What changed</h2><p>");
	html_text(h,
	    page_either(result_text(o, KEY_incident_cause),
		"No session of it has been searched for causes."));
	html_raw(h, "</p>");
	if (json_array_size(list) > 0)
		table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
	if (!isnan(result_number(o, KEY_incident_unexplained))) {
		html_raw(h, "<p class=\"note\">Weight of no recorded change: ");
		html_text(h, fmt_share(result_number(o, KEY_incident_unexplained)).s);
		html_raw(h, ". All weights add up to 1.</p>");
	}
	html_raw(h, "</section>");
}

static void
column_card(struct html *h, const json_t *row)
{
	html_text(h, result_text(row, KEY_route_advice_title));
	html_raw(h, "<span class=\"under soft\">");
	write_session(h, result_number(row, KEY_route_advice_session));
	html_raw(h, "</span>");
}

static void
column_fate(struct html *h, const json_t *row)
{
	const int kept = result_bool(row, KEY_route_advice_kept);

	html_text(h, kept == 1 ? "kept" : kept == 0 ? "not kept" : "not tried");
}

TABLE_NUMBER(column_predicted, KEY_route_advice_predicted, fmt_ratio)
TABLE_NUMBER(column_obtained, KEY_route_advice_obtained, fmt_ratio)

static void
write_cards(struct html *h, const json_t *o)
{
	static const struct table_column columns[] = {
		{ "Card", column_card, false },
		{ "Times faster, predicted", column_predicted, true },
		{ "Obtained", column_obtained, true },
		{ "Prediction", column_fate, false },
	};
	const json_t *list = result_list(o, KEY_incident_advice);

	if (json_array_size(list) == 0)
		return;
	html_raw(h, "<section id=\"cards\"><h2>What to do</h2>");
	table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
	html_raw(h, "</section>");
}

/* Why the level is usual now, or the form that makes it so. */
static void
write_acceptance(struct html *h, const json_t *o)
{
	const char *state = result_text(o, KEY_incident_state),
		   *by = result_text(o, KEY_incident_accepted_by);

	if (state != NULL && strcmp(state, "accepted") == 0) {
		html_raw(h, "<p id=\"accepted\">The rate is usual since: ");
		if (result_text(o, KEY_incident_accepted) == NULL) {
			html_raw(h, "it stayed for ");
			html_int(h, NW_INCIDENT_ACCEPTED);
			html_raw(h, " sessions.</p>");
			return;
		}
		html_text(h, by != NULL && *by != '\0' ? by : "an operator");
		html_raw(h, " accepted it, ");
		page_stamp(h, result_text(o, KEY_incident_accepted));
		html_raw(h, ": ");
		html_text(h, result_text(o, KEY_incident_accepted_why));
		html_raw(h, "</p>");
	}
	if (!h->may_change || !incident_is(o, KEY_incident_state, "open") ||
	    !incident_is(o, KEY_incident_kind, "step"))
		return;
	html_raw(h,
	    "<section id=\"accept\"><h2>Accept</h2><form class=\"filter note-form\" "
	    "method=\"post\" "
	    "action=\"/incident/");
	html_int(h, (int64_t)result_number(o, KEY_incident_session));
	html_raw(h,
	    "\"><label>Why this rate is usual from now on <input name=\"why\" required size=\"40\" "
	    "maxlength=\"500\"></label><button>Accept the rate as usual</button></form><p "
	    "class=\"note\">The box takes an acceptance over within 20 seconds.</p></section>");
}

static void
write_incident(struct html *h, const json_t *o)
{
	html_raw(h, "<p>");
	write_route_link(h, o);
	html_raw(h, "</p><p class=\"verdict\">");
	html_text(h, result_text(o, KEY_incident_sentence));
	html_raw(h, "</p>");
	write_acceptance(h, o);
	write_facts(h, o);
	if (incident_is(o, KEY_incident_kind, "step"))
		write_causes(h, o);
	write_cards(h, o);
}

int
page_incident(struct html *h, struct store_reader *r, int64_t session_id)
{
	const struct incidents_query q = { .session_id = session_id, .limit = INCIDENTS_MAX };
	json_t *doc, *o;
	size_t i;
	int rc = incidents_document(r, &q, &doc);

	if (rc < 0)
		return rc;
	if (json_array_size(result_list(doc, KEY_incidents_incidents)) == 0) {
		json_decref(doc);
		return NW_ENOTFOUND;
	}
	page_begin(h, &(struct page_frame){ .title = "Incident", .tab = PAGE_ROUTES });
	html_raw(h, "<h1 class=\"page\">Incident</h1>");
	json_array_foreach(result_list(doc, KEY_incidents_incidents), i, o) write_incident(h, o);
	html_raw(h, "<p class=\"note\">The same as JSON: <a href=\"/api/v1/incidents?session=");
	html_int(h, session_id);
	html_raw(h, "\">/api/v1/incidents</a>; <a href=\"/incidents\">all incidents</a></p>");
	page_end(h);
	json_decref(doc);
	return NW_OK;
}
