/* SPDX-License-Identifier: BSD-3-Clause */
/* Kind select: the metrics that explain a response. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_linear.h"

int
stat_quadratic_parse(const char *word, enum nw_quadratic *out, struct stat_error *err)
{
	static const char *const names[] = { "none", "raw", "centered" };

	for (int i = 0; i < 3; i++)
		if (word == NULL || strcmp(word, names[i]) == 0) {
			*out = word == NULL ? *out : (enum nw_quadratic)i;
			return NW_OK;
		}
	return stat_fail(err, NW_EINVAL, "quadratic is none, raw or centered");
}

struct select_request {
	struct nw_eliminate_options eliminate;
	double max_missing;
	bool near_zero_filter;
};

/* Keys of every elimination, finished or refused. */
static int
put_candidates(json_t *doc, const struct metrics *m, const struct nw_prepared *prep,
    const struct nw_elimination *e)
{
	int bad = 0;

	bad |= json_object_set_new(doc, "status", json_string(nw_status_text(e->status)));
	bad |= json_object_set_new(doc, "n", json_integer((json_int_t)e->n_rows));
	bad |= json_object_set_new(doc, "f_remove", stat_json(e->f_remove));
	bad |= json_object_set_new(doc, "terms_total", json_integer((json_int_t)e->n_terms));
	bad |= json_object_set_new(doc, "missing", metrics_of_class(m, prep, NW_METRIC_MISSING));
	bad |= json_object_set_new(
	    doc, "near_zero_variation", metrics_of_class(m, prep, NW_METRIC_RARE));
	if (e->status == NW_STATUS_CONSTANT_RESPONSE || e->status == NW_STATUS_INSUFFICIENT)
		return bad;
	bad |= json_object_set_new(
	    doc, "constant", term_names_of_state(m, e, prep->used, NW_TERM_CONSTANT));
	bad |= json_object_set_new(
	    doc, "aliased", term_names_of_state(m, e, prep->used, NW_TERM_ALIASED));
	bad |= json_object_set_new(doc, "df", json_integer((json_int_t)e->full_df));
	bad |= json_object_set_new(doc, "rank", json_integer((json_int_t)e->rank));
	return bad;
}

static json_t *
select_table(
    const struct metrics *m, const struct nw_prepared *prep, const struct nw_elimination *e)
{
	json_t *a = json_array();
	int bad = json_array_append_new(
	    a, coefficient_row(json_string("(Intercept)"), &e->lm.intercept, e->lm.df));

	for (size_t i = 0; i < e->n_kept; i++)
		bad |= json_array_append_new(a,
		    coefficient_row(
			term_name(m, &e->kept_terms[i], prep->used), &e->lm.coef[i], e->lm.df));
	return stat_whole(a, bad);
}

static int
put_selection(json_t *doc, const struct metrics *m, const struct nw_prepared *prep,
    const struct nw_elimination *e)
{
	int bad = 0;

	bad |= json_object_set_new(
	    doc, "removed", term_names(m, e, prep->used, e->removed, e->n_removed));
	bad |= json_object_set_new(doc, "removed_F", stat_json_array(e->removed_f, e->n_removed));
	bad |= json_object_set_new(doc, "terms", term_names(m, e, prep->used, e->kept, e->n_kept));
	bad |= json_object_set_new(doc, "metrics", kept_metrics(m, e, prep->used));
	bad |= put_quality(doc, &e->lm);
	bad |= json_object_set_new(doc, "full_r2", stat_json(e->full_r2));
	bad |= json_object_set_new(doc, "full_df", json_integer((json_int_t)e->full_df));
	bad |= json_object_set_new(doc, "coef", kept_values(m, e, prep->used, false));
	bad |= json_object_set_new(doc, "F", kept_values(m, e, prep->used, true));
	bad |= json_object_set_new(doc, "reduction_degree",
	    stat_json(m->p > 0 ? 1 - (double)e->n_metrics_kept / (double)m->p : NAN));
	bad |= json_object_set_new(doc, "warnings", stat_warnings(e->n_kept, e->n_rows));
	bad |= json_object_set_new(doc, "table", select_table(m, prep, e));
	return bad;
}

/* PRESS and blocked folds of the selected model. The selection has seen the rows: still an upper
 * bound, but a lower one. */
