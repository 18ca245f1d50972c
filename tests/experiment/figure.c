/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures as tables and as SVG. */
#include <string.h>

#include "tests/experiment/experiment.h"

enum { WIDTH = 640, HEIGHT = 360, LEFT = 60, RIGHT = 170, TOP = 40, BOTTOM = 50 };

static const char *const colours[LINES_MAX] = { "#0b6", "#d50", "#36c", "#999" };

static double
at_x(const struct figure *f, double x)
{
	double span = f->x[f->n_points - 1] - f->x[0];

	return LEFT + (WIDTH - LEFT - RIGHT) * (span > 0 ? (x - f->x[0]) / span : 0.5);
}

static double
floor_of(const struct figure *f)
{
	double low = 0;

	for (size_t k = 0; k < f->n_lines; k++)
		for (size_t i = 0; i < f->n_points; i++)
			if (f->line[k].y[i] < low)
				low = -1;
	return low;
}

static double
at_y(double low, double y)
{
	return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (fmax(fmin(y, 1), low) - low) / (1 - low));
}

static void
write_axes(FILE *out, const struct figure *f, double low)
{
	fprintf(out, "<text x=\"%d\" y=\"20\" font-size=\"14\">%s</text>\n", LEFT, f->title);
	for (double y = low; y < 1.01; y += 0.25)
		fprintf(out,
		    "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
		    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.2f</text>\n",
		    LEFT, WIDTH - RIGHT, at_y(low, y), at_y(low, y), LEFT - 6, at_y(low, y) + 4, y);
	fprintf(out,
	    "<text x=\"%d\" y=\"%d\">%g</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%g</text>"
	    "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
	    LEFT, HEIGHT - BOTTOM + 18, f->x[0], WIDTH - RIGHT, HEIGHT - BOTTOM + 18,
	    f->x[f->n_points - 1], (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, f->across);
}

static void
write_line(FILE *out, const struct figure *f, size_t k, double low)
{
	fprintf(out, "<g stroke=\"%s\" fill=\"%s\"><polyline fill=\"none\" points=\"", colours[k],
	    colours[k]);
	for (size_t i = 0; i < f->n_points; i++)
		if (isfinite(f->line[k].y[i]))
			fprintf(out, "%.1f,%.1f ", at_x(f, f->x[i]), at_y(low, f->line[k].y[i]));
	fprintf(out, "\"/>");
	for (size_t i = 0; i < f->n_points; i++)
		if (isfinite(f->line[k].y[i]))
			fprintf(out, "<circle r=\"2.5\" cx=\"%.1f\" cy=\"%.1f\"/>",
			    at_x(f, f->x[i]), at_y(low, f->line[k].y[i]));
	fprintf(out, "<text stroke=\"none\" x=\"%d\" y=\"%zu\">%s</text></g>\n", WIDTH - RIGHT + 10,
	    TOP + 18 * (k + 1), f->line[k].name);
}

static void
write_svg(FILE *out, const struct figure *f)
{
	double low = floor_of(f);

	fprintf(out,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
	    "font-family=\"sans-serif\" font-size=\"11\"><rect width=\"%d\" height=\"%d\" "
	    "fill=\"#fff\"/>\n",
	    WIDTH, HEIGHT, WIDTH, HEIGHT);
	write_axes(out, f, low);
	for (size_t k = 0; k < f->n_lines; k++)
		write_line(out, f, k, low);
	fprintf(out, "</svg>\n");
}

static void
write_csv(FILE *out, const struct figure *f)
{
	fprintf(out, "%s", f->across);
	for (size_t k = 0; k < f->n_lines; k++)
		fprintf(out, ",%s", f->line[k].name);
	for (size_t i = 0; i < f->n_points; i++) {
		fprintf(out, "\n%g", f->x[i]);
		for (size_t k = 0; k < f->n_lines; k++)
			if (isfinite(f->line[k].y[i]))
				fprintf(out, ",%.4f", f->line[k].y[i]);
			else
				fprintf(out, ",");
	}
	fprintf(out, "\n");
}

static bool
write_file(const char *dir, const struct figure *f, const char *ending,
    void (*write)(FILE *out, const struct figure *f))
{
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s.%s", dir, f->file, ending);
	if ((out = fopen(path, "w")) == NULL) {
		perror(path);
		return false;
	}
	write(out, f);
	return fclose(out) == 0;
}

bool
figure_write(const char *dir, const struct figure *f)
{
	return write_file(dir, f, "csv", write_csv) && write_file(dir, f, "svg", write_svg);
}
