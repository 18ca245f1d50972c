/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of a measured host: times, clock, collectors, metrics, settings with their history, and
 * sessions. */
#include "web/page/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "web/answer/hosts.h"
#include "web/page/html_table.h"

static void
write_info(struct html *h, const json_t *doc)
{
	const json_t *summary = result_get(doc, KEY_host_summary),
		     *facts = result_list(doc, KEY_host_facts), *fact, *value;
	char text[64];
	size_t i;

	html_raw(h,
	    "<section><h2>The host's report of itself</h2><dl class=\"items\"><div><dt>First "
	    "contact</dt><dd>");
	page_stamp(h, result_text(summary, KEY_host_listed_first_heard));
	html_raw(h, "</dd></div><div><dt>Last contact</dt><dd>");
	page_stamp(h, result_text(summary, KEY_host_listed_last_heard));
	html_raw(h, "</dd></div>");
	json_array_foreach(facts, i, fact)
	{
		value = result_get(fact, KEY_host_fact_value);
		snprintf(text, sizeof(text), "%.12g", json_number_value(value));
		page_item(h, result_text(fact, KEY_host_fact_key),
		    json_is_string(value) ? json_string_value(value) : text);
	}
	html_raw(h, "</dl></section>");
}

static void
write_value(struct html *h, const char *value)
{
	if (value == NULL)
		html_raw(h, "<span class=\"soft\">absent</span>");
	else
		page_name(h, value);
}

/* --- settings --- */

static void
column_at(struct html *h, const json_t *row)
{
	page_stamp(h, result_text(row, KEY_setting_change_at));
}

TABLE_TEXT(column_name, KEY_setting_change_name)

static void
column_before(struct html *h, const json_t *row)
{
	write_value(h, result_text(row, KEY_setting_change_before));
}

static void
column_since(struct html *h, const json_t *row)
{
	write_value(h, result_text(row, KEY_setting_change_value));
}

static void
write_changes(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "When", column_at, false },
		{ "Setting", column_name, false },
		{ "Before", column_before, false },
		{ "Since", column_since, false },
	};
	const json_t *changes = result_list(doc, KEY_settings_changes);

	html_raw(h, "<section><h2>Settings that changed</h2>");
	if (json_array_size(changes) > 0)
		table_write(h, changes, columns, sizeof(columns) / sizeof(columns[0]));
	else
		html_raw(h,
		    "<p>No change so far, or no settings reported: <code>blipp</code> on the host "
		    "reports settings.</p>");
	html_raw(h, "</section>");
}

static void
write_settings(struct html *h, const json_t *doc)
{
	const json_t *settings = result_list(doc, KEY_settings_settings), *o;
	size_t i;

	write_changes(h, doc);
	if (json_array_size(settings) == 0)
		return;
	html_raw(h,
	    "<section><details class=\"fold\"><summary><h2>All settings</h2></summary><dl "
	    "class=\"lines\">");
	json_array_foreach(settings, i, o)
	{
		html_raw(h, "<div><dt>");
		page_name(h, result_text(o, KEY_setting_name));
		html_raw(h, "</dt><dd>");
		write_value(h, result_text(o, KEY_setting_value));
		html_raw(h, "</dd></div>");
	}
	html_raw(h, "</dl></details></section>");
}

/* --- sessions --- */

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct html *h = arg;
	html_raw(h, "<li><a href=\"/session/");
	html_int(h, s->id);
	html_raw(h, "\">");
	page_time(
	    h, res != NULL && res->start_wall_ns != 0 ? res->start_wall_ns : s->opened_wall_ns);
	html_raw(h, "</a> ");
	page_route(h, res != NULL ? res->route : NULL);
	html_raw(h, ", ");
	html_text(h,
	    res != NULL ? result_limit_words(res->stage, res->confidence, res->sentence)
			: "not analysed yet");
	html_raw(h, "</li>");
	return 0;
}

