/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/draw/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/csv.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/draw/plot_in.h"

enum {
	PLOT_HEIGHT = 168,
	PLOT_HEIGHT_LOW = 92,
	PLOT_POINTS_MAX = 400, /* per line; more are drawn as the range of each column */
	PLOT_MARKERS = 9,
	PLOT_MARKS_NAMED_MAX = 6,
	TABLE_ROWS_MAX = 30,
	LINES_SAID_MAX = 4,
};

/* --- axes --- */

/* 1, 2 or 5 times a power of ten, at least v. */
static double
round_up_125(double v)
{
	double unit = pow(10, floor(log10(v)));
	double digit = v / unit;

	return unit * (digit <= 1 + 1e-9 ? 1 : digit <= 2 + 1e-9 ? 2 : digit <= 5 + 1e-9 ? 5 : 10);
}

static void
fit_linear(struct plot_axis *a, unsigned want)
{
	double step, first;
	size_t i;

	if (!(a->high > a->low))
		a->high = a->low + (a->low != 0 ? fabs(a->low) : 1);
	step = round_up_125((a->high - a->low) / want);
	first = floor(a->low / step + 1e-9);
	a->low = first * step;
	for (i = 0; i < PLOT_TICKS_MAX; i++) {
		a->ticks[i] = (first + (double)i) * step;
		a->n_ticks = i + 1;
		if (a->ticks[i] >= a->high - step * 1e-9)
			break;
	}
	a->high = a->ticks[a->n_ticks - 1];
}

static void
add_tick(struct plot_axis *a, double v)
{
	if (a->n_ticks < PLOT_TICKS_MAX)
		a->ticks[a->n_ticks++] = v;
}

/* Sets the smallest range with ends at round digits that covers the values. */
static void
fit_log_digits(struct plot_axis *a, int from, int to)
{
	static const double coarse[] = { 1, 2, 5 }, fine[] = { 1, 1.5, 2, 3, 5, 7 };
	bool narrow = a->high < a->low * 10;
	const double *digits = narrow ? fine : coarse;
	size_t n = narrow ? sizeof(fine) / sizeof(fine[0]) : sizeof(coarse) / sizeof(coarse[0]), i;
	int e;

	for (e = from; e <= to; e++)
		for (i = 0; i < n; i++) {
			double v = digits[i] * pow(10, e);

			if (v <= a->low * (1 + 1e-9))
				a->n_ticks = 0; /* a better start */
			else if (a->n_ticks > 1 && a->ticks[a->n_ticks - 1] >= a->high * (1 - 1e-9))
				return;
			add_tick(a, v);
		}
}

/* Whole decades; below two decades, digits. */
static void
fit_log(struct plot_axis *a, unsigned want)
{
	int from, to, e, every;

	if (a->high < a->low * 1.05) { /* a constant runs through the middle */
		a->low /= 1.2;
		a->high *= 1.2;
	}
	from = (int)floor(log10(a->low) + 1e-9);
	to = (int)ceil(log10(a->high) - 1e-9);
	if (to - from <= 2)
		fit_log_digits(a, from, to > from ? to : from + 1);
	else {
		every = (to - from + (int)want - 1) / (int)want;
		for (e = from; e < to + every; e += every)
			add_tick(a, pow(10, e));
	}
	a->low = a->ticks[0];
	a->high = a->ticks[a->n_ticks - 1];
}

void
plot_axis_fit(struct plot_axis *a, double low, double high, bool log, unsigned want)
{
	*a = (struct plot_axis){ .low = low, .high = high, .log = log };
	if (log)
		fit_log(a, want);
	else
		fit_linear(a, want);
}

void
plot_axis_fit_within(struct plot_axis *a, double low, double high, bool log, unsigned want)
{
	size_t i, n = 0;

	plot_axis_fit(a, low, high, log, want);
	if (!(high > low))
		return;
	for (i = 0; i < a->n_ticks; i++)
		if (a->ticks[i] >= low * (1 - 1e-9) && a->ticks[i] <= high * (1 + 1e-9))
			a->ticks[n++] = a->ticks[i];
	a->n_ticks = n;
	a->low = low;
	a->high = high;
}

