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
	{ "adjust", "A", "density: bandwidth A times nrd0 (2)" },
	{ "h-min", "H", "density: lowest peak that counts, of the highest (0.01)" },
	{ "cutoff", "F",
	    "density: the limit is where the curve is below F times the last peak (0.05)" },
	{ "grid", "N", "density: points of the curve; 0: steps of at most bandwidth/8 (512)" },
	{ NULL, NULL, NULL } };

static json_t *
line_json(const struct nw_io_line *l)
{
	json_t *o;

	if (l->n == 0)
		return json_null();
	o = json_object();
	json_object_set_new(o, "I", stat_json(l->intercept_s));
	json_object_set_new(o, "c", stat_json(l->slope_s_per_byte));
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

	if (size == NULL || limit == NULL)
		return NW_EPROTO;
	if ((l = malloc((r->n + 1) * sizeof(*l))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < r->n; i++)
		if (has_row(r, i))
			l[n++] = (struct nw_io_limit){ size[i], limit[i] };
	nw_io_fit(l, n, o, &m);
	set_model(out, &m);
	free(l);
	return NW_OK;
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

/* The slowest ordinary duration of one size, the outliers above, and means. */
static int
limit_of_size(
    const struct op *op, size_t n, const struct density_settings *s, struct size_limit *out)
{
	double *x = malloc((n + 1) * sizeof(*x)), slowest = 0, sum = 0;
	struct nw_density d = { 0 };
	struct nw_classes c = { 0 };
	size_t i;
	int rc = NW_ENOMEM;

	if (x == NULL)
		return rc;
	for (i = 0; i < n; i++) {
		x[i] = op[i].duration_s;
		sum += x[i];
		slowest = fmax(slowest, x[i]);
	}
	if ((rc = nw_density(x, n, &s->curve, &d)) == NW_OK &&
	    (rc = nw_classes_find(&d, s->h_min, s->cutoff_fraction, s->midpoint, &c)) == NW_OK) {
		nw_classes_count(&c, &d, x, n);
		*out = (struct size_limit){ .size_bytes = op[0].size_bytes,
			.n = (double)n,
			.limit_s = isfinite(c.cutoff) ? c.cutoff : slowest,
			.n_outliers = c.n_outliers,
			.mean_s = sum / (double)n,
			.ordinary_s = (sum - c.outlier_sum) / ((double)n - c.n_outliers) };
	}
	nw_classes_clear(&c);
	nw_density_clear(&d);
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

int
fitted_make(struct ops *o, const struct nw_io_options *options, const struct density_settings *s,
    struct fitted *out)
{
	struct nw_io_limit *l = malloc((o->n + 1) * sizeof(*l));
	size_t i, end;
	int rc = NW_OK;

	*out = (struct fitted){ .sizes = malloc((o->n + 1) * sizeof(*out->sizes)) };
	if (l == NULL || out->sizes == NULL)
		rc = NW_ENOMEM;
	if (o->n > 0)
		qsort(o->op, o->n, sizeof(*o->op), compare_ops);
	for (i = 0; i < o->n && rc == NW_OK; i = end) {
		for (end = i; end < o->n && o->op[end].size_bytes == o->op[i].size_bytes; end++)
			;
		if ((rc = limit_of_size(o->op + i, end - i, s, &out->sizes[out->n_sizes])) ==
		    NW_OK) {
			l[out->n_sizes] = (struct nw_io_limit){ o->op[i].size_bytes,
				out->sizes[out->n_sizes].limit_s };
			out->n_sizes++;
		}
	}
	if (rc == NW_OK) {
		nw_io_fit(l, out->n_sizes, options, &out->model);
		outliers_count(o, options->page_bytes, out);
	}
	free(l);
	return rc;
}

void
fitted_clear(struct fitted *f)
{
	free(f->sizes);
	*f = (struct fitted){ 0 };
}

static json_t *
size_json(const struct size_limit *s)
{
	return json_pack("{s:o,s:o,s:o,s:o}", "size", stat_json(s->size_bytes), "n",
	    json_integer((json_int_t)s->n), "limit", stat_json(s->limit_s), "outliers_pct",
	    stat_json(100 * s->n_outliers / s->n));
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

/* A row of the file that classify reads. */
static json_t *
row_of_model(const char *name, const json_t *model)
{
	static const char *const lines[] = { "small", "large" };
	json_t *row = json_pack("{s:s}", "name", name), *v;
	char key[16];

	for (size_t i = 0; i < 2; i++)
		for (const char *p = "Ic"; *p != '\0'; p++) {
			const char part[] = { *p, '\0' };

			v = json_object_get(json_object_get(model, lines[i]), part);
			snprintf(key, sizeof(key), "%s_%s", lines[i], part);
			if (v != NULL)
				json_object_set(row, key, v);
			else
				json_object_set_new(row, key, json_null());
		}
	return row;
}

/* The models of a result, for classify: under `name`, or the models of its parts. */
static void
set_rows(json_t *out, const char *name)
{
	json_t *rows = json_array(), *part;
	const char *key;

	if (json_object_get(out, "small") != NULL)
		json_array_append_new(rows, row_of_model(name, out));
	else
		json_object_foreach(out, key, part) if (json_object_get(part, "small") != NULL)
		    json_array_append_new(rows, row_of_model(key, part));
	json_object_set_new(out, "models", rows);
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
	o.weighted = stat_arg_sound(a);
	for (i = 0; i < n_files && rc == NW_OK; i++)
		rc = ops_add_file(&ops, files[i], a, n_files == 1 ? &t : NULL, err);
	if (rc == NW_OK) {
		*out = json_object();
		rc = t != NULL ? models_of_table(t, &o, &s, *out, err)
			       : model_of_ops(&ops, &o, &s, *out);
		if (rc == NW_OK && stat_arg_is_form(a, STAT_CSV))
			set_rows(*out, name != NULL ? name : "model");
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
