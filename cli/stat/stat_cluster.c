/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds correlation and cluster: which metrics tell the same story. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_linear.h"

int
stat_missing_parse(const char *word, enum nw_missing *out, struct stat_error *err)
{
	if (word == NULL || strcmp(word, "listwise") == 0)
		return NW_OK;
	if (strcmp(word, "pairwise") != 0)
		return stat_fail(err, NW_EINVAL, "missing is listwise or pairwise");
	*out = NW_MISSING_PAIRWISE;
	return NW_OK;
}

/* --- correlation --- */
enum { CORRELATION_TOP = 20 };

static json_t *
matrix(const double *r, size_t p)
{
	json_t *rows = json_array();
	int bad = 0;

	for (size_t i = 0; i < p; i++)
		bad |= json_array_append_new(rows, stat_json_array(r + i * p, p));
	return stat_whole(rows, bad);
}

static json_t *
count_matrix(const size_t *count, size_t p)
{
	json_t *rows = json_array();
	int bad = 0;

	for (size_t i = 0; i < p; i++) {
		json_t *row = json_array();

		for (size_t j = 0; j < p; j++)
			bad |=
			    json_array_append_new(row, json_integer((json_int_t)count[i * p + j]));
		bad |= json_array_append_new(rows, row);
	}
	return stat_whole(rows, bad);
}

/* What a correlation is asked for. */
struct correlation_request {
	enum nw_missing missing;
	bool ranks, counts;
	bool matrix; /* false: the strongest pairs */
	size_t top;  /* pairs; 0 for all */
};

struct pair {
	uint32_t i, j;
	double strength;
};

/* The strongest first; equal ones in the order of the columns. */
static int
compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->strength != y->strength)
		return x->strength > y->strength ? -1 : 1;
	return x->i != y->i ? (x->i < y->i ? -1 : 1) : (x->j > y->j) - (x->j < y->j);
}

/* Rows of pairs; undefined correlations come last. NULL: no memory. */
static json_t *
pairs(const struct metrics *m, const double *r, const double *rho, const size_t *count,
    const struct correlation_request *req)
{
	size_t n = 0, all = m->p * (m->p - 1) / 2;
	struct pair *p = calloc(all + 1, sizeof(*p));
	json_t *rows = json_array(), *row;

	for (uint32_t i = 0; p != NULL && i < m->p; i++)
		for (uint32_t j = i + 1; j < m->p; j++) {
			double v = fabs(r[i * m->p + j]);

			p[n++] = (struct pair){ i, j, isnan(v) ? -1 : v };
		}
	if (p != NULL)
		qsort(p, n, sizeof(*p), compare_pairs);
	for (size_t k = 0; k < n && (req->top == 0 || k < req->top); k++) {
		size_t at = p[k].i * m->p + p[k].j;

		row = json_pack("{s:s,s:s,s:o}", "a", m->name[p[k].i], "b", m->name[p[k].j],
		    "pearson", stat_json(r[at]));
		if (req->ranks)
			json_object_set_new(row, "spearman", stat_json(rho[at]));
		if (req->counts)
			json_object_set_new(row, "rows", json_integer((json_int_t)count[at]));
		json_array_append_new(rows, row);
	}
	free(p);
	return rows;
}

static int
correlation_answer(const struct metrics *m, const struct correlation_request *req, json_t **out,
    struct stat_error *err)
{
	struct nw_prepare_options opts = { 1, req->missing, false };
	struct nw_prepared prep = { 0 };
	double *r = calloc(m->p + 1, (m->p + 1) * sizeof(*r)),
	       *rho = calloc(m->p + 1, (m->p + 1) * sizeof(*rho));
	size_t *n_pairs = calloc(m->p + 1, (m->p + 1) * sizeof(*n_pairs));
	json_t *doc = NULL;
	int rc = NW_ENOMEM, bad = 0;