void
plot_axis_fit_time(struct plot_axis *a, double high_s, unsigned want)
{
	static const double steps[] = { 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600,
		43200, 86400 };
	double step = high_s / want;
	size_t i;

	*a = (struct plot_axis){ .high = high_s > 0 ? high_s : 1 };
	if (step <= 0)
		step = 1;
	if (step <= 30)
		step = round_up_125(step);
	else {
		for (i = 0; i + 1 < sizeof(steps) / sizeof(steps[0]) && steps[i] < step; i++)
			;
		step = steps[i] >= step ? steps[i] : ceil(step / 86400) * 86400;
	}
	for (i = 0; i < PLOT_TICKS_MAX && (double)i * step <= a->high * (1 + 1e-9); i++)
		add_tick(a, (double)i * step);
}

/* --- values --- */

/* Upper bound of all axes, beyond any rate, so that no axis overflows. */
#define VALUE_MAX 1e30

static bool
shows(const struct plot *p, double v)
{
	return fabs(v) <= VALUE_MAX && (!p->log_y || v >= 1 / VALUE_MAX);
}

static bool
find_range(const struct plot *p, double *low, double *high)
{
	bool any = false;
	size_t i, k;

	for (k = 0; k < p->n_lines; k++)
		for (i = 0; i < p->n; i++) {
			double v = p->lines[k].y[i];

			if (!shows(p, v))
				continue;
			if (!any || v < *low)
				*low = v;
			if (!any || v > *high)
				*high = v;
			any = true;
		}
	for (i = 0; p->form == PLOT_STACK && i < p->n; i++)
		if (shows(p, plot_stack_at(p, p->n_lines, i)))
			*high = fmax(*high, plot_stack_at(p, p->n_lines, i));
	return any;
}

bool
plot_has_data(const struct plot *p)
{
	double low, high;

	return find_range(p, &low, &high);
}

static double
x_at(const struct plot *p, size_t i)
{
	if (p->x == NULL)
		return ((double)i + 0.5) * p->step_s;
	return p->form == PLOT_STACK ? p->x[i] + 0.5 * p->step_s : p->x[i];
}

static struct fmt
x_text(const struct plot *p, double x)
{
	return p->across == PLOT_DATE ? plot_date_text(x)
	    : p->across == PLOT_VALUE ? fmt_ratio(x)
				      : fmt_duration(x);
}

struct fmt
plot_value(enum plot_unit unit, double v)
{
	switch (unit) {
	case PLOT_NUMBER: return fmt_ratio(v);
	case PLOT_SHARE: return fmt_share(v);
	case PLOT_SECONDS: return fmt_si(v, "s");
	case PLOT_BYTES: return fmt_bytes(v);
	default: return fmt_bytes_per_s(v);
	}
}

/* --- the drawing --- */

static double
y_px(const struct drawing *d, double v)
{
	return (1 - plot_axis_place(&d->y, v)) * d->height_px;
}

/* A linear axis shares one prefix, named once beside the title; each decade has its own prefix. */
static struct fmt
y_tick_text(const void *drawing, double v)
{
	const struct drawing *d = drawing;
	struct fmt out;
	int e;

	if (d->p->unit == PLOT_SHARE || d->p->unit == PLOT_NUMBER) {
		snprintf(out.s, sizeof(out.s), "%g",
		    d->p->unit == PLOT_SHARE ? v * 100
			: fabs(v) < 1e-9     ? 0
					     : v);
	} else {
		e = fmt_si_exponent(d->p->log_y ? v : d->y.high);
		snprintf(out.s, sizeof(out.s), "%g%s%s", v / pow(10, e),
		    d->p->log_y && e != 0 ? "\xc2\xa0" : "", d->p->log_y ? fmt_si_prefix(e) : "");
	}
	return out;
}

static void
write_unit(const struct drawing *d)
{
	struct html *h = d->h;

	if (d->p->unit == PLOT_SHARE)
		html_raw(h, "%");
	else if (d->p->unit == PLOT_NUMBER)
		html_text(h, d->p->unit_words);
	else {
		html_text(h, d->p->log_y ? "" : fmt_si_prefix(fmt_si_exponent(d->y.high)));
		html_text(h,
		    d->p->unit == PLOT_SECONDS     ? "s"
			: d->p->unit == PLOT_BYTES ? "B"
						   : "B/s");
	}
	if (d->p->log_y)
		html_raw(h, ", logarithmic");
}

struct fmt
plot_tick_seconds(const void *arg, double s)
{
	(void)arg;
	return fmt_si(s, "s");
}

