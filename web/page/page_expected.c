/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions that come regularly (expected.h), on the list of sessions and on the page of health. */
#include "web/answer/expected.h"

#include "narrows/format.h"
#include "web/page/page.h"
#include "web/page/html_table.h"

enum { MISSING_MAX = 10 };

static struct fmt
pause_words(int64_t ns)
{
	return fmt_duration((double)ns / 1e9);
}

static void
write_last(struct html *h, const struct expected *e)
{
	if (e->last_id == 0) {
		html_raw(h, "never");
		return;
	}
	html_raw(h, "<a href=\"/session/");
	html_int(h, e->last_id);
	html_raw(h, "\">");
	page_time(h, e->last_wall_ns);
	html_raw(h, "</a>");
}

static void
write_missing(struct html *h, const struct expected *e)
{
	html_raw(h, "<li><b>");
	page_name(h, e->program);
	html_raw(h, ", ");
	page_route(h, e->route);
	html_raw(h, "</b>: a session every ");
	html_text(h, pause_words(e->every_ns).s);
	if (e->told)
		html_raw(h, " is expected (narrowsd.conf)");
	else {
		html_raw(h, " was usual, over ");
		html_int(h, (int64_t)e->n_runs);
		html_raw(h, " of them");
	}
	html_raw(h, "; the newest began ");
	write_last(h, e);
	html_raw(h, ", and the next is missing since ");
	page_time(h, e->due_wall_ns);
	html_raw(h, ".</li>");
}

void
expected_missing(struct html *h, const struct expected_list *l, int64_t now_wall_ns)
{
	size_t i, n = expected_n_missing(l, now_wall_ns);

	if (n == 0)
		return;
	html_raw(h, "<section class=\"missing\"><h2>Expected, and missing</h2><ul>");
	for (i = 0; i < n && i < MISSING_MAX; i++)
		write_missing(h, &l->all[i]);
	html_raw(h, "</ul>");
	if (n > MISSING_MAX) {
		html_raw(h, "<p class=\"note\">And ");
		html_int(h, (int64_t)(n - MISSING_MAX));
		html_raw(h, " more: <a href=\"/health#expected\">all that is expected</a></p>");
	}
	html_raw(h, "</section>");
}

TABLE_NUMBER(column_every, KEY_expected_every_s, fmt_duration)

static void
column_route(struct html *h, const json_t *row)
{
	page_route(h, result_text(row, KEY_expected_route));
	html_raw(h, "<span class=\"under soft\">");
	page_name(h, result_text(row, KEY_expected_program));
	html_raw(h, "</span>");
}

static void
column_known(struct html *h, const json_t *row)
{
	if (result_bool(row, KEY_expected_told) == 1)
		html_raw(h, "narrowsd.conf");
	else {
		html_raw(h, "learnt from ");
		html_int(h, (int64_t)result_number(row, KEY_expected_runs));
	}
}

static void
column_last(struct html *h, const json_t *row)
{
	if (result_text(row, KEY_expected_last) == NULL) {
		html_raw(h, "never");
		return;
	}
	html_raw(h, "<a href=\"/session/");
	html_int(h, (int64_t)result_number(row, KEY_expected_last_session));
	html_raw(h, "\">");
	page_stamp(h, result_text(row, KEY_expected_last));
	html_raw(h, "</a>");
}

static void
column_next(struct html *h, const json_t *row)
{
	if (result_bool(row, KEY_expected_missing) == 1)
		html_raw(h, "<span class=\"tag\">missing</span> since ");
	else
		html_raw(h, "awaited until ");
	page_stamp(h, result_text(row, KEY_expected_due));
}

void
expected_table(struct html *h, const struct expected_list *l, int64_t now_wall_ns)
{
	static const struct table_column columns[] = {
		{ "Route", column_route, false },
		{ "Every", column_every, true },
		{ "Known by", column_known, false },
		{ "Newest began", column_last, false },
		{ "Next", column_next, false },
	};
	json_t *doc = expected_document(l, now_wall_ns);
	const json_t *list = result_list(doc, KEY_expected_list_expected);

	html_raw(h, "<section id=\"expected\"><h2>Expected sessions</h2>");
	if (json_array_size(list) == 0)
		html_raw(h,
		    "<p>None: narrowsd.conf has no line <code>expect</code>, and no route is "
		    "regular enough to learn from.</p>");
	else
		table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
	json_decref(doc);
	html_raw(h,
	    "<p class=\"note\">A configured session is missing after its time and a quarter. "
	    "A route is learnt from 10 pauses of three days and more, when all lie between half "
	    "and 1.5 times their median (or from 30, between a third and 3.2 times: weekdays); "
	    "its next session is missing after 1.5 times the longest pause.</p></section>");
}
