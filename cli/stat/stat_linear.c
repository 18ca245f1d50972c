/* SPDX-License-Identifier: BSD-3-Clause */
/* lm, lasso and validate: fits of all the columns there are. And the table of the kinds about many
 * metrics. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_linear.h"
#include "narrows/special.h"

#define PERFECT 1e-14 /* 1 less R^2, by rounding alone */

/* --- lm --- */
struct lm_request {
	bool polynomial, intercept;
	size_t degree;
	double alias_tolerance;
};

/* One number of each coefficient, with the intercept first. */
static json_t *
coefficients(const struct nw_lm *lm, bool intercept, size_t offset)
{
	json_t *a = json_array();
	int bad = 0;

	if (intercept)
		bad |= json_array_append_new(
		    a, stat_json(*(const double *)((const char *)&lm->intercept + offset)));
	for (size_t j = 0; j < lm->n_terms; j++)
		bad |= json_array_append_new(
		    a, stat_json(*(const double *)((const char *)&lm->coef[j] + offset)));
	return stat_whole(a, bad);
}

static json_t *
lm_term_name(const struct metrics *m, const struct lm_request *req, size_t j)
{
	if (!req->polynomial)
		return json_string(m->name[j]);
	return j == 0 ? json_string(m->name[0]) : json_sprintf("%s^%zu", m->name[0], j + 1);
}

static json_t *
lm_names(const struct metrics *m, const struct lm_request *req, const struct nw_lm *lm,
    enum nw_term_state state, bool all)
{
	json_t *a = json_array();
	int bad = 0;

	if (all && req->intercept)
		bad |= json_array_append_new(a, json_string("(Intercept)"));
	for (size_t j = 0; j < lm->n_terms; j++)
		if (all || lm->coef[j].state == state)
			bad |= json_array_append_new(a, lm_term_name(m, req, j));
	return stat_whole(a, bad);
}

json_t *
coefficient_row(json_t *name, const struct nw_coefficient *c, size_t df)
{
	double t = c->value / c->se;
	json_t *o = json_object();
	int bad = 0;

	bad |= json_object_set_new(o, "term", name);
	bad |= json_object_set_new(o, "coefficient", stat_json(c->value));
	bad |= json_object_set_new(o, "std_error", stat_json(c->se));
	bad |= json_object_set_new(o, "t", stat_json(t));
	bad |= json_object_set_new(o, "p", stat_json(2 * nw_t_cdf(-fabs(t), (double)df)));
	bad |= json_object_set_new(o, "F", stat_json(c->f));
	return stat_whole(o, bad);
}

static json_t *
lm_table(const struct metrics *m, const struct lm_request *req, const struct nw_lm *lm)
{
	json_t *a = json_array();
	int bad = 0;

	if (req->intercept)
		bad |= json_array_append_new(
		    a, coefficient_row(json_string("(Intercept)"), &lm->intercept, lm->df));
	for (size_t j = 0; j < lm->n_terms; j++)
		bad |= json_array_append_new(
		    a, coefficient_row(lm_term_name(m, req, j), &lm->coef[j], lm->df));
	return stat_whole(a, bad);
}

/* R^2 with its guards, for all kinds with a fit. */
int
put_quality(json_t *doc, const struct nw_lm *lm)
{
	int bad = 0;

	bad |= json_object_set_new(doc, "r2", stat_json(lm->r2));
	bad |= json_object_set_new(doc, "adj_r2", stat_json(lm->adj_r2));
	bad |= json_object_set_new(doc, "sse", stat_json(lm->sse));
	bad |= json_object_set_new(doc, "residual_sd", stat_json(lm->residual_sd));
	bad |= json_object_set_new(doc, "df", json_integer((json_int_t)lm->df));
	bad |= json_object_set_new(doc, "rank", json_integer((json_int_t)lm->rank));
	return bad;
}