static struct fmt
x_tick_text(const void *plot, double s)
{
	const struct plot *p = plot;
	struct fmt out;

	if (p->across == PLOT_DATE)
		out = plot_date_tick(s);
	else if (p->across == PLOT_DURATION)
		out = plot_tick_seconds(NULL, s);
	else if (p->across == PLOT_VALUE)
		snprintf(out.s, sizeof(out.s), "%.3g", s);
	else if (s == 0)
		snprintf(out.s, sizeof(out.s), "0");
	else if (s < 60)
		snprintf(out.s, sizeof(out.s), "%g\xc2\xa0s", s);
	else if (s < 3600)
		snprintf(out.s, sizeof(out.s),
		    fmod(s, 60) == 0 ? "%g\xc2\xa0min" : "%.3g\xc2\xa0min", s / 60);
	else
		snprintf(out.s, sizeof(out.s), "%.4g\xc2\xa0h", s / 3600);
	return out;
}

/* Lines across the drawing, or up, at the ticks. */
static void
write_grid(struct html *h, const struct plot_axis *a, int height_px, bool up)
{
	size_t i;

	html_raw(h, "<g class=\"grid\">");
	for (i = 0; i < a->n_ticks; i++) {
		double at = plot_axis_place(a, a->ticks[i]);

		if (up) {
			html_raw(h, "<line x2=\"100%\" y1=\"");
			html_coord(h, (1 - at) * height_px);
			html_raw(h, "\" y2=\"");
			html_coord(h, (1 - at) * height_px);
		} else {
			html_raw(h, "<line x1=\"");
			plot_percent(h, at);
			html_raw(h, "\" x2=\"");
			plot_percent(h, at);
			html_raw(h, "\" y2=\"");
			html_int(h, height_px);
		}
		html_raw(h, "\"/>");
	}
	html_raw(h, "</g>");
}

void
plot_write_up(
    struct html *h, const struct plot_axis *a, int height_px, plot_tick_fn *text, const void *arg)
{
	size_t i;

	write_grid(h, a, height_px, true);
	html_raw(h, "<g class=\"ty\">");
	for (i = 0; i < a->n_ticks; i++) {
		html_raw(h, "<text x=\"-8\" y=\"");
		html_coord(h, (1 - plot_axis_place(a, a->ticks[i])) * height_px + 4);
		html_raw(h, "\">");
		html_text(h, text(arg, a->ticks[i]).s);
		html_raw(h, "</text>");
	}
	html_raw(h, "</g>");
}

void
plot_write_across(
    struct html *h, const struct plot_axis *a, int height_px, plot_tick_fn *text, const void *arg)
{
	size_t i;

	write_grid(h, a, height_px, false);
	html_raw(h, "<g class=\"tx\">");
	for (i = 0; i < a->n_ticks; i++) {
		/* every other label may go where there is no room */
		if (i % 2 == 1)
			html_raw(h, "<text class=\"odd\" x=\"");
		else
			html_raw(h, "<text x=\"");
		plot_percent(h, plot_axis_place(a, a->ticks[i]));
		html_raw(h, "\" y=\"");
		html_int(h, height_px + 17);
		html_raw(h, "\">");
		html_text(h, text(arg, a->ticks[i]).s);
		html_raw(h, "</text>");
	}
	html_raw(h, "</g>");
}

void
plot_pen_to(struct pen *pen, long x, long y)
{
	struct html *h = pen->h;

	if (pen->down)
		html_raw(h, "l");
	else if (pen->moved)
		html_raw(h, "m");
	else
		html_raw(h, "M");
	html_int(h, x - pen->x);
	if (y - pen->y >= 0)
		html_raw(h, " ");
	html_int(h, y - pen->y);
	pen->x = x;
	pen->y = y;
	pen->down = pen->moved = true;
}

/* A value between two gaps is a line without length: the round cap shows as a dot. */
static void
pen_up(struct pen *pen, bool dot)
{
	if (pen->down && dot)
		html_raw(pen->h, "h0");
	pen->down = false;
}

static void
write_path(const struct drawing *d, const struct plot_line *line)
{
	const struct plot *p = d->p;
	struct pen pen = { .h = d->h };
	size_t bucket = (p->n + PLOT_POINTS_MAX - 1) / PLOT_POINTS_MAX, i, k, run = 0;

	for (i = 0; i < p->n; i += bucket) {
		double low = INFINITY, high = -INFINITY, centre;
		size_t end = i + bucket < p->n ? i + bucket : p->n;

		for (k = i; k < end; k++)
			if (shows(p, line->y[k])) {
				low = fmin(low, line->y[k]);
				high = fmax(high, line->y[k]);
			}
		if (!(high >= low)) {
			pen_up(&pen, run == 1);
			run = 0;
			continue;
		}
		centre = plot_axis_place(&d->x, (x_at(p, i) + x_at(p, end - 1)) / 2) * PLOT_UNITS;
		plot_pen_to(
		    &pen, lround(centre), lround((1 - plot_axis_place(&d->y, high)) * PLOT_UNITS));
		run++;
		if (high > low) {
			plot_pen_to(&pen, lround(centre),
			    lround((1 - plot_axis_place(&d->y, low)) * PLOT_UNITS));
			run++;
		}
	}
	pen_up(&pen, run == 1);
}

