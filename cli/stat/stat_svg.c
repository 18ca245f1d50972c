/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/stat/stat_svg.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/format.h"

enum {
	WIDTH = 900,
	LEFT = 90,
	ACROSS = 780, /* width of a panel, and its height: one dot for each unit */
	HEIGHT = 260,
	TOP = 60,
	PITCH = 350, /* from one panel to the next */
	LEGEND_WIDTH = 155
};

static const char *const colours[SVG_STYLES] = { "#0b6cb5", "#c2410c", "#15803d", "#7e22ce",
	"#57534e", "#be123c" };
static const char *const dashes[SVG_STYLES] = { "none", "8 3", "2 3", "8 3 2 3", "12 4", "4 2" };

static bool
is_log(const struct svg_axis *a)
{
	return a->scale == SVG_SECONDS || a->scale == SVG_BYTES;
}

/* 0 at the low end .. 1 at the high end; NaN where the axis has no such place. */
static double
place(const struct svg_axis *a, double v)
{
	double at =
	    is_log(a) ? log(v / a->low) / log(a->high / a->low) : (v - a->low) / (a->high - a->low);

	return at >= -1e-9 && at <= 1 + 1e-9 ? at : NAN;
}

static double
panel_top(const struct svg *s)
{
	return TOP + (double)(s->panel - 1) * PITCH;
}

static double
x_of(const struct svg *s, double v)
{
	return LEFT + place(&s->x, v) * ACROSS;
}

static double
y_of(const struct svg *s, double v)
{
	return panel_top(s) + (1 - place(&s->y, v)) * HEIGHT;
}

void
svg_begin(struct svg *s, FILE *f, unsigned n_panels, const char *title, const char *sentence)
{
	unsigned height = TOP + n_panels * PITCH;

	*s = (struct svg){ .f = f };
	fprintf(f,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
	    "height=\"%u\" role=\"img\" font-family=\"sans-serif\" font-size=\"13\">\n"
	    "<title>%s</title>\n<desc>%s</desc>\n"
	    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
	    "<text x=\"%d\" y=\"24\" font-size=\"16\">%s</text>\n"
	    "<text x=\"%d\" y=\"24\" text-anchor=\"end\" fill=\"#555\">%s</text>\n",
	    WIDTH, height, WIDTH, height, title, sentence, LEFT, title, LEFT + ACROSS, sentence);
}

static void
tick(const struct svg *s, bool across, double v, const char *words)
{
	double at = across ? x_of(s, v) : y_of(s, v), top = panel_top(s);

	if (isnan(at))
		return;
	if (across)
		fprintf(s->f,
		    "<path d=\"M%.1f %.1fv%d\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%.1f\" "
		    "text-anchor=\"middle\">%s</text>\n",
		    at, top, HEIGHT, at, top + HEIGHT + 17, words);
	else
		fprintf(s->f,
		    "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" "
		    "text-anchor=\"end\">%s</text>\n",
		    LEFT, at, ACROSS, LEFT - 6, at + 4, words);
}

/* Sizes are powers of two: 64 B, 4 KiB, 16 MiB. */
static struct fmt
size_words(double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	struct fmt out;
	size_t i;

	for (i = 0; bytes >= 1024 && i + 1 < sizeof(units) / sizeof(units[0]); i++)
		bytes /= 1024;
	snprintf(out.s, sizeof(out.s), "%.3g %s", bytes, units[i]);
	return out;
}

static void
ticks(const struct svg *s, const struct svg_axis *a, bool across)
{
	double step = a->scale == SVG_BYTES ? 4 : 10, v;

	if (a->scale == SVG_COUNT) {
		tick(s, across, a->low, fmt_int((int64_t)a->low).s);
		tick(s, across, a->high, fmt_int((int64_t)a->high).s);
	}
	if (!is_log(a))
		return;
	for (v = pow(step, ceil(log(a->low) / log(step) - 1e-9)); v <= a->high * (1 + 1e-9);
	     v *= step)
		tick(s, across, v, a->scale == SVG_BYTES ? size_words(v).s : fmt_duration(v).s);
}

void
svg_panel(struct svg *s, const struct svg_axis *x, const struct svg_axis *y)
{
	double top;

	s->x = *x;
	s->y = *y;
	s->panel++;
	s->n_named = 0;
	top = panel_top(s);
	ticks(s, x, true);
	ticks(s, y, false);
	fprintf(s->f,
	    "<path d=\"M%d %.1fv%dh%d\" fill=\"none\" stroke=\"#444\"/>\n"
	    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n"
	    "<text transform=\"translate(20 %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
	    LEFT, top, HEIGHT, ACROSS, LEFT + ACROSS / 2, top + HEIGHT + 36, x->words,
	    top + HEIGHT / 2.0, y->words);
}

void
svg_name(struct svg *s, unsigned style, const char *words)
{
	double x = LEFT + (double)s->n_named++ * LEGEND_WIDTH, y = panel_top(s) - 12;

	style %= SVG_STYLES;
	fprintf(s->f,
	    "<path d=\"M%.1f %.1fh22\" stroke=\"%s\" stroke-width=\"3\" "
	    "stroke-dasharray=\"%s\"/><text x=\"%.1f\" y=\"%.1f\">%s</text>\n",
	    x, y - 4, colours[style], dashes[style], x + 27, y, words);
}

bool
svg_dots(struct svg *s, unsigned style, const double *x, const double *y, size_t n)
{
	bool *taken = calloc((ACROSS + 1) * (HEIGHT + 1), sizeof(*taken));
	double top = panel_top(s), at_x, at_y;
	size_t i, spot;

	if (taken == NULL)
		return false;
	fprintf(s->f,
	    "<path class=\"dots\" stroke=\"%s\" stroke-width=\"2\" "
	    "stroke-linecap=\"round\" d=\"",
	    colours[style % SVG_STYLES]);
	for (i = 0; i < n; i++) {
		at_x = x_of(s, x[i]);
		at_y = y_of(s, y[i]);
		if (isnan(at_x) || isnan(at_y))
			continue;
		spot = (size_t)lround(at_y - top) * (ACROSS + 1) + (size_t)lround(at_x - LEFT);
		if (taken[spot])
			continue;
		taken[spot] = true;
		fprintf(s->f, "M%ld %ldh0", lround(at_x), lround(at_y));
	}
	fputs("\"/>\n", s->f);
	free(taken);
	return true;
}

void
svg_line(struct svg *s, unsigned style, const double *x, const double *y, size_t n)
{
	char pen = 'M';
	size_t i;

	style %= SVG_STYLES;
	fprintf(s->f,
	    "<path class=\"line\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
	    "stroke-dasharray=\"%s\" d=\"",
	    colours[style], dashes[style]);
	for (i = 0; i < n; i++) {
		if (isnan(x_of(s, x[i])) || isnan(y_of(s, y[i]))) {
			pen = 'M';
			continue;
		}
		fprintf(s->f, "%c%.1f %.1f", pen, x_of(s, x[i]), y_of(s, y[i]));
		pen = 'L';
	}
	fputs("\"/>\n", s->f);
}

void
svg_mark(struct svg *s, unsigned style, double x)
{
	double at = x_of(s, x);

	if (isnan(at))
		return;
	fprintf(s->f,
	    "<path class=\"mark\" d=\"M%.1f %.1fv%dm-6 -10h12l-6 10z\" fill=\"%s\" "
	    "stroke=\"%s\"/>\n",
	    at, panel_top(s), HEIGHT, colours[style % SVG_STYLES], colours[style % SVG_STYLES]);
}

void
svg_end(struct svg *s)
{
	fputs("</svg>\n", s->f);
}
