/* SPDX-License-Identifier: BSD-3-Clause */
/* `narrows stat density`: the density of a column or a histogram of durations, and the classes in
 * the density. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_series.h"
#include "narrows/format.h"

#define GRID_MAX (1u << 20)

const struct density_settings density_settings_default = { { true, 2, 3, 512, NW_DENSITY_R44 },
	NW_CLASS_H_MIN, NW_CLASS_CUTOFF_FRACTION, false, false };

const struct stat_option density_options[] = { { "log", NULL, "work on ln x (default)" },
	{ "linear", NULL, "work on x" }, { "adjust", "A", "bandwidth: A times nrd0 (2)" },
	{ "h-min", "H", "lowest peak that counts, of the highest (0.01)" },
	{ "cutoff", "F", "outliers lie where the curve is below F times the last peak (0.05)" },
	{ "grid", "N", "points of the curve; 0: steps of at most bandwidth/8; --faithful 512" },
	{ "midpoint", NULL, "split half way between peaks, not at the minimum" },
	{ "histogram", NULL, "FILE is a histogram: lower, upper_exclusive, count in whole ticks" },
	{ "ticks-per-unit", "U", "of a histogram: divide its bounds by U (1)" },
	{ "column", "C", "the column of durations" },
	{ "keep-last", NULL, "io-model files: the last row is an operation, too" },
	{ NULL, NULL, NULL } };

int
density_settings_args(const struct stat_args *a, struct density_settings *s, struct stat_error *err)
{
	int rc;

	*s = density_settings_default;
	s->tested = stat_arg_sound(a) && !stat_arg_given(a, "linear");
	if (stat_arg_sound(a))
		s->curve.grid = 0;
	if (stat_arg_given(a, "linear") && stat_arg_given(a, "log"))
		return stat_fail(err, NW_EINVAL, "--log, --linear: one of them");
	s->curve.log = !stat_arg_given(a, "linear");
	s->midpoint = stat_arg_given(a, "midpoint");
	if ((rc = stat_arg_number(a, "adjust", 1e-6, 1e6, &s->curve.adjust, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "h-min", 0, 1, &s->h_min, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "cutoff", 0, 1, &s->cutoff_fraction, err)) != NW_OK ||
	    (rc = stat_arg_count(a, "grid", 0, GRID_MAX, &s->curve.grid, err)) != NW_OK)
		return rc;
	return s->curve.grid == 1 ? stat_fail(err, NW_EINVAL, "--grid: 1 point is no curve")
				  : NW_OK;
}

void
density_settings_case(const struct stat_case *c, struct density_settings *s)
{
	double grid;

	*s = density_settings_default;
	s->curve.log = stat_case_bool(c, "log", true);
	s->curve.adjust = stat_case_number(c, "adjust", s->curve.adjust);
	s->curve.cut = stat_case_number(c, "cut", s->curve.cut);
	s->h_min = stat_case_number(c, "h_min", s->h_min);
	s->cutoff_fraction = stat_case_number(c, "cutoff_fraction", s->cutoff_fraction);
	grid = stat_case_number(c, "n", (double)s->curve.grid);
	if (grid >= 2 && grid <= GRID_MAX)
		s->curve.grid = (size_t)grid;
}

/* Input of the density: values or buckets. */
struct data {
	const double *x;
	struct nw_density_bucket *buckets; /* NULL: x counts */
	size_t n;
	double step; /* of the clock, with buckets */
};

static int
draw(const struct data *d, const struct nw_density_options *o, struct nw_density *out)
{
	return d->buckets != NULL ? nw_density_buckets(d->buckets, d->n, d->step, o, out)
				  : nw_density(d->x, d->n, o, out);
}

static int
classes_of(const struct data *data, const struct nw_density *d, const struct density_settings *s,
    double h_min, struct nw_classes *out)
{
	if (!s->tested)
		return nw_classes_find(d, h_min, s->cutoff_fraction, s->midpoint, out);
	if (data->buckets != NULL)
		return nw_classes_test(
		    d, data->buckets, data->n, data->step, h_min, s->cutoff_fraction, out);
	return nw_classes_test_values(d, data->x, data->n, h_min, s->cutoff_fraction, out);
}

