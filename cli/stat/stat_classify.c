/* SPDX-License-Identifier: BSD-3-Clause */
/* `narrows stat classify`: which model each operation belongs to. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_curve.h"
#include "cli/stat/stat_ops.h"
#include "cli/stat/stat_series.h"
#include "narrows/iomodel.h"

const struct stat_option classify_options[] = {
	{ "models", "FILE",
	    "CSV: name, small_I, small_c, large_I, large_c, as models --csv prints them; with the\n"
	    "                             column durations operations of two models are either" },
	{ "otherwise", "WORD", "class of what no model explains (uncached)" },
	{ "page", "BYTES", "largest size of the small model (4096)" },
	{ "size", "BYTES", "access size of io-model files without a size" },
	{ "keep-last", NULL, "io-model files: the last row is an operation, too" },
	{ "from", "FORM", "form of the files: fio or dxt (see stat models)" },
	{ "op", "WORD", "of fio and dxt: read (default) or write" }, { NULL, NULL, NULL }
};

struct named_models {
	size_t n;
	struct nw_io_model *model;
	const char *const *name; /* on loan from t */
	struct stat_table *t;
	/* quantiles, if the sound rule can be used: every model has them, or is refused */
	struct nw_io_curve *curve;
	const struct nw_io_curve **curves;
	bool *near;
};

static const char either[] = "either";

static void
named_models_free(struct named_models *m)
{
	for (size_t i = 0; m->curve != NULL && i < m->n; i++)
		nw_io_curve_clear(&m->curve[i]);
	free(m->curve);
	free(m->curves);
	free(m->near);
	free(m->model);
	stat_table_free(m->t);
}

static struct nw_io_line
line_of(double intercept, double slope)
{
	bool known = !isnan(intercept) && !isnan(slope);

	return (struct nw_io_line){ known, intercept, slope, NAN, NAN, false };
}

