/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the time went below the programs: waiting times inside the kernels of both ends. */
#include "web/page/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "web/page/session_timeline.h"
#include "web/page/html_table.h"

static struct fmt
seconds_text(double v)
{
	return fmt_si(v, "s");
}

TABLE_TEXT(column_host, KEY_kernel_wait_host)
TABLE_TEXT(column_words, KEY_kernel_wait_words)
TABLE_NUMBER(column_share, KEY_kernel_wait_share, fmt_share)
TABLE_NUMBER(column_at_once, KEY_kernel_wait_at_once, fmt_ratio)
TABLE_NUMBER(column_mean, KEY_kernel_wait_mean_s, seconds_text)
TABLE_NUMBER(column_median, KEY_kernel_wait_p50_s, seconds_text)
TABLE_NUMBER(column_p99, KEY_kernel_wait_p99_s, seconds_text)
TABLE_NUMBER(column_max, KEY_kernel_wait_max_s, seconds_text)

/* Programs and devices wait beside the bytes, not on their way. */
static bool
is_on_the_way(const json_t *wait)
{
	const char *name = result_text(wait, KEY_kernel_wait_wait);

	return name != NULL && strcmp(name, "run_queue") != 0 && strcmp(name, "block") != 0;
}

static size_t
lines_collect(
    const struct timeline *t, const json_t *waits, struct plot_line *lines, double *values)
{
	const char *words, *host;
	const json_t *w, *list;
	size_t i, n = 0;

	json_array_foreach(waits, i, w)
	{
		list = result_list(w, KEY_kernel_wait_over_time);
		if (n == TIMELINE_LINES_MAX || !is_on_the_way(w) || list == NULL)
			continue;
		words = result_text(w, KEY_kernel_wait_words);
		host = result_text(w, KEY_kernel_wait_host);
		timeline_numbers(t, list, values + n * t->n);
		snprintf(lines[n].name, sizeof(lines[n].name), "%.60s, %.80s",
		    words != NULL ? words : "unnamed", host != NULL ? host : "unnamed host");
		lines[n].y = values + n * t->n;
		lines[n].style = (unsigned)n;
		n++;
	}
	return n;
}

static void
write_figure(struct html *h, const json_t *doc, const json_t *kernel)
{
	struct plot_line lines[TIMELINE_LINES_MAX] = { 0 };
	struct timeline t;
	double *values;
	struct plot p;

	if (!timeline_read(&t, doc))
		return;
	if ((values = calloc(TIMELINE_LINES_MAX * t.n, sizeof(*values))) == NULL) {
		h->failed = true;
		return;
	}
	p = timeline_plot(&t, "p-below", "Where bytes waited below the programs", lines);
	p.unit = PLOT_SECONDS;
	p.form = PLOT_STACK;
	p.sentence = result_text(kernel, KEY_kernel_sentence);
	p.n_lines = lines_collect(&t, result_list(kernel, KEY_kernel_waits), lines, values);
	if (plot_has_data(&p)) {
		html_raw(h, "<div class=\"plots\">");
		plot_write(h, &p);
		html_raw(h, "</div>");
	}
	free(values);
}

void
session_kernel(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "Wait", column_words, false },
		{ "Host", column_host, false },
		{ "Share of the bytes' wait", column_share, true },
		{ "Waiting at once", column_at_once, true },
		{ "Mean", column_mean, true },
		{ "Median", column_median, true },
		{ "99 % below", column_p99, true },
		{ "Longest", column_max, true },
	};
	const json_t *kernel = result_get(doc, KEY_result_kernel);

	if (result_text(kernel, KEY_kernel_sentence) == NULL)
		return;
	write_figure(h, doc, kernel);
	table_write(h, result_list(kernel, KEY_kernel_waits), columns,
	    sizeof(columns) / sizeof(columns[0]));
	if (result_number(kernel, KEY_kernel_one_in) > 1) {
		html_raw(
		    h, "<p class=\"note\">To keep its budget, magnet watched one slot of time in ");
		html_int(h, (int64_t)result_number(kernel, KEY_kernel_one_in));
		html_raw(h, ".</p>");
	}
}
