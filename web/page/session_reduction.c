/* SPDX-License-Identifier: BSD-3-Clause */
/* The few metrics of a host that follow the rate of its program, and how far to trust them. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "web/draw/plot.h"
#include "narrows/result.h"
#include "web/page/html_table.h"

enum { TAKEN_SHOWN = 5, OPEN_MAX = 2, ENTRIES_MAX = 16, SCAN_MAX = 64, MEMBERS_MAX = 40 };

/* R2 out of sample has no lower bound; values below this are drawn as this. */
static const double R2_FLOOR = -1;

static const char *
text_or(const json_t *object, enum result_key key, const char *otherwise)
{
	const char *text = result_text(object, key);

	return text != NULL ? text : otherwise;
}

/* --- the finding in words --- */

static void
write_share(struct html *h, const json_t *entry, enum result_key key)
{
	double v = result_number(entry, key);

	if (isfinite(v))
		html_text(h, fmt_share(fmax(v, 0)).s);
	else
		html_raw(h, "an unknown share");
}

static void
write_count(struct html *h, const json_t *entry, enum result_key key)
{
	double v = result_number(entry, key);

	if (v >= 0 && v < 9e15)
		html_int(h, llround(v));
	else
		html_raw(h, "an unknown number");
}

/* The rest of the sentence where the metrics predict no better than the baselines. */
static void
write_no_finding(struct html *h, const json_t *entry)
{
	html_raw(h, " none is sure to predict the ");
	html_text(h, text_or(entry, KEY_reduction_response, "response"));
	html_raw(h, " of ");
	page_name(h, text_or(entry, KEY_reduction_program, "the program"));
	html_raw(h, ": in stretches of time left out of the fit, the best selection explains <b>");
	write_share(h, entry, KEY_reduction_r2_out_of_sample);
	html_raw(h, "</b> of the ups and downs, as many metrics drawn at random ");
	write_share(h, entry, KEY_reduction_r2_random);
	html_raw(h, ", and the mean of the minute before ");
	write_share(h, entry, KEY_reduction_r2_minute_before);
	if (isfinite(result_number(entry, KEY_reduction_shift_chance))) {
		html_raw(h,
		    ". Shifted in time against the metrics, where no relation is left, the same "
		    "response is "
		    "explained as well in ");
		write_share(h, entry, KEY_reduction_shift_chance);
		html_raw(h, " of the shifts");
	}
	html_raw(h, ". By that measure, what the metrics below explain may be chance.</p>");
}

static void
write_finding(struct html *h, const json_t *entry)
{
	size_t n = json_array_size(result_list(entry, KEY_reduction_kept));

	html_raw(h, "<p>Of ");
	write_count(h, entry, KEY_reduction_n_metrics);
	html_raw(h, " metrics");
	if (result_number(entry, KEY_reduction_n_cut) > 0) {
		html_raw(h, " (");
		write_count(h, entry, KEY_reduction_n_cut);
		html_raw(h, " of them beyond the limit and left out)");
	}
	html_raw(h, " of ");
	page_name(h, text_or(entry, KEY_reduction_host, "the host"));
	if (n == 0) {
		html_raw(h, " none follows the ");
		html_text(h, text_or(entry, KEY_reduction_response, "response"));
		html_raw(h, " of ");
		page_name(h, text_or(entry, KEY_reduction_program, "the program"));
		html_raw(h, ".</p>");
		return;
	}
	if (result_bool(entry, KEY_reduction_headline) == 0) {
		write_no_finding(h, entry);
		return;
	}
	html_raw(h, ", ");
	html_int(h, (int64_t)n);
	if (n == 1)
		html_raw(h, " is enough to follow the ");
	else
		html_raw(h, " are enough to follow the ");
	html_text(h, text_or(entry, KEY_reduction_response, "response"));
	html_raw(h, " of ");
	page_name(h, text_or(entry, KEY_reduction_program, "the program"));
	html_raw(h, ": they explain <b>");
	write_share(h, entry, KEY_reduction_r2);
	html_raw(h, "</b> of its ups and downs in ");
	write_count(h, entry, KEY_reduction_n_rows);
	html_raw(h, " rows");
	if (result_number(entry, KEY_reduction_n_sessions) > 1) {
		html_raw(h, " of ");
		write_count(h, entry, KEY_reduction_n_sessions);
		html_raw(h, " sessions");
	}
	html_raw(h, " (");
	write_share(h, entry, KEY_reduction_r2_adjusted);
	html_raw(h, " adjusted for their number), and <b>");
	if (result_number(entry, KEY_reduction_r2_out_of_sample) <= 0)
		html_raw(h, "nothing</b> in stretches of time left out of the fit.</p>");
	else {
		write_share(h, entry, KEY_reduction_r2_out_of_sample);
		html_raw(h, "</b> in stretches of time left out of the fit.</p>");
	}
}