static int
write_sessions(struct html *h, struct store_reader *r, struct session_index *x, const char *name)
{
	struct session_filter f = { 0 };
	struct session_listed listed;
	int rc;

	if (strlen(name) >= sizeof(f.host))
		return NW_OK;
	strcpy(f.host, name);
	html_raw(h, "<section><h2>Sessions</h2><ul>");
	rc = session_list(x, r, &f, on_session, h, &listed);
	html_raw(h, "</ul></section>");
	return rc;
}

void
page_host_link(struct html *h, const char *name)
{
	char *encoded = name != NULL ? evhttp_uriencode(name, -1, 1) : NULL, href[800];

	if (encoded == NULL || h->alone || h->foreign || strlen(encoded) > sizeof(href) - 20) {
		page_name(h, name);
		free(encoded);
		return;
	}
	snprintf(href, sizeof(href), "/host?host=%s", encoded);
	html_raw(h, "<a");
	html_attr(h, "href", href);
	html_raw(h, ">");
	page_name(h, name);
	html_raw(h, "</a>");
	free(encoded);
}

/* The address of the same as JSON. */
static void
write_links(struct html *h)
{
	char href[800];

	html_raw(h, "<p class=\"note\"><a href=\"/hosts\">All hosts</a>. The same as JSON: <a");
	snprintf(href, sizeof(href), "/api/v1/hosts/%s", h->host);
	html_attr(h, "href", href);
	html_raw(h, ">host</a>, <a");
	snprintf(href, sizeof(href), "/api/v1/hosts/%s/settings", h->host);
	html_attr(h, "href", href);
	html_raw(h, ">settings</a>.</p>");
}

static int
write_page(struct html *h, struct store_reader *r, struct session_index *x, const char *name,
    const json_t *doc, const json_t *settings)
{
	char title[160];
	int rc;

	snprintf(title, sizeof(title), "Host %.120s", name);
	page_begin(h, &(struct page_frame){ .title = title, .tab = PAGE_HOSTS });
	html_raw(h, "<h1 class=\"page\">Host ");
	page_name(h, name);
	html_raw(h, "</h1>");
	write_info(h, doc);
	host_clock(h, result_list(doc, KEY_host_clocks));
	host_collectors(h, doc);
	host_usual(h, doc);
	host_metrics(h, doc);
	host_diets(h, doc);
	write_settings(h, settings);
	rc = write_sessions(h, r, x, name);
	write_links(h);
	page_end(h);
	return rc;
}

int
page_host(struct html *h, struct store_reader *r, const struct hosts_now *now, const char *name)
{
	char *encoded = evhttp_uriencode(name, -1, 0);
	json_t *doc = NULL, *settings = NULL;
	int rc = encoded != NULL ? host_document(r, now, name, &doc) : NW_ENOMEM;

	if (rc == NW_OK && (rc = host_settings_document(r, name, INT64_MAX, &settings)) == NW_OK) {
		h->host = encoded;
		rc = write_page(h, r, now->sessions, name, doc, settings);
		h->host = NULL;
	}
	json_decref(settings);
	json_decref(doc);
	free(encoded);
	return rc;
}

/* --- figures --- */

struct wanted {
	struct store_reader *r;
	const char *name;
	json_t *clocks;
};

static int
on_wanted(void *arg, const struct nw_host_rec *rec)
{
	struct wanted *w = arg;

	return host_clock_list(w->r, rec, &w->clocks);
}

static int
write_figure(struct html *h, void *arg)
{
	struct wanted *w = arg;
	int rc = store_host_named(w->r, w->name, on_wanted, w);

	if (rc == NW_OK)
		host_clock(h, w->clocks);
	json_decref(w->clocks);
	return rc;
}

int
page_host_figure(
    struct store_reader *r, const char *name, const char *figure, char **text, size_t *len)
{
	struct wanted w = { .r = r, .name = name };

	return page_figure(figure, write_figure, &w, text, len);
}