	if (r != NULL && rho != NULL && n_pairs != NULL)
		rc = nw_prepare(m->x, m->p, NULL, m->n, &opts, false, &prep);
	if (rc == NW_OK)
		rc = nw_correlate_pairwise(prep.x, m->p, prep.n_rows, r, n_pairs);
	if (rc == NW_OK && req->ranks)
		rc = nw_correlate_ranks(prep.x, m->p, prep.n_rows, rho);
	if (rc != NW_OK) {
		rc = stat_library(rc, err);
		goto out;
	}
	doc = json_object();
	bad |= json_object_set_new(doc, "n", json_integer((json_int_t)prep.n_rows));
	if (!req->matrix) {
		bad |= json_object_set_new(doc, "columns", json_integer((json_int_t)m->p));
		bad |= json_object_set_new(doc, "pairs", pairs(m, r, rho, n_pairs, req));
		rc = stat_finish(doc, bad, out, err);
		goto out;
	}
	bad |= json_object_set_new(doc, "columns", stat_json_strings(m->name, m->p));
	bad |= json_object_set_new(doc, "pearson", matrix(r, m->p));
	if (req->ranks)
		bad |= json_object_set_new(doc, "spearman", matrix(rho, m->p));
	if (req->counts)
		bad |= json_object_set_new(doc, "n_pairs", count_matrix(n_pairs, m->p));
	rc = stat_finish(doc, bad, out, err);
out:
	nw_prepared_clear(&prep);
	free(r);
	free(rho);
	free(n_pairs);
	return rc;
}

static json_t *
test_json(double r, double n, double rho0, double alpha)
{
	struct nw_correlation_test t = nw_correlation_test(r, n, rho0, alpha);
	json_t *o = json_object();
	int bad = 0;

	bad |= json_object_set_new(o, "r", stat_json(r));
	bad |= json_object_set_new(o, "n", json_integer((json_int_t)n));
	bad |= json_object_set_new(o, "rho0", stat_json(rho0));
	bad |= json_object_set_new(o, "z", stat_json(t.z));
	bad |= json_object_set_new(o, "p", stat_json(t.p));
	bad |= json_object_set_new(o, "significant", json_boolean(t.significant));
	bad |= json_object_set_new(o, "r_critical", stat_json(t.r_critical));
	return stat_whole(o, bad);
}

/* A table of correlations to test: columns id, r, n, rho0. */
static int
pairs_answer(struct stat_table *t, double alpha, json_t **out, struct stat_error *err)
{
	const char *const *id = stat_table_texts(t, "id", err);
	const double *r = stat_table_numbers(t, "r", err), *n = stat_table_numbers(t, "n", err);
	const double *rho0 = stat_table_numbers(t, "rho0", err);
	json_t *doc;
	int bad = 0;

	if (id == NULL || r == NULL || n == NULL || rho0 == NULL)
		return NW_EINVAL;
	doc = json_object();
	for (size_t i = 0; i < t->n_rows; i++)
		bad |= json_object_set_new(doc, id[i], test_json(r[i], n[i], rho0[i], alpha));
	return stat_finish(doc, bad, out, err);
}

int
stat_correlation_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct stat_table *table;
	struct metrics m = { 0 };
	enum nw_missing missing = NW_MISSING_LISTWISE;
	int rc = stat_case_table(c, "pairs", &table, err);

	if (rc == NW_OK) {
		rc = pairs_answer(table, stat_case_number(c, "alpha", 0.05), out, err);
		stat_table_free(table);
		return rc;
	}
	if (rc == NW_ENOTFOUND)
		rc = stat_case_table(c, NULL, &table, err);
	if (rc == NW_OK)
		rc = metrics_init(&m, table, NULL, err);
	if (rc == NW_OK)
		rc = stat_missing_parse(stat_case_text(c, "missing", NULL), &missing, err);
	if (rc == NW_OK)
		rc = correlation_answer(
		    &m, &(struct correlation_request){ missing, true, true, true, 0 }, out, err);
	metrics_clear(&m);
	return rc;
}