/* --- time as a common cause --- */
static bool
has_part(const json_t *entry, const char *word)
{
	const json_t *parts = result_list(entry, KEY_reduction_time_parts);

	for (size_t i = 0; i < json_array_size(parts); i++)
		if (json_string_value(json_array_get(parts, i)) != NULL &&
		    strcmp(json_string_value(json_array_get(parts, i)), word) == 0)
			return true;
	return false;
}

/* "a new level from 12:00:01 on, the hour of the day and a slow trend" */
static void
write_parts(struct html *h, const json_t *entry)
{
	const json_t *starts = result_list(entry, KEY_reduction_time_starts);
	const bool hour = has_part(entry, "hour"), trend = has_part(entry, "trend");

	if (has_part(entry, "start")) {
		html_raw(h, "<b>a start</b>");
		for (size_t i = 0; i < json_array_size(starts) && i < 2; i++) {
			html_text(h, i == 0 ? " at " : " and ");
			page_time(h, result_ns(json_array_get(starts, i), KEY_time_start_at_ns));
		}
		html_text(h, hour && trend ? ", " : hour || trend ? " and " : "");
	}
	if (hour) {
		html_raw(h, "<b>the hour of the day</b>");
		html_text(h, trend ? " and " : "");
	}
	if (trend)
		html_raw(h, "<b>a slow trend</b>");
}

/* The share explained by time, and the metrics that follow the response by time alone. */
static void
write_time(struct html *h, const json_t *entry)
{
	const json_t *taken = result_list(entry, KEY_reduction_time_taken);
	size_t n = json_array_size(taken);

	if (json_array_size(result_list(entry, KEY_reduction_time_parts)) == 0)
		return;
	html_raw(h, "<p class=\"common-cause\">Time itself explains <b>");
	write_share(h, entry, KEY_reduction_r2_time);
	html_raw(h, "</b> of the ups and downs of the ");
	html_text(h, text_or(entry, KEY_reduction_response, "response"));
	html_raw(h, " of ");
	page_name(h, text_or(entry, KEY_reduction_program, "the program"));
	html_raw(h, ": ");
	write_parts(h, entry);
	html_raw(h, ".");
	if (n > 0) {
		html_raw(h, " <b>");
		write_count(h, entry, KEY_reduction_n_time_taken);
		html_raw(
		    h, "</b> metrics have the same course in time and explain nothing besides: ");
		for (size_t i = 0; i < n && i < TAKEN_SHOWN; i++) {
			html_text(h, i == 0 ? "" : ", ");
			page_name(h, json_string_value(json_array_get(taken, i)));
		}
		html_text(h, n > TAKEN_SHOWN ? " and others" : "");
		html_raw(h,
		    ". A common cause in time suffices for that; none of them is shown to "
		    "matter.");
	}
	html_raw(h, " What follows is about the rest.</p>");
}