json_t *
stat_warnings(size_t n_terms, size_t n_rows)
{
	json_t *a = json_array();
	int bad = 0;

	if ((double)n_terms > (double)n_rows / 5)
		bad |= json_array_append_new(a,
		    json_sprintf("more terms than a fifth of the rows (%zu of %zu): R^2 flatters",
			n_terms, n_rows));
	return stat_whole(a, bad);
}

/* Adds what is wrong with numbers of a fit without any error. */
static json_t *
lm_warnings(const struct nw_lm *lm)
{
	json_t *a = stat_warnings(lm->rank, lm->n_rows);

	if (a != NULL && lm->status == NW_STATUS_OK && lm->r2 > 1 - PERFECT)
		json_array_append_new(
		    a, json_string("the fit is perfect: standard errors, t, p and F are rounding"));
	return a;
}

static int
lm_answer(
    const struct metrics *m, const struct lm_request *req, json_t **out, struct stat_error *err)
{
	struct nw_prepared prep;
	struct nw_lm lm = { 0 };
	struct nw_lm_options opts = { !req->intercept, req->alias_tolerance };
	json_t *doc;
	int rc, bad = 0;

	if (req->polynomial && m->p != 1)
		return stat_fail(
		    err, NW_EINVAL, "%s: a polynomial needs one predictor", m->table->file);
	rc = metrics_complete(m, 1, false, &prep, err);
	if (rc == NW_OK && req->polynomial)
		rc = stat_library(nw_lm_fit_polynomial(prep.x[0], prep.y, prep.n_rows,
				      (unsigned)req->degree, !req->intercept, &lm),
		    err);
	else if (rc == NW_OK)
		rc = stat_library(
		    nw_lm_fit(prep.x, NULL, prep.n_used, prep.y, prep.n_rows, &opts, &lm), err);
	if (rc == NW_OK && lm.status == NW_STATUS_OK && isinf(lm.sse))
		rc = stat_fail(err, NW_EINVAL,
		    "%s: the values are too large for a fit: divide the columns by a power of ten",
		    m->table->file);
	if (rc == NW_OK) {
		doc = json_object();
		bad |= json_object_set_new(doc, "status", json_string(nw_status_text(lm.status)));
		bad |= json_object_set_new(doc, "n", json_integer((json_int_t)lm.n_rows));
		bad |= json_object_set_new(doc, "names", lm_names(m, req, &lm, NW_TERM_OK, true));
		bad |= json_object_set_new(doc, "coefficients",
		    coefficients(&lm, req->intercept, offsetof(struct nw_coefficient, value)));
		bad |= json_object_set_new(doc, "std_errors",
		    coefficients(&lm, req->intercept, offsetof(struct nw_coefficient, se)));
		bad |= json_object_set_new(doc, "F_partial",
		    coefficients(&lm, req->intercept, offsetof(struct nw_coefficient, f)));
		bad |= put_quality(doc, &lm);
		bad |= json_object_set_new(
		    doc, "constant", lm_names(m, req, &lm, NW_TERM_CONSTANT, false));
		bad |= json_object_set_new(
		    doc, "aliased", lm_names(m, req, &lm, NW_TERM_ALIASED, false));
		bad |= json_object_set_new(doc, "warnings", lm_warnings(&lm));
		bad |= json_object_set_new(doc, "table", lm_table(m, req, &lm));
		rc = stat_finish(doc, bad, out, err);
	}
	nw_lm_clear(&lm);
	nw_prepared_clear(&prep);
	return rc;
}

int
stat_lm_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct metrics m;
	struct lm_request req = { .intercept = stat_case_bool(c, "intercept", true) };
	double degree = stat_case_number(c, "degree", 1);
	int rc = metrics_of_case(c, &m, err);

	req.polynomial = strcmp(stat_case_text(c, "model", "linear"), "polynomial") == 0;
	if (rc == NW_OK && !(degree >= 1 && degree <= NW_POLY_MAX_DEGREE))
		rc = stat_fail(err, NW_EINVAL, "degree is 1 to %d", NW_POLY_MAX_DEGREE);
	else if (rc == NW_OK)
		req.degree = (size_t)degree;
	if (rc == NW_OK)
		rc = lm_answer(&m, &req, out, err);
	metrics_clear(&m);
	return rc;
}

