/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of a transfer: a drawing of the pipe that the data ran through, as wide as each stage
 * is fast, and a table with the numbers behind the drawing.
 */
#include "web/page/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/result.h"

enum { STAGES_MAX = 12 };

/* A stage with a lower bound alone is drawn so many times as wide as the bound. */
static const double ABOVE_BOUND = 1.3, RANGE_MIN = 3;
/* A bound or usual rate closer to the session's rate is no news. */
static const double WORTH = 1.01;

struct stage {
	const json_t *doc;
	const char *key, *words, *host;
	double rate;
	double held, held_low, held_high; /* share of the time, with its interval; NaN if unknown */
	/* bounds of the rate that the stage could have carried: of documents without bounds both
	 * are the rate; an unknown upper bound is NaN */
	double could_low, could_high;
	double usual; /* rate of the route, where no bound says more than the session; or NaN */
	bool is_open; /* whether no bound says more */
	double width; /* of the pipe, 0..1 */
	bool limits;
};

/* Whether a rate can stand on a logarithmic axis. */
static bool
is_rate(double v)
{
	return isfinite(v) && v > 0;
}

/* The share of the time that the stage held the bytes; the rates of the document are bytes over
 * that time. An interval without an upper rate reaches down to no time at all. */
static void
collect_held(struct stage *s)
{
	double low = result_number(s->doc, KEY_stage_low),
	       high = result_number(s->doc, KEY_stage_high);

	s->held = 1 - result_number(s->doc, KEY_stage_free_share);
	s->held_low = is_rate(high) ? s->held * s->rate / high : is_rate(low) ? 0 : NAN;
	s->held_high = is_rate(low) ? fmin(1, s->held * s->rate / low) : NAN;
}

/* Stages beside the limit carried the limit's rate, as every stage did: such a bound is replaced by
 * the usual rate of the route, if the route is usually faster. */
static void
collect_usual(const json_t *doc, struct stage *stages, size_t n)
{
	double rate = NAN,
	       usual = result_number(result_get(doc, KEY_result_usual), KEY_usual_median);
	struct stage *s;

	for (s = stages; s < stages + n; s++)
		if (s->limits)
			rate = s->could_low * WORTH;
	for (s = stages; s < stages + n; s++) {
		s->is_open = !s->limits && is_rate(s->rate) && !is_rate(s->could_high) &&
		    s->could_low <= rate;
		s->usual = s->is_open && usual > rate ? usual : NAN;
	}
}

/* Reads stages in the document's order, the order of the path. Returns the number of stages. */
static size_t
collect(const json_t *doc, struct stage stages[STAGES_MAX])
{
	const json_t *list =
	    result_list(result_get(doc, KEY_result_bottleneck), KEY_bottleneck_stages);
	const char *limit = result_text(result_get(doc, KEY_result_verdict), KEY_verdict_stage);
	size_t i, n = 0;

	for (i = 0; i < json_array_size(list) && n < STAGES_MAX; i++) {
		struct stage *s = &stages[n];
		const json_t *v = json_array_get(list, i);

		if (!json_is_object(v))
			continue;
		*s = (struct stage){ .doc = v,
			.key = result_text(v, KEY_stage_stage),
			.words = result_text(v, KEY_stage_words),
			.host = result_text(v, KEY_stage_host),
			.rate = result_number(v, KEY_stage_bytes_per_s) };
		collect_held(s);
		s->could_low = result_number(v, KEY_stage_could_low);
		s->could_high = result_number(v, KEY_stage_could_high);
		if (!is_rate(s->could_low))
			s->could_low = s->could_high = s->rate;
		if (s->words == NULL)
			s->words = s->key != NULL ? result_stage_words(s->key) : "unnamed stage";
		s->limits = limit != NULL && s->key != NULL && strcmp(limit, s->key) == 0;
		n++;
	}
	collect_usual(doc, stages, n);
	return n;
}