static void
write_style(struct html *h, const struct plot_line *line)
{
	html_raw(h, "s");
	html_int(h, line->style % PLOT_STYLES);
	if (line->strong)
		html_raw(h, " strong");
}

static void
write_use(struct html *h, const struct plot_line *line)
{
	html_raw(h, "<use href=\"#k");
	html_int(h, line->style % PLOT_STYLES);
	html_raw(h, "\"");
}

/* Whether no line leads to a point. */
static bool
is_alone(const struct plot *p, const double *y, size_t i)
{
	return (i == 0 || !shows(p, y[i - 1])) && (i + 1 >= p->n || !shows(p, y[i + 1]));
}

/* A few markers per line, shifted from line to line so that markers do not cover each other; and
 * each point that no line shows. */
static void
write_line_markers(const struct drawing *d, const struct plot_line *line)
{
	const struct plot *p = d->p;
	struct html *h = d->h;
	size_t every = p->n > PLOT_MARKERS ? p->n / PLOT_MARKERS : 1, i;

	html_raw(h, "<g class=\"mark ");
	write_style(h, line);
	html_raw(h, "\">");
	for (i = 0; i < p->n; i++) {
		if (!shows(p, line->y[i]) ||
		    (i % every != line->style % every && !is_alone(p, line->y, i)))
			continue;
		write_use(h, line);
		html_raw(h, " x=\"");
		plot_percent(h, plot_axis_place(&d->x, x_at(p, i)));
		html_raw(h, "\" y=\"");
		html_coord(h, y_px(d, line->y[i]));
		html_raw(h, "\"/>");
	}
	html_raw(h, "</g>");
}

/* Height of the first line at any position, straight between its points as drawn. */
static double
line_at(const struct plot *p, double x)
{
	const double *y = p->lines[0].y;
	size_t i;

	for (i = 0; i + 1 < p->n && x_at(p, i + 1) < x; i++)
		;
	if (i + 1 >= p->n || x <= x_at(p, i))
		return y[i];
	return y[i] + (y[i + 1] - y[i]) * (x - x_at(p, i)) / (x_at(p, i + 1) - x_at(p, i));
}

static void
area_point(const struct drawing *d, struct pen *pen, double x, double y)
{
	plot_pen_to(pen, lround(plot_axis_place(&d->x, x) * PLOT_UNITS),
	    lround((1 - plot_axis_place(&d->y, y)) * PLOT_UNITS));
}

static void
write_area(const struct drawing *d, const struct plot_area *area)
{
	const struct plot *p = d->p;
	double from = fmax(area->from, x_at(p, 0)), to = fmin(area->to, x_at(p, p->n - 1));
	struct pen pen = { .h = d->h };
	size_t i;

	if (!(to > from))
		return;
	html_raw(d->h, "<path class=\"area f");
	html_int(d->h, area->style % PLOT_STYLES);
	html_raw(d->h, "\" d=\"");
	area_point(d, &pen, from, d->y.low);
	area_point(d, &pen, from, line_at(p, from));
	for (i = 0; i < p->n; i++)
		if (x_at(p, i) > from && x_at(p, i) < to)
			area_point(d, &pen, x_at(p, i), p->lines[0].y[i]);
	area_point(d, &pen, to, line_at(p, to));
	area_point(d, &pen, to, d->y.low);
	html_raw(d->h, "z\"/>");
}

/* The name of an area, at the area's highest point. */
static void
write_area_name(const struct drawing *d, const struct plot_area *area)
{
	const struct plot *p = d->p;
	size_t i, top = p->n;

	for (i = 0; i < p->n; i++)
		if (x_at(p, i) >= area->from && x_at(p, i) <= area->to &&
		    (top == p->n || p->lines[0].y[i] > p->lines[0].y[top]))
			top = i;
	if (top == p->n)
		return;
	html_raw(d->h, "<text class=\"name\" x=\"");
	plot_percent(d->h, plot_axis_place(&d->x, x_at(p, top)));
	html_raw(d->h, "\" y=\"");
	html_coord(d->h, fmax(y_px(d, p->lines[0].y[top]) - 6, 10));
	html_raw(d->h, "\">");
	html_text(d->h, area->name);
	html_raw(d->h, "</text>");
}