static int
choose_predictors(struct metrics *m, const char *text, struct stat_error *err)
{
	size_t n;
	char **list = stat_list(text, &n);
	int rc;

	if (list == NULL)
		return stat_fail(err, NW_ENOMEM, "out of memory");
	rc = metrics_choose(m, (const char *const *)list, n, err);
	free(list);
	return rc;
}

int
stat_lm_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct metrics m;
	struct lm_request req = { .degree = 1, .intercept = !stat_arg_given(a, "no-intercept") };
	int rc = metrics_of_args(a, &m, err);

	req.polynomial = stat_arg_given(a, "degree");
	req.alias_tolerance = stat_arg_sound(a) ? 0.01 : NW_ALIAS_TOLERANCE;
	if (rc == NW_OK)
		rc = stat_arg_count(a, "degree", 1, NW_POLY_MAX_DEGREE, &req.degree, err);
	if (rc == NW_OK)
		rc = stat_arg_number(a, "alias-tolerance", 0, 1, &req.alias_tolerance, err);
	if (rc == NW_OK && stat_arg(a, "predictors") != NULL)
		rc = choose_predictors(&m, stat_arg(a, "predictors"), err);
	if (rc == NW_OK)
		rc = lm_answer(&m, &req, out, err);
	metrics_clear(&m);
	return rc;
}

const struct stat_option stat_lm_options[] = {
	{ "response", "C", "column to explain" },
	{ "predictors", "A,B,..", "columns to explain it with; all others" },
	{ "degree", "D", "polynomial of one predictor, 1 to 20" },
	{ "no-intercept", NULL, "through the origin" },
	{ "alias-tolerance", "T", "share of a column that must be new; 0.01, --faithful 1e-7" },
	{ NULL, NULL, NULL },
};

/* --- lasso --- */
/* Round numbers from above lambda_max down to its ten-thousandth, so that paths of different files
 * can be laid side by side; the last is 0, least squares, where least squares is defined. */
static int
round_path(double lambda_max, bool with_zero, double **out, size_t *n)
{
	static const double steps[] = { 9, 8, 7, 6, 5, 4, 3, 2.5, 2, 1.5, 1 };
	enum { DECADES = 6, STEPS = sizeof(steps) / sizeof(*steps) };
	int top = lambda_max > 0 && isfinite(lambda_max) ? (int)floor(log10(lambda_max)) + 1 : 0;
	double *v = calloc(DECADES * STEPS + 1, sizeof(*v));
	char text[32];

	if (v == NULL)
		return NW_ENOMEM;
	*n = 0;
	for (int d = 0; d < DECADES; d++)
		for (size_t i = 0; i < STEPS; i++) {
			(void)snprintf(text, sizeof(text), "%ge%d", steps[i], top - d);
			v[(*n)++] = strtod(text, NULL);
		}
	if (with_zero)
		v[(*n)++] = 0;
	*out = v;
	return NW_OK;
}

static json_t *
by_metric(const struct metrics *m, const size_t *used, size_t p, const double *v)
{
	json_t *o = json_object();
	int bad = 0;

	for (size_t j = 0; j < p; j++)
		bad |= json_object_set_new(o, m->name[used[j]], stat_json(v[j]));
	return stat_whole(o, bad);
}

