/* SPDX-License-Identifier: BSD-3-Clause */
/* The latest connections of a host's collectors, with losses, and what the collectors cost. */
#include "web/page.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "web/collectors.h"
#include "web/table.h"

enum { SHOWN_MAX = 20, LOOKED_AT = 500 };

struct collectors {
	struct html *rows;
	size_t n, n_open, n_host;
	uint64_t samples, dropped, rejected;
};

static void
cell_count(struct html *h, const char *title, uint64_t v)
{
	html_raw(h, "<td role=\"cell\" class=\"num\"");
	html_attr(h, "data-label", title);
	html_raw(h, "><span>");
	html_text(h, fmt_count(v).s);
	html_raw(h, "</span></td>");
}

static void
write_end(struct html *h, const struct nw_xsp_rec *x)
{
	html_raw(h, "<td role=\"cell\" data-label=\"Ended\"><span>");
	if (x->closed_wall_ns == 0)
		html_raw(h, "<b>open</b>");
	else {
		page_time(h, x->closed_wall_ns);
		if (x->end_reason != NULL) {
			html_raw(h, "<span class=\"under\">");
			page_name(h, x->end_reason);
			html_raw(h, "</span>");
		}
	}
	html_raw(h, "</span></td>");
}

static void
write_row(struct html *h, const struct nw_xsp_rec *x)
{
	html_raw(h, "<tr role=\"row\"><td role=\"cell\" data-label=\"Since\"><span>");
	page_time(h, x->opened_wall_ns);
	html_raw(h, "</span></td>");
	write_end(h, x);
	html_raw(h, "<td role=\"cell\" data-label=\"Collector\"><span>");
	table_text(h, x->software);
	if (x->session_id != 0) {
		html_raw(h, "<span class=\"under\"><a href=\"/session/");
		html_int(h, x->session_id);
		html_raw(h, "\">session ");
		html_int(h, x->session_id);
		html_raw(h, "</a></span>");
	}
	html_raw(h, "</span></td>");
	cell_count(h, "Samples", x->samples);
	cell_count(h, "Lost before sending", x->dropped);
	cell_count(h, "Rejected", x->rejected);
	html_raw(h, "</tr>");
}

static int
on_xsp(void *arg, const struct nw_xsp_rec *x)
{
	struct collectors *c = arg;

	c->n_open += x->closed_wall_ns == 0;
	c->n_host += x->session_id == 0;
	c->samples += x->samples;
	c->dropped += x->dropped;
	c->rejected += x->rejected;
	if (c->rows != NULL && c->n < SHOWN_MAX)
		write_row(c->rows, x);
	c->n++;
	return c->rows != NULL && c->n == SHOWN_MAX;
}

/* --- cost and health --- */

TABLE_TEXT(column_name, KEY_collector_name)
TABLE_NUMBER(column_share, KEY_collector_cpu_share, fmt_percent)
TABLE_NUMBER(column_memory, KEY_collector_resident_bytes, fmt_bytes)
TABLE_NUMBER(column_interval, KEY_collector_interval_s, fmt_duration)
TABLE_NUMBER(column_slowed, KEY_collector_slowed, fmt_ratio)

static struct fmt
count_fmt(double v)
{
	return v >= 0 && v < 1e18 ? fmt_count((uint64_t)v) : fmt_ratio(v);
}

TABLE_NUMBER(column_samples, KEY_collector_samples, count_fmt)
TABLE_NUMBER(column_dropped, KEY_collector_dropped, count_fmt)
TABLE_NUMBER(column_overruns, KEY_collector_overruns, count_fmt)

static void
column_at(struct html *h, const json_t *row)
{
	page_stamp(h, result_text(row, KEY_collector_at));
}

static int
write_cost(struct html *h, struct store_reader *r, const struct nw_host_rec *host)
{
	static const struct table_column columns[] = {
		{ "Collector", column_name, false },
		{ "Said", column_at, false },
		{ "Share of a processor", column_share, true },
		{ "Memory", column_memory, true },
		{ "Samples", column_samples, true },
		{ "Documents lost", column_dropped, true },
		{ "Interval", column_interval, true },
		{ "Slowed by its budget", column_slowed, true },
		{ "Budget overrun", column_overruns, true },
	};
	const json_t *list;
	json_t *doc;
	int rc = collectors_document(r, host->id, &doc);

	if (rc < 0)
		return rc;
	list = result_list(doc, KEY_collectors_collectors);
	html_raw(h, "<h3>Collector cost and health</h3>");
	if (json_array_size(list) == 0)
		html_raw(h, "<p>No collector of this host has told of its cost.</p>");
	else {
		html_raw(h,
		    "<p class=\"note\">The latest word of each collector; all of them are the "
		    "series "
		    "<code>nw:collector</code>. Slowed: the factor by which the budget of "
		    "processor "
		    "time makes intervals longer.</p>");
		table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
	}
	json_decref(doc);
	return NW_OK;
}

static void
write_sentence(struct html *h, const struct collectors *c)
{
	html_raw(h, "<p>");
	html_text(h, c->n == LOOKED_AT ? "Latest connections" : "Connections");
	html_raw(h, " of its collectors: ");
	html_int(h, (int64_t)c->n);
	html_raw(h, ", of these ");
	html_int(h, (int64_t)c->n_open);
	html_raw(h, " open now and ");
	html_int(h, (int64_t)c->n_host);
	html_raw(h, " for the host alone. Samples: ");
	html_text(h, fmt_count(c->samples).s);
	html_raw(h, ". Documents lost before sending: ");
	html_text(h, fmt_count(c->dropped).s);
	html_raw(h, "; rejected by the box: ");
	html_text(h, fmt_count(c->rejected).s);
	html_raw(h, ".</p>");
}

int
host_collectors(struct html *h, struct store_reader *r, const struct nw_host_rec *host)
{
	static const struct table_column columns[] = { { .title = "Since" }, { .title = "Ended" },
		{ .title = "Collector" }, { .title = "Samples", .num = true },
		{ .title = "Lost before sending", .num = true },
		{ .title = "Rejected", .num = true } };
	struct collectors all = { .rows = NULL }, shown = { .rows = h };
	int rc = store_xsp_of_host(r, host->id, LOOKED_AT, on_xsp, &all);

	html_raw(h, "<section><h2>Collectors</h2>");
	if (all.n == 0) {
		html_raw(h, "<p>No connection is known.</p></section>");
		return rc;
	}
	write_sentence(h, &all);
	table_open(h, columns, sizeof(columns) / sizeof(columns[0]));
	if (rc == NW_OK)
		rc = store_xsp_of_host(r, host->id, SHOWN_MAX, on_xsp, &shown);
	table_close(h);
	if (rc == NW_OK)
		rc = write_cost(h, r, host);
	html_raw(h, "</section>");
	return rc;
}
