/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks: amounts over time as areas, each on top of those before. */
#include "web/draw/plot_in.h"

#include <math.h>

double
plot_stack_at(const struct plot *p, size_t n, size_t i)
{
	double sum = 0, v;
	bool any = false;
	size_t k;

	for (k = 0; k < p->n_lines; k++) {
		v = p->lines[k].y[i];
		if (!isfinite(v) || v < 0)
			continue;
		any = true;
		sum += k < n ? v : 0;
	}
	return any ? sum : NAN;
}

/* The area from the axis up to the top of line k: the areas of the lines before go over it. */
static void
write_area(const struct drawing *d, size_t k)
{
	const struct plot *p = d->p;
	struct pen pen = { .h = d->h };
	double begin;
	long from, to, y;
	size_t i;

	for (i = 0; i < p->n; i++) {
		double v = plot_stack_at(p, k + 1, i);

		if (!isfinite(v)) {
			if (pen.down)
				plot_pen_to(&pen, pen.x, PLOT_UNITS);
			pen.down = false;
			continue;
		}
		begin = p->x != NULL ? p->x[i] : (double)i * p->step_s;
		from = lround(plot_axis_place(&d->x, begin) * PLOT_UNITS);
		to = lround(plot_axis_place(&d->x, begin + p->step_s) * PLOT_UNITS);
		y = lround((1 - plot_axis_place(&d->y, v)) * PLOT_UNITS);
		if (!pen.down)
			plot_pen_to(&pen, from, PLOT_UNITS);
		plot_pen_to(&pen, from, y);
		plot_pen_to(&pen, to, y);
	}
	if (pen.down)
		plot_pen_to(&pen, pen.x, PLOT_UNITS);
}

void
plot_write_stack(const struct drawing *d)
{
	struct html *h = d->h;
	size_t k;

	html_raw(h,
	    "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" width=\"100%\" height=\"");
	html_int(h, d->height_px);
	html_raw(h, "\">");
	for (k = d->p->n_lines; k-- > 0;) {
		html_raw(h, "<path class=\"stack f");
		html_int(h, d->p->lines[k].style % PLOT_STYLES);
		html_raw(h, "\" d=\"");
		write_area(d, k);
		html_raw(h, "\"/>");
	}
	html_raw(h, "</svg>");
	plot_write_marks(d);
}
