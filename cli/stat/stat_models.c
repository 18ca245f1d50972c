/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `narrows stat models`: lines of the slowest ordinary duration over the access size. They come
 * from limits (size, limit), from operations (size, duration; a density per size gives the limit),
 * or straight from io-model files.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_curve.h"
#include "cli/stat/stat_models.h"

const struct stat_option models_options[] = { { "page", "BYTES",
						  "largest size of the small model (4096)" },
	{ "inflate", "F", "the target is F times the limit (1.1)" },
	{ "name", "WORD", "name of the model with --csv, the file that classify reads (model)" },
	{ "size", "BYTES", "access size of io-model files without a size" },
	{ "keep-last", NULL, "io-model files: the last row is an operation, too" },
	{ "from", "FORM",
	    "form of the files: fio (a latency log of single operations) or dxt (text of "
	    "darshan-dxt-parser)" },
	{ "op", "WORD", "of fio and dxt: read (default) or write" },
	{ "adjust", "A", "--faithful, density: bandwidth A times nrd0 (2)" },
	{ "h-min", "H", "--faithful, density: lowest peak that counts, of the highest (0.01)" },
	{ "cutoff", "F",
	    "--faithful, density: the limit is where the curve is below F times the last peak "
	    "(0.05)" },
	{ "grid", "N",
	    "--faithful, density: points of the curve; 0: steps of at most bandwidth/8 (512)" },
	{ NULL, NULL, NULL } };

static json_t *
line_json(const struct nw_io_line *l)
{
	json_t *o;

	if (l->n == 0)
		return json_null();
	o = json_object();
	if (l->refused) {
		json_object_set_new(o, "status", json_string(nw_status_text(NW_STATUS_REFUSED)));
	} else {
		json_object_set_new(o, "I", stat_json(l->intercept_s));
		json_object_set_new(o, "c", stat_json(l->slope_s_per_byte));
	}
	json_object_set_new(o, "abs_err", stat_json(l->abs_err_s));
	json_object_set_new(o, "rel_err_pct", stat_json(100 * l->rel_err));
	return o;
}

static void
set_model(json_t *out, const struct nw_io_model *m)
{
	json_object_set_new(out, "status", json_string(nw_status_text(m->status)));
	json_object_set_new(out, "small", line_json(&m->small));
	json_object_set_new(out, "large", line_json(&m->large));
}

/* The rows of one condition; all rows if `of` is NULL. */
struct rows {
	const uint32_t *of;
	uint32_t group;
	size_t n;
};

static bool
has_row(const struct rows *r, size_t i)
{
	return r->of == NULL || r->of[i] == r->group;
}

