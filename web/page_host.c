/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of a measured host: times, clock, collectors, metrics, settings with their history, and
 * sessions. */
#include "web/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/result.h"

enum { CHANGES_MAX = 200, SETTINGS_MAX = 3000, SESSIONS_SHOWN = 10 };

struct host {
	struct html *h;
	struct store_reader *r;
	const char *wanted;
	struct nw_host_rec rec; /* name: wanted; info_json: the page's own copy */
	char *info;
	size_t n;
};

static int
on_host(void *arg, const struct nw_host_rec *rec)
{
	struct host *host = arg;

	if (rec->name == NULL || strcmp(rec->name, host->wanted) != 0)
		return 0;
	host->rec = *rec;
	host->rec.name = host->wanted;
	host->rec.info_json = host->info = rec->info_json != NULL ? strdup(rec->info_json) : NULL;
	return 1;
}

static void
info_item(struct html *h, const char *key, const json_t *value)
{
	char text[64];

	if (json_is_string(value))
		page_item(h, key, json_string_value(value));
	else if (json_is_number(value)) {
		snprintf(text, sizeof(text), "%.12g", json_number_value(value));
		page_item(h, key, text);
	} else if (json_is_boolean(value))
		page_item(h, key, json_is_true(value) ? "yes" : "no");
}

static void
write_info(struct html *h, const struct host *host)
{
	json_t *info = host->info != NULL ? json_loads(host->info, 0, NULL) : NULL, *value;
	const char *key;

	html_raw(h,
	    "<section><h2>What it says of itself</h2><dl class=\"items\"><div><dt>First "
	    "heard</dt><dd>");
	page_time(h, host->rec.first_seen_wall_ns);
	html_raw(h, "</dd></div><div><dt>Last connection began</dt><dd>");
	page_time(h, host->rec.last_seen_wall_ns);
	html_raw(h, "</dd></div>");
	json_object_foreach(info, key, value) info_item(h, key, value);
	html_raw(h, "</dl></section>");
	json_decref(info);
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

struct changes {
	struct html *h;
	size_t n, n_skip; /* the newest are shown: so many older ones are not */
};

static int
on_change_counted(void *arg, const struct nw_setting_rec *s)
{
	*(size_t *)arg += !s->first;
	return 0;
}

static int
on_change(void *arg, const struct nw_setting_rec *s)
{
	struct changes *c = arg;

	if (s->first)
		return 0;
	if (c->n_skip > 0) {
		c->n_skip--;
		return 0;
	}
	c->n++;
	html_raw(c->h, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">");
	page_time(c->h, s->t_wall_ns);
	html_raw(c->h, "</th><td role=\"cell\">");
	page_name(c->h, s->name);
	html_raw(c->h, "</td><td role=\"cell\">");
	write_value(c->h, s->before);
	html_raw(c->h, "</td><td role=\"cell\">");
	write_value(c->h, s->value);
	html_raw(c->h, "</td></tr>");
	return c->h->failed ? NW_ENOMEM : 0;
}

static int
write_changes(struct html *h, struct store_reader *r, const struct host *host)
{
	struct changes c = { .h = h };
	size_t all = 0;
	int rc = store_config_changes(r, host->rec.id, 0, INT64_MAX, on_change_counted, &all);

	if (rc < 0)
		return rc;
	html_raw(h, "<section><h2>Settings that changed</h2>");
	if (all == 0) {
		html_raw(h,
		    "<p>None since the host tells of its settings, or it tells of none: "
		    "<code>blipp</code> does.</p></section>");
		return NW_OK;
	}
	c.n_skip = all > CHANGES_MAX ? all - CHANGES_MAX : 0;
	html_raw(h,
	    "<table role=\"table\" class=\"rows\"><thead role=\"rowgroup\"><tr role=\"row\"><th "
	    "role=\"columnheader\" scope=\"col\">When</th><th role=\"columnheader\" scope=\"col\">"
	    "Setting</th><th role=\"columnheader\" scope=\"col\">Before</th><th "
	    "role=\"columnheader\" scope=\"col\">Since</th></tr></thead><tbody "
	    "role=\"rowgroup\">");
	rc = store_config_changes(r, host->rec.id, 0, INT64_MAX, on_change, &c);
	html_raw(h, "</tbody></table></section>");
	return rc;
}

static int
on_setting(void *arg, const struct nw_setting_rec *s)
{
	struct host *host = arg;

	if (host->n++ == 0)
		html_raw(host->h,
		    "<section><details class=\"fold\"><summary><h2>All settings</h2></summary><dl "
		    "class=\"lines\">");
	html_raw(host->h, "<div><dt>");
	page_name(host->h, s->name);
	html_raw(host->h, "</dt><dd>");
	write_value(host->h, s->value);
	html_raw(host->h, "</dd></div>");
	return host->h->failed ? NW_ENOMEM : host->n == SETTINGS_MAX;
}

/* --- sessions --- */

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct html *h = arg;
	const char *stage = res != NULL ? res->stage : NULL;

	html_raw(h, "<li><a href=\"/session/");
	html_int(h, s->id);
	html_raw(h, "\">");
	page_time(
	    h, res != NULL && res->start_wall_ns != 0 ? res->start_wall_ns : s->opened_wall_ns);
	html_raw(h, "</a> ");
	page_route(h, res != NULL ? res->route : NULL);
	html_raw(h, ", ");
	html_text(h, stage != NULL ? result_stage_words(stage) : "cannot tell");
	html_raw(h, "</li>");
	return 0;
}