static int
put_validation(json_t *doc, const struct nw_prepared *prep, const struct nw_elimination *e,
    struct stat_error *err)
{
	struct nw_validation v;
	struct nw_lm_options opts = { false, 0 };
	int bad = 0,
	    rc = nw_validate(&(struct nw_table){ prep->x, e->n_kept, prep->y, prep->n_rows },
		e->kept_terms, e->n_kept, 5, &opts, &v);

	if (rc != NW_OK)
		return stat_library(rc, err);
	bad |= json_object_set_new(doc, "predicted_r2", stat_json(v.predicted_r2));
	bad |= json_object_set_new(doc, "blocked_cv_r2", stat_json(v.blocked_cv_r2));
	return bad == 0 ? NW_OK : stat_fail(err, NW_ENOMEM, "out of memory");
}

static int
select_answer(
    const struct metrics *m, const struct select_request *req, json_t **out, struct stat_error *err)
{
	struct nw_prepared prep;
	struct nw_elimination e = { 0 };
	json_t *doc = NULL;
	int bad = 0, rc = metrics_complete(m, req->max_missing, req->near_zero_filter, &prep, err);

	if (rc == NW_OK)
		rc = stat_library(
		    nw_eliminate(prep.x, prep.n_used, prep.y, prep.n_rows, &req->eliminate, &e),
		    err);
	if (rc != NW_OK)
		goto out;
	doc = json_object();
	bad |= put_time(doc, m);
	bad |= put_candidates(doc, m, &prep, &e);
	if (e.status == NW_STATUS_OK) {
		bad |= put_selection(doc, m, &prep, &e);
		if ((rc = put_validation(doc, &prep, &e, err)) != NW_OK)
			goto out;
	}
	rc = stat_finish(doc, bad, out, err);
	doc = NULL;
out:
	json_decref(doc);
	nw_elimination_clear(&e);
	nw_prepared_clear(&prep);
	return rc;
}

int
stat_select_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct metrics m;
	struct select_request req = {
		.eliminate = { stat_case_number(c, "f_remove", 2), NW_QUADRATIC_NONE,
		    stat_case_bool(c, "hierarchical", false),
		    stat_case_number(c, "alias_tolerance", 0) },
		.max_missing = stat_case_number(c, "max_missing", 0.2),
	};
	int rc = metrics_of_case(c, &m, err);

	if (rc == NW_OK)
		rc = stat_quadratic_parse(
		    stat_case_text(c, "quadratic", NULL), &req.eliminate.quadratic, err);
	if (rc == NW_OK)
		rc = select_answer(&m, &req, out, err);
	metrics_clear(&m);
	return rc;
}

int
stat_eliminate_args(
    const struct stat_args *a, struct nw_eliminate_options *opts, struct stat_error *err)
{
	int rc = stat_quadratic_parse(stat_arg(a, "quadratic"), &opts->quadratic, err);

	if (rc == NW_OK)
		rc = stat_arg_number(a, "f-remove", 0, 1e300, &opts->f_remove, err);
	if (rc == NW_OK)
		rc = stat_arg_number(a, "alias-tolerance", 0, 1, &opts->alias_tolerance, err);
	opts->hierarchical = stat_arg_given(a, "hierarchical");
	return rc;
}

int
stat_select_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct metrics m;
	struct nw_reduce_options defaults =
	    stat_arg_sound(a) ? nw_reduce_better() : nw_reduce_faithful();
	struct select_request req = { defaults.eliminate, defaults.prepare.max_missing,
		defaults.prepare.near_zero_filter };
	int rc = metrics_of_args(a, &m, err);

	if (rc == NW_OK)
		rc = metrics_less_time(&m, a, err);
	if (rc == NW_OK)
		rc = stat_eliminate_args(a, &req.eliminate, err);
	if (rc == NW_OK)
		rc = select_answer(&m, &req, out, err);
	metrics_clear(&m);
	return rc;
}

const struct stat_option stat_select_options[] = {
	{ "response", "C", "column to explain" },
	{ "f-remove", "F", "terms with a smaller partial F go; ln n, --faithful 2" },
	{ "quadratic", "none|raw|centered", "squares as candidates; none" },
	{ "hierarchical", NULL, "a metric stays while its square does" },
	{ "alias-tolerance", "T", "share of a column that must be new; 0.01, --faithful 1e-7" },
	STAT_TIME_OPTIONS,
	{ NULL, NULL, NULL },
};