int
stat_correlation_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct stat_table *table;
	struct metrics m = { 0 };
	const char *const *files;
	struct correlation_request req = { .missing = NW_MISSING_LISTWISE,
		.ranks = stat_arg_given(a, "spearman"),
		.matrix = stat_arg_is_form(a, STAT_JSON) || stat_arg_is_form(a, STAT_INDENTED),
		.top = stat_arg_is_form(a, STAT_CSV) ? 0 : CORRELATION_TOP };
	int rc = stat_arg_files(a, &files) == 1 ? NW_OK
						: stat_fail(err, NW_EINVAL, "one FILE is wanted");

	if (rc == NW_OK)
		rc = stat_missing_parse(stat_arg(a, "missing"), &req.missing, err);
	if (rc == NW_OK)
		rc = stat_arg_count(a, "top", 0, 1u << 30, &req.top, err);
	req.counts = req.missing == NW_MISSING_PAIRWISE;
	if (rc == NW_OK)
		rc = stat_table_read(files[0], &table, err);
	if (rc == NW_OK)
		rc = metrics_init(&m, table, NULL, err);
	if (rc == NW_OK)
		rc = correlation_answer(&m, &req, out, err);
	metrics_clear(&m);
	return rc;
}

/* --- cluster --- */
struct cluster_request {
	struct nw_prepare_options prepare;
	struct nw_cluster_options cluster;
};

/* {representative: number} */
static json_t *
by_representative(const struct metrics *m, const struct nw_prepared *prep,
    const struct nw_clusters *cl, const double *v, bool per_metric)
{
	json_t *o = json_object();
	int bad = 0;

	for (size_t k = 0; k < cl->n_clusters; k++)
		bad |= json_object_set_new(
		    o, m->name[prep->used[cl->rep[k]]], stat_json(v[per_metric ? cl->rep[k] : k]));
	return stat_whole(o, bad);
}

static const char *class_names[] = { "used", "missing", "zero variation", "near zero variation" };

static json_t *
cluster_table(const struct metrics *m, const struct nw_prepared *prep, const struct nw_clusters *cl,
    const double *r)
{
	json_t *a = json_array();
	size_t used = 0;
	int bad = 0;

	for (size_t j = 0; j < prep->n_metrics; j++) {
		json_t *row = json_object();
		bool in = used < prep->n_used && prep->used[used] == j;
		size_t k = in ? cl->label[used] : 0;

		bad |= json_object_set_new(row, "metric", json_string(m->name[j]));
		bad |= json_object_set_new(row, "class", json_string(class_names[prep->class[j]]));
		bad |= json_object_set_new(
		    row, "cluster", in ? json_integer((json_int_t)k) : json_null());
		bad |= json_object_set_new(row, "representative",
		    in ? json_string(m->name[prep->used[cl->rep[k]]]) : json_null());
		bad |=
		    json_object_set_new(row, "r_response", in ? stat_json(r[used]) : json_null());
		bad |= json_array_append_new(a, row);
		used += in;
	}
	return stat_whole(a, bad);
}

static json_t *
cluster_json(const struct metrics *m, const struct cluster_request *req,
    const struct nw_prepared *prep, const struct nw_correlations *c, const struct nw_clusters *cl,
    int *bad)
{
	json_t *doc = json_object();
	double critical = nw_correlation_critical(c->n_rows, req->cluster.rho0, req->cluster.alpha);

	*bad |= json_object_set_new(doc, "n", json_integer((json_int_t)prep->n_rows));
	*bad |= json_object_set_new(doc, "rho0", stat_json(req->cluster.rho0));
	*bad |= json_object_set_new(doc, "alpha", stat_json(req->cluster.alpha));
	*bad |= json_object_set_new(doc, "n_eff", json_boolean(req->cluster.n_eff));
	*bad |= json_object_set_new(doc, "r_critical", stat_json(critical));
	*bad |= json_object_set_new(doc, "missing", metrics_of_class(m, prep, NW_METRIC_MISSING));
	*bad |= json_object_set_new(
	    doc, "zero_variation", metrics_of_class(m, prep, NW_METRIC_CONSTANT));
	*bad |= json_object_set_new(
	    doc, "near_zero_variation", metrics_of_class(m, prep, NW_METRIC_RARE));
	*bad |= json_object_set_new(doc, "edges", json_integer((json_int_t)cl->n_edges));
	*bad |= json_object_set_new(doc, "clusters", metrics_clusters(m, cl, prep->used));
	*bad |=
	    json_object_set_new(doc, "representatives", metrics_representatives(m, cl, prep->used));
	*bad |= json_object_set_new(
	    doc, "rep_r_response", by_representative(m, prep, cl, c->r_response, true));
	*bad |= json_object_set_new(
	    doc, "min_abs_r", by_representative(m, prep, cl, cl->min_abs_r, false));
	*bad |= json_object_set_new(doc, "table", cluster_table(m, prep, cl, c->r_response));
	return doc;
}