static int
model_of_limits(const struct stat_table *t, const struct rows *r, const struct nw_io_options *o,
    json_t *out, struct stat_error *err)
{
	const double *size = stat_table_numbers(t, "size", err),
		     *limit = stat_table_numbers(t, "limit", err);
	struct nw_io_limit *l;
	struct nw_io_model m;
	size_t i, n = 0;
	int rc;

	if (size == NULL || limit == NULL)
		return NW_EPROTO;
	if ((l = malloc((r->n + 1) * sizeof(*l))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < r->n; i++)
		if (has_row(r, i))
			l[n++] = (struct nw_io_limit){ size[i], limit[i] };
	if ((rc = nw_io_fit(l, n, o, &m)) == NW_OK)
		set_model(out, &m);
	free(l);
	return rc;
}

/* Where published models say both, the small line at the page is the large line's intercept. */
static int
intercepts_of_models(struct stat_table *t, double page, json_t *out, struct stat_error *err)
{
	const double *i_small = stat_table_numbers(t, "small_I", err),
		     *c_small = stat_table_numbers(t, "small_c", err),
		     *i_large = stat_table_numbers(t, "large_I", err);
	const char *const *names = stat_table_texts(t, "name", err);
	char key[40];
	size_t i;

	if (i_small == NULL || c_small == NULL || i_large == NULL || names == NULL)
		return NW_EPROTO;
	snprintf(key, sizeof(key), "small_prediction_at_%.0f", page);
	for (i = 0; i < t->n_rows; i++)
		json_object_set_new(out, names[i],
		    json_pack("{s:o,s:o}", key, stat_json(i_small[i] + page * c_small[i]),
			"published_large_intercept", stat_json(i_large[i])));
	return NW_OK;
}

/* The same by the density, as published. */
static int
limit_by_density(
    double *x, size_t n, double sum, const struct density_settings *s, struct size_limit *out)
{
	struct nw_density d = { 0 };
	struct nw_classes c = { 0 };
	double slowest = 0;
	size_t i;
	int rc;

	for (i = 0; i < n; i++)
		slowest = fmax(slowest, x[i]);
	if ((rc = nw_density(x, n, &s->curve, &d)) == NW_OK &&
	    (rc = nw_classes_find(&d, s->h_min, s->cutoff_fraction, s->midpoint, &c)) == NW_OK) {
		nw_classes_count(&c, &d, x, n);
		out->limit_s = isfinite(c.cutoff) ? c.cutoff : slowest;
		out->n_outliers = c.n_outliers;
		out->ordinary_s = (sum - c.outlier_sum) / ((double)n - c.n_outliers);
	}
	nw_classes_clear(&c);
	nw_density_clear(&d);
	return rc;
}

/* By the quantiles; `point` receives them. A duration of 0 is shorter than the clock's step. */
static void
limit_by_quantiles(
    double *x, size_t n, double size_bytes, struct size_limit *out, struct nw_io_point *point)
{
	static const double SHORTEST_S = 1e-9;
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = fmax(x[i], SHORTEST_S);
	nw_io_point_of_values(size_bytes, x, n, point);
	out->limit_s = nw_io_point_limit(point);
	out->n_outliers = point->n_tail;
	out->ordinary_s = point->mean_s;
	out->median_s = exp(point->ln_s[4]);
	out->spread = exp(point->ln_s[6] - point->ln_s[4]);
}

/* The slowest ordinary duration of one size, the outliers above, and means; by the quantiles if
 * there is room for a point. */
static int
limit_of_size(const struct op *op, size_t n, const struct density_settings *s,
    struct size_limit *out, struct nw_io_point *point)
{
	double *x = malloc((n + 1) * sizeof(*x)), sum = 0;
	size_t i;
	int rc = NW_OK;

	if (x == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++) {
		x[i] = op[i].duration_s;
		sum += x[i];
	}
	*out = (struct size_limit){ .size_bytes = op[0].size_bytes,
		.n = (double)n,
		.mean_s = sum / (double)n,
		.median_s = NAN,
		.spread = NAN };
	if (point != NULL)
		limit_by_quantiles(x, n, op[0].size_bytes, out, point);
	else
		rc = limit_by_density(x, n, sum, s, out);
	free(x);
	return rc;
}

static int
compare_ops(const void *a, const void *b)
{
	double x = ((const struct op *)a)->size_bytes, y = ((const struct op *)b)->size_bytes;

	return x < y ? -1 : x > y;
}

static void
outliers_count(const struct ops *o, double page_bytes, struct fitted *f)
{
	bool large;
	size_t i;

	for (i = 0; i < f->n_sizes; i++)
		f->outliers.purged[f->sizes[i].size_bytes > page_bytes] += f->sizes[i].n_outliers;
	for (i = 0; i < o->n; i++) {
		large = o->op[i].size_bytes > page_bytes;
		f->outliers.n[large]++;
		f->outliers.beyond[large] +=
		    o->op[i].duration_s > nw_io_predict(&f->model, o->op[i].size_bytes);
	}
}

/* The limits of all sizes, in order of size; points as well if there is room. */
static int
sizes_find(
    struct ops *o, const struct density_settings *s, struct fitted *f, struct nw_io_point *points)
{
	size_t i, end;
	int rc = NW_OK;

	if (o->n > 0)
		qsort(o->op, o->n, sizeof(*o->op), compare_ops);
	for (i = 0; i < o->n && rc == NW_OK; i = end, f->n_sizes++) {
		for (end = i; end < o->n && o->op[end].size_bytes == o->op[i].size_bytes; end++)
			;
		rc = limit_of_size(o->op + i, end - i, s, &f->sizes[f->n_sizes],
		    points != NULL ? &points[f->n_sizes] : NULL);
	}
	return rc;
}

/* The quantiles of a model decide, if present. */
static int
sizes_fit(const struct nw_io_options *options, const struct nw_io_point *points, struct fitted *f)
{
	struct nw_io_limit *l = malloc((f->n_sizes + 1) * sizeof(*l));
	size_t i;
	int rc = NW_ENOMEM;

	for (i = 0; l != NULL && i < f->n_sizes; i++)
		l[i] = (struct nw_io_limit){ f->sizes[i].size_bytes, f->sizes[i].limit_s };
	if (l != NULL)
		rc = nw_io_fit(l, f->n_sizes, options, &f->model);
	free(l);
	if (rc == NW_OK && points != NULL &&
	    (rc = nw_io_curve_make(points, f->n_sizes, &f->curve)) == NW_OK)
		f->model.status = f->curve.status;
	return rc;
}

int
fitted_make(struct ops *o, const struct nw_io_options *options, const struct density_settings *s,
    struct fitted *out)
{
	struct nw_io_point *points = NULL;
	int rc = NW_ENOMEM;

	*out = (struct fitted){ .sizes = malloc((o->n + 1) * sizeof(*out->sizes)) };
	if (options->sound)
		points = malloc((o->n + 1) * sizeof(*points));
	if (out->sizes != NULL && (points != NULL || !options->sound) &&
	    (rc = sizes_find(o, s, out, points)) == NW_OK &&
	    (rc = sizes_fit(options, points, out)) == NW_OK)
		outliers_count(o, options->page_bytes, out);
	free(points);
	return rc;
}

void
fitted_clear(struct fitted *f)
{
	free(f->sizes);
	nw_io_curve_clear(&f->curve);
	*f = (struct fitted){ 0 };
}

static json_t *
size_json(const struct size_limit *s)
{
	json_t *o = json_pack("{s:o,s:o,s:o,s:o}", "size", stat_json(s->size_bytes), "n",
	    json_integer((json_int_t)s->n), "limit", stat_json(s->limit_s), "outliers_pct",
	    stat_json(100 * s->n_outliers / s->n));

	if (!isnan(s->median_s)) {
		json_object_set_new(o, "median", stat_json(s->median_s));
		json_object_set_new(o, "spread_pct", stat_json(100 * (s->spread - 1)));
	}
	return o;
}

/* The share of outliers of a line: by the density, and by the line itself. */
static void
set_line_outliers(json_t *line, const struct outlier_counts *c, int large)
{
	if (!json_is_object(line) || c->n[large] == 0)
		return;
	json_object_set_new(
	    line, "outliers_exp_pct", stat_json(100 * c->purged[large] / c->n[large]));
	json_object_set_new(
	    line, "outliers_model_pct", stat_json(100 * c->beyond[large] / c->n[large]));
}

static void
set_fitted(json_t *out, const struct fitted *f)
{
	json_t *sizes = json_array(), *limits = json_object();
	const struct outlier_counts *c = &f->outliers;
	double n = c->n[0] + c->n[1];
	char key[40];
	size_t i;

	for (i = 0; i < f->n_sizes; i++) {
		snprintf(key, sizeof(key), "%.15g", f->sizes[i].size_bytes);
		json_object_set_new(limits, key, stat_json(f->sizes[i].limit_s));
		json_array_append_new(sizes, size_json(&f->sizes[i]));
	}
	json_object_set_new(out, "sizes", sizes);
	json_object_set_new(out, "limits", limits);
	set_model(out, &f->model);
	if (f->curve.n > 0)
		json_object_set_new(out, CURVE_COLUMN, curve_json(&f->curve));
	set_line_outliers(json_object_get(out, "small"), c, 0);
	set_line_outliers(json_object_get(out, "large"), c, 1);
	json_object_set_new(
	    out, "outliers_exp_pct", stat_json(100 * (c->purged[0] + c->purged[1]) / n));
	json_object_set_new(
	    out, "outliers_model_pct", stat_json(100 * (c->beyond[0] + c->beyond[1]) / n));
}

static int
model_of_ops(struct ops *o, const struct nw_io_options *options, const struct density_settings *s,
    json_t *out)
{
	struct fitted f;
	int rc = fitted_make(o, options, s, &f);

	if (rc == NW_OK)
		set_fitted(out, &f);
	if (o->clock_s > 0) {
		json_object_set_new(out, "clock_s", stat_json(o->clock_s));
		json_object_set_new(out, "below_clock", json_integer((json_int_t)o->n_below));
		json_object_set_new(out, "left_out", json_integer((json_int_t)o->n_left_out));
	}
	fitted_clear(&f);
	return rc;
}

/* The rows of one condition: limits, or operations from which limits are found. */
static int
model_of_rows(const struct stat_table *t, const struct rows *r, const struct nw_io_options *o,
    const struct density_settings *s, json_t *out, struct stat_error *err)
{
	struct ops ops = { 0 };
	int rc;

	if (stat_table_find(t, "duration") < 0)
		return model_of_limits(t, r, o, out, err);
	if ((rc = ops_add_table(&ops, t, r->of, r->group, err)) == NW_OK)
		rc = model_of_ops(&ops, o, s, out);
	free(ops.op);
	return rc;
}

/* Published models; or one model, or a model for each value of a column of names. */
static int
models_of_table(struct stat_table *t, const struct nw_io_options *o,
    const struct density_settings *s, json_t *out, struct stat_error *err)
{
	struct rows r = { NULL, 0, t->n_rows };
	struct series_groups g;
	const char *const *names;
	size_t col = name_column(t, NULL);
	json_t *part;
	int rc;

	if (stat_table_find(t, "small_I") >= 0)
		return intercepts_of_models(t, o->page_bytes, out, err);
	if (col == SIZE_MAX)
		return model_of_rows(t, &r, o, s, out, err);
	if ((names = stat_table_texts(t, t->cols[col].name, err)) == NULL ||
	    (rc = series_groups_make(names, t->n_rows, &g)) != NW_OK)
		return NW_ENOMEM;
	r.of = g.of;
	for (rc = NW_OK; r.group < g.n && rc == NW_OK; r.group++) {
		json_object_set_new(out, g.name[r.group], part = json_object());
		rc = model_of_rows(t, &r, o, s, part, err);
	}
	series_groups_free(&g);
	return rc;
}

/* --- one row per model --- */

static bool
is_refused(const json_t *model)
{
	const char *status = json_string_value(json_object_get(model, "status"));

	return status != NULL && strcmp(status, nw_status_text(NW_STATUS_REFUSED)) == 0;
}

/* The larger relative error of the lines, in per cent. */
static double
error_of_model(const json_t *model)
{
	static const char *const lines[] = { "small", "large" };
	double worst = NAN;
	size_t i;

	for (i = 0; i < 2; i++)
		worst = fmax(worst,
		    json_number_value(
			json_object_get(json_object_get(model, lines[i]), "rel_err_pct")));
	return worst;
}

struct rows_of_models {
	json_t *list;
	bool sound;
};

/* A row of the file that classify reads. A refused model has no numbers there. */
static json_t *
row_of_model(const char *name, const json_t *model, bool sound)
{
	static const char *const lines[] = { "small", "large" };
	json_t *row = json_pack("{s:s}", "name", name), *v;
	char key[16];

	for (size_t i = 0; i < 2; i++)
		for (const char *p = "Ic"; *p != '\0'; p++) {
			const char part[] = { *p, '\0' };

			v = json_object_get(json_object_get(model, lines[i]), part);
			snprintf(key, sizeof(key), "%s_%s", lines[i], part);
			if (v != NULL && !is_refused(model))
				json_object_set(row, key, v);
			else
				json_object_set_new(row, key, json_null());
		}
	if (!sound)
		return row;
	json_object_set(row, "status", json_object_get(model, "status"));
	json_object_set_new(row, "rel_err_pct", stat_json(error_of_model(model)));
	json_object_set_new(row, CURVE_COLUMN, json_null());
	v = json_object_get(model, CURVE_COLUMN);
	if (v != NULL && !is_refused(model))
		json_object_set(row, CURVE_COLUMN, v);
	return row;
}

/* Calls `use` with each model of a result: the result itself, under `name`, or its parts. */
static void
models_each(json_t *out, const char *name, void (*use)(void *, const char *, json_t *), void *arg)
{
	json_t *part;
	const char *key;

	if (json_object_get(out, "small") != NULL)
		use(arg, name, out);
	else
		json_object_foreach(out, key, part) if (json_object_get(part, "small") != NULL)
		    use(arg, key, part);
}

static void
row_add(void *rows, const char *name, json_t *model)
{
	const struct rows_of_models *r = rows;

	json_array_append_new(r->list, row_of_model(name, model, r->sound));
}

static void
line_tell(const char *name, const json_t *model, const char *line)
{
	struct stat_error note = { "" };
	const json_t *l = json_object_get(model, line);

	if (!is_refused(l))
		return;
	stat_fail(&note, NW_OK,
	    "the %s line of \"%.60s\" is refused: it misses the limits by %.3g %% on average, more "
	    "than %.0f %%%s",
	    line, name, json_number_value(json_object_get(l, "rel_err_pct")),
	    100 * NW_IO_REL_ERR_MAX,
	    json_object_get(model, CURVE_COLUMN) != NULL && !is_refused(model)
		? "; the limits of the sizes stand"
		: "");
	fprintf(stderr, "narrows: %s\n", note.text);
}

/* Says aloud what is refused. */
static void
model_tell(void *unused, const char *name, json_t *model)
{
	struct stat_error note = { "" };

	(void)unused;
	line_tell(name, model, "small");
	line_tell(name, model, "large");
	if (!is_refused(model) || json_object_get(model, CURVE_COLUMN) == NULL)
		return;
	stat_fail(&note, NW_OK,
	    "the model \"%.60s\" is refused: its durations fall where the size rises", name);
	fprintf(stderr, "narrows: %s\n", note.text);
}

/* The quantiles are for classify alone. */
static void
curve_remove(void *unused, const char *name, json_t *model)
{
	(void)unused;
	(void)name;
	json_object_del(model, CURVE_COLUMN);
}

/* Adds what the form of output wants: rows, under "models", for CSV, and for a person who reads
 * several models. */
static void
models_present(json_t *out, const char *name, const struct stat_args *a)
{
	bool csv = stat_arg_is_form(a, STAT_CSV);
	json_t *rows = json_array();
	struct rows_of_models r = { rows, stat_arg_sound(a) };

	models_each(out, name, model_tell, NULL);
	models_each(out, name, row_add, &r);
	models_each(out, name, curve_remove, NULL);
	if (!csv)
		for (size_t i = 0; i < json_array_size(rows); i++)
			json_object_del(json_array_get(rows, i), CURVE_COLUMN);
	if (csv ||
	    (stat_arg_is_form(a, STAT_TABLE) && json_object_get(out, "small") == NULL &&
		json_array_size(rows) > 0))
		json_object_set(out, "models", rows);
	json_decref(rows);
}

int
models_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct nw_io_options o = nw_io_defaults;
	struct density_settings s;
	struct ops ops = { 0 };
	struct stat_table *t = NULL;
	const char *const *files, *name = stat_arg(a, "name");
	size_t i, n_files = stat_arg_files(a, &files);
	int rc;

	if ((rc = density_settings_args(a, &s, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "page", 0, 1e18, &o.page_bytes, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "inflate", 1e-6, 1e6, &o.inflate, err)) != NW_OK)
		return rc;
	o.sound = stat_arg_sound(a);
	for (i = 0; i < n_files && rc == NW_OK; i++)
		rc = ops_add_file(&ops, files[i], a, n_files == 1 ? &t : NULL, err);
	if (rc == NW_OK) {
		*out = json_object();
		rc = t != NULL ? models_of_table(t, &o, &s, *out, err)
			       : model_of_ops(&ops, &o, &s, *out);
		if (rc == NW_OK)
			models_present(*out, name != NULL ? name : "model", a);
	}
	stat_table_free(t);
	free(ops.op);
	return rc;
}

static void
io_options_case(const struct stat_case *c, struct nw_io_options *o)
{
	*o = nw_io_defaults;
	o->page_bytes = stat_case_number(c, "page", o->page_bytes);
	o->inflate = stat_case_number(c, "inflate", o->inflate);
}

int
models_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct nw_io_options o;
	struct density_settings s;
	struct stat_table *t;
	int rc;

	if ((rc = stat_case_table(c, NULL, &t, err)) != NW_OK)
		return stat_fail(err, rc, "%s: no input", c->id);
	io_options_case(c, &o);
	density_settings_case(c, &s);
	*out = json_object();
	rc = models_of_table(t, &o, &s, *out, err);
	stat_table_free(t);
	return rc;
}

/* A trace of operations: models if the trace has several sizes and the parameters speak of models,
 * else its density. */
int
iotrace_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	if (isnan(stat_case_number(c, "inflate", NAN)) && isnan(stat_case_number(c, "page", NAN)))
		return density_case(c, out, err);
	return models_case(c, out, err);
}