static int
write_sessions(struct html *h, struct store_reader *r, const char *name)
{
	struct session_filter f = { 0 };
	int64_t next;
	int rc;

	if (strlen(name) >= sizeof(f.host))
		return NW_OK;
	strcpy(f.host, name);
	html_raw(h, "<section><h2>Sessions</h2><ul>");
	rc = session_filter_list(r, &f, on_session, h, &next);
	html_raw(h, "</ul></section>");
	return rc;
}

void
page_host_link(struct html *h, const char *name)
{
	char *encoded = name != NULL ? evhttp_uriencode(name, -1, 1) : NULL, href[800];

	if (encoded == NULL || h->session_id == 0 || h->foreign ||
	    strlen(encoded) > sizeof(href) - 20) {
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

static int
write_settings(struct html *h, struct store_reader *r, struct host *host)
{
	int rc = write_changes(h, r, host);

	if (rc == NW_OK)
		rc = store_config_at(r, host->rec.id, nw_wall_ns(), on_setting, host);
	if (host->n > 0)
		html_raw(h, "</dl></details></section>");
	return rc;
}

int
page_host(struct html *h, struct store_reader *r, const char *name)
{
	struct host host = { .h = h, .wanted = name };
	char title[160], *encoded = evhttp_uriencode(name, -1, 1);
	int rc = store_hosts(r, on_host, &host);

	if (rc == NW_OK && host.rec.id != 0) {
		snprintf(title, sizeof(title), "Host %.120s", name);
		h->host = encoded;
		page_begin(h, &(struct page_frame){ .title = title });
		html_raw(h, "<h1 class=\"page\">Host ");
		page_name(h, name);
		html_raw(h, "</h1>");
		write_info(h, &host);
		if ((rc = host_clock(h, r, &host.rec)) == NW_OK)
			rc = host_collectors(h, r, &host.rec);
		if (rc == NW_OK)
			rc = host_usual(h, r, &host.rec);
		if (rc == NW_OK)
			rc = host_metrics(h, r, &host.rec);
		if (rc == NW_OK)
			rc = write_settings(h, r, &host);
		if (rc == NW_OK)
			rc = write_sessions(h, r, name);
		page_end(h);
		h->host = NULL;
	} else if (rc == NW_OK)
		rc = NW_ENOTFOUND;
	free(host.info);
	free(encoded);
	return rc;
}

static int
write_figure(struct html *h, void *arg)
{
	struct host *host = arg;
	int rc = store_hosts(host->r, on_host, host);

	if (rc == NW_OK)
		rc = host->rec.id != 0 ? host_clock(h, host->r, &host->rec) : NW_ENOTFOUND;
	free(host->info);
	return rc;
}

int
page_host_figure(
    struct store_reader *r, const char *name, const char *figure, char **text, size_t *len)
{
	struct host host = { .wanted = name, .r = r };

	return page_figure(figure, write_figure, &host, text, len);
}
