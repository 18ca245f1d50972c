/* SPDX-License-Identifier: BSD-3-Clause */
/* What differs from the usual sessions: settings and metrics, the likely causes first. */
#include "web/page/page.h"

#include <math.h>
#include <string.h>

#include "narrows/result.h"
#include "web/page/html_table.h"

static bool
is_setting(const json_t *row)
{
	const char *kind = result_text(row, KEY_difference_kind);

	return kind != NULL && strcmp(kind, "setting") == 0;
}

static void
column_what(struct html *h, const json_t *row)
{
	if (result_bool(row, KEY_difference_beyond_chance) == 1)
		html_raw(h, "<b>");
	table_text(h, result_text(row, KEY_difference_name));
	if (result_bool(row, KEY_difference_beyond_chance) == 1)
		html_raw(h, "</b>");
	html_raw(h, "<span class=\"soft under\">");
	html_text(h, is_setting(row) ? "setting" : "metric");
	html_raw(h, "</span>");
}

static void
column_host(struct html *h, const json_t *row)
{
	const char *host = result_text(row, KEY_difference_host);

	table_text(h, host != NULL ? host : "the session");
}

static struct fmt
value_text(const json_t *row, double v)
{
	const char *unit = result_text(row, KEY_difference_unit);

	if (unit != NULL && strcmp(unit, "By/s") == 0)
		return fmt_bytes_per_s(v);
	if (unit != NULL && strcmp(unit, "By") == 0)
		return fmt_bytes(v);
	if (unit != NULL && strcmp(unit, "s") == 0)
		return fmt_duration(v);
	if (unit != NULL && strcmp(unit, "%") == 0)
		return fmt_share(v);
	return fmt_ratio(v);
}

static void
write_value(struct html *h, const json_t *row, enum result_key key)
{
	const char *text = result_text(row, key);
	double v = result_number(row, key);

	if (text != NULL)
		page_name(h, text);
	else if (isfinite(v))
		html_text(h, value_text(row, v).s);
	else
		html_text(h, is_setting(row) ? "absent" : "unknown");
}

static void
column_before(struct html *h, const json_t *row)
{
	write_value(h, row, KEY_difference_before);
}

static void
column_after(struct html *h, const json_t *row)
{
	int64_t at = result_ns(row, KEY_difference_at_ns);

	write_value(h, row, KEY_difference_after);
	if (at > 0) {
		html_raw(h, "<span class=\"soft under\">since ");
		page_time(h, at);
		html_raw(h, "</span>");
	}
}

static void
column_weight(struct html *h, const json_t *row)
{
	double q = result_number(row, KEY_difference_q),
	       w = result_number(row, KEY_difference_weight);

	if (w >= 0.005)
		table_value(h, w, fmt_share(w));
	else if (isfinite(q) && result_bool(row, KEY_difference_beyond_chance) == 1)
		html_raw(h, "moved with the rate");
	else if (isfinite(q))
		html_raw(h, "may be chance");
	else
		html_raw(h, "hardly");
}

/* The differences beyond chance, and all others; new references. */
static void
differences_part(const json_t *list, json_t **beyond, json_t **other)
{
	json_t *row;
	size_t i;

	*beyond = json_array();
	*other = json_array();
	json_array_foreach(list, i, row) json_array_append(
	    result_bool(row, KEY_difference_beyond_chance) == 1 ? *beyond : *other, row);
}

void
session_differences(struct html *h, const json_t *changed)
{
	static const struct table_column columns[] = {
		{ "What", column_what, false },
		{ "Host", column_host, false },
		{ "Before", column_before, false },
		{ "Since", column_after, false },
		{ "As the cause", column_weight, true },
	};
	const size_t n_columns = sizeof(columns) / sizeof(columns[0]);
	const json_t *list = result_list(changed, KEY_changed_differences);
	const double unexplained = result_number(changed, KEY_changed_unexplained);
	json_t *beyond, *other;

	html_raw(h, "<p>");
	html_text(h, result_text(changed, KEY_changed_sentence));
	html_raw(h, "</p>");
	if (json_array_size(list) == 0)
		return;
	differences_part(list, &beyond, &other);
	if (json_array_size(beyond) > 0)
		table_write(h, beyond, columns, n_columns);
	if (json_array_size(other) > 0) {
		html_raw(h, "<details class=\"fold\"><summary>Less likely: ");
		html_int(h, (int64_t)json_array_size(other));
		html_raw(h, "</summary>");
		table_write(h, other, columns, n_columns);
		html_raw(h, "</details>");
	}
	json_decref(beyond);
	json_decref(other);
	html_raw(h, "<p class=\"note\">Compared: ");
	html_text(h, fmt_count((uint64_t)fmax(result_number(changed, KEY_changed_n_before), 0)).s);
	html_raw(h, " sessions before and ");
	html_text(h, fmt_count((uint64_t)fmax(result_number(changed, KEY_changed_n_after), 0)).s);
	html_raw(h,
	    " since. The weight of a cause grows if such a change is known to slow the limiting "
	    "stage down, came just before the first slow session, was large, and is rare. ");
	if (isfinite(unexplained)) {
		html_raw(h, "The weight of no recorded cause is ");
		html_text(h, fmt_share(unexplained).s);
		html_raw(h, ". ");
	}
	html_raw(h, "A change at the same time is not always the cause.</p>");
}

void
session_changed(struct html *h, const json_t *doc)
{
	const json_t *changed = result_get(doc, KEY_result_changed);

	if (changed != NULL)
		session_differences(h, changed);
}
