/* SPDX-License-Identifier: BSD-3-Clause */
/* How long single operations took: densities with their classes, per kind and size of operation. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "web/draw/plot.h"
#include "narrows/result.h"
#include "web/page/html_table.h"

enum { OPEN_MAX = 2, ENTRIES_MAX = 24, POINTS_MAX = 400, CLASSES_MAX = 32 };

/* "disk read on dtn-a, 65.5 kB to 262 kB" */
static void
write_title(char *out, size_t size, const json_t *entry)
{
	const char *host = result_text(entry, KEY_density_host);
	double from = result_number(entry, KEY_density_size_from_bytes),
	       to = result_number(entry, KEY_density_size_to_bytes);
	int n = snprintf(out, size, "%s%s%s",
	    result_stage_words(result_text(entry, KEY_density_op)
		    ? result_text(entry, KEY_density_op)
		    : "unnamed"),
	    host != NULL ? " on " : "", host != NULL ? host : "");

	if (n > 0 && (size_t)n < size && isfinite(from) && isfinite(to))
		snprintf(out + n, size - (size_t)n, ", %s to %s each", fmt_bytes(from).s,
		    fmt_bytes(to).s);
}

static double
number_or(const json_t *object, enum result_key key, double otherwise)
{
	double v = result_number(object, key);

	return isfinite(v) ? v : otherwise;
}

/*
 * Reads a curve that can be drawn: two points or more, rising positive times, finite heights.
 * Returns the number of points, 0 without such a curve.
 */
static size_t
read_curve(const json_t *entry, double x[POINTS_MAX], double y[POINTS_MAX])
{
	const json_t *xs = result_list(result_get(entry, KEY_density_curve), KEY_curve_x_s),
		     *ys = result_list(result_get(entry, KEY_density_curve), KEY_curve_y);
	size_t n = json_array_size(xs), i;

	if (n < 2 || n > POINTS_MAX || json_array_size(ys) != n)
		return 0;
	result_numbers(xs, x, n);
	result_numbers(ys, y, n);
	for (i = 0; i < n; i++)
		if (!(x[i] > 1e-15 && x[i] < 1e15) || !(y[i] >= 0 && y[i] < 1e15) ||
		    (i > 0 && !(x[i] > x[i - 1])))
			return 0;
	return n;
}

static const json_t *
class_with_most(const json_t *classes, enum result_key share)
{
	const json_t *c, *most = NULL;
	size_t i;

	json_array_foreach(classes, i, c) if (result_number(c, share) >
	    (most == NULL ? -1 : result_number(most, share))) most = c;
	return most;
}

/* "Most operations took about 7 us: class A. Class B took 87 % of the time in 3 % of the
 * operations." */
static void
curve_sentence(const json_t *classes, char *out, size_t size)
{
	const json_t *ops = class_with_most(classes, KEY_class_share_ops),
		     *time = class_with_most(classes, KEY_class_share_time);
	double share = result_number(time, KEY_class_share_ops);
	int len = snprintf(out, size, "Most operations took about %s: class %.20s.",
	    fmt_duration(result_number(ops, KEY_class_mode_s)).s,
	    page_either(result_text(ops, KEY_class_name), "?"));

	if (time != NULL)
		snprintf(out + len, size - (size_t)len,
		    " Class %.20s took %s of the time in %s of the operations.",
		    page_either(result_text(time, KEY_class_name), "?"),
		    fmt_share(result_number(time, KEY_class_share_time)).s,
		    fmt_share(isfinite(share) ? share : 0).s);
}

static void
write_curve(struct html *h, const json_t *entry, const char *title, size_t rank)
{
	const json_t *classes = result_list(entry, KEY_density_classes);
	double x[POINTS_MAX], y[POINTS_MAX];
	struct plot_area areas[CLASSES_MAX];
	struct plot_line line = { .y = y, .style = 5 };
	char id[24], sentence[400];
	struct plot p = { .id = id,
		.title = title,
		.sentence = sentence,
		.unit = PLOT_NUMBER,
		.unit_words = "operations by duration, density on a logarithmic axis",
		.x = x,
		.across = PLOT_DURATION,
		.across_words = "time",
		.lines = &line,
		.n_lines = 1,
		.areas = areas };

	if ((p.n = read_curve(entry, x, y)) == 0)
		return;
	snprintf(id, sizeof(id), "p-class%zu", rank);
	snprintf(line.name, sizeof(line.name), "density");
	curve_sentence(classes, sentence, sizeof(sentence));
	for (p.n_areas = 0; p.n_areas < json_array_size(classes) && p.n_areas < CLASSES_MAX;
	     p.n_areas++) {
		const json_t *c = json_array_get(classes, p.n_areas);
		struct plot_area *area = &areas[p.n_areas];

		*area = (struct plot_area){ .from = number_or(c, KEY_class_from_s, -INFINITY),
			.to = number_or(c, KEY_class_to_s, INFINITY),
			.style = (unsigned)p.n_areas };
		snprintf(area->name, sizeof(area->name), "%s",
		    result_text(c, KEY_class_name) ? result_text(c, KEY_class_name) : "?");
	}
	plot_write(h, &p);
}

/* --- the table --- */

TABLE_TEXT(column_name, KEY_class_name)
TABLE_NUMBER(column_mode, KEY_class_mode_s, fmt_duration)
TABLE_NUMBER(column_ops, KEY_class_share_ops, fmt_share)

