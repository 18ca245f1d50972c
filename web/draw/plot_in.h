/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing, for the files that draw plots: plot.c the figure and its lines, plot_bands.c bands,
 * plot_stack.c stacks, plot_dates.c dates, events and the strip of a history. */
#ifndef NARROWS_WEB_PLOT_IN_H
#define NARROWS_WEB_PLOT_IN_H

#include "web/draw/plot.h"

enum { PLOT_UNITS = 1000 }; /* coordinates of the stretched drawing */

struct drawing {
	struct html *h;
	const struct plot *p;
	struct plot_axis x, y;
	int height_px;
};

/* Lines in integer coordinates, each relative to the last: a few bytes per point. */
struct pen {
	struct html *h;
	bool down, moved;
	long x, y;
};

void plot_pen_to(struct pen *pen, long x, long y);
static inline void
plot_percent(struct html *h, double share)
{
	html_coord(h, share * 100);
	html_raw(h, "%");
}
void plot_write_marks(const struct drawing *d);

/* The numbers of a figure. */
struct plot_numbers {
	const char *id, *title;
	void (*write)(FILE *f, const void *arg);
	const void *arg;
};
/* A link to the CSV of a figure, or the CSV itself on a page that stands alone. */
void plot_csv_link(struct html *h, const struct plot_numbers *n);

/* plot_dates.c */
enum { PLOT_RUNS_TOP = 24, PLOT_RUNS_PX = 12 }; /* of the strip, below the drawing */
/* A date with its time; the text of a tick, shorter. */
struct fmt plot_date_text(double s);
struct fmt plot_date_tick(double s);
void plot_write_events(const struct drawing *d);
void plot_write_runs(const struct drawing *d);
/* Items of the legend for events and runs. */
void plot_write_history_legend(struct html *h, const struct plot *p);

/* plot_bands.c */
int plot_bands_height(const struct plot *p);
void plot_write_bands(const struct drawing *d);

/* plot_stack.c */
/* The sum of the first n lines at a step; NaN where all lines have a gap. */
double plot_stack_at(const struct plot *p, size_t n, size_t i);
void plot_write_stack(const struct drawing *d);

#endif
