/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `narrows stat figures FOLDER OUT`: Figures 2 to 7 of Kunkel, Identifying Relevant Factors in the
 * I/O-Path using Statistical Methods (2016), drawn from a folder that `iomodel matrix` has filled.
 * A figure whose cells were not measured has no file, and its row says so.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/stat/stat_matrix.h"
#include "web/draw/svg.h"

const struct stat_option figures_options[] = { { "inflate", "F",
						   "the target is F times the limit (1.1)" },
	{ "h-min", "H", "density: lowest peak that counts, of the highest (0.01)" },
	{ "cutoff", "F",
	    "density: the limit is where the curve is below F times the last peak (0.05)" },
	{ NULL, NULL, NULL } };

enum { CURVES_MAX = 2, LINE_POINTS = 200, KIB_256 = 262144, MIB_1 = 1048576 };
static const double PAGE_BYTES = 4096, LARGEST_BYTES = 16 << 20;
static const double SHORTEST_S = 1e-12, LONGEST_S = 1e9; /* of the axis */

struct figure;
struct drawing {
	struct matrix *m;
	const struct figure *figure;
	struct svg svg;
	size_t n;        /* operations that were drawn; 0: not measured */
	char shows[128]; /* the cells */
};

struct figure {
	const char *number, *title;
	int (*draw)(struct drawing *g);
};

static void
begin(struct drawing *g, unsigned n_panels, const struct group *of, size_t n)
{
	snprintf(g->shows, sizeof(g->shows), "%s %s, memory %s, file %s", of->state, of->direction,
	    of->memory, of->layout);
	g->n = n;
	svg_begin(&g->svg, n_panels, g->figure->title, g->shows);
}

/* The range of the durations; a file may hold numbers that are none. */
static struct svg_axis
durations_axis(const double *d, size_t n)
{
	double low = INFINITY, high = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (d[i] >= SHORTEST_S && d[i] <= LONGEST_S) {
			low = fmin(low, d[i]);
			high = fmax(high, d[i]);
		}
	if (!(high > 0))
		low = high = 1;
	return (struct svg_axis){ SVG_SECONDS, low, high, "Duration of an operation" };
}

/* The durations of a size, in the order of the cells; NULL: no memory. */
static double *
durations_of_size(const struct group *g, double size, size_t *n)
{
	double *d = malloc((g->ops.n + 1) * sizeof(*d));
	size_t i;

	for (*n = 0, i = 0; d != NULL && i < g->ops.n; i++)
		if (g->ops.op[i].size_bytes == size)
			d[(*n)++] = g->ops.op[i].duration_s;
	return d;
}

/* --- densities --- */

struct curve {
	const char *name;
	double *d; /* durations */
	size_t n, m;
	double *x, *y; /* m points; NULL without a density */
	double cutoff;
};

static int
curve_make(struct curve *c, const struct density_settings *s)
{
	struct nw_density d = { 0 };
	struct nw_classes k = { 0 };
	size_t i;
	int rc;

	if ((rc = nw_density(c->d, c->n, &s->curve, &d)) == NW_OK &&
	    (rc = nw_classes_find(&d, s->h_min, s->cutoff_fraction, s->midpoint, &k)) == NW_OK &&
	    d.m > 1) {
		c->x = malloc(d.m * sizeof(*c->x));
		c->y = malloc(d.m * sizeof(*c->y));
		rc = c->x != NULL && c->y != NULL ? NW_OK : NW_ENOMEM;
		for (i = 0; rc == NW_OK && i < d.m; i++) {
			c->x[i] = exp(d.from + (d.to - d.from) * (double)i / (double)(d.m - 1));
			c->y[i] = d.y[i];
		}
		c->m = rc == NW_OK ? d.m : 0;
		c->cutoff = k.cutoff;
	}
	nw_classes_clear(&k);
	nw_density_clear(&d);
	return rc;
}

static void
curve_clear(struct curve *c)
{
	free(c->d);
	free(c->x);
	free(c->y);
	*c = (struct curve){ 0 };
}