static void
column_range(struct html *h, const json_t *row)
{
	double from = result_number(row, KEY_class_from_s), to = result_number(row, KEY_class_to_s);

	if (from > 0 && isfinite(to)) {
		html_text(h, fmt_duration(from).s);
		html_raw(h, " to ");
		html_text(h, fmt_duration(to).s);
	} else if (isfinite(to)) {
		html_raw(h, "up to ");
		html_text(h, fmt_duration(to).s);
	} else if (from > 0) {
		html_raw(h, "from ");
		html_text(h, fmt_duration(from).s);
	} else
		html_raw(h, "all");
}

static void
column_time(struct html *h, const json_t *row)
{
	double share = result_number(row, KEY_class_share_time);

	if (share >= 0 && share <= 1) {
		html_raw(h,
		    "<svg class=\"share\" width=\"100\" height=\"10\" aria-hidden=\"true\"><rect "
		    "width=\"100\" height=\"10\" class=\"base\"/>"
		    "<rect height=\"10\" width=\"");
		html_coord(h, 100 * share);
		html_raw(h, "\"/></svg> ");
	}
	table_value(h, share, fmt_share(share));
}

/* How sure the number of classes is. */
static void
write_sure(struct html *h, const json_t *entry)
{
	size_t n = json_array_size(result_list(entry, KEY_density_classes));
	double sure = result_number(entry, KEY_density_sure);

	if (!isfinite(sure))
		return;
	html_raw(h, "<p class=\"note\">Drawn anew from these operations, samples showed ");
	html_int(h, (long long)n);
	html_text(h, n == 1 ? " class, too, in " : " classes, too, in ");
	html_text(h, fmt_share(sure).s);
	html_raw(h, " of the drawings.</p>");
}

static void
write_outliers(struct html *h, const json_t *entry)
{
	double share = result_number(entry, KEY_density_outlier_share),
	       time = result_number(entry, KEY_density_outlier_time_share);
	double cutoff = result_number(entry, KEY_density_cutoff_s),
	       n = result_number(entry, KEY_density_n);

	html_raw(h, "<p class=\"note\">");
	if (n >= 0 && n < 9e15) {
		html_int(h, llround(n));
		html_raw(h, " operations");
	} else
		html_raw(h, "An unknown number of operations");
	if (share > 0 && isfinite(cutoff)) {
		html_raw(h, "; ");
		html_text(h, fmt_share(share).s);
		html_raw(h, " took longer than ");
		html_text(h, fmt_duration(cutoff).s);
		html_raw(h, " and belong to no class");
		if (isfinite(time)) {
			html_raw(h, ": ");
			html_text(h, fmt_share(time).s);
			html_raw(h, " of the time");
		}
	} else
		html_raw(h, "; none is an outlier");
	html_raw(h, ".");
	if (result_bool(result_get(entry, KEY_density_parameters), KEY_density_parameters_coarse) ==
	    1)
		html_raw(h,
		    " The counted steps are wider than the curve is smooth: classes may have "
		    "merged.");
	html_raw(h, "</p>");
}

static void
write_entry(struct html *h, const json_t *entry, const char *title, size_t rank)
{
	static const struct table_column columns[] = {
		{ "Class", column_name, false },
		{ "Time", column_range, false },
		{ "Most often", column_mode, true },
		{ "Operations", column_ops, true },
		{ "Time spent", column_time, false },
	};
	const json_t *classes = result_list(entry, KEY_density_classes);

	write_curve(h, entry, title, rank);
	table_write(h, classes, columns, sizeof(columns) / sizeof(columns[0]));
	write_sure(h, entry);
	write_outliers(h, entry);
}

static bool
has_classes(const json_t *entry)
{
	return json_array_size(result_list(entry, KEY_density_classes)) > 0;
}

void
session_classes(struct html *h, const json_t *doc)
{
	const json_t *list = result_list(doc, KEY_result_density), *entry;
	size_t i, shown = 0, n = json_array_size(list), without = 0;
	char title[256];

	if (list == NULL)
		return;
	for (i = 0; i < n; i++)
		without += !has_classes(json_array_get(list, i));
	if (n > without)
		html_raw(h,
		    "<p class=\"note\">Operations of one kind with similar durations were served "
		    "in the same way: from memory, read ahead, or by a device. Each peak is a "
		    "class.</p>");
	for (i = 0; i < n && shown < ENTRIES_MAX; i++) {
		if (!has_classes(entry = json_array_get(list, i)))
			continue;
		write_title(title, sizeof(title), entry);
		if (shown < OPEN_MAX)
			write_entry(h, entry, title, shown);
		else {
			if (h->alone)
				html_raw(h, "<details class=\"more\" open><summary>");
			else
				html_raw(h, "<details class=\"more\"><summary>");
			page_name(h, title);
			html_raw(h, "</summary>");
			write_entry(h, entry, "How long they took", shown);
			html_raw(h, "</details>");
		}
		shown++;
	}
	if (n == 0)
		html_raw(
		    h, "<p>No durations of single operations: run the program under nwrun.</p>");
	else if (without > 0) {
		html_raw(h, "<p class=\"note\">Kinds with too few operations for classes: ");
		html_int(h, (int64_t)without);
		html_raw(h, ".</p>");
	}
}
