/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock record of a host, as a section of the host's page. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "web/answer/hosts.h"
#include "web/draw/plot.h"

/* The figure of a record. */
struct drawing {
	const char *id, *title;
};

static const struct drawing drawings[] = {
	{ "clock", "Clock against the box" },
	{ "clock-service", "Clock by the host's time service" },
};
enum { N_DRAWINGS = sizeof(drawings) / sizeof(drawings[0]) };

static const struct drawing *
drawing_of(const json_t *record)
{
	const char *figure = result_text(record, KEY_clock_record_figure);
	size_t i = 0;

	while (i + 1 < N_DRAWINGS && (figure == NULL || strcmp(figure, drawings[i].id) != 0))
		i++;
	return &drawings[i];
}

static int64_t
begin_of(const json_t *record, size_t i)
{
	const json_t *list = result_list(record, KEY_clock_record_t_ns);
	const char *text = json_string_value(json_array_get(list, i));

	return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static void
record_sentence(char *text, size_t size, const json_t *record, double worst)
{
	char from[80], to[80];

	snprintf(from, sizeof(from), "%s",
	    fmt_si(result_number(record, KEY_clock_record_lowest_s), "s").s);
	snprintf(
	    to, sizeof(to), "%s", fmt_si(result_number(record, KEY_clock_record_highest_s), "s").s);
	snprintf(text, size,
	    "In the hours since %s, the clock was %s to %s ahead of %s (less than 0: behind), with "
	    "an error of %s at most.",
	    page_local(begin_of(record, 0)).s, from, to,
	    result_text(record, KEY_clock_record_against), fmt_si(worst, "s").s);
}

/* Whether the clocks differ, and not only the knowledge of them: bounds that cover the offset say
 * nothing. */
static void
record_judge(struct html *h, const json_t *record)
{
	double n_apart = result_number(record, KEY_clock_record_n_apart);

	if (!isfinite(n_apart))
		return;
	html_raw(h, "<p>");
	if (n_apart == 0)
		html_raw(
		    h, "No offset was larger than its bound: the clocks may have been the same.");
	else {
		html_raw(h, "The offset was larger than its bound in ");
		html_int(h, (int64_t)n_apart);
		html_raw(h, " of ");
		html_int(
		    h, (int64_t)json_array_size(result_list(record, KEY_clock_record_offset_s)));
		html_raw(h, " steps: there the clocks were apart.");
	}
	html_raw(h, "</p>");
}

static void
record_write(struct html *h, const json_t *record)
{
	const struct drawing *s = drawing_of(record);
	double offset[HOST_CLOCK_STEPS], bound[HOST_CLOCK_STEPS], x[HOST_CLOCK_STEPS], worst = 0;
	size_t i, n = json_array_size(result_list(record, KEY_clock_record_t_ns));
	char sentence[400];
	const struct plot_line lines[] = {
		{ "offset", offset, 0, true },
		{ "bound", bound, 1, false },
	};
	const struct plot p = { .id = s->id,
		.title = s->title,
		.unit = PLOT_SECONDS,
		.sentence = sentence,
		.n = n,
		.x = x,
		.across = PLOT_VALUE,
		.across_words = "Hours since the first",
		.lines = lines,
		.n_lines = sizeof(lines) / sizeof(lines[0]) };

	result_numbers(result_list(record, KEY_clock_record_offset_s), offset, n);
	result_numbers(result_list(record, KEY_clock_record_bound_s), bound, n);
	for (i = 0; i < n; i++) {
		x[i] = (double)(begin_of(record, i) - begin_of(record, 0)) / 3600e9;
		worst = fmax(worst, bound[i]);
	}
	record_sentence(sentence, sizeof(sentence), record, worst);
	plot_write(h, &p);
	record_judge(h, record);
}

void
host_clock(struct html *h, const json_t *clocks)
{
	size_t i;

	html_raw(h, "<section><h2>Clock</h2>");
	if (json_array_size(clocks) > 0)
		plot_write_markers(h);
	else
		html_raw(h,
		    "<p>There is no record: no collector of this host exchanged clocks with the "
		    "box.</p>");
	for (i = 0; i < json_array_size(clocks); i++)
		record_write(h, json_array_get(clocks, i));
	html_raw(h, "</section>");
}