/* Peaks, splits, cutoff and counts of a curve into `o`. */
static int
set_classes(json_t *o, const struct data *data, const struct nw_density *d,
    const struct density_settings *s, double h_min)
{
	json_t *peaks = json_array(), *heights = json_array(), *splits = json_array(),
	       *counts = json_array(), *sums = json_array();
	struct nw_classes c;
	size_t i;
	int rc = classes_of(data, d, s, h_min, &c);

	if (rc == NW_OK && data->buckets != NULL)
		nw_classes_count_buckets(&c, d, data->buckets, data->n, data->step);
	else if (rc == NW_OK)
		nw_classes_count(&c, d, data->x, data->n);
	for (i = 0; rc == NW_OK && i < c.n; i++) {
		json_array_append_new(peaks, stat_json(c.class[i].peak));
		json_array_append_new(heights, stat_json(c.class[i].height));
		if (i > 0)
			json_array_append_new(splits, stat_json(c.class[i].low));
		json_array_append_new(counts, json_integer((json_int_t)c.class[i].count));
		json_array_append_new(sums, stat_json(c.class[i].sum));
	}
	json_object_set_new(o, "peaks", peaks);
	json_object_set_new(o, "splits", splits);
	json_object_set_new(o, "cutoff", stat_json(c.cutoff));
	json_object_set_new(o, "class_counts", counts);
	json_object_set_new(o, "class_sums", sums);
	json_object_set_new(o, "outliers", json_integer((json_int_t)c.n_outliers));
	json_object_set_new(o, "peaks_density", heights);
	if (s->tested)
		json_object_set_new(o, "sure", stat_json(c.sure));
	nw_classes_clear(&c);
	return rc;
}

static void
set_curve(json_t *out, const struct nw_density *d, bool as_rows)
{
	double step = (d->to - d->from) / (double)(d->m - 1), x;
	json_t *rows = json_array();
	size_t i;

	if (!as_rows) {
		json_decref(rows);
		json_object_set_new(
		    out, "density", json_pack("{s:o}", "r44", stat_json_array(d->y, d->m)));
		return;
	}
	for (i = 0; i < d->m; i++) {
		x = d->from + (double)i * step;
		json_array_append_new(rows,
		    json_pack("{s:o,s:o}", "x", stat_json(d->log ? exp(x) : x), "density",
			stat_json(d->y[i])));
	}
	json_object_set_new(out, "curve", rows);
}

/* The same on a grid fine enough for the bandwidth. */
static int
set_fine(json_t *out, const struct data *data, const struct density_settings *s)
{
	struct nw_density_options o = s->curve;
	struct nw_density d;
	json_t *fine = json_object();
	int rc;

	o.grid = 0;
	if ((rc = draw(data, &o, &d)) == NW_OK) {
		json_object_set_new(fine, "n", json_integer((json_int_t)d.m));
		rc = set_classes(fine, data, &d, s, s->h_min);
	}
	json_object_set_new(out, "fine_grid", fine);
	nw_density_clear(&d);
	return rc;
}

/* The result, with the classes at other floors beside the classes at the chosen floor: how far the
 * classes depend on the floor. */
