/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/draw/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "web/draw/style.h"

enum {
	WIDTH = 900,
	LEFT = 90,
	ACROSS = 780, /* width of a panel; with HEIGHT the grid of dots, a dot per unit */
	HEIGHT = 260,
	TOP = 60,
	PITCH = 350, /* from a panel's top to the next panel's top */
	LEGEND_WIDTH = 155,
	TICKS_WANTED = 6
};

/* --- axes --- */

static void
axis_fit(struct plot_axis *a, const struct svg_axis *of)
{
	double high = of->high, v, step = 4;

	switch (of->scale) {
	case SVG_SECONDS: plot_axis_fit(a, of->low, high, true, TICKS_WANTED); return;
	case SVG_COUNT: /* no ticks between two operations */
		plot_axis_fit_within(
		    a, of->low, high, false, (unsigned)fmin(fmax(high - of->low, 1), TICKS_WANTED));
		return;
	case SVG_DENSITY:
	case SVG_BYTES: break;
	}
	*a = (struct plot_axis){ .low = of->low, .high = high, .log = of->scale == SVG_BYTES };
	if (!a->log)
		return;
	while (log(high / of->low) / log(step) >= PLOT_TICKS_MAX)
		step *= 4;
	for (v = pow(step, ceil(log(of->low) / log(step) - 1e-9)); v <= high * (1 + 1e-9);
	     v *= step)
		a->ticks[a->n_ticks++] = v;
}

static double
x_of(const struct svg *s, double v)
{
	return plot_axis_place(&s->x, v) * ACROSS;
}

static double
y_of(const struct svg *s, double v)
{
	return (1 - plot_axis_place(&s->y, v)) * HEIGHT;
}

static bool
shows(double at, double end)
{
	return at >= -1e-6 && at <= end + 1e-6;
}

static struct fmt
count_text(const void *arg, double v)
{
	(void)arg;
	return fmt_count((uint64_t)v);
}

/* Sizes are powers of two: 64 B, 4 KiB, 16 MiB. */
static struct fmt
size_text(const void *arg, double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	struct fmt out;
	size_t i;

	(void)arg;
	for (i = 0; bytes >= 1024 && i + 1 < sizeof(units) / sizeof(units[0]); i++)
		bytes /= 1024;
	snprintf(out.s, sizeof(out.s), "%.3g\xc2\xa0%s", bytes, units[i]);
	return out;
}

static plot_tick_fn *const tick_text[] = { [SVG_COUNT] = count_text,
	[SVG_DENSITY] = count_text,
	[SVG_SECONDS] = plot_tick_seconds,
	[SVG_BYTES] = size_text };

/* --- the file --- */

/* Markup with numbers; words go through html_text(). */
static void __attribute__((format(printf, 2, 3))) put(struct svg *s, const char *form, ...)
{
	char text[256];
	va_list args;
	int len;

	va_start(args, form);
	len = vsnprintf(text, sizeof(text), form, args);
	va_end(args);
	html_constant(&s->h, text, (size_t)len < sizeof(text) ? (size_t)len : 0);
}

static void
put_words(struct svg *s, int x, int y, const char *words)
{
	put(s, "<text x=\"%d\" y=\"%d\">", x, y);
	html_text(&s->h, words);
	put(s, "</text>");
}

static void
panel_end(struct svg *s)
{
	if (s->panel > 0)
		put(s, "</svg>\n");
}

void
svg_begin(struct svg *s, unsigned n_panels, const char *title, const char *sentence)
{
	const unsigned height = TOP + n_panels * PITCH;

	*s = (struct svg){ .h.out = evbuffer_new() };
	s->h.failed = s->h.out == NULL;
	put(s,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
	    "height=\"%u\" role=\"img\" font-family=\"sans-serif\" font-size=\"13\">\n<title>",
	    WIDTH, height, WIDTH, height);
	html_text(&s->h, title);
	put(s, "</title>\n<desc>");
	html_text(&s->h, sentence);
	put(s, "</desc>\n<style>");
	html_constant(&s->h, style_drawing_css, strlen(style_drawing_css));
	put(s,
	    "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
	    "<g font-size=\"16\">");
	put_words(s, LEFT, 24, title);
	put(s, "</g>\n<g text-anchor=\"end\">");
	put_words(s, LEFT + ACROSS, 24, sentence);
	put(s, "</g>\n");
}

