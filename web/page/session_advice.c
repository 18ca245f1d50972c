/* SPDX-License-Identifier: BSD-3-Clause */
/* What to do: the cards of a session, and what came of the cards of a route. */
#include "web/page/page.h"

#include <math.h>

#include "narrows/result.h"
#include "web/page/html_table.h"

enum { FAILED_IN_A_ROW = 3 };

static void
write_record(struct html *h, const json_t *card)
{
	double tried = result_number(card, KEY_advice_n_tried),
	       kept = result_number(card, KEY_advice_n_kept);

	if (!(tried >= 1))
		return;
	html_raw(h, "<p class=\"note\">Tried before on this route: the gain came in ");
	html_text(h, fmt_ratio(kept).s);
	html_raw(h, " of ");
	html_text(h, fmt_ratio(tried).s);
	html_raw(h, " cases.");
	if (result_number(card, KEY_advice_n_failed) >= FAILED_IN_A_ROW) {
		html_raw(h, " <b>The last ");
		html_text(h, fmt_ratio(result_number(card, KEY_advice_n_failed)).s);
		html_raw(h, " did not help.</b>");
	}
	html_raw(h, "</p>");
}

static void
write_line(struct html *h, const char *name, const char *value)
{
	if (value == NULL)
		return;
	html_raw(h, "<div><dt>");
	html_text(h, name);
	html_raw(h, "</dt><dd>");
	html_text(h, value);
	html_raw(h, "</dd></div>");
}

static void
write_card(struct html *h, const json_t *card, double rate, bool least)
{
	double gain = result_number(card, KEY_advice_gain),
	       history = result_number(card, KEY_advice_gain_history);

	if (isfinite(history)) {
		gain = history;
		least = false;
	}
	html_raw(h, "<article class=\"card\"><h3>");
	html_text(h, result_text(card, KEY_advice_title));
	html_raw(h, "</h3><p>");
	html_text(h, result_text(card, KEY_advice_evidence));
	html_raw(h, "</p>");
	if (gain > 1 && isfinite(gain) && isfinite(rate)) {
		html_raw(h, "<p>Expected: ");
		html_text(h, least ? "at least" : "about");
		html_raw(h, " <b>");
		html_text(h, fmt_bytes_per_s(rate * gain).s);
		html_raw(h, "</b>, ");
		html_text(h, fmt_ratio(gain).s);
		html_raw(h, " times the present rate");
		html_text(h, least ? "." : ", if nothing else limits.");
		html_raw(h, "</p>");
	}
	html_raw(h, "<dl class=\"lines\">");
	write_line(h, "Check, which changes nothing", result_text(card, KEY_advice_check));
	write_line(h, "Change", result_text(card, KEY_advice_change));
	write_line(h, "Undo", result_text(card, KEY_advice_undo));
	write_line(h, "Read", result_text(card, KEY_advice_reference));
	html_raw(h, "</dl>");
	write_record(h, card);
	html_raw(h, "</article>");
}

void
session_advice(struct html *h, const json_t *doc)
{
	const json_t *list = result_list(doc, KEY_result_advice), *card;
	double rate = result_number(result_get(doc, KEY_result_session), KEY_session_bytes_per_s);
	/* an expectation without an estimate is the lower bound */
	bool least =
	    !isfinite(result_number(result_get(doc, KEY_result_verdict), KEY_verdict_effect));
	size_t i;

	json_array_foreach(list, i, card) if (i < 3) write_card(h, card, rate, least);
	if (json_array_size(list) > 0)
		html_raw(h,
		    "<p class=\"note\">The next sessions of the route show whether the advice was "
		    "right: its history compares the expected gain with the obtained gain.</p>");
}

static void
column_title(struct html *h, const json_t *row)
{
	table_text(h, result_text(row, KEY_route_advice_title));
	html_raw(h, "<span class=\"soft under\">");
	html_text(h, result_text(row, KEY_route_advice_rule));
	html_raw(h, "</span>");
}

static void
write_session(struct html *h, double id)
{
	if (!(id > 0 && id < 9e15))
		return;
	html_raw(h, "<a href=\"/session/");
	html_int(h, (int64_t)id);
	html_raw(h, "\">session ");
	html_int(h, (int64_t)id);
	html_raw(h, "</a>");
}

static void
column_first(struct html *h, const json_t *row)
{
	write_session(h, result_number(row, KEY_route_advice_session));
}

static void
column_closed(struct html *h, const json_t *row)
{
	double id = result_number(row, KEY_route_advice_closed);

	if (isfinite(id))
		write_session(h, id);
	else
		html_raw(h, "not tried");
}

TABLE_NUMBER(column_predicted, KEY_route_advice_predicted, fmt_ratio)
TABLE_NUMBER(column_obtained, KEY_route_advice_obtained, fmt_ratio)

void
route_advice(struct html *h, const json_t *list)
{
	static const struct table_column columns[] = {
		{ "Advice", column_title, false },
		{ "First said for", column_first, false },
		{ "Tried before", column_closed, false },
		{ "Expected gain", column_predicted, true },
		{ "Obtained gain", column_obtained, true },
	};

	if (json_array_size(list) == 0)
		return;
	html_raw(h, "<section><h2>What came of advice</h2>");
	table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
	html_raw(h, "</section>");
}
