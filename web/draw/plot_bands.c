/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bands: shares over time as areas one above the other, each with its number, name and mean, and
 * below them a strip with the number of the highest share at each time.
 */
#include "web/draw/plot_in.h"

#include <math.h>
#include <string.h>

#include "narrows/format.h"

enum {
	NAME_PX = 17,
	BAND_PX = 22,
	GAP_PX = 5,
	STRIP_PX = 20,
	STRIP_NUMBER_MIN = 25,
	NAME_BYTES = 30
};

int
plot_bands_height(const struct plot *p)
{
	int bands = (int)p->n_lines * (NAME_PX + BAND_PX + GAP_PX);

	return bands + (p->form == PLOT_BANDS_STRIP ? NAME_PX + STRIP_PX : 0);
}

static int
band_top(size_t k)
{
	return (int)k * (NAME_PX + BAND_PX + GAP_PX) + NAME_PX;
}

static double
share_at(const struct plot *p, size_t k, size_t i)
{
	double v = p->lines[k].y[i];

	return isfinite(v) ? fmin(fmax(v, 0), 1) : NAN;
}

/* Position of the begin of a step in the stretched drawing. */
static long
step_at(const struct drawing *d, size_t i)
{
	return lround(plot_axis_place(&d->x, (double)i * d->p->step_s) * PLOT_UNITS);
}

static void
write_band_path(const struct drawing *d, size_t k)
{
	const struct plot *p = d->p;
	struct pen pen = { .h = d->h };
	size_t i;

	for (i = 0; i < p->n; i++) {
		double v = share_at(p, k, i);
		long y = isfinite(v) ? lround((1 - v) * PLOT_UNITS) : PLOT_UNITS;

		if (!isfinite(v) || v <= 0) {
			if (pen.down)
				plot_pen_to(&pen, step_at(d, i), PLOT_UNITS);
			pen.down = false;
			continue;
		}
		if (!pen.down)
			plot_pen_to(&pen, step_at(d, i), PLOT_UNITS);
		plot_pen_to(&pen, step_at(d, i), y);
		plot_pen_to(&pen, step_at(d, i + 1), y);
	}
	if (pen.down)
		plot_pen_to(&pen, step_at(d, p->n), PLOT_UNITS);
}

static double
mean_share(const struct plot *p, size_t k)
{
	double sum = 0;
	size_t i, n = 0;

	for (i = 0; i < p->n; i++)
		if (isfinite(p->lines[k].y[i])) {
			sum += share_at(p, k, i);
			n++;
		}
	return n > 0 ? sum / (double)n : NAN;
}

/* Writes a name without the end of a long name: names do not wrap in a drawing, and the table shows
 * all of a name. */
static void
write_cut(struct html *h, const char *name)
{
	char cut[NAME_BYTES + 1];
	size_t len = strlen(name);

	if (len > NAME_BYTES)
		for (len = NAME_BYTES; len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80; len--)
			;
	memcpy(cut, name, len);
	cut[len] = '\0';
	html_text(h, cut);
	if (name[len] != '\0')
		html_raw(h, "\xe2\x80\xa6");
}

static void
write_name(const struct drawing *d, size_t k)
{
	const struct plot_line *line = &d->p->lines[k];
	struct html *h = d->h;

	html_raw(h, "<text class=\"lane");
	if (line->strong)
		html_raw(h, " strong");
	html_raw(h, "\" y=\"");
	html_int(h, band_top(k) - 5);
	html_raw(h, "\">");
	if (d->p->form == PLOT_BANDS_STRIP) {
		html_int(h, (int64_t)k + 1);
		html_raw(h, " \xc2\xb7 ");
	}
	write_cut(h, line->name);
	html_raw(h, ": ");
	html_text(h, fmt_share(mean_share(d->p, k)).s);
	html_raw(h, "</text>");
}

static void
write_band(const struct drawing *d, size_t k)
{
	const struct plot_line *line = &d->p->lines[k];
	struct html *h = d->h;
	int bottom = band_top(k) + BAND_PX;

	write_name(d, k);
	html_raw(
	    h, "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" width=\"100%\" y=\"");
	html_int(h, band_top(k));
	html_raw(h, "\" height=\"");
	html_int(h, BAND_PX);
	html_raw(h, "\"><path class=\"band f");
	html_int(h, line->style % PLOT_STYLES);
	if (line->strong)
		html_raw(h, " strong");
	html_raw(h, "\" d=\"");
	write_band_path(d, k);
	html_raw(h, "\"/></svg><g class=\"grid\"><line x2=\"100%\" y1=\"");
	html_int(h, bottom);
	html_raw(h, "\" y2=\"");
	html_int(h, bottom);
	html_raw(h, "\"/></g>");
}

/* The highest share of a step; n_lines if all are low. */
static size_t
highest(const struct plot *p, size_t i)
{
	size_t k, top = p->n_lines;
	double v, most = PLOT_STRIP_MIN;

	for (k = 0; k < p->n_lines; k++)
		if ((v = share_at(p, k, i)) >= most) {
			most = v;
			top = k;
		}
	return top;
}

static void
write_run(const struct drawing *d, size_t k, size_t from, size_t to, int top)
{
	struct html *h = d->h;
	double left = (double)step_at(d, from) / PLOT_UNITS,
	       right = (double)step_at(d, to) / PLOT_UNITS;

	html_raw(h, "<rect class=\"held f");
	html_int(h, d->p->lines[k].style % PLOT_STYLES);
	html_raw(h, "\" x=\"");
	plot_percent(h, left);
	html_raw(h, "\" width=\"");
	plot_percent(h, right - left);
	html_raw(h, "\" y=\"");
	html_int(h, top);
	html_raw(h, "\" height=\"");
	html_int(h, STRIP_PX);
	html_raw(h, "\"/>");
	if ((right - left) * PLOT_UNITS < STRIP_NUMBER_MIN)
		return;
	html_raw(h, "<text class=\"number\" x=\"");
	plot_percent(h, (left + right) / 2);
	html_raw(h, "\" y=\"");
	html_int(h, top + 14);
	html_raw(h, "\">");
	html_int(h, (int64_t)k + 1);
	html_raw(h, "</text>");
}

static void
write_strip(const struct drawing *d)
{
	const struct plot *p = d->p;
	int top = band_top(p->n_lines);
	size_t i, k, from = 0;

	html_raw(d->h, "<text class=\"lane\" y=\"");
	html_int(d->h, top - 5);
	html_raw(d->h, "\">");
	html_text(d->h, p->strip_words);
	html_raw(d->h, "</text>");
	for (i = 1; i <= p->n; i++) {
		k = highest(p, from);
		if (i < p->n && highest(p, i) == k)
			continue;
		if (k < p->n_lines)
			write_run(d, k, from, i, top);
		from = i;
	}
}

void
plot_write_bands(const struct drawing *d)
{
	size_t k;

	for (k = 0; k < d->p->n_lines; k++)
		write_band(d, k);
	if (d->p->form == PLOT_BANDS_STRIP)
		write_strip(d);
	plot_write_marks(d);
}
