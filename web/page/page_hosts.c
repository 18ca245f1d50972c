/* SPDX-License-Identifier: BSD-3-Clause */
/* All measured hosts: which collectors report, how well clocks are known, what was measured. */
#include "web/page/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/answer/hosts.h"
#include "web/page/html_table.h"

static void
column_host(struct html *h, const json_t *row)
{
	page_host_link(h, result_text(row, KEY_host_listed_name));
}

static void
column_state(struct html *h, const json_t *row)
{
	const char *state = result_text(row, KEY_host_listed_state);

	if (state == NULL)
		html_raw(h, "<span class=\"soft\">no collector</span>");
	else if (strcmp(state, "silent") == 0) {
		html_raw(h, "<b class=\"tag\">silent</b> ");
		html_int(h, (int64_t)result_number(row, KEY_host_listed_collectors_silent));
		html_raw(h, " of ");
		html_int(h, (int64_t)result_number(row, KEY_host_listed_collectors));
	} else if (strcmp(state, "speaks") == 0)
		html_raw(h, "reports");
	else if (strcmp(state, "awaited") == 0)
		html_raw(h, "awaited: the box has just started");
	else
		html_raw(h, "<span class=\"soft\">gone for a month</span>");
}

static void
column_heard(struct html *h, const json_t *row)
{
	page_stamp(h, result_text(row, KEY_host_listed_last_heard));
}

static void
column_clock(struct html *h, const json_t *row)
{
	double offset_s = result_number(row, KEY_host_listed_clock_offset_s),
	       bound_s = result_number(row, KEY_host_listed_clock_bound_s);

	if (!isfinite(bound_s)) {
		html_raw(h, "<span class=\"soft\">not known</span>");
		return;
	}
	html_text(h, fmt_si(bound_s, "s").s);
	if (!isfinite(offset_s) || fabs(offset_s) <= bound_s)
		return;
	html_raw(h, "<span class=\"under\">");
	html_text(h, fmt_si(fabs(offset_s), "s").s);
	html_text(h, offset_s > 0 ? " ahead of the box" : " behind the box");
	html_raw(h, "</span>");
}

static void
column_sessions(struct html *h, const json_t *row)
{
	double n = result_number(row, KEY_host_listed_sessions),
	       id = result_number(row, KEY_host_listed_newest_session);

	html_text(h, fmt_count(n > 0 ? (uint64_t)n : 0).s);
	if (!isfinite(id))
		return;
	html_raw(h, "<span class=\"under\"><a href=\"/session/");
	html_int(h, (int64_t)id);
	html_raw(h, "\">newest</a></span>");
}

static void
write_sentence(struct html *h, const json_t *doc)
{
	double n = result_number(doc, KEY_hosts_n_hosts),
	       n_silent = result_number(doc, KEY_hosts_n_silent);

	html_raw(h, "<p>");
	html_text(h, fmt_count((uint64_t)n).s);
	html_text(h, n == 1 ? " host is known; " : " hosts are known; ");
	if (n_silent > 0)
		html_text(h, fmt_count((uint64_t)n_silent).s);
	else
		html_raw(h, "none");
	html_text(h, n_silent > 1 ? " have a silent collector." : " has a silent collector.");
	html_raw(h, "</p>");
}

/* Writes links to the previous and the next page of the list. */
static void
write_pages(struct html *h, const json_t *doc, const struct hosts_query *q)
{
	double next = result_number(doc, KEY_hosts_next_offset);
	char href[80];

	if (q->offset == 0 && !isfinite(next))
		return;
	html_raw(h, "<nav class=\"pages\" aria-label=\"Pages of hosts\">");
	if (q->offset > 0) {
		snprintf(href, sizeof(href), "/hosts?offset=%" PRId64,
		    q->offset > HOSTS_PAGE ? q->offset - HOSTS_PAGE : 0);
		html_raw(h, "<a rel=\"prev\"");
		html_attr(h, "href", href);
		html_raw(h, ">Hosts before these</a>");
	}
	if (isfinite(next)) {
		snprintf(href, sizeof(href), "/hosts?offset=%.0f", next);
		html_raw(h, "<a rel=\"next\"");
		html_attr(h, "href", href);
		html_raw(h, ">More hosts</a>");
	}
	html_raw(h, "</nav>");
}

static void
write_list(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "Host", column_host, false },
		{ "Collectors", column_state, false },
		{ "Last contact", column_heard, false },
		{ "Clock known within", column_clock, true },
		{ "Sessions", column_sessions, true },
	};
	const json_t *list = result_list(doc, KEY_hosts_hosts);

	if (json_array_size(list) == 0) {
		html_raw(h,
		    "<p>No host is known yet: <code>blipp</code> and <code>nwrun</code> appear "
		    "here when they connect.</p>");
		return;
	}
	write_sentence(h, doc);
	table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
}

int
page_hosts(struct html *h, struct store_reader *r, const struct hosts_now *now,
    const struct hosts_query *q)
{
	const struct hosts_query shown = { .offset = q->offset, .limit = HOSTS_PAGE };
	json_t *doc;
	int rc = hosts_document(r, now, &shown, &doc);

	if (rc < 0)
		return rc;
	page_begin(h, &(struct page_frame){ .title = "Hosts", .tab = PAGE_HOSTS });
	html_raw(h, "<h1 class=\"page\">Hosts</h1>");
	write_list(h, doc);
	write_pages(h, doc, q);
	html_raw(h,
	    "<p class=\"note\">A collector (blipp, magnet) is silent after five minutes without a "
	    "report. Sessions: those of a host's latest thousand connections. The same as JSON: <a "
	    "href=\"/api/v1/hosts\">/api/v1/hosts</a></p>");
	page_end(h);
	json_decref(doc);
	return NW_OK;
}
