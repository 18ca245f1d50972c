/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a history beside its lines: dates on the axis, events as lines with letters, and a
 * strip of stretches below the drawing. Dates are local, as on the pages. */
#include "web/draw/plot_in.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RUN_STYLES_SHOWN = PLOT_STYLES };
#define DAY_S 86400.0

/* --- dates --- */

static struct tm
local_of(double s)
{
	const time_t t = (time_t)floor(s);
	struct tm tm = { 0 };

	localtime_r(&t, &tm);
	return tm;
}

struct fmt
plot_date_text(double s)
{
	const struct tm tm = local_of(s);
	struct fmt out;

	if (strftime(out.s, sizeof(out.s), "%Y-%m-%d %H:%M", &tm) == 0)
		out.s[0] = '\0';
	return out;
}

/* The day at midnight, else the time of the day. */
struct fmt
plot_date_tick(double s)
{
	const struct tm tm = local_of(s);
	struct fmt out;

	if (strftime(out.s, sizeof(out.s),
		tm.tm_hour == 0 && tm.tm_min == 0 ? "%-d\xc2\xa0%b" : "%H:%M", &tm) == 0)
		out.s[0] = '\0';
	return out;
}

/* The local midnight so many days behind the midnight before the time. */
static double
midnight(struct tm tm, int days)
{
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_mday += days;
	tm.tm_isdst = -1;
	return (double)mktime(&tm);
}

static void
tick_add(struct plot_axis *a, double s)
{
	if (a->n_ticks < PLOT_TICKS_MAX && s >= a->low && s <= a->high)
		a->ticks[a->n_ticks++] = s;
}

void
plot_axis_fit_dates(struct plot_axis *a, double low_s, double high_s, unsigned want)
{
	static const double steps[] = { 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600,
		DAY_S, 2 * DAY_S, 7 * DAY_S, 14 * DAY_S, 28 * DAY_S, 91 * DAY_S, 182 * DAY_S };
	const double span = high_s - low_s;
	double step, begin, s;
	size_t i;
	int day;

	*a = (struct plot_axis){ .low = low_s, .high = high_s > low_s ? high_s : low_s + 60 };
	for (i = 0; i + 1 < sizeof(steps) / sizeof(steps[0]) && steps[i] < span / want; i++)
		;
	step = steps[i] >= span / want ? steps[i] : ceil(span / want / DAY_S) * DAY_S;
	begin = midnight(local_of(low_s), 0);
	if (step < DAY_S)
		for (s = begin + ceil((low_s - begin) / step) * step; s <= a->high; s += step)
			tick_add(a, s);
	else /* days of 23 or 25 hours, too, begin at midnight */
		for (day = 0; a->n_ticks < PLOT_TICKS_MAX && (double)day * DAY_S <= span + DAY_S;
		     day += (int)(step / DAY_S))
			tick_add(a, midnight(local_of(low_s), day));
}

/* --- events --- */

enum { LETTER_PX = 12 };

/* Letters stand beside each other where events are closer than NEAR of the plot's width. */
static size_t
letters_before(const struct drawing *d, size_t event)
{
	static const double NEAR = 0.02;
	const double at = plot_axis_place(&d->x, d->p->events[event].at);
	size_t i, n = 0;

	for (i = 0; i < event; i++)
		n += fabs(plot_axis_place(&d->x, d->p->events[i].at) - at) < NEAR;
	return n;
}

void
plot_write_events(const struct drawing *d)
{
	struct html *h = d->h;
	size_t i;

	for (i = 0; i < d->p->n_events; i++) {
		const struct plot_event *e = &d->p->events[i];
		const double at = plot_axis_place(&d->x, e->at);
		const char letter[2] = { e->letter, '\0' };

		if (!(at >= 0 && at <= 1))
			continue;
		html_raw(h, "<g class=\"event\"><title>");
		html_text(h, plot_date_text(e->at).s);
		html_raw(h, ": ");
		html_text(h, e->words);
		html_raw(h, "</title><line class=\"change\" x1=\"");
		plot_percent(h, at);
		html_raw(h, "\" x2=\"");
		plot_percent(h, at);
		html_raw(h, "\" y2=\"");
		html_int(h, d->height_px);
		html_raw(h, "\"/><text class=\"name\" x=\"");
		plot_percent(h, at);
		html_raw(h, "\" dx=\"");
		html_int(h, LETTER_PX * (int64_t)letters_before(d, i));
		html_raw(h, "\" y=\"-3\">");
		html_text(h, letter);
		html_raw(h, "</text></g>");
	}
}

/* --- the strip --- */

void
plot_write_runs(const struct drawing *d)
{
	struct html *h = d->h;
	size_t i;

	for (i = 0; i < d->p->n_runs; i++) {
		const struct plot_run *r = &d->p->runs[i];
		const double from = fmax(plot_axis_place(&d->x, r->from), 0),
			     to = fmin(plot_axis_place(&d->x, r->to), 1);

		if (!(to > from))
			continue;
		html_raw(h, "<rect class=\"run f");
		html_int(h, r->style % PLOT_STYLES);
		html_raw(h, "\" x=\"");
		plot_percent(h, from);
		html_raw(h, "\" width=\"");
		plot_percent(h, to - from);
		html_raw(h, "\" y=\"");
		html_int(h, d->height_px + PLOT_RUNS_TOP);
		html_raw(h, "\" height=\"");
		html_int(h, PLOT_RUNS_PX);
		html_raw(h, "\"><title>");
		html_text(h, r->name);
		html_raw(h, "</title></rect>");
	}
}

void
plot_write_history_legend(struct html *h, const struct plot *p)
{
	bool shown[RUN_STYLES_SHOWN] = { false };
	size_t i;

	for (i = 0; i < p->n_runs; i++) {
		const unsigned style = p->runs[i].style % PLOT_STYLES;

		if (shown[style])
			continue;
		shown[style] = true;
		html_raw(h,
		    "<li><svg width=\"14\" height=\"12\" aria-hidden=\"true\"><rect class=\"run f");
		html_int(h, style);
		html_raw(h, "\" width=\"14\" height=\"12\"/></svg>");
		html_text(h, p->runs[i].name);
		html_raw(h, "</li>");
	}
	if (p->n_events > 0) {
		html_raw(h, "<li>");
		html_text(h, p->events_words);
		html_raw(h, "</li>");
	}
}