static json_t *
lasso_json(
    const struct metrics *m, const struct nw_prepared *prep, const struct nw_lasso *l, int *bad)
{
	json_t *doc = json_object();
	char name[32];

	*bad |= json_object_set_new(doc, "status", json_string(nw_status_text(l->status)));
	*bad |= json_object_set_new(doc, "n", json_integer((json_int_t)l->n_rows));
	*bad |= json_object_set_new(doc, "lambda_max", stat_json(l->lambda_max));
	for (size_t i = 0; i < l->n_fits && l->status != NW_STATUS_INSUFFICIENT; i++) {
		const struct nw_lasso_fit *f = &l->fit[i];
		json_t *o = json_object();

		*bad |= json_object_set_new(
		    o, "standardized", by_metric(m, prep->used, l->n_columns, f->standardized));
		*bad |=
		    json_object_set_new(o, "coef", by_metric(m, prep->used, l->n_columns, f->coef));
		*bad |= json_object_set_new(o, "intercept", stat_json(f->intercept));
		*bad |= json_object_set_new(o, "r2", stat_json(f->r2));
		*bad |= json_object_set_new(o, "nonzero", json_integer((json_int_t)f->n_nonzero));
		*bad |= json_object_set_new(o, "converged", json_boolean(f->converged));
		*bad |=
		    json_object_set_new(doc, stat_number_name(f->lambda, name, sizeof(name)), o);
	}
	return doc;
}

/* `lambda` NULL: round numbers. */
static int
lasso_answer(const struct metrics *m, const double *lambda, size_t n_lambda, json_t **out,
    struct stat_error *err)
{
	struct nw_prepared prep;
	struct nw_lasso l = { 0 };
	double *path = NULL;
	int bad = 0, rc = metrics_complete(m, 1, false, &prep, err);

	if (rc == NW_OK && lambda == NULL) {
		rc = stat_library(
		    nw_lasso_fit(prep.x, prep.n_used, prep.y, prep.n_rows, NULL, 0, &l), err);
		if (rc == NW_OK)
			rc = stat_library(round_path(l.lambda_max, prep.n_rows > prep.n_used + 1,
					      &path, &n_lambda),
			    err);
		nw_lasso_clear(&l);
	}
	if (rc == NW_OK)
		rc = stat_library(nw_lasso_fit(prep.x, prep.n_used, prep.y, prep.n_rows,
				      lambda != NULL ? lambda : path, n_lambda, &l),
		    err);
	if (rc == NW_OK) {
		json_t *doc = lasso_json(m, &prep, &l, &bad);

		rc = stat_finish(doc, bad, out, err);
	}
	free(path);
	nw_lasso_clear(&l);
	nw_prepared_clear(&prep);
	return rc;
}

/* "lambda": a number, a list of them, or a text such as --lambda takes. NULL and 0 if there is
 * none. */
static int
lambda_of_case(const struct stat_case *c, double **out, size_t *n, struct stat_error *err)
{
	const json_t *v = json_object_get(c->params, "lambda");

	*out = NULL;
	*n = 0;
	if (v == NULL)
		v = json_object_get(c->params, "lambdas");
	if (v == NULL)
		return NW_OK;
	if (json_is_string(v))
		return stat_library(stat_numbers(json_string_value(v), out, n), err);
	*n = json_is_array(v) ? json_array_size(v) : 1;
	if ((*out = calloc(*n + 1, sizeof(**out))) == NULL)
		return stat_library(NW_ENOMEM, err);
	for (size_t i = 0; i < *n; i++)
		(*out)[i] = json_number_value(json_is_array(v) ? json_array_get(v, i) : v);
	return NW_OK;
}

int
stat_lasso_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct metrics m;
	double *lambda = NULL;
	size_t n = 0;
	int rc = metrics_of_case(c, &m, err);

	if (rc == NW_OK)
		rc = lambda_of_case(c, &lambda, &n, err);
	if (rc == NW_OK)
		rc = lasso_answer(&m, lambda, n, out, err);
	free(lambda);
	metrics_clear(&m);
	return rc;
}