static int
report(const struct data *data, const struct density_settings *s, bool as_rows, json_t *out)
{
	static const struct {
		const char *key;
		double h_min;
	} floors[] = { { "h_min_1e-06", 1e-6 }, { "h_min_0.01", 0.01 }, { "h_min_0.05", 0.05 } };
	struct nw_density d;
	json_t *o;
	size_t i;
	int rc;

	if ((rc = draw(data, &s->curve, &d)) != NW_OK)
		goto out;
	json_object_set_new(out, "status", json_string(nw_status_text(d.status)));
	json_object_set_new(out, "n", json_integer((json_int_t)d.n));
	json_object_set_new(out, "nonpositive", json_integer((json_int_t)d.n_nonpositive));
	if (d.status != NW_STATUS_OK && d.status != NW_STATUS_DEGENERATE)
		goto out;
	json_object_set_new(out, "bw", stat_json(d.bw));
	json_object_set_new(out, "bw_nrd0_unadjusted", stat_json(d.bw_nrd0));
	json_object_set_new(out, "from", stat_json(d.from));
	json_object_set_new(out, "to", stat_json(d.to));
	if (data->buckets != NULL) {
		json_object_set_new(out, "coarse_buckets", json_boolean(d.coarse));
		json_object_set_new(out, "clock_step", stat_json(data->step));
	}
	rc = set_classes(out, data, &d, s, s->h_min);
	set_curve(out, &d, as_rows);
	for (i = 0; !s->tested && i < sizeof(floors) / sizeof(floors[0]) && rc == NW_OK; i++) {
		json_object_set_new(out, floors[i].key, o = json_object());
		rc = set_classes(o, data, &d, s, floors[i].h_min);
	}
	if (rc == NW_OK && !s->tested)
		rc = set_fine(out, data, s);
out:
	nw_density_clear(&d);
	return rc;
}

/* --- for people --- */

static json_t *
place(double x, bool seconds)
{
	return seconds && isfinite(x) ? json_string(fmt_duration(x).s) : stat_json(x);
}

static json_t *
class_row(const struct nw_classes *c, size_t i, bool seconds)
{
	double n = 0, sum = 0;
	char name[2] = { (char)('A' + i % 26), '\0' };

	for (size_t k = 0; k < c->n; k++) {
		n += c->class[k].count;
		sum += c->class[k].sum;
	}
	return json_pack("{s:s,s:o,s:o,s:o,s:i,s:s,s:s}", "class", name, "most often",
	    place(c->class[i].peak, seconds), "from", place(c->class[i].low, seconds), "to",
	    place(c->class[i].high, seconds), "operations", (int)c->class[i].count, "of operations",
	    fmt_share(n > 0 ? c->class[i].count / n : 0).s, "of time",
	    fmt_share(sum > 0 ? c->class[i].sum / sum : 0).s);
}

static void
tell_classes(
    json_t *out, const struct nw_density *d, const struct nw_classes *c, bool tested, bool seconds)
{
	json_t *rows = json_array();
	char sure[128];

	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(rows, class_row(c, i, seconds));
	if (tested)
		snprintf(sure, sizeof(sure), "%zu %s again in %s of the samples drawn from them",
		    c->n, c->n == 1 ? "class" : "classes", fmt_share(c->sure).s);
	json_object_set_new(out, "operations", json_integer((json_int_t)d->n));
	if (d->n_nonpositive > 0)
		json_object_set_new(
		    out, "left out, not positive", json_integer((json_int_t)d->n_nonpositive));
	json_object_set_new(out, "sure", json_string(tested ? sure : "not tested: --faithful"));
	json_object_set_new(out, "outliers above", place(c->cutoff, seconds));
	json_object_set_new(out, "outliers", json_integer((json_int_t)c->n_outliers));
	json_object_set_new(out, "classes", rows);
}

/* What a person asks of a density. */
static int
tell(const struct data *data, const struct density_settings *s, bool seconds, json_t *out)
{
	struct nw_density d;
	struct nw_classes c = { 0 };
	int rc;

	if ((rc = draw(data, &s->curve, &d)) != NW_OK)
		goto out;
	if (d.status != NW_STATUS_OK && d.status != NW_STATUS_DEGENERATE) {
		json_object_set_new(out, "status", json_string(nw_status_text(d.status)));
		goto out;
	}
	if ((rc = classes_of(data, &d, s, s->h_min, &c)) != NW_OK)
		goto out;
	if (data->buckets != NULL)
		nw_classes_count_buckets(&c, &d, data->buckets, data->n, data->step);
	else
		nw_classes_count(&c, &d, data->x, data->n);
	tell_classes(out, &d, &c, s->tested, seconds);
out:
	nw_classes_clear(&c);
	nw_density_clear(&d);
	return rc;
}

/* --- inputs --- */

/* Columns with such names hold seconds. */
static bool
is_seconds(const char *column)
{
	size_t n = strlen(column);

	return strcmp(column, "duration") == 0 || (n > 2 && strcmp(column + n - 2, "_s") == 0);
}