/* Takes the table. */
static int
named_models_make(struct named_models *m, struct stat_table *t, double page, struct stat_error *err)
{
	static const char *const want[] = { "small_I", "small_c", "large_I", "large_c" };
	const double *v[4];
	size_t i;

	*m = (struct named_models){ .n = t->n_rows, .t = t };
	for (i = 0; i < 4; i++)
		if ((v[i] = stat_table_numbers(t, want[i], err)) == NULL)
			return NW_EPROTO;
	if ((m->name = stat_table_texts(t, "name", err)) == NULL)
		return NW_EPROTO;
	if ((m->model = calloc(m->n + 1, sizeof(*m->model))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < m->n; i++)
		m->model[i] = (struct nw_io_model){ NW_STATUS_OK, page, line_of(v[0][i], v[1][i]),
			line_of(v[2][i], v[3][i]) };
	return NW_OK;
}

/* Names refused models aloud: refused models have no operations. */
static void
refused_tell(const struct named_models *m)
{
	struct stat_error note = { "" };
	size_t i;

	for (i = 0; i < m->n; i++)
		if (m->model[i].status == NW_STATUS_REFUSED) {
			stat_fail(&note, NW_OK,
			    "the model \"%.60s\" was refused, and names nothing", m->name[i]);
			fprintf(stderr, "narrows: %s\n", note.text);
		}
}

/* Reads the quantiles and the status of the models, for the sound rule. */
static int
named_models_add_curves(struct named_models *m, struct stat_error *err)
{
	const char *const *status =
	    stat_table_find(m->t, "status") < 0 ? NULL : stat_table_texts(m->t, "status", err);
	const char *const *texts;
	bool whole = true;
	size_t i;
	int rc = NW_OK;

	for (i = 0; status != NULL && i < m->n; i++)
		if (strcmp(status[i], nw_status_text(NW_STATUS_REFUSED)) == 0)
			m->model[i].status = NW_STATUS_REFUSED;
	refused_tell(m);
	if (stat_table_find(m->t, CURVE_COLUMN) < 0)
		return NW_OK;
	texts = stat_table_texts(m->t, CURVE_COLUMN, err);
	m->curve = calloc(m->n + 1, sizeof(*m->curve));
	m->curves = calloc(m->n + 1, sizeof(*m->curves));
	m->near = calloc(m->n + 1, sizeof(*m->near));
	if (texts == NULL || m->curve == NULL || m->curves == NULL || m->near == NULL)
		return NW_ENOMEM;
	for (i = 0; i < m->n && rc == NW_OK; i++) {
		if ((rc = curve_parse(texts[i], &m->curve[i])) == NW_EPROTO)
			return stat_fail(err, rc,
			    "%s: the durations of \"%.60s\" are not quantiles", m->t->file,
			    m->name[i]);
		m->curves[i] = &m->curve[i];
		whole &= m->curve[i].n > 0 || m->model[i].status == NW_STATUS_REFUSED;
	}
	if (!whole) {
		free(m->curves);
		m->curves = NULL;
	}
	return rc;
}

/* Index of the model of an operation; n for none, n + 1 for either of two. */
static size_t
model_of(const struct named_models *m, const struct op *op)
{
	size_t found, n_near;

	if (m->curves == NULL)
		return nw_io_classify(m->model, m->n, op->size_bytes, op->duration_s);
	found = nw_io_curves_name(
	    m->curves, m->n, op->size_bytes, fmax(op->duration_s, 1e-9), m->near, &n_near);
	return n_near > 1 ? m->n + 1 : found;
}

/* Classes in the order of the operations with the operations of each class; with --csv, one row
 * per operation instead. */
static int
classify(const struct named_models *m, const struct ops *o, const char *otherwise, bool as_rows,
    json_t *out)
{
	json_t *list = json_array(), *counts = json_object();
	size_t *count = calloc(m->n + 2, sizeof(*count)), i, k, last;
	const char *name;

	for (i = 0; i < o->n && count != NULL; i++) {
		k = model_of(m, &o->op[i]);
		name = k < m->n ? m->name[k] : k > m->n ? either : otherwise;
		count[k]++;
		json_array_append_new(list,
		    !as_rows ? json_string(name)
			     : json_pack("{s:o,s:o,s:s}", "size", stat_json(o->op[i].size_bytes),
				   "duration", stat_json(o->op[i].duration_s), "class", name));
	}
	last = m->curves != NULL ? m->n + 1 : m->n;
	for (k = 0; k <= last && count != NULL; k++)
		json_object_set_new(counts,
		    k < m->n       ? m->name[k]
			: k > m->n ? either
				   : otherwise,
		    json_integer((json_int_t)count[k]));
	json_object_set_new(out, as_rows ? "operations" : "class", list);
	json_object_set_new(out, "counts", counts);
	free(count);
	return count == NULL ? NW_ENOMEM : NW_OK;
}

int
classify_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	const char *models = stat_arg(a, "models"), *otherwise = stat_arg(a, "otherwise");
	double page = nw_io_defaults.page_bytes;
	struct named_models m = { 0 };
	struct ops ops = { 0 };
	struct stat_table *t;
	const char *const *files;
	size_t i, n_files = stat_arg_files(a, &files);
	int rc;

	if (models == NULL)
		return stat_fail(err, NW_EINVAL, "classify wants --models FILE");
	if ((rc = stat_arg_number(a, "page", 0, 1e18, &page, err)) != NW_OK ||
	    (rc = stat_table_read(models, &t, err)) != NW_OK)
		return rc;
	rc = named_models_make(&m, t, page, err);
	if (rc == NW_OK && stat_arg_sound(a))
		rc = named_models_add_curves(&m, err);
	for (i = 0; i < n_files && rc == NW_OK; i++)
		rc = ops_add_file(&ops, files[i], a, NULL, err);
	if (rc == NW_OK) {
		*out = json_object();
		rc = classify(&m, &ops, otherwise != NULL ? otherwise : "uncached",
		    stat_arg_is_form(a, STAT_CSV), *out);
	}
	free(ops.op);
	named_models_free(&m);
	return rc;
}

int
classify_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct named_models m = { 0 };
	struct ops ops = { 0 };
	struct stat_table *models, *t = NULL;
	int rc;

	if ((rc = stat_case_table(c, "models", &models, err)) != NW_OK)
		return stat_fail(err, rc, "%s: no models", c->id);
	if ((rc = named_models_make(&m, models,
		 stat_case_number(c, "page", nw_io_defaults.page_bytes), err)) == NW_OK &&
	    (rc = stat_case_table(c, "ops", &t, err)) == NW_OK &&
	    (rc = ops_add_table(&ops, t, NULL, 0, err)) == NW_OK) {
		*out = json_object();
		rc = classify(&m, &ops, stat_case_text(c, "otherwise", "uncached"), false, *out);
	}
	free(ops.op);
	stat_table_free(t);
	named_models_free(&m);
	return rc;
}
