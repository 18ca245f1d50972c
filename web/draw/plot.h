/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Line plots over time or other positions as inline SVG: a figure with title, legend, axes, a
 * description for readers who do not see the drawing, and the same data as a table.
 *
 * The drawing takes all available width: horizontal positions are percentages, text and line widths
 * are pixels, so a plot reads the same on a phone. Plots of one page with the same time range line
 * up. Every line has a colour, a dash pattern and a marker; any of the three is enough to tell
 * lines apart.
 */
#ifndef NARROWS_WEB_PLOT_H
#define NARROWS_WEB_PLOT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "narrows/format.h"
#include "web/draw/html.h"

enum { PLOT_STYLES = 8, PLOT_TICKS_MAX = 12 }; /* as STYLE_LINES (style.h) has entries */

struct plot_line {
	char name[160];  /* hostile: shown as text */
	const double *y; /* one value per step; NaN: a gap */
	unsigned style;  /* taken modulo PLOT_STYLES */
	bool strong;     /* drawn stronger than the other lines */
};

enum plot_unit { PLOT_BYTES_PER_S, PLOT_BYTES, PLOT_SECONDS, PLOT_SHARE, PLOT_NUMBER };
/* Bands: every line, a share, is an area in a band of its own. The strip below says which share is
 * highest, unless all are below PLOT_STRIP_MIN. A stack: every line is an area on top of those
 * before; a gap counts as 0 unless all lines have the gap. */
enum plot_form { PLOT_LINES, PLOT_BANDS, PLOT_BANDS_STRIP, PLOT_STACK };
#define PLOT_STRIP_MIN 0.33
/* PLOT_DATE: positions are seconds since 1970, and the axis has dates and times of day. */
enum plot_across { PLOT_TIME, PLOT_DURATION, PLOT_VALUE, PLOT_DATE };

enum { PLOT_EVENT_BYTES = 160 };

/* The moment of an event, as a line with a letter on top; words for a pointer. */
struct plot_event {
	double at;
	char letter;
	char words[PLOT_EVENT_BYTES]; /* hostile: shown as text */
};

/* A stretch of the strip below the drawing. */
struct plot_run {
	double from, to;
	unsigned style;
	const char *name; /* the same text for the same style */
};

/* An area below the first line from one position to another, with its name on top. */
struct plot_area {
	char name[16];
	double from, to; /* may be infinite: to the edge */
	unsigned style;
};

struct plot {
	const char *id; /* a word, unique on the page */
	const char *title;
	enum plot_unit unit;
	const char *unit_words; /* of PLOT_NUMBER */
	bool log_y;             /* values <= 0 are gaps */
	bool low;               /* half height: context, not the point */
	enum plot_form form;
	const char *strip_words; /* of PLOT_BANDS_STRIP */
	const char *sentence;    /* what the plot shows, in words; NULL for nothing to say */
	double step_s;
	size_t n; /* steps from time 0; step i covers i .. i + 1 */
	/* or n rising positions instead of steps, not over time; of a stack the begins of areas
	 * that are step_s wide */
	const double *x;
	enum plot_across across;  /* kind of the positions; durations are on a logarithmic axis */
	const char *across_words; /* the table's first column */
	const struct plot_line *lines;
	size_t n_lines;
	const struct plot_area *areas;
	size_t n_areas;
	const double *marks; /* positions where something changed: vertical lines */
	size_t n_marks;
	const char *marks_words;
	const struct plot_event *events;
	size_t n_events;
	const char *events_words; /* what the letters mean */
	const struct plot_run *runs;
	size_t n_runs;
};

/* A value with its unit, in words. */
struct fmt plot_value(enum plot_unit unit, double v);

/* Marker shapes, once per page before the first plot. */
void plot_write_markers(struct html *h);
void plot_write(struct html *h, const struct plot *p);
bool plot_has_data(const struct plot *p);

/* --- axes, for tests and other figures --- */

struct plot_axis {
	double low, high;
	bool log;
	size_t n_ticks;
	double ticks[PLOT_TICKS_MAX];
};
/* Covers low..high (finite) with round ticks, about `want` of them. Log: low > 0. */
void plot_axis_fit(struct plot_axis *a, double low, double high, bool log, unsigned want);
/* Keeps low and high as the ends, with the round ticks between. */
void plot_axis_fit_within(struct plot_axis *a, double low, double high, bool log, unsigned want);
/*
 * Round steps of time: 1, 2, 5 of a second or its decimals; 1, 2, 5, 10, 15, 30 minutes; hours.
 * `high` stays unchanged.
 */
void plot_axis_fit_time(struct plot_axis *a, double high_s, unsigned want);
/* Round times of the day, days, weeks or months of local time; ends in seconds since 1970. */
void plot_axis_fit_dates(struct plot_axis *a, double low_s, double high_s, unsigned want);
/* 0 at low .. 1 at high */
static inline double
plot_axis_place(const struct plot_axis *a, double v)
{
	if (a->log)
		return (log10(v) - log10(a->low)) / (log10(a->high) - log10(a->low));
	return (v - a->low) / (a->high - a->low);
}

/* Text of a tick at v. */
typedef struct fmt plot_tick_fn(const void *arg, double v);
plot_tick_fn plot_tick_seconds; /* 20 ms; arg is not read */
/* Horizontal lines at the ticks of the vertical axis, with text at the left of the drawing; and
 * vertical lines, with text below the drawing. The drawing is as wide as its svg element. */
void plot_write_up(
    struct html *h, const struct plot_axis *a, int height_px, plot_tick_fn *text, const void *arg);
void plot_write_across(
    struct html *h, const struct plot_axis *a, int height_px, plot_tick_fn *text, const void *arg);

#endif