void
plot_write_marks(const struct drawing *d)
{
	struct html *h = d->h;
	size_t i;

	for (i = 0; i < d->p->n_marks; i++) {
		double at = plot_axis_place(&d->x, d->p->marks[i]);

		if (!(at >= 0 && at <= 1))
			continue;
		html_raw(h, "<line class=\"change\" x1=\"");
		plot_percent(h, at);
		html_raw(h, "\" x2=\"");
		plot_percent(h, at);
		html_raw(h, "\" y2=\"");
		html_int(h, d->height_px);
		html_raw(h, "\"/>");
	}
}

/* The stretch that the reader chose, behind the lines. */
static void
write_chosen(const struct drawing *d)
{
	struct html *h = d->h;
	double from, to;

	if (d->p->x != NULL || !(h->to_s > h->from_s))
		return;
	from = fmin(fmax(plot_axis_place(&d->x, h->from_s), 0), 1);
	to = fmin(fmax(plot_axis_place(&d->x, h->to_s), 0), 1);
	html_raw(h, "<rect class=\"chosen\" x=\"");
	plot_percent(h, from);
	html_raw(h, "\" width=\"");
	plot_percent(h, to - from);
	html_raw(h, "\" height=\"");
	html_int(h, d->height_px);
	html_raw(h, "\"/>");
}

static void
write_lines(const struct drawing *d)
{
	struct html *h = d->h;
	size_t k;

	html_raw(h,
	    "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" width=\"100%\" height=\"");
	html_int(h, d->height_px);
	html_raw(h, "\">");
	for (k = 0; k < d->p->n_areas; k++)
		write_area(d, &d->p->areas[k]);
	for (k = 0; k < d->p->n_lines; k++) {
		html_raw(h, "<path class=\"line ");
		write_style(h, &d->p->lines[k]);
		html_raw(h, "\" d=\"");
		write_path(d, &d->p->lines[k]);
		html_raw(h, "\"/>");
	}
	html_raw(h, "</svg>");
	plot_write_marks(d);
	plot_write_events(d);
	plot_write_runs(d);
	for (k = 0; k < d->p->n_lines && d->p->n_areas == 0; k++)
		write_line_markers(d, &d->p->lines[k]);
	for (k = 0; k < d->p->n_areas; k++)
		write_area_name(d, &d->p->areas[k]);
}

/* --- description and table --- */

static void
write_legend(struct html *h, const struct plot *p)
{
	size_t k;

	html_raw(h, "<ul class=\"legend\">");
	for (k = 0; k < p->n_lines; k++) {
		html_raw(h,
		    "<li><svg width=\"34\" height=\"12\" aria-hidden=\"true\"><path class=\"line ");
		write_style(h, &p->lines[k]);
		html_raw(h, "\" d=\"M1 6h32\"/><g class=\"mark ");
		write_style(h, &p->lines[k]);
		html_raw(h, "\">");
		write_use(h, &p->lines[k]);
		html_raw(h, " x=\"17\" y=\"6\"/></g></svg><bdi>");
		html_text(h, p->lines[k].name);
		html_raw(h, "</bdi></li>");
	}
	if (p->n_marks > 0) {
		html_raw(h,
		    "<li><svg width=\"34\" height=\"12\" aria-hidden=\"true\"><line "
		    "class=\"change\" x1=\"17\" x2=\"17\" y2=\"12\"/>"
		    "</svg>");
		html_text(h, p->marks_words);
		html_raw(h, "</li>");
	}
	plot_write_history_legend(h, p);
	html_raw(h, "</ul>");
}

/* Range, mean and number of the values shown by a line. */
struct line_range {
	double low, high, mean;
	size_t n;
};

static struct line_range
line_range(const struct plot *p, const struct plot_line *line)
{
	struct line_range r = { INFINITY, -INFINITY, 0, 0 };
	size_t i;

	for (i = 0; i < p->n; i++)
		if (shows(p, line->y[i])) {
			r.low = fmin(r.low, line->y[i]);
			r.high = fmax(r.high, line->y[i]);
			r.mean += line->y[i];
			r.n++;
		}
	r.mean /= (double)r.n;
	return r;
}