/* The rate that the drawing shows: the middle of the bounds, the usual rate, or a little above the
 * lower bound. */
static double
drawn_rate(const struct stage *s)
{
	if (!is_rate(s->rate))
		return NAN;
	if (is_rate(s->usual))
		return s->usual;
	return is_rate(s->could_high) ? sqrt(s->could_low * s->could_high)
				      : ABOVE_BOUND * s->could_low;
}

/* Rates may differ by powers of ten, so width is their logarithm; no range is drawn as less than
 * RANGE_MIN. */
static void
find_widths(struct stage *stages, size_t n)
{
	double low = INFINITY, high = 0, span, rate;
	size_t i;

	for (i = 0; i < n; i++)
		if (is_rate(drawn_rate(&stages[i]))) {
			low = fmin(low, drawn_rate(&stages[i]));
			high = fmax(high, drawn_rate(&stages[i]));
		}
	span = fmax(log10(RANGE_MIN), high > 0 ? log10(high / low) : 0);
	for (i = 0; i < n; i++) {
		rate = drawn_rate(&stages[i]);
		stages[i].width = is_rate(rate) ? 1 - 0.84 * log10(high / rate) / span : 0.5;
	}
}

static double
shoulder(const struct stage *stages, size_t n, size_t i, int side)
{
	if ((i == 0 && side < 0) || (i + 1 == n && side > 0))
		return stages[i].width;
	return (stages[i].width + stages[(size_t)((long)i + side)].width) / 2;
}

/*
 * One piece of the pipe, in a square of 100. A piece reaches a little into its neighbours, so that
 * no seam shows.
 */
static void
write_pipe(struct html *h, const struct stage *stages, size_t n, size_t i_stage)
{
	const double flat = 22, over = 1, at = stages[i_stage].width;
	const double in = shoulder(stages, n, i_stage, -1), out = shoulder(stages, n, i_stage, 1);
	const double from = i_stage > 0 ? over : 0, to = i_stage + 1 < n ? over : 0;
	const double x[4] = { -from, flat, 100 - flat, 100 + to };
	const double w[4] = { in + (in - at) * from / flat, at, at, out + (out - at) * to / flat };
	int i;

	html_raw(h,
	    "<svg class=\"pipe\" viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" "
	    "aria-hidden=\"true\">"
	    "<path d=\"");
	for (i = 0; i < 8; i++) {
		int k = i < 4 ? i : 7 - i;

		if (i == 0)
			html_raw(h, "M");
		else
			html_raw(h, "L");
		html_coord(h, x[k]);
		html_raw(h, " ");
		html_coord(h, 50 + (i < 4 ? -46 : 46) * w[k]);
	}
	html_raw(h, "z\"/></svg>");
}

/* The host, or the two ends of a network stage. */
static void
write_where(struct html *h, const char *host)
{
	if (host != NULL)
		page_route(h, host);
}

/* "23 MB/s", "25 MB/s to 40 MB/s", "at least 34 MB/s", "usually 95 MB/s", "wider". */
static void
write_could(struct html *h, const struct stage *s)
{
	if (s->is_open && !is_rate(s->usual)) {
		html_raw(h, "wider");
		return;
	}
	if (s->is_open) {
		html_raw(h, "usually ");
		html_text(h, fmt_bytes_per_s(s->usual).s);
		return;
	}
	if (!is_rate(s->could_high))
		html_raw(h, "at least ");
	html_text(h, fmt_bytes_per_s(s->could_low).s);
	if (is_rate(s->could_high) && s->could_high > s->could_low) {
		html_raw(h, " to ");
		html_text(h, fmt_bytes_per_s(s->could_high).s);
	}
}