int
stat_lasso_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct metrics m;
	double *lambda = NULL;
	size_t n = 0;
	int rc = metrics_of_args(a, &m, err);

	if (rc == NW_OK && stat_arg(a, "lambda") != NULL &&
	    stat_numbers(stat_arg(a, "lambda"), &lambda, &n) != NW_OK)
		rc = stat_fail(err, NW_EINVAL, "--lambda is a number, or numbers with commas");
	if (rc == NW_OK)
		rc = lasso_answer(&m, lambda, n, out, err);
	free(lambda);
	metrics_clear(&m);
	return rc;
}

const struct stat_option stat_lasso_options[] = {
	{ "response", "C", "column to explain" },
	{ "lambda", "L", "penalty, or several with commas; a path of round numbers" },
	{ NULL, NULL, NULL },
};

/* --- validate --- */
static int
validate_answer(const struct metrics *m, size_t folds, double alias_tolerance, json_t **out,
    struct stat_error *err)
{
	struct nw_prepared prep;
	struct nw_validation v;
	struct nw_lm_options opts = { false, alias_tolerance };
	int bad = 0, rc = metrics_complete(m, 1, false, &prep, err);

	if (rc == NW_OK)
		rc = stat_library(
		    nw_validate(&(struct nw_table){ prep.x, prep.n_used, prep.y, prep.n_rows },
			NULL, prep.n_used, folds, &opts, &v),
		    err);
	if (rc == NW_OK) {
		json_t *doc = json_object();

		bad |= json_object_set_new(doc, "status", json_string(nw_status_text(v.status)));
		bad |= json_object_set_new(doc, "n", json_integer((json_int_t)v.n_rows));
		bad |= json_object_set_new(doc, "rank", json_integer((json_int_t)v.rank));
		bad |= json_object_set_new(doc, "df", json_integer((json_int_t)v.df));
		bad |= json_object_set_new(doc, "r2", stat_json(v.r2));
		bad |= json_object_set_new(doc, "adj_r2", stat_json(v.adj_r2));
		bad |= json_object_set_new(doc, "press", stat_json(v.press));
		bad |= json_object_set_new(doc, "predicted_r2", stat_json(v.predicted_r2));
		bad |= json_object_set_new(doc, "folds", json_integer((json_int_t)v.folds));
		bad |= json_object_set_new(doc, "blocked_cv_r2", stat_json(v.blocked_cv_r2));
		bad |= json_object_set_new(doc, "warnings", stat_warnings(v.rank, v.n_rows));
		rc = stat_finish(doc, bad, out, err);
	}
	nw_prepared_clear(&prep);
	return rc;
}

int
stat_validate_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct metrics m;
	double folds = stat_case_number(c, "folds", 5);
	int rc = metrics_of_case(c, &m, err);

	if (rc == NW_OK && !(folds >= 2 && folds <= 1e6))
		rc = stat_fail(err, NW_EINVAL, "folds is 2 or more");
	if (rc == NW_OK)
		rc = validate_answer(&m, (size_t)folds, 0, out, err);
	metrics_clear(&m);
	return rc;
}

int
stat_validate_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct metrics m;
	size_t folds = 5;
	int rc = metrics_of_args(a, &m, err);

	if (rc == NW_OK)
		rc = stat_arg_count(a, "folds", 2, 1000000, &folds, err);
	if (rc == NW_OK && stat_arg(a, "predictors") != NULL)
		rc = choose_predictors(&m, stat_arg(a, "predictors"), err);
	if (rc == NW_OK)
		rc = validate_answer(&m, folds, stat_arg_sound(a) ? 0.01 : 0, out, err);
	metrics_clear(&m);
	return rc;
}

const struct stat_option stat_validate_options[] = {
	{ "response", "C", "column to explain" },
	{ "predictors", "A,B,..", "columns to explain it with; all others" },
	{ "folds", "K", "contiguous blocks of rows, each predicted from the others; 5" },
	{ NULL, NULL, NULL },
};