/* A sentence per line, for listeners of the page. */
static void
write_description(const struct drawing *d)
{
	const struct plot *p = d->p;
	struct html *h = d->h;
	size_t i, k;

	if (p->x == NULL) {
		html_text(h, fmt_duration((double)p->n * p->step_s).s);
		html_raw(h, " in steps of ");
		html_text(h, fmt_duration(p->step_s).s);
	} else {
		html_text(h, x_text(p, p->x[0]).s);
		html_raw(h, " to ");
		html_text(h, x_text(p, p->x[p->n - 1]).s);
	}
	html_raw(h, ".");
	for (i = 0; i < p->n_marks && i < PLOT_MARKS_NAMED_MAX; i++) {
		if (i == 0) {
			html_raw(h, " ");
			html_text(h, p->marks_words);
			html_raw(h, ": ");
		} else
			html_raw(h, ", ");
		html_text(h, x_text(p, p->marks[i]).s);
	}
	if (p->n_marks > 0)
		html_raw(h, ".");
	for (i = 0; i < p->n_events && i < PLOT_MARKS_NAMED_MAX; i++) {
		html_raw(h, " ");
		html_text(h, plot_date_text(p->events[i].at).s);
		html_raw(h, ": ");
		html_text(h, p->events[i].words);
		html_raw(h, ".");
	}
	for (k = 0; k < p->n_lines; k++) {
		struct line_range r = line_range(p, &p->lines[k]);

		html_raw(h, " ");
		html_text(h, p->lines[k].name);
		if (r.n == 0) {
			html_raw(h, ": no data.");
			continue;
		}
		html_raw(h, ": ");
		html_text(h, plot_value(p->unit, r.low).s);
		html_raw(h, " to ");
		html_text(h, plot_value(p->unit, r.high).s);
		html_raw(h, ", mean ");
		html_text(h, plot_value(p->unit, r.mean).s);
		html_raw(h, ".");
	}
}

/* "On average: host-a, busy 38 %; host-b, busy 7 %.": for plots whose makers say nothing. */
static void
write_ranges(struct html *h, const struct plot *p)
{
	size_t k, n = 0;

	for (k = 0; k < p->n_lines && n < LINES_SAID_MAX; k++) {
		struct line_range r = line_range(p, &p->lines[k]);

		if (r.n == 0)
			continue;
		html_text(h, n++ > 0 ? "; " : "On average: ");
		html_text(h, p->lines[k].name);
		html_raw(h, " ");
		html_text(h, plot_value(p->unit, r.mean).s);
	}
	if (k < p->n_lines)
		html_raw(h, "; all lines are in the table");
	html_raw(h, ".");
}

static double
mean_of(const double *y, size_t from, size_t to)
{
	double sum = 0;
	size_t n = 0;

	for (; from < to; from++)
		if (isfinite(y[from])) {
			sum += y[from];
			n++;
		}
	return n > 0 ? sum / (double)n : NAN;
}

static void
write_table(struct html *h, const struct plot *p)
{
	size_t every = (p->n + TABLE_ROWS_MAX - 1) / TABLE_ROWS_MAX, i, k;

	html_raw(h,
	    "<details><summary>As a table</summary><div class=\"scroll\" tabindex=\"0\" "
	    "role=\"region\" aria-label=\"");
	html_text(h, p->title);
	html_raw(h, "\"><table><thead><tr><th scope=\"col\">");
	html_text(h, p->x != NULL ? p->across_words : "from");
	html_raw(h, "</th>");
	for (k = 0; k < p->n_lines; k++) {
		html_raw(h, "<th scope=\"col\"><bdi>");
		html_text(h, p->lines[k].name);
		html_raw(h, "</bdi></th>");
	}
	html_raw(h, "</tr></thead><tbody>");
	for (i = 0; i < p->n; i += every) {
		html_raw(h, "<tr><th scope=\"row\">");
		html_text(h, x_text(p, p->x != NULL ? p->x[i] : (double)i * p->step_s).s);
		html_raw(h, "</th>");
		for (k = 0; k < p->n_lines; k++) {
			double v = mean_of(p->lines[k].y, i, i + every < p->n ? i + every : p->n);

			html_raw(h, "<td>");
			if (isfinite(v))
				html_text(h, plot_value(p->unit, v).s);
			else
				html_raw(h, "no data");
			html_raw(h, "</td>");
		}
		html_raw(h, "</tr>");
	}
	html_raw(h, "</tbody></table>");
	if (every > 1) {
		html_raw(h, "<p class=\"note\">Each row is the mean of ");
		html_int(h, (int64_t)every);
		html_text(h,
		    h->host != NULL || h->figures != NULL
			? " steps; the CSV has every step."
			: " steps; the JSON document has every step.");
		html_raw(h, "</p>");
	}
	html_raw(h, "</div></details>");
}

