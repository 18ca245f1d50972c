/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drawings of measurements as SVG files that stand alone: panels one above the other, with dots,
 * lines and marks. Sizes and durations stand on logarithmic axes.
 */
#ifndef CLI_STAT_SVG_H
#define CLI_STAT_SVG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SVG_STYLES = 6 };

enum svg_scale {
	SVG_COUNT,   /* linear, labelled at both ends */
	SVG_DENSITY, /* linear from 0, without numbers */
	SVG_SECONDS, /* logarithmic, labelled at whole decades */
	SVG_BYTES    /* logarithmic, labelled at every second power of two */
};

struct svg_axis {
	enum svg_scale scale;
	double low, high; /* of a logarithmic scale: positive, low < high */
	const char *words;
};

struct svg {
	FILE *f;
	struct svg_axis x, y; /* of the panel in hand */
	unsigned panel, n_named;
};

/* The head of a file of n panels; words hold no markup. */
void svg_begin(struct svg *s, FILE *f, unsigned n_panels, const char *title, const char *sentence);
/* The next panel with its axes. */
void svg_panel(struct svg *s, const struct svg_axis *x, const struct svg_axis *y);
/* Adds a style with its words to the legend of the panel. */
void svg_name(struct svg *s, unsigned style, const char *words);
/* Points outside the panel, and points that are not finite, are left out; points that fall on the
 * same spot are one dot. False: no memory. */
bool svg_dots(struct svg *s, unsigned style, const double *x, const double *y, size_t n);
void svg_line(struct svg *s, unsigned style, const double *x, const double *y, size_t n);
/* A triangle and a line at a position of the horizontal axis. */
void svg_mark(struct svg *s, unsigned style, double x);
void svg_end(struct svg *s);

#endif