/* The curves of one panel, each with the place from which operations are outliers. */
static int
densities_draw(struct drawing *g, struct curve *c, size_t n)
{
	struct svg_axis x = { SVG_SECONDS, INFINITY, 0, "Duration of an operation" },
			y = { SVG_DENSITY, 0, 0, "Density" }, one;
	size_t i, k;
	int rc = NW_OK;

	for (i = 0; i < n && rc == NW_OK; i++) {
		rc = curve_make(&c[i], &g->m->settings);
		one = durations_axis(c[i].d, c[i].n);
		x.low = fmin(x.low, one.low);
		x.high = fmax(x.high, one.high);
		for (k = 0; k < c[i].m; k++)
			y.high = fmax(y.high, c[i].y[k]);
	}
	if (rc < 0)
		return rc;
	y.high = y.high > 0 ? 1.05 * y.high : 1;
	svg_panel(&g->svg, &x, &y);
	for (i = 0; i < n; i++) {
		svg_name(&g->svg, (unsigned)i, c[i].name);
		svg_line(&g->svg, (unsigned)i, c[i].x, c[i].y, c[i].m);
		svg_mark(&g->svg, (unsigned)i, c[i].cutoff);
	}
	return NW_OK;
}

/* --- Figures 2 and 3: one size in time, and its density --- */

