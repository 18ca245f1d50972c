/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of metrics worth keeping: what follows each program on each route over days. */
#include "web/page/page.h"

#include <math.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "web/page/html_table.h"

enum { LISTS_MAX = 100 };

TABLE_TEXT(column_metric, KEY_keep_metric_name)
TABLE_TEXT(column_unit, KEY_keep_metric_unit)
TABLE_NUMBER(column_share, KEY_keep_metric_share, fmt_share)
TABLE_NUMBER(column_r, KEY_keep_metric_r, fmt_ratio)

static void
column_worth(struct html *h, const json_t *row)
{
	if (result_bool(row, KEY_keep_metric_worth_keeping) == 1)
		html_raw(h, "<b>yes</b>");
	else
		html_raw(h, "no");
}

static void
column_same(struct html *h, const json_t *row)
{
	const json_t *members = result_list(row, KEY_keep_metric_members);
	size_t i;

	for (i = 0; i < json_array_size(members) && i < 3; i++) {
		if (i > 0)
			html_raw(h, ", ");
		page_name(h, json_string_value(json_array_get(members, i)));
	}
	if (json_array_size(members) > 3)
		html_raw(h, " and more");
}

static void
write_metrics(struct html *h, const json_t *list)
{
	static const struct table_column columns[] = {
		{ "Metric", column_metric, false },
		{ "Unit", column_unit, false },
		{ "Worth keeping", column_worth, false },
		{ "Chosen in", column_share, true },
		{ "r", column_r, true },
		{ "The same say", column_same, false },
	};
	const json_t *metrics = result_list(list, KEY_keeplist_metrics);

	if (json_array_size(metrics) == 0)
		return;
	table_write(h, metrics, columns, sizeof(columns) / sizeof(columns[0]));
	html_raw(h,
	    "<p class=\"note\">Chosen in: the share of half-samples of the rows with a choice of "
	    "the metric, or of an equivalent metric. r: correlation with the response. A "
	    "correlation is not a cause.</p>");
}

static void
column_route(struct html *h, const json_t *row)
{
	page_route(h, result_text(row, KEY_keep_trial_route));
}

TABLE_NUMBER(column_lacking, KEY_keep_trial_n_lacking, fmt_ratio)
TABLE_NUMBER(column_refit, KEY_keep_trial_r2_adjusted, fmt_ratio)
TABLE_NUMBER(column_random, KEY_keep_trial_r2_random, fmt_ratio)
TABLE_NUMBER(column_as_is, KEY_keep_trial_r2_out_of_sample, fmt_ratio)

static void
write_trials(struct html *h, const json_t *list)
{
	static const struct table_column columns[] = {
		{ "Other route of the program", column_route, false },
		{ "Metrics that are lacking", column_lacking, true },
		{ "R\xc2\xb2 fitted anew, adjusted", column_refit, true },
		{ "R\xc2\xb2 of random metrics", column_random, true },
		{ "R\xc2\xb2 as it is", column_as_is, true },
	};
	const json_t *trials = result_list(list, KEY_keeplist_trials);

	if (json_array_size(trials) > 0)
		table_write(h, trials, columns, sizeof(columns) / sizeof(columns[0]));
}

static void
write_basis(struct html *h, const json_t *list)
{
	html_raw(h, "<p class=\"note\">");
	html_text(h, fmt_count((uint64_t)fmax(result_number(list, KEY_keeplist_n_rows), 0)).s);
	html_raw(h, " rows of ");
	html_text(h, fmt_duration(result_number(list, KEY_keeplist_step_s)).s);
	html_raw(h, " from ");
	html_text(h, fmt_count((uint64_t)fmax(result_number(list, KEY_keeplist_n_sessions), 0)).s);
	html_raw(h, " sessions, since ");
	page_time(h, result_ns(list, KEY_keeplist_first_ns));
	html_raw(h, "; made ");
	page_stamp(h, result_text(list, KEY_keeplist_made));
	if (result_number(list, KEY_keeplist_n_cut) > 0) {
		html_raw(h, ". ");
		html_text(h, fmt_count((uint64_t)result_number(list, KEY_keeplist_n_cut)).s);
		html_raw(h, " metrics are beyond the limits and were left out");
	}
	html_raw(h, ".</p>");
}

static void
write_list(struct html *h, const json_t *list)
{
	const char *program = result_text(list, KEY_keeplist_program);

	html_raw(h, "<section><h2>");
	page_name(h, program != NULL ? program : "unknown program");
	html_raw(h, ", ");
	page_route(h, result_text(list, KEY_keeplist_route));
	html_raw(h, "</h2><p>");
	html_text(h, result_text(list, KEY_keeplist_sentence));
	html_raw(h, "</p>");
	write_metrics(h, list);
	write_trials(h, list);
	write_basis(h, list);
	html_raw(h, "</section>");
}

struct writing {
	struct html *h;
	size_t n;
};

static int
on_list(void *arg, const struct nw_keeplist_rec *rec)
{
	struct writing *w = arg;
	json_t *list = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL;

	if (list == NULL)
		return 0;
	write_list(w->h, list);
	json_decref(list);
	return ++w->n == LISTS_MAX;
}

int
page_keep(struct html *h, struct store_reader *r)
{
	struct writing w = { .h = h };
	int rc;

	page_begin(h, &(struct page_frame){ .title = "Metrics worth keeping", .tab = PAGE_KEEP });
	html_raw(h,
	    "<section><h1>Metrics worth keeping</h1><p>Once a day the box relates the metrics of "
	    "all "
	    "hosts of a route to the delivery of its program, over days of "
	    "sessions.</p></section>");
	if ((rc = store_keeplists(r, on_list, &w)) < 0)
		return rc;
	if (w.n == 0)
		html_raw(h, "<section><p>There is no list yet.</p></section>");
	html_raw(
	    h, "<p class=\"note\">The same as JSON: <a href=\"/keep.json\">/keep.json</a></p>");
	page_end(h);
	return NW_OK;
}
