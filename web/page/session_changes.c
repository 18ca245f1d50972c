/* SPDX-License-Identifier: BSD-3-Clause */
/* The segments of a session between change points, in words: what limited each. */
#include "web/page/page.h"

#include <math.h>

#include "narrows/result.h"
#include "web/page/html_table.h"

enum { REASONS_MAX = 5 };

static void
column_from(struct html *h, const json_t *row)
{
	page_time(h, result_ns(row, KEY_segment_start_ns));
}

static void
column_lasted(struct html *h, const json_t *row)
{
	double s = ((double)result_ns(row, KEY_segment_end_ns) -
		       (double)result_ns(row, KEY_segment_start_ns)) *
	    1e-9;

	table_value(h, s, fmt_duration(s));
}

static void
column_limited(struct html *h, const json_t *row)
{
	const json_t *why = result_list(row, KEY_segment_hidden_wait);
	size_t i;

	html_text(h,
	    result_text(row, KEY_segment_words) != NULL ? result_text(row, KEY_segment_words)
							: "unknown");
	for (i = 0; i < json_array_size(why) && i < REASONS_MAX; i++) {
		if (i == 0)
			html_raw(h, "<span class=\"soft under\">");
		else
			html_raw(h, "; ");
		html_text(h, json_string_value(json_array_get(why, i)));
	}
	if (i > 0)
		html_raw(h, "</span>");
}

TABLE_NUMBER(column_rate, KEY_segment_bytes_per_s, fmt_bytes_per_s)
TABLE_NUMBER(column_p, KEY_segment_p_holm, fmt_p)

static size_t
count_hidden(const json_t *list)
{
	size_t i, n = 0;

	for (i = 0; i < json_array_size(list); i++)
		n += json_array_size(
			 result_list(json_array_get(list, i), KEY_segment_hidden_wait)) > 0;
	return n;
}

void
session_changes(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "From", column_from, false },
		{ "Limited by", column_limited, false },
		{ "Lasted", column_lasted, true },
		{ "Delivered", column_rate, true },
		{ "p", column_p, true },
	};
	const json_t *list = result_list(result_get(doc, KEY_result_changes), KEY_changes_segments);

	if (list == NULL)
		return;
	if (json_array_size(list) == 0)
		html_raw(h, "<p>No bytes were measured, so nothing changed.</p>");
	else if (json_array_size(list) == 1)
		html_raw(h,
		    "<p>All the time: neither the rate nor the limit changed within the "
		    "session.</p>");
	else {
		table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
		html_raw(h,
		    "<p class=\"note\">Each segment lies between two changes of the delivered "
		    "rate, of the speed of single operations, or of the time for which a stage "
		    "held "
		    "the bytes. p: chance of such a difference between equally slow stages, "
		    "corrected for several segments. If p is above the level, the stage held the "
		    "bytes longest in the segment, and the report claims no more.");
		if (count_hidden(list) > 0)
			html_raw(h,
			    " A hidden wait: the stage waits outside the timed operations, so that "
			    "another stage only seems to be slower.");
		html_raw(h, "</p>");
	}
}
