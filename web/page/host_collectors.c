/* SPDX-License-Identifier: BSD-3-Clause */
/* The latest connections of a host's collectors, with losses, and what the collectors cost. */
#include "web/page/page.h"

#include <math.h>
#include <string.h>

#include "narrows/eventtype.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/answer/hosts.h"
#include "web/page/html_table.h"

enum { SHOWN_MAX = 20 };

/* --- connections --- */

static struct fmt
count_fmt(double v)
{
	return v >= 0 && v < 1e18 ? fmt_count((uint64_t)v) : fmt_ratio(v);
}

TABLE_NUMBER(column_link_samples, KEY_host_link_samples, count_fmt)
TABLE_NUMBER(column_link_dropped, KEY_host_link_dropped, count_fmt)
TABLE_NUMBER(column_link_rejected, KEY_host_link_rejected, count_fmt)

static void
column_opened(struct html *h, const json_t *row)
{
	page_stamp(h, result_text(row, KEY_host_link_opened));
}

static void
column_closed(struct html *h, const json_t *row)
{
	const char *why = result_text(row, KEY_host_link_end_reason),
		   *closed = result_text(row, KEY_host_link_closed);

	if (closed == NULL) {
		html_raw(h, "<b>open</b>");
		return;
	}
	page_stamp(h, closed);
	if (why != NULL) {
		html_raw(h, "<span class=\"under\">");
		page_name(h, why);
		html_raw(h, "</span>");
	}
}

static void
column_software(struct html *h, const json_t *row)
{
	double id = result_number(row, KEY_host_link_session);

	table_text(h, result_text(row, KEY_host_link_software));
	if (!isfinite(id))
		return;
	html_raw(h, "<span class=\"under\"><a href=\"/session/");
	html_int(h, (int64_t)id);
	html_raw(h, "\">session ");
	html_int(h, (int64_t)id);
	html_raw(h, "</a></span>");
}

/* What connections add up to. */
struct sums {
	size_t n_open, n_host;
	double samples, dropped, rejected;
};

static struct sums
links_sum(const json_t *links)
{
	struct sums s = { .n_open = 0 };
	const json_t *o;
	size_t i;

	json_array_foreach(links, i, o)
	{
		s.n_open += result_text(o, KEY_host_link_closed) == NULL;
		s.n_host += !isfinite(result_number(o, KEY_host_link_session));
		s.samples += result_number(o, KEY_host_link_samples);
		s.dropped += result_number(o, KEY_host_link_dropped);
		s.rejected += result_number(o, KEY_host_link_rejected);
	}
	return s;
}

static void
write_links(struct html *h, const json_t *links)
{
	static const struct table_column columns[] = {
		{ "Since", column_opened, false },
		{ "Ended", column_closed, false },
		{ "Collector", column_software, false },
		{ "Samples", column_link_samples, true },
		{ "Lost before sending", column_link_dropped, true },
		{ "Rejected", column_link_rejected, true },
	};
	json_t *shown = json_array();
	size_t i;

	for (i = 0; i < json_array_size(links) && i < SHOWN_MAX; i++)
		json_array_append(shown, json_array_get(links, i));
	table_write(h, shown, columns, sizeof(columns) / sizeof(columns[0]));
	json_decref(shown);
}

/* --- cost and health --- */

TABLE_TEXT(column_name, KEY_collector_name)
TABLE_NUMBER(column_share, KEY_collector_cpu_share, fmt_percent)
TABLE_NUMBER(column_memory, KEY_collector_resident_bytes, fmt_bytes)
TABLE_NUMBER(column_interval, KEY_collector_interval_s, fmt_duration)
TABLE_NUMBER(column_slowed, KEY_collector_slowed, fmt_ratio)

TABLE_NUMBER(column_samples, KEY_collector_samples, count_fmt)
TABLE_NUMBER(column_dropped, KEY_collector_dropped, count_fmt)
TABLE_NUMBER(column_overruns, KEY_collector_overruns, count_fmt)

static void
column_at(struct html *h, const json_t *row)
{
	page_stamp(h, result_text(row, KEY_collector_at));
}

static void
write_cost(struct html *h, const json_t *list)
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

	html_raw(h, "<h3>Collector cost and health</h3>");
	if (json_array_size(list) == 0) {
		html_raw(h, "<p>No collector of this host has reported its cost.</p>");
		return;
	}
	html_raw(h,
	    "<p class=\"note\">The latest report of each collector; all reports are the series "
	    "<code>" NW_TYPE_COLLECTOR
	    "</code>. Slowed: the factor by which the budget of processor "
	    "time makes intervals longer.</p>");
	table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
}

static void
write_sentence(struct html *h, const json_t *links)
{
	struct sums s = links_sum(links);
	size_t n = json_array_size(links);

	html_raw(h, "<p>");
	html_text(h, n == HOST_LINKS_MAX ? "Latest connections" : "Connections");
	html_raw(h, " of its collectors: ");
	html_int(h, (int64_t)n);
	html_raw(h, ", of these ");
	html_int(h, (int64_t)s.n_open);
	html_raw(h, " open now and ");
	html_int(h, (int64_t)s.n_host);
	html_raw(h, " for the host alone. Samples: ");
	html_text(h, count_fmt(s.samples).s);
	html_raw(h, ". Documents lost before sending: ");
	html_text(h, count_fmt(s.dropped).s);
	html_raw(h, "; rejected by the box: ");
	html_text(h, count_fmt(s.rejected).s);
	html_raw(h, ".</p>");
}

void
host_collectors(struct html *h, const json_t *doc)
{
	const json_t *links = result_list(doc, KEY_host_links);

	html_raw(h, "<section><h2>Collectors</h2>");
	if (json_array_size(links) == 0)
		html_raw(h, "<p>No connection is known.</p>");
	else {
		write_sentence(h, links);
		write_links(h, links);
		write_cost(h, result_list(doc, KEY_host_collectors));
	}
	html_raw(h, "</section>");
}