static void
write_strip(struct html *h, const struct stage *stages, size_t n)
{
	size_t i;

	html_raw(h, "<ol class=\"strip\">");
	for (i = 0; i < n; i++) {
		html_raw(h, "<li class=\"");
		if (stages[i].limits)
			html_raw(h, "limits ");
		if (!is_rate(stages[i].rate))
			html_raw(h, "dark");
		html_raw(h, "\">");
		write_pipe(h, stages, n, i);
		html_raw(h, "<div><span><b>");
		page_name(h, stages[i].words);
		html_raw(h, "</b>");
		if (stages[i].limits)
			html_raw(h, "<span class=\"tag\">narrowest</span>");
		html_raw(h, "</span><span class=\"fig\">");
		if (is_rate(stages[i].rate))
			write_could(h, &stages[i]);
		else
			html_raw(h, "not measured");
		html_raw(h, "</span><span class=\"soft at\"");
		if (stages[i].host != NULL)
			html_attr(h, "title", stages[i].host);
		html_raw(h, ">");
		write_where(h, stages[i].host);
		html_raw(h, "</span></div></li>");
	}
	html_raw(h, "</ol>");
}

/* --- the table --- */

/* The interval as a bar and the share as a dot, from none of the time to all of it. */
static void
write_interval(struct html *h, const struct stage *s)
{
	html_raw(h,
	    "<svg class=\"ci\" width=\"100%\" height=\"16\" aria-hidden=\"true\"><line "
	    "class=\"base\" x2=\"100%\" y1=\"8\" y2=\"8\"/>");
	if (isfinite(s->held_low) && isfinite(s->held_high)) {
		html_raw(h, "<line class=\"range\" y1=\"8\" y2=\"8\" x1=\"");
		html_coord(h, 100 * s->held_low);
		html_raw(h, "%\" x2=\"");
		html_coord(h, 100 * s->held_high);
		html_raw(h, "%\"/>");
	}
	if (isfinite(s->held)) {
		html_raw(h, "<circle cy=\"8\" r=\"4\" cx=\"");
		html_coord(h, 100 * s->held);
		html_raw(h, "%\"/>");
	}
	html_raw(h, "</svg>");
}

#define CELL(h, label) html_raw(h, "</td><td role=\"cell\" class=\"num\" data-label=\"" label "\">")

static void
write_number(struct html *h, const json_t *object, enum result_key key, struct fmt (*text)(double))
{
	double v = result_number(object, key);

	if (isfinite(v))
		html_text(h, text(v).s);
	else
		html_raw(h, "<span class=\"soft\">\xe2\x80\x93</span>");
}

static struct fmt
fmt_whole(double v)
{
	return fmt_int(fabs(v) < 9e15 ? llround(v) : 0);
}

static struct fmt
fmt_effective(double v)
{
	return v >= 100 ? fmt_whole(v) : fmt_ratio(v);
}

static void
write_row(struct html *h, const struct stage *s)
{
	if (s->limits)
		html_raw(h, "<tr role=\"row\" class=\"limits\">");
	else
		html_raw(h, "<tr role=\"row\">");
	html_raw(h, "<th role=\"rowheader\" scope=\"row\">");
	page_name(h, s->words);
	if (s->limits)
		html_raw(h, " <span class=\"tag\">narrowest</span>");
	html_raw(h, "<span class=\"soft under\">");
	write_where(h, s->host);
	html_raw(h, "</span></th><td role=\"cell\" class=\"num span\" data-label=\"Held\">");
	if (isfinite(s->held))
		html_text(h, fmt_share(s->held).s);
	else
		html_raw(h, "<span class=\"soft\">\xe2\x80\x93</span>");
	html_raw(h, "</td><td role=\"cell\" class=\"wide\">");
	write_interval(h, s);
	html_raw(h, "</td><td role=\"cell\" class=\"num span\" data-label=\"Interval\">");
	if (isfinite(s->held_low) && isfinite(s->held_high)) {
		html_text(h, fmt_share(s->held_low).s);
		html_raw(h, " to ");
		html_text(h, fmt_share(s->held_high).s);
	} else
		html_raw(h, "<span class=\"soft\">\xe2\x80\x93</span>");
	CELL(h, "Busy");
	write_number(h, s->doc, KEY_stage_busy_share, fmt_share);
	CELL(h, "Waiting");
	write_number(h, s->doc, KEY_stage_wait_share, fmt_share);
	CELL(h, "Windows");
	write_number(h, s->doc, KEY_stage_windows, fmt_whole);
	CELL(h, "Effective n");
	write_number(h, s->doc, KEY_stage_n_eff, fmt_effective);
	CELL(h, "p");
	if (result_bool(s->doc, KEY_stage_lowest) == 1)
		html_raw(h, "<span class=\"soft\">lowest</span>");
	else
		write_number(h, s->doc,
		    isfinite(result_number(s->doc, KEY_stage_p_holm)) ? KEY_stage_p_holm
								      : KEY_stage_p,
		    fmt_p);
	html_raw(h, "</td></tr>");
}