static int
timeline_draw(struct drawing *g, const double *d, size_t n)
{
	struct svg_axis x = { SVG_COUNT, 0, (double)n, "Operation" }, y = durations_axis(d, n);
	double *at = malloc(n * sizeof(*at));
	size_t i;

	if (at == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		at[i] = (double)i + 1;
	svg_panel(&g->svg, &x, &y);
	svg_dots(&g->svg, 0, at, d, n);
	free(at);
	return NW_OK;
}

static int
sequence_draw(struct drawing *g, const struct group *of)
{
	struct curve c = { .name = "operations" };
	int rc = NW_OK;

	if (of == NULL)
		return NW_OK;
	if ((c.d = durations_of_size(of, KIB_256, &c.n)) == NULL)
		return NW_ENOMEM;
	if (c.n > 0) {
		begin(g, 2, of, c.n);
		if ((rc = timeline_draw(g, c.d, c.n)) == NW_OK)
			rc = densities_draw(g, &c, 1);
	}
	curve_clear(&c);
	return rc;
}

/* A group of reads off the device, else out of the page cache. */
static struct group *
reads_find(const struct matrix *m, const char *memory, const char *layout)
{
	struct group *of = matrix_find(m, "uncached", "read", memory, layout);

	return of != NULL ? of : matrix_find(m, "cached", "read", memory, layout);
}

static int
figure_2(struct drawing *g)
{
	return sequence_draw(g, reads_find(g->m, "off0", "seq"));
}

static int
figure_3(struct drawing *g)
{
	return sequence_draw(g, matrix_find(g->m, "cached", "write", "off0", "seq"));
}

/* --- Figures 4 and 5: models --- */

/* A model over the sizes of the panel. */
static void
model_draw(struct drawing *g, unsigned style, const struct nw_io_model *m)
{
	double x[LINE_POINTS], y[LINE_POINTS];
	const struct plot_axis *a = &g->svg.x;
	size_t i;

	for (i = 0; i < LINE_POINTS; i++) {
		x[i] = a->low * pow(a->high / a->low, (double)i / (LINE_POINTS - 1));
		y[i] = nw_io_predict(m, x[i]);
	}
	svg_line(&g->svg, style, x, y, LINE_POINTS);
}

/* The operations of sizes low .. high, and the model. */
static int
accuracy_draw(struct drawing *g, const struct group *of, double low, double high)
{
	struct svg_axis x = { SVG_BYTES, low, high, "Size of an access" }, y;
	double *size = malloc((of->ops.n + 1) * sizeof(*size)),
	       *d = malloc((of->ops.n + 1) * sizeof(*d));
	const struct op *op;
	size_t n = 0;
	int rc = NW_ENOMEM;

	for (op = of->ops.op; size != NULL && d != NULL && op < of->ops.op + of->ops.n; op++)
		if (op->size_bytes >= low && op->size_bytes <= high) {
			size[n] = op->size_bytes;
			d[n++] = op->duration_s;
		}
	if (size != NULL && d != NULL) {
		y = durations_axis(d, n);
		svg_panel(&g->svg, &x, &y);
		svg_name(&g->svg, 0, "operations");
		svg_name(&g->svg, 1, "model");
		svg_dots(&g->svg, 0, size, d, n);
		model_draw(g, 1, &of->fit.model);
		rc = NW_OK;
	}
	free(size);
	free(d);
	return rc;
}

static int
figure_4(struct drawing *g)
{
	const struct group *of = matrix_group(g->m, "cached", "read", "off0", "off0");
	int rc;

	if (of == NULL)
		return NW_OK;
	begin(g, 2, of, of->ops.n);
	rc = accuracy_draw(g, of, 1, PAGE_BYTES);
	return rc == NW_OK ? accuracy_draw(g, of, PAGE_BYTES, LARGEST_BYTES) : rc;
}

static int
figure_5(struct drawing *g)
{
	struct svg_axis x = { SVG_BYTES, 1, LARGEST_BYTES, "Size of an access" }, y;
	struct nw_io_model models[MATRIX_MODELS];
	double ends[2 * MATRIX_MODELS];
	const struct group *of;
	unsigned i;

	if (!matrix_models(g->m, "read", models))
		return NW_OK;
	for (i = 0; i < MATRIX_MODELS; i++) {
		of = matrix_group(
		    g->m, matrix_conditions[i].state, "read", matrix_conditions[i].memory, "off0");
		g->n += of->ops.n;
		ends[2 * i] = nw_io_predict(&models[i], x.low);
		ends[2 * i + 1] = nw_io_predict(&models[i], x.high);
	}
	y = durations_axis(ends, 2 * MATRIX_MODELS);
	snprintf(g->shows, sizeof(g->shows), "models of reads: discard and cached, file off0");
	svg_begin(&g->svg, 1, g->figure->title, g->shows);
	svg_panel(&g->svg, &x, &y);
	for (i = 0; i < MATRIX_MODELS; i++) {
		svg_name(&g->svg, i, matrix_conditions[i].name);
		model_draw(g, i, &models[i]);
	}
	return NW_OK;
}

/* --- Figure 6: the classes of operations, by size --- */

/* The operations of a class; MATRIX_MODELS: of none of the models. */
static int
class_draw(
    struct drawing *g, const struct ops *o, const struct nw_io_model *models, unsigned of_class)
{
	double *at = malloc((o->n + 1) * sizeof(*at)), *d = malloc((o->n + 1) * sizeof(*d));
	size_t i, n = 0;
	int rc = NW_ENOMEM;

	for (i = 0; at != NULL && d != NULL && i < o->n; i++)
		if (nw_io_classify(models, MATRIX_MODELS, o->op[i].size_bytes,
			o->op[i].duration_s) == of_class) {
			at[n] = (double)i + 1;
			d[n++] = o->op[i].duration_s;
		}
	if (at != NULL && d != NULL) {
		svg_name(&g->svg, of_class,
		    of_class < MATRIX_MODELS ? matrix_conditions[of_class].name : "uncached");
		svg_dots(&g->svg, of_class, at, d, n);
		rc = NW_OK;
	}
	free(at);
	free(d);
	return rc;
}

static int
figure_6(struct drawing *g)
{
	struct nw_io_model models[MATRIX_MODELS];
	const struct group *of = matrix_group(g->m, "cached", "read", "seq", "reverse0");
	struct svg_axis x = { SVG_COUNT, 0, 0, "Operation, in order of size" }, y;
	unsigned of_class;
	double *d;
	size_t i;
	int rc = NW_OK;

	if (of == NULL)
		of = matrix_group(g->m, "uncached", "read", "seq", "reverse0");
	if (of == NULL || !matrix_models(g->m, "read", models))
		return NW_OK;
	if ((d = malloc(of->ops.n * sizeof(*d))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < of->ops.n; i++)
		d[i] = of->ops.op[i].duration_s;
	y = durations_axis(d, of->ops.n);
	free(d);
	x.high = (double)of->ops.n;
	begin(g, 1, of, of->ops.n);
	svg_panel(&g->svg, &x, &y);
	for (of_class = 0; of_class <= MATRIX_MODELS && rc == NW_OK; of_class++)
		rc = class_draw(g, &of->ops, models, of_class);
	return rc;
}

/* --- Figure 7: densities of 1 MiB --- */

/* A panel of a direction, if it was measured; the first panel begins the file. */
static int
direction_draw(struct drawing *g, const char *direction)
{
	static const char *const states[CURVES_MAX] = { "cached", "uncached" };
	struct curve c[CURVES_MAX] = { { 0 } };
	const struct group *of;
	size_t i, n = 0, before = g->n;
	int rc = NW_OK;

	for (i = 0; i < CURVES_MAX && rc == NW_OK; i++) {
		of = matrix_find(g->m, states[i], direction, "off0", "seq");
		if (of == NULL)
			continue;
		if ((c[n].d = durations_of_size(of, MIB_1, &c[n].n)) == NULL)
			rc = NW_ENOMEM;
		else if (c[n].n == 0)
			free(c[n].d);
		else {
			c[n].name = *direction == 'w' ? "writes"
			    : i == 0                  ? "reads, cached"
						      : "reads, uncached";
			g->n += c[n++].n;
		}
	}
	if (rc == NW_OK && n > 0 && before == 0) {
		snprintf(g->shows, sizeof(g->shows), "1 MiB, memory off0, file seq");
		svg_begin(&g->svg, 2, g->figure->title, g->shows);
	}
	if (rc == NW_OK && n > 0)
		rc = densities_draw(g, c, n);
	for (i = 0; i < n; i++)
		curve_clear(&c[i]);
	return rc;
}

static int
figure_7(struct drawing *g)
{
	int rc = direction_draw(g, "read");

	return rc == NW_OK ? direction_draw(g, "write") : rc;
}

/* --- all of them --- */

static const struct figure figures[] = {
	{ "2", "Figure 2: reads of 256 KiB, one behind the other", figure_2 },
	{ "3", "Figure 3: writes of 256 KiB, one behind the other", figure_3 },
	{ "4", "Figure 4: cached reads and their model", figure_4 },
	{ "5", "Figure 5: the models of reads", figure_5 },
	{ "6", "Figure 6: reads in reverse order, by class", figure_6 },
	{ "7", "Figure 7: densities of accesses of 1 MiB", figure_7 },
};

static int
file_write(const char *path, struct svg *s, struct stat_error *err)
{
	FILE *f = fopen(path, "we");
	bool good = f != NULL && svg_write(s, f);

	if (f != NULL && fclose(f) != 0)
		good = false;
	return good ? NW_OK : stat_fail(err, NW_EIO, "%s: %s", path, strerror(errno));
}

static int
figure_make(
    struct matrix *m, const struct figure *f, const char *to, json_t *rows, struct stat_error *err)
{
	struct drawing g = { .m = m, .figure = f };
	char path[MATRIX_PATH_BYTES];
	int rc;

	rc = f->draw(&g);
	snprintf(path, sizeof(path), "%.900s/figure%s.svg", to, f->number);
	if (rc == NW_OK && g.n > 0)
		rc = file_write(path, &g.svg, err);
	svg_clear(&g.svg);
	if (rc == NW_OK)
		json_array_append_new(rows,
		    json_pack("{s:s,s:o,s:I,s:s}", "figure", f->number, "file",
			g.n > 0 ? json_string(path) : json_null(), "operations", (json_int_t)g.n,
			"shows", g.n > 0 ? g.shows : "not measured"));
	return rc;
}

int
figures_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct matrix m = { 0 };
	const char *const *files;
	json_t *rows;
	size_t i;
	int rc;

	if (stat_arg_files(a, &files) != 2)
		return stat_fail(err, NW_EINVAL,
		    "figures wants the folder of one matrix, and a folder for the drawings");
	rows = json_array();
	rc = matrix_read(&m, a, files[0], err);
	if (rc == NW_OK && mkdir(files[1], 0777) != 0 && errno != EEXIST)
		rc = stat_fail(err, NW_EIO, "%s: %s", files[1], strerror(errno));
	for (i = 0; i < sizeof(figures) / sizeof(figures[0]) && rc == NW_OK; i++)
		rc = figure_make(&m, &figures[i], files[1], rows, err);
	if (rc == NW_OK)
		*out = json_pack("{s:O}", "rows", rows);
	json_decref(rows);
	matrix_clear(&m);
	return rc;
}
