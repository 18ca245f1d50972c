/* SPDX-License-Identifier: BSD-3-Clause */
/* The section of a host's page about metrics that the lists of metrics worth keeping name. */
#include "web/page/page.h"

#include "narrows/result.h"
#include "web/page/html_table.h"

TABLE_TEXT(column_metric, KEY_keep_metric_name)
TABLE_TEXT(column_unit, KEY_keep_metric_unit)
TABLE_NUMBER(column_share, KEY_keep_metric_share, fmt_share)
TABLE_NUMBER(column_r, KEY_keep_metric_r, fmt_ratio)

static void
column_worth(struct html *h, const json_t *row)
{
	if (result_bool(row, KEY_keep_metric_worth_keeping) == 1)
		html_raw(h, "<b>keep</b>");
	else
		html_raw(h, "drop");
}

static void
write_list(struct html *h, const json_t *list)
{
	static const struct table_column columns[] = {
		{ "Metric", column_metric, false },
		{ "Unit", column_unit, false },
		{ "Advice", column_worth, false },
		{ "Chosen in", column_share, true },
		{ "r", column_r, true },
	};
	const char *program = result_text(list, KEY_host_kept_program);
	const json_t *metrics = result_list(list, KEY_host_kept_metrics);
	size_t i, n_worth = 0;

	for (i = 0; i < json_array_size(metrics); i++)
		n_worth +=
		    result_bool(json_array_get(metrics, i), KEY_keep_metric_worth_keeping) == 1;
	html_raw(h, "<h3>");
	page_name(h, program != NULL ? program : "unknown program");
	html_raw(h, ", ");
	page_route(h, result_text(list, KEY_host_kept_route));
	html_raw(h, "</h3><p>As ");
	page_name(h, result_text(list, KEY_host_kept_role));
	html_raw(h, ": ");
	html_int(h, (int64_t)n_worth);
	html_raw(h, " worth keeping, ");
	html_int(h, (int64_t)(json_array_size(metrics) - n_worth));
	html_raw(h,
	    " listed and not worth it. All other metrics of the host were chosen too "
	    "rarely to be listed.</p>");
	if (json_array_size(metrics) > 0)
		table_write(h, metrics, columns, sizeof(columns) / sizeof(columns[0]));
}

void
host_metrics(struct html *h, const json_t *doc)
{
	const json_t *lists = result_list(doc, KEY_host_kept);
	size_t i;

	html_raw(h, "<section><h2>Metrics kept and dropped</h2>");
	for (i = 0; i < json_array_size(lists); i++)
		write_list(h, json_array_get(lists, i));
	if (i == 0)
		html_raw(h, "<p>No list of metrics worth keeping names this host yet.</p>");
	else
		html_raw(h,
		    "<p class=\"note\">Chosen in: the share of half-samples that chose the metric. "
		    "r: correlation with the program's delivery. <a href=\"/keep\">The whole "
		    "lists</a>, <a href=\"/keep.json\">as JSON</a>.</p>");
	html_raw(h, "</section>");
}
