/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drawings of measurements as SVG files that stand alone: panels one above the other, with dots,
 * lines and marks. Sizes and durations stand on logarithmic axes. Axes, ticks and lines are those
 * of plots (plot.h); words are escaped.
 */
#ifndef NARROWS_WEB_SVG_H
#define NARROWS_WEB_SVG_H

#include <stdbool.h>
#include <stdio.h>

#include "web/draw/plot.h"

enum svg_scale {
	SVG_COUNT,   /* linear */
	SVG_DENSITY, /* linear, without numbers */
	SVG_SECONDS, /* logarithmic, widened to round ends */
	SVG_BYTES    /* logarithmic, with ticks at powers of two */
};

struct svg_axis {
	enum svg_scale scale;
	double low, high; /* of a logarithmic scale: positive, low < high */
	const char *words;
};

struct svg {
	struct html h;
	struct plot_axis x, y; /* of the panel in hand */
	unsigned panel, n_named;
}; /* zero to start */

/* The head of a file of n panels. */
void svg_begin(struct svg *s, unsigned n_panels, const char *title, const char *sentence);
/* Begins the next panel and draws the panel's axes. */
void svg_panel(struct svg *s, const struct svg_axis *x, const struct svg_axis *y);
/* Adds a style with its words to the legend of the panel. */
void svg_name(struct svg *s, unsigned style, const char *words);
/* Points outside the panel, and points that are not finite, are left out; points that fall on the
 * same spot are one dot. */
void svg_dots(struct svg *s, unsigned style, const double *x, const double *y, size_t n);
void svg_line(struct svg *s, unsigned style, const double *x, const double *y, size_t n);
/* A triangle and a line at a position of the horizontal axis. */
void svg_mark(struct svg *s, unsigned style, double x);
/* Ends the drawing and writes the file. Returns false if memory did not suffice, or as fwrite(). */
bool svg_write(struct svg *s, FILE *f);
void svg_clear(struct svg *s);

#endif