static int
buckets_of_table(
    const struct stat_table *t, double ticks_per_unit, struct data *d, struct stat_error *err)
{
	const double *low = stat_table_numbers(t, "lower", err),
		     *high = stat_table_numbers(t, "upper_exclusive", err),
		     *count = stat_table_numbers(t, "count", err);
	size_t i;

	if (low == NULL || high == NULL || count == NULL)
		return NW_EPROTO;
	if ((d->buckets = malloc((t->n_rows + 1) * sizeof(*d->buckets))) == NULL)
		return NW_ENOMEM;
	d->n = t->n_rows;
	for (i = 0; i < t->n_rows; i++)
		d->buckets[i] = (struct nw_density_bucket){ low[i] / ticks_per_unit,
			high[i] / ticks_per_unit, count[i] };
	return nw_density_clock_step(d->buckets, d->n, 1 / ticks_per_unit, &d->step);
}

static bool
is_histogram(const struct stat_table *t)
{
	return stat_table_find(t, "lower") >= 0 && stat_table_find(t, "upper_exclusive") >= 0;
}

static int
report_table(const struct stat_table *t, const char *column, double ticks_per_unit,
    const struct density_settings *s, enum stat_form form, json_t *out, struct stat_error *err)
{
	struct data d = { .n = t->n_rows };
	size_t col;
	int rc;

	if (ticks_per_unit > 0) {
		if ((rc = buckets_of_table(t, ticks_per_unit, &d, err)) == NW_OK)
			rc = form == STAT_TABLE ? tell(&d, s, false, out)
						: report(&d, s, form == STAT_CSV, out);
		free(d.buckets);
		return rc;
	}
	if ((col = series_column(t, column, err)) == SIZE_MAX ||
	    (d.x = stat_table_numbers_at(t, col, err)) == NULL)
		return NW_EPROTO;
	return form == STAT_TABLE ? tell(&d, s, is_seconds(t->cols[col].name), out)
				  : report(&d, s, form == STAT_CSV, out);
}

int
density_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct density_settings s;
	double ticks_per_unit = stat_arg_given(a, "histogram") ? 1 : 0;
	struct io_file io = { 0 };
	struct stat_table *t = NULL;
	const char *const *files;
	char *bytes = NULL;
	enum stat_form form;
	size_t n_bytes;
	int rc;

	if ((rc = density_settings_args(a, &s, err)) != NW_OK ||
	    (rc = stat_arg_form(a, &form, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "ticks-per-unit", 1e-30, 1e30, &ticks_per_unit, err)) != NW_OK)
		return rc;
	if (stat_arg_files(a, &files) > 1)
		return stat_fail(
		    err, NW_EINVAL, "one file at a time: \"%.60s\" is too much", files[1]);
	*out = json_object();
	rc = io_file_read(files[0], stat_arg_given(a, "keep-last"), &io, &bytes, &n_bytes, err);
	if (rc == NW_OK) {
		struct data d = { .x = io.duration_s, .n = io.n };

		rc = form == STAT_TABLE ? tell(&d, &s, true, *out)
					: report(&d, &s, form == STAT_CSV, *out);
	} else if (rc == NW_ENOTFOUND &&
	    (rc = stat_table_parse(files[0], bytes, n_bytes, &t, err)) == NW_OK) {
		rc = report_table(t, stat_arg(a, "column"), ticks_per_unit, &s, form, *out, err);
	}
	stat_table_free(t);
	free(bytes);
	io_file_clear(&io);
	return rc;
}

int
density_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct density_settings s;
	struct stat_table *t;
	int rc;

	if ((rc = stat_case_table(c, NULL, &t, err)) != NW_OK)
		return stat_fail(err, rc, "%s: no input", c->id);
	density_settings_case(c, &s);
	*out = json_object();
	rc = report_table(t, NULL, is_histogram(t) ? stat_case_number(c, "ticks_per_unit", 1) : 0,
	    &s, STAT_JSON, *out, err);
	stat_table_free(t);
	return rc;
}