/* Why there is none. */
static void
write_lack(struct html *h, const json_t *entry)
{
	const char *status = text_or(entry, KEY_reduction_status, "");

	html_raw(h, "<li>");
	page_name(h, text_or(entry, KEY_reduction_program, "the program"));
	html_raw(h, " on ");
	page_name(h, text_or(entry, KEY_reduction_host, "an unknown host"));
	html_raw(h, ": ");
	if (strcmp(status, "too_few_rows") == 0) {
		html_raw(h, "too short to relate metrics to it. There are ");
		write_count(h, entry, KEY_reduction_n_rows);
		html_raw(h, " complete rows; ");
		write_count(h, result_get(entry, KEY_reduction_parameters),
		    KEY_reduction_parameters_rows_min);
		html_raw(h, " are needed.");
	} else if (strcmp(status, "no_metrics") == 0)
		html_raw(h,
		    "the host reported nothing of itself in this time; start blipp on the host.");
	else if (strcmp(status, "constant_response") == 0)
		html_raw(h, "its rate did not vary, so no metric can explain the rate.");
	else if (strcmp(status, "underdetermined") == 0)
		html_raw(h, "more metrics vary than there are rows, so they cannot be separated.");
	else
		html_raw(h, "cannot be computed from the measurements.");
	html_raw(h, "</li>");
}

/* --- kept metrics --- */

TABLE_NUMBER(column_r, KEY_kept_metric_r, fmt_ratio)

static void
column_metric(struct html *h, const json_t *row)
{
	const json_t *members = result_list(row, KEY_kept_metric_members);
	size_t i, n = json_array_size(members);

	table_text(h, result_text(row, KEY_kept_metric_name));
	if (fabs(result_number(row, KEY_kept_metric_drift)) > 0.9)
		html_raw(h,
		    "<span class=\"soft under\">rises or falls all the time: it may follow the "
		    "clock rather than the rate</span>");
	if (n == 0)
		return;
	html_raw(h, "<details><summary>");
	html_int(h, (int64_t)n);
	if (n == 1)
		html_raw(h, " other goes along");
	else
		html_raw(h, " others go along");
	if (isfinite(result_number(row, KEY_kept_metric_min_r))) {
		html_raw(h, ", |r| at least ");
		html_text(h, fmt_ratio(result_number(row, KEY_kept_metric_min_r)).s);
	}
	html_raw(h, "</summary><ul>");
	for (i = 0; i < n && i < MEMBERS_MAX; i++) {
		html_raw(h, "<li>");
		page_name(h, json_string_value(json_array_get(members, i)));
		html_raw(h, "</li>");
	}
	if (n > MEMBERS_MAX)
		html_raw(h, "<li>and more in the JSON document</li>");
	html_raw(h, "</ul></details>");
}

static void
column_coefficient(struct html *h, const json_t *row)
{
	double v = result_number(row, KEY_kept_metric_coefficient);

	table_value(h, v, fabs(v) >= 1000 ? fmt_si(v, "") : fmt_ratio(v));
	if (isfinite(v) && result_text(row, KEY_kept_metric_unit) != NULL &&
	    strcmp(result_text(row, KEY_kept_metric_unit), "1") != 0) {
		html_raw(h, " <span class=\"soft\">per ");
		html_text(h, result_text(row, KEY_kept_metric_unit));
		html_raw(h, "</span>");
	}
}

/* --- the scan --- */

static size_t
read_scan(const json_t *entry, double x[SCAN_MAX], double y[4][SCAN_MAX])
{
	static const enum result_key keys[4] = { KEY_scan_point_r2, KEY_scan_point_r2_adj,
		KEY_scan_point_r2_oos, KEY_scan_point_rd };
	const json_t *list = result_list(entry, KEY_reduction_scan);
	size_t i, k, n = 0;

	for (i = 0; i < json_array_size(list) && n < SCAN_MAX; i++) {
		const json_t *point = json_array_get(list, i);
		double at = result_number(point, KEY_scan_point_threshold);

		if (!(at >= 0 && at <= 1) || (n > 0 && !(at > x[n - 1])))
			continue;
		x[n] = at;
		for (k = 0; k < 4; k++)
			y[k][n] = fmax(result_number(point, keys[k]),
			    isfinite(result_number(point, keys[k])) ? R2_FLOOR : NAN);
		n++;
	}
	return n;
}