static void
write_stage_table(struct html *h, const struct stage *stages, size_t n, const json_t *bottleneck)
{
	double alpha = result_number(bottleneck, KEY_bottleneck_alpha);
	size_t i;

	html_raw(h,
	    "<table class=\"stages\" role=\"table\"><caption>Each stage: the share of the time "
	    "with bytes held by the stage, with its ");
	if (alpha > 0 && alpha < 1) {
		html_text(h, fmt_share(1 - alpha).s);
		html_raw(h, " ");
	}
	html_raw(h,
	    "interval</caption><thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" "
	    "scope=\"col\">Stage</th>"
	    "<th role=\"columnheader\" scope=\"col\" class=\"num\">Held</th>"
	    "<th role=\"columnheader\" scope=\"col\" class=\"wide\" aria-label=\"Interval, "
	    "drawn\"><span class=\"axis\"><span>0 %</span><span>100 %</span></span></th>"
	    "<th role=\"columnheader\" scope=\"col\" class=\"num\">Interval</th>"
	    "<th role=\"columnheader\" scope=\"col\" class=\"num\">Busy</th>"
	    "<th role=\"columnheader\" scope=\"col\" class=\"num\">Waiting</th>"
	    "<th role=\"columnheader\" scope=\"col\" class=\"num\">Windows</th>"
	    "<th role=\"columnheader\" scope=\"col\" class=\"num\">Effective n</th>"
	    "<th role=\"columnheader\" scope=\"col\" class=\"num\">p</th></tr></thead><tbody "
	    "role=\"rowgroup\">");
	for (i = 0; i < n; i++)
		write_row(h, &stages[i]);
	html_raw(h,
	    "</tbody></table><p class=\"note\">Stages may hold the bytes at the same time, and "
	    "behind a buffer a stage also works while no call waits: the time held does not "
	    "measure the rate that a stage could have carried. Busy: share of the time inside its "
	    "operations. "
	    "Waiting: share of the time "
	    "until the other side was ready. Effective n: the equivalent number of independent "
	    "windows. p: chance of such a difference between equally slow stages, corrected for "
	    "several stages.</p>");
}

void
session_pipe(struct html *h, const json_t *doc)
{
	struct stage stages[STAGES_MAX];
	size_t n = collect(doc, stages);

	if (n == 0)
		return;
	find_widths(stages, n);
	write_strip(h, stages, n);
}

void
session_stages(struct html *h, const json_t *doc)
{
	struct stage stages[STAGES_MAX];
	size_t n = collect(doc, stages);

	html_raw(h,
	    "<p class=\"note\">In the drawing of the pipe data runs from left to right. Its width "
	    "shows the rate that each stage could have carried, as far as the accounts of calls "
	    "and "
	    "kernels bound it, on a logarithmic scale. Without a bound the drawing has the usual "
	    "rate of "
	    "the route.</p>");
	write_stage_table(h, stages, n, result_get(doc, KEY_result_bottleneck));
}