void
svg_panel(struct svg *s, const struct svg_axis *x, const struct svg_axis *y)
{
	panel_end(s);
	axis_fit(&s->x, x);
	axis_fit(&s->y, y);
	s->n_named = 0;
	put(s, "<svg x=\"%d\" y=\"%u\" width=\"%d\" height=\"%d\" overflow=\"visible\">\n", LEFT,
	    TOP + s->panel++ * PITCH, ACROSS, HEIGHT);
	plot_write_up(&s->h, &s->y, HEIGHT, tick_text[y->scale], NULL);
	plot_write_across(&s->h, &s->x, HEIGHT, tick_text[x->scale], NULL);
	put(s,
	    "\n<path d=\"M0 0v%dh%d\" fill=\"none\" stroke=\"#444\"/>\n"
	    "<g text-anchor=\"middle\">",
	    HEIGHT, ACROSS);
	put_words(s, ACROSS / 2, HEIGHT + 36, x->words);
	put(s, "<g transform=\"rotate(-90)\">");
	put_words(s, -HEIGHT / 2, -70, y->words);
	put(s, "</g></g>\n");
}

void
svg_name(struct svg *s, unsigned style, const char *words)
{
	int x = (int)s->n_named++ * LEGEND_WIDTH;

	put(s, "<g><path class=\"line s%u\" d=\"M%d -16h22\"/>", style % PLOT_STYLES, x);
	put_words(s, x + 27, -12, words);
	put(s, "</g>\n");
}

void
svg_dots(struct svg *s, unsigned style, const double *x, const double *y, size_t n)
{
	bool *taken = calloc((ACROSS + 1) * (HEIGHT + 1), sizeof(*taken));
	double at_x, at_y;
	size_t i, spot;

	s->h.failed |= taken == NULL;
	put(s, "<path class=\"dots s%u\" d=\"", style % PLOT_STYLES);
	for (i = 0; taken != NULL && i < n; i++) {
		at_x = x_of(s, x[i]);
		at_y = y_of(s, y[i]);
		if (!shows(at_x, ACROSS) || !shows(at_y, HEIGHT))
			continue;
		spot = (size_t)lround(at_y) * (ACROSS + 1) + (size_t)lround(at_x);
		if (!taken[spot])
			put(s, "M%ld %ldh0", lround(at_x), lround(at_y));
		taken[spot] = true;
	}
	put(s, "\"/>\n");
	free(taken);
}

void
svg_line(struct svg *s, unsigned style, const double *x, const double *y, size_t n)
{
	char pen = 'M';
	size_t i;

	put(s, "<path class=\"line s%u\" d=\"", style % PLOT_STYLES);
	for (i = 0; i < n; i++) {
		bool seen = shows(x_of(s, x[i]), ACROSS) && shows(y_of(s, y[i]), HEIGHT);

		if (seen)
			put(s, "%c%.1f %.1f", pen, x_of(s, x[i]), y_of(s, y[i]));
		pen = seen ? 'L' : 'M';
	}
	put(s, "\"/>\n");
}

void
svg_mark(struct svg *s, unsigned style, double x)
{
	if (shows(x_of(s, x), ACROSS))
		put(s, "<path class=\"mark s%u\" d=\"M%.1f 0v%dm-6 -10h12l-6 10z\"/>\n",
		    style % PLOT_STYLES, x_of(s, x), HEIGHT);
}

bool
svg_write(struct svg *s, FILE *f)
{
	const void *text;

	panel_end(s);
	put(s, "</svg>\n");
	text = s->h.failed ? NULL : evbuffer_pullup(s->h.out, -1);
	return text != NULL && fwrite(text, evbuffer_get_length(s->h.out), 1, f) == 1;
}

void
svg_clear(struct svg *s)
{
	if (s->h.out != NULL)
		evbuffer_free(s->h.out);
	*s = (struct svg){ 0 };
}