static void
write_scan(struct html *h, const json_t *entry, size_t rank)
{
	static const char *const names[4] = { "R\xc2\xb2", "R\xc2\xb2 adjusted",
		"R\xc2\xb2 out of sample", "reduction degree" };
	double x[SCAN_MAX], y[4][SCAN_MAX], chosen = result_number(entry, KEY_reduction_threshold);
	struct plot_line lines[4];
	char id[24];
	struct plot p = { .id = id,
		.title = "The choice of the threshold",
		.unit = PLOT_NUMBER,
		.unit_words = "R\xc2\xb2 (1: the metrics explain all)",
		.x = x,
		.across = PLOT_VALUE,
		.across_words = "correlation from which one metric stands for another",
		.lines = lines,
		.n_lines = 4,
		.marks = &chosen,
		.n_marks = isfinite(chosen),
		.marks_words = "chosen" };
	size_t k;

	if ((p.n = read_scan(entry, x, y)) < 2)
		return;
	snprintf(id, sizeof(id), "p-scan%zu", rank);
	for (k = 0; k < 4; k++) {
		lines[k] = (struct plot_line){ .y = y[k], .style = (unsigned)k, .strong = k == 2 };
		snprintf(lines[k].name, sizeof(lines[k].name), "%s", names[k]);
	}
	if (!plot_has_data(&p))
		return;
	plot_write(h, &p);
	html_raw(h,
	    "<p class=\"note\">From left to right metrics must correlate more before one metric "
	    "stands for its group. Reduction degree: the share of unneeded metrics. Values below "
	    "\xe2\x88\x92"
	    "1 are shown as \xe2\x88\x92"
	    "1.</p>");
}

static void
write_entry(struct html *h, const json_t *entry, size_t rank)
{
	static const struct table_column columns[] = {
		{ "Metric", column_metric, false },
		{ "Slope", column_coefficient, true },
		{ "r", column_r, true },
	};

	write_time(h, entry);
	write_finding(h, entry);
	if (result_text(entry, KEY_reduction_warning) != NULL) {
		html_raw(h, "<p class=\"warning\"><b>Careful.</b> ");
		html_text(h, result_text(entry, KEY_reduction_warning));
		html_raw(h, "</p>");
	}
	if (json_array_size(result_list(entry, KEY_reduction_kept)) > 0) {
		table_write(h, result_list(entry, KEY_reduction_kept), columns,
		    sizeof(columns) / sizeof(columns[0]));
		html_raw(
		    h, "<p class=\"note\">Slope (coefficient): how much more of the response, in ");
		html_text(h, text_or(entry, KEY_reduction_response_unit, "its unit"));
		html_raw(h,
		    ", goes with one more of the metric while all other metrics stay. r: "
		    "correlation with "
		    "the response. A correlation is not a cause.</p>");
	}
	write_scan(h, entry, rank);
}

static bool
is_found(const json_t *entry)
{
	return strcmp(text_or(entry, KEY_reduction_status, ""), "ok") == 0;
}

void
session_reduction(struct html *h, const json_t *doc)
{
	const json_t *list = result_list(doc, KEY_result_reduction), *entry;
	size_t i, n = json_array_size(list), shown = 0, lacking = 0;

	if (list == NULL)
		return;
	if (n == 0)
		html_raw(h, "<p>No program moved enough bytes for a relation with metrics.</p>");
	for (i = 0; i < n && shown < ENTRIES_MAX; i++) {
		if (!is_found(entry = json_array_get(list, i)))
			continue;
		if (shown < OPEN_MAX)
			write_entry(h, entry, shown);
		else {
			html_raw(h, "<details class=\"more\"><summary>");
			page_name(h, text_or(entry, KEY_reduction_program, "another program"));
			html_raw(h, " on ");
			page_name(h, text_or(entry, KEY_reduction_host, "an unknown host"));
			html_raw(h, "</summary>");
			write_entry(h, entry, shown);
			html_raw(h, "</details>");
		}
		shown++;
	}
	for (i = 0; i < n && lacking < ENTRIES_MAX; i++) {
		if (is_found(entry = json_array_get(list, i)))
			continue;
		if (lacking++ == 0)
			html_raw(h, "<ul class=\"plain\">");
		write_lack(h, entry);
	}
	if (lacking > 0)
		html_raw(h, "</ul>");
}