static int
cluster_answer(const struct metrics *m, const struct cluster_request *req, json_t **out,
    struct stat_error *err)
{
	struct nw_prepared prep;
	struct nw_correlations c = { 0 };
	struct nw_clusters cl = { 0 };
	int bad = 0, rc = nw_prepare(m->x, m->p, m->y, m->n, &req->prepare, true, &prep);

	if (rc == NW_OK)
		rc = nw_correlations_of(&prep, req->prepare.missing, req->cluster.n_eff, &c);
	if (rc == NW_OK)
		rc = nw_cluster(&c, &req->cluster, &cl);
	rc = stat_library(rc, err);
	if (rc == NW_OK) {
		json_t *doc = cluster_json(m, req, &prep, &c, &cl, &bad);

		rc = stat_finish(doc, bad, out, err);
	}
	nw_clusters_clear(&cl);
	nw_correlations_clear(&c);
	nw_prepared_clear(&prep);
	return rc;
}

int
stat_cluster_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct metrics m;
	struct cluster_request req = {
		.prepare = { stat_case_number(c, "max_missing", 0.2), NW_MISSING_LISTWISE, false },
		.cluster = { stat_case_number(c, "rho0", 0.95), stat_case_number(c, "alpha", 0.05),
		    stat_case_bool(c, "n_eff", false) },
	};
	int rc = metrics_of_case(c, &m, err);

	if (rc == NW_OK)
		rc = stat_missing_parse(
		    stat_case_text(c, "missing", NULL), &req.prepare.missing, err);
	if (rc == NW_OK)
		rc = cluster_answer(&m, &req, out, err);
	metrics_clear(&m);
	return rc;
}

int
stat_cluster_args(const struct stat_args *a, struct nw_prepare_options *prepare,
    struct nw_cluster_options *cluster, struct stat_error *err)
{
	int rc = stat_missing_parse(stat_arg(a, "missing"), &prepare->missing, err);

	if (rc == NW_OK)
		rc = stat_arg_number(a, "rho0", 0, 1, &cluster->rho0, err);
	if (rc == NW_OK)
		rc = stat_arg_number(a, "alpha", 1e-300, 0.5, &cluster->alpha, err);
	if (rc == NW_OK)
		rc = stat_arg_number(a, "max-missing", 0, 1, &prepare->max_missing, err);
	cluster->n_eff = cluster->n_eff || stat_arg_given(a, "n-eff");
	return rc;
}

int
stat_cluster_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct metrics m;
	struct nw_reduce_options defaults =
	    stat_arg_sound(a) ? nw_reduce_better() : nw_reduce_faithful();
	struct cluster_request req = { defaults.prepare, defaults.cluster };
	int rc = metrics_of_args(a, &m, err);

	if (rc == NW_OK)
		rc = stat_cluster_args(a, &req.prepare, &req.cluster, err);
	if (rc == NW_OK)
		rc = cluster_answer(&m, &req, out, err);
	metrics_clear(&m);
	return rc;
}

const struct stat_option stat_cluster_options[] = {
	{ "response", "C", "column that representatives must follow" },
	{ "rho0", "R", "correlation to exceed; 0.95" },
	{ "alpha", "A", "error rate of one test; 0.05" },
	{ "missing", "listwise|pairwise", "what a gap costs: its row, or its pairs; listwise" },
	{ "max-missing", "F", "share of gaps a metric may have; 0.2" },
	{ "n-eff", NULL, "count autocorrelated rows as fewer" },
	{ NULL, NULL, NULL },
};

const struct stat_option stat_correlation_options[] = {
	{ "missing", "listwise|pairwise", "what a gap costs: its row, or its pairs; listwise" },
	{ "spearman", NULL, "rank correlations too" },
	{ "top", "N", "the N strongest pairs, 0 for all; 20, --csv all; --cases has a matrix" },
	{ NULL, NULL, NULL },
};
