/* SPDX-License-Identifier: BSD-3-Clause */
/* Diets of a host: series proposed for slower sampling, and those sampled so. */
#include "web/page/page.h"

#include <string.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "web/page/html_table.h"

TABLE_TEXT(column_group, KEY_diet_group)
TABLE_TEXT(column_state, KEY_diet_state)
TABLE_TEXT(column_risk, KEY_diet_risk)
TABLE_NUMBER(column_share, KEY_diet_collector_share, fmt_share)
TABLE_NUMBER(column_interval, KEY_diet_interval_s, fmt_duration)
TABLE_NUMBER(column_bytes, KEY_diet_bytes_saved_per_day, fmt_bytes)

static struct fmt
values_fmt(double v)
{
	return v >= 0 && v < 1e18 ? fmt_count((uint64_t)v) : fmt_ratio(v);
}

TABLE_NUMBER(column_number, KEY_diet_id, values_fmt)
TABLE_NUMBER(column_samples, KEY_diet_samples_saved_per_day, values_fmt)

static void
column_series(struct html *h, const json_t *row)
{
	html_int(h, (int64_t)json_array_size(result_list(row, KEY_diet_series)));
}

static bool
is_state(const json_t *diet, const char *state)
{
	const char *text = result_text(diet, KEY_diet_state);

	return text != NULL && strcmp(text, state) == 0;
}

/* "since", when, and what the diet saved. */
static void
write_measured(struct html *h, const json_t *diet)
{
	const json_t *m = result_get(diet, KEY_diet_measured);

	html_raw(h, "<li>");
	page_name(h, result_text(diet, KEY_diet_group));
	html_raw(h, " since ");
	page_stamp(h, result_text(diet, KEY_diet_accepted));
	html_raw(h, ": in ");
	html_text(h, fmt_duration(result_number(m, KEY_diet_measured_elapsed_s)).s);
	html_raw(h, " its series brought ");
	html_text(h, values_fmt(result_number(m, KEY_diet_measured_samples)).s);
	html_raw(h, " values instead of ");
	html_text(h, values_fmt(result_number(m, KEY_diet_measured_samples_before)).s);
	html_raw(h, ", ");
	html_text(h, fmt_share(result_number(m, KEY_diet_measured_saved)).s);
	html_raw(h, " saved; the collector took ");
	html_text(h, fmt_percent(result_number(m, KEY_diet_measured_cpu_share)).s);
	html_raw(h, " of a processor, ");
	html_text(h, fmt_percent(result_number(m, KEY_diet_measured_cpu_share_before)).s);
	html_raw(h, " in the day before.");
	if (result_text(diet, KEY_diet_carries_again) != NULL) {
		html_raw(h, " <b>One of its series has values of use again</b> since ");
		page_stamp(h, result_text(diet, KEY_diet_carries_again));
		html_raw(h, ".");
	}
	html_raw(h, "</li>");
}

/* What the collector says of the orders, in the newest of its words. */
static void
write_obeyed(struct html *h, const json_t *diet)
{
	const json_t *m = result_get(diet, KEY_diet_measured);
	const double done = result_number(m, KEY_diet_measured_carried_out),
		     refused = result_number(m, KEY_diet_measured_refused);

	html_raw(h, "<p>");
	if (!(done >= 0))
		html_raw(h, "The collector of the host has not reported its diets yet.");
	else {
		html_raw(h, "The collector reports: ");
		html_text(h, values_fmt(done).s);
		html_raw(h, " names carried out, ");
		html_text(h, values_fmt(refused).s);
		html_raw(h, " without a series.");
	}
	html_raw(h, "</p>");
}

static void
write_in_force(struct html *h, const json_t *diets)
{
	const json_t *diet, *one = NULL;
	size_t i;

	json_array_foreach(diets, i, diet)
	{
		if (!is_state(diet, "in force"))
			continue;
		if (one == NULL)
			html_raw(h, "<h3>In force</h3><ul>");
		one = diet;
		write_measured(h, diet);
	}
	if (one == NULL)
		return;
	html_raw(h, "</ul>");
	write_obeyed(h, one);
}

static void
write_open(struct html *h, const json_t *open)
{
	static const struct table_column columns[] = {
		{ "Number", column_number, true },
		{ "Series of", column_group, false },
		{ "State", column_state, false },
		{ "Series", column_series, true },
		{ "Interval", column_interval, true },
		{ "Values saved a day", column_samples, true },
		{ "Bytes saved a day", column_bytes, true },
		{ "Of what the collector sends", column_share, true },
		{ "Risk", column_risk, false },
	};

	html_raw(h,
	    "<p class=\"note\">Series without use in any scheduled reduction for long. "
	    "<code>narrows diet accept HOST NUMBER</code> has them sampled at the interval, "
	    "<code>narrows diet undo HOST NUMBER</code> ends the diet. While the box samples the "
	    "host faster for a session, all series come at full rate.</p>");
	table_write(h, open, columns, sizeof(columns) / sizeof(columns[0]));
}

void
host_diets(struct html *h, const json_t *doc)
{
	const json_t *diets = result_list(doc, KEY_host_diets), *diet;
	json_t *open = json_array();
	size_t i;

	json_array_foreach(diets, i, diet) if (!is_state(diet, "ended"))
	    json_array_append(open, (json_t *)(uintptr_t)diet);
	html_raw(h, "<section><h2>Diet: metrics sampled seldom</h2>");
	if (json_array_size(open) == 0)
		html_raw(h,
		    "<p>No diet is proposed or in force: proposals need lists of metrics over the "
		    "time of <code>diet-after</code>, a month by default.</p>");
	else {
		write_in_force(h, diets);
		write_open(h, open);
	}
	html_raw(h, "</section>");
	json_decref(open);
}
