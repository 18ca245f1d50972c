/* SPDX-License-Identifier: BSD-3-Clause */
/* `narrows stat classify`: which model each operation belongs to. */
#include <math.h>
#include <stdlib.h>

#include "cli/stat/stat_ops.h"
#include "cli/stat/stat_series.h"
#include "narrows/iomodel.h"

const struct stat_option classify_options[] = {
	{ "models", "FILE", "CSV: name, small_I, small_c, large_I, large_c" },
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
};

static void
named_models_free(struct named_models *m)
{
	free(m->model);
	stat_table_free(m->t);
}

static struct nw_io_line
line_of(double intercept, double slope)
{
	bool known = !isnan(intercept) && !isnan(slope);

	return (struct nw_io_line){ known, intercept, slope, NAN, NAN };
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

/* Classes in the order of the operations with the operations of each class; with --csv, one row
 * per operation instead. */
static int
classify(const struct named_models *m, const struct ops *o, const char *otherwise, bool as_rows,
    json_t *out)
{
	json_t *list = json_array(), *counts = json_object();
	size_t *count = calloc(m->n + 1, sizeof(*count)), i, k;
	const char *name;

	for (i = 0; i < o->n && count != NULL; i++) {
		k = nw_io_classify(m->model, m->n, o->op[i].size_bytes, o->op[i].duration_s);
		name = k < m->n ? m->name[k] : otherwise;
		count[k]++;
		json_array_append_new(list,
		    !as_rows ? json_string(name)
			     : json_pack("{s:o,s:o,s:s}", "size", stat_json(o->op[i].size_bytes),
				   "duration", stat_json(o->op[i].duration_s), "class", name));
	}
	for (k = 0; k <= m->n && count != NULL; k++)
		json_object_set_new(
		    counts, k < m->n ? m->name[k] : otherwise, json_integer((json_int_t)count[k]));
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