/* The same numbers for programs: every step, in the base unit. */
static void
write_csv(FILE *f, const void *arg)
{
	const struct plot *p = arg;
	size_t i, k;

	fputs(p->x != NULL ? p->across_words : "from_s", f);
	for (k = 0; k < p->n_lines; k++) {
		fputc(',', f);
		csv_cell(f, p->lines[k].name, CSV_SAFE);
	}
	fputs("\r\n", f);
	for (i = 0; i < p->n; i++) {
		fputs(fmt_exact(p->x != NULL ? p->x[i] : (double)i * p->step_s).s, f);
		for (k = 0; k < p->n_lines; k++)
			fprintf(f, ",%s", fmt_exact(p->lines[k].y[i]).s);
		fputs("\r\n", f);
	}
}

/* A file that asks for nothing holds the numbers itself. */
static void
write_csv_inside(struct html *h, const struct plot_numbers *n)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (f != NULL)
		n->write(f, n->arg);
	if (f == NULL || fclose(f) != 0) {
		h->failed = true;
		free(text);
		return;
	}
	html_raw(h, "<a class=\"csv\" download=\"");
	html_text(h, n->id);
	html_raw(h, ".csv\" href=\"data:text/csv;charset=utf-8,");
	html_data(h, text, len);
	html_raw(h, "\">CSV<span class=\"out\"> of ");
	html_text(h, n->title);
	html_raw(h, "</span></a>");
	free(text);
}

static void
figure_note(struct html *h, const struct plot_numbers *n)
{
	json_t *o = json_object();

	result_set(o, KEY_figure_id, json_string(n->id));
	result_set(o, KEY_figure_title, json_string(n->title));
	json_array_append_new(h->figure_list, o);
}

void
plot_csv_link(struct html *h, const struct plot_numbers *n)
{
	if (h->figure_list != NULL)
		figure_note(h, n);
	if (h->alone || h->csv_inside) {
		write_csv_inside(h, n);
		return;
	}
	if (h->session_id == 0 && h->host == NULL && h->figures == NULL)
		return;
	html_raw(h, "<a class=\"csv\" href=\"");
	if (h->figures != NULL)
		html_text(h, h->figures);
	else if (h->host != NULL)
		html_raw(h, "/host/");
	else {
		html_raw(h, "/session/");
		html_int(h, h->session_id);
		html_raw(h, "/");
	}
	html_text(h, n->id);
	html_raw(h, ".csv");
	if (h->figures != NULL) {
		html_raw(h, "?");
		html_text(h, h->figures_query);
	} else if (h->host != NULL) {
		html_raw(h, "?host=");
		html_text(h, h->host);
	}
	html_raw(h, "\">CSV<span class=\"out\"> of ");
	html_text(h, n->title);
	html_raw(h, "</span></a>");
}

void
plot_write_markers(struct html *h)
{
	html_raw(h,
	    "<svg width=\"0\" height=\"0\" class=\"defs\" aria-hidden=\"true\"><defs>"
	    "<circle id=\"k0\" r=\"3.2\"/>"
	    "<rect id=\"k1\" x=\"-2.9\" y=\"-2.9\" width=\"5.8\" height=\"5.8\"/>"
	    "<path id=\"k2\" d=\"M0-4L3.8 2.8H-3.8z\"/>"
	    "<path id=\"k3\" d=\"M0-4.2L4.2 0 0 4.2-4.2 0z\"/>"
	    "<path id=\"k4\" d=\"M0 4L3.8-2.8H-3.8z\"/>"
	    "<path id=\"k5\" d=\"M-1.2-4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z\"/>"
	    "<path id=\"k6\" d=\"M-4-3h8l-4 3 4 3h-8l4-3z\"/>"
	    "<path id=\"k7\" d=\"M-1.3-4h2.6v8h-2.6z\"/>"
	    "</defs></svg>");
}

