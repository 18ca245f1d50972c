/* SPDX-License-Identifier: BSD-3-Clause */
/* The section of a host's page about the usual metrics. */
#include "web/page/page.h"

#include <string.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "web/page/html_table.h"

static struct fmt
value_text(const char *unit, double v)
{
	if (strcmp(unit, "By/s") == 0)
		return fmt_bytes_per_s(v);
	if (strcmp(unit, "By") == 0)
		return fmt_bytes(v);
	if (strcmp(unit, "KiBy") == 0)
		return fmt_bytes(1024 * v);
	if (strcmp(unit, "ms") == 0)
		return fmt_si(v / 1e3, "s");
	return strcmp(unit, "1") == 0 ? fmt_share(v) : fmt_ratio(v);
}

TABLE_TEXT(column_words, KEY_latest_metric_words)

static void
column_device(struct html *h, const json_t *row)
{
	page_name(h, result_text(row, KEY_latest_metric_of));
}

static void
column_value(struct html *h, const json_t *row)
{
	const char *unit = result_text(row, KEY_latest_metric_unit);
	double v = result_number(row, KEY_latest_metric_value);

	table_value(h, v, value_text(unit != NULL ? unit : "", v));
}

static void
column_at(struct html *h, const json_t *row)
{
	page_stamp(h, result_text(row, KEY_latest_metric_at));
}

void
host_usual(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "Metric", column_words, false },
		{ "Of", column_device, false },
		{ "Latest", column_value, true },
		{ "At", column_at, false },
	};
	const json_t *list = result_list(doc, KEY_host_latest);

	html_raw(h, "<section id=\"usual\"><h2>Usual metrics</h2>");
	if (json_array_size(list) > 0) {
		table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
		html_raw(h,
		    "<p class=\"note\">Metrics of common interest, beside the metrics of the lists "
		    "below. Amounts are rates over the "
		    "last minute.</p>");
	} else
		html_raw(h,
		    "<p>The host sends no such metric: start <code>blipp</code> on the host.</p>");
	html_raw(h, "</section>");
}