static void
axes_fit(struct drawing *d, double low, double high)
{
	const struct plot *p = d->p;

	if (p->n_areas > 0)
		high *= 1.12; /* room for a name above a peak */
	if (p->unit == PLOT_SHARE) {
		low = 0;
		high = fmax(high, 1);
	} else if (!p->log_y && low > 0)
		low = 0;
	plot_axis_fit(&d->y, low, high, p->log_y, p->low ? 2 : p->log_y ? 6 : 4);
	if (p->x == NULL)
		plot_axis_fit_time(&d->x, (double)p->n * p->step_s, 9);
	else if (p->across == PLOT_DATE)
		plot_axis_fit_dates(
		    &d->x, p->x[0], p->x[p->n - 1] + (p->form == PLOT_STACK ? p->step_s : 0), 7);
	else
		plot_axis_fit_within(&d->x, p->x[0],
		    p->x[p->n - 1] + (p->form == PLOT_STACK ? p->step_s : 0),
		    p->across == PLOT_DURATION, 6);
}

static void
write_drawing(const struct drawing *d)
{
	const struct plot *p = d->p;
	struct html *h = d->h;

	html_raw(h, "<svg width=\"100%\" height=\"");
	html_int(h, d->height_px);
	html_raw(h, "\" role=\"img\"");
	html_attr(h, "aria-label", p->title);
	html_raw(h, " aria-describedby=\"");
	html_text(h, p->id);
	html_raw(h, "\"><title>");
	html_text(h, p->title);
	html_raw(h, "</title><desc");
	html_attr(h, "id", p->id);
	html_raw(h, ">");
	write_description(d);
	html_raw(h, "</desc>");
	write_chosen(d);
	if (p->form == PLOT_LINES || p->form == PLOT_STACK)
		plot_write_up(h, &d->y, d->height_px, y_tick_text, d);
	plot_write_across(h, &d->x, d->height_px, x_tick_text, p);
	if (p->form == PLOT_STACK)
		plot_write_stack(d);
	else if (p->form == PLOT_LINES)
		write_lines(d);
	else
		plot_write_bands(d);
	html_raw(h, "</svg>");
}

/* What a script needs to find a step of the CSV below a pointer. */
static void
write_axis_data(struct html *h, const struct plot *p)
{
	static const char *const units[] = { [PLOT_BYTES_PER_S] = "B/s",
		[PLOT_BYTES] = "B",
		[PLOT_SECONDS] = "s",
		[PLOT_SHARE] = "%",
		[PLOT_NUMBER] = "" };

	html_attr(h, "data-step", fmt_exact(p->step_s).s);
	html_attr(h, "data-n", fmt_int((int64_t)p->n).s);
	html_attr(h, "data-unit", units[p->unit]);
}

static void
write_figure(const struct drawing *d)
{
	const struct plot *p = d->p;
	struct html *h = d->h;

	html_raw(h, "<figure class=\"plot\"");
	if (p->n_runs > 0)
		html_raw(h, " data-runs");
	if (p->form == PLOT_BANDS || p->form == PLOT_BANDS_STRIP)
		html_raw(h, " data-wide");
	if (p->x == NULL && (h->session_id != 0 || h->host != NULL))
		write_axis_data(h, p);
	html_raw(h, "><figcaption><b>");
	html_text(h, p->title);
	html_raw(h, "</b> <span class=\"unit\">");
	write_unit(d);
	if (p->x != NULL && p->across == PLOT_VALUE) {
		html_raw(h, "; from left to right: ");
		html_text(h, p->across_words);
	}
	html_raw(h, "</span></figcaption>");
	html_raw(h, "<p class=\"note\">");
	if (p->sentence != NULL)
		html_text(h, p->sentence);
	else
		write_ranges(h, p);
	html_raw(h, "</p>");
	/* areas and bands carry their names */
	if (p->n_areas == 0 && (p->form == PLOT_LINES || p->form == PLOT_STACK))
		write_legend(h, p);
	write_drawing(d);
	plot_csv_link(h, &(struct plot_numbers){ p->id, p->title, write_csv, p });
	write_table(h, p);
	html_raw(h, "</figure>");
}

void
plot_write(struct html *h, const struct plot *p)
{
	struct drawing d = { .h = h, .p = p, .height_px = p->low ? PLOT_HEIGHT_LOW : PLOT_HEIGHT };
	double low = 0, high = 0;

	if (!find_range(p, &low, &high))
		return;
	if (h->figure != NULL) {
		if (strcmp(h->figure, p->id) == 0)
			write_csv(h->figure_csv, p);
		h->figure_found |= strcmp(h->figure, p->id) == 0;
		return;
	}
	axes_fit(&d, low, high);
	if (p->form == PLOT_BANDS || p->form == PLOT_BANDS_STRIP)
		d.height_px = plot_bands_height(p);
	write_figure(&d);
}
