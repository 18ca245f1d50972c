/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reduce: the whole reduction of a file, with the scan of thresholds and the verification on other
 * chunks of time.
 *
 * Files beside the table: chunks (CSV label,first_row,end_row,role), MAIN (metric names or shell
 * patterns, a JSON array or one a line) and RAND (a JSON array of arrays of names).
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_linear.h"

#define ALL_THRESHOLDS "0, 0.05 .. 1"

/* Arguments of nw_reduce, with the memory behind the arguments. */
struct request {
	struct metrics m;
	struct nw_reduce_options opts;
	double *thresholds;
	struct stat_table *chunk_table;
	struct nw_chunk *chunk;
	const char *const *label;
	size_t n_chunks;
	size_t *main_set;
	struct nw_metric_set *random;
	size_t **random_set;
};

static void
request_clear(struct request *r)
{
	metrics_clear(&r->m);
	free(r->thresholds);
	stat_table_free(r->chunk_table);
	free(r->chunk);
	free(r->main_set);
	for (size_t i = 0; r->random_set != NULL && r->random_set[i] != NULL; i++)
		free(r->random_set[i]);
	free(r->random_set);
	free(r->random);
}

static int
no_memory(struct stat_error *err)
{
	return stat_fail(err, NW_ENOMEM, "out of memory");
}

/* --- thresholds --- */
static int
set_thresholds(struct request *r, const char *text, struct stat_error *err)
{
	int rc = stat_numbers(text, &r->thresholds, &r->opts.n_thresholds);

	if (rc != NW_OK)
		return stat_fail(
		    err, rc, "thresholds are numbers with commas, or \"" ALL_THRESHOLDS "\"");
	r->opts.threshold = r->thresholds;
	return NW_OK;
}

/* --- chunks --- */
static bool
is_listed(const char *label, char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(label, list[i]) == 0)
			return true;
	return false;
}

static enum nw_chunk_role
role_of(const char *role)
{
	if (strcmp(role, "train") == 0)
		return NW_CHUNK_TRAIN;
	return *role == '\0' || strcmp(role, "verify") == 0 ? NW_CHUNK_VERIFY : NW_CHUNK_IGNORE;
}

/* `train`: labels of the training chunks, whatever the chunks' role; with n 0 the role decides, and
 * without roles the first chunk trains. */
static int
set_chunks(struct request *r, struct stat_table *t, char *const *train, size_t n_train,
    struct stat_error *err)
{
	const double *first = stat_table_numbers(t, "first_row", err),
		     *end = stat_table_numbers(t, "end_row", err);
	const char *const *role = NULL;

	r->chunk_table = t;
	if (first == NULL || end == NULL || (r->label = stat_table_texts(t, "label", err)) == NULL)
		return NW_EINVAL;
	if (stat_table_find(t, "role") >= 0 && (role = stat_table_texts(t, "role", err)) == NULL)
		return NW_EINVAL;
	if ((r->chunk = calloc(t->n_rows + 1, sizeof(*r->chunk))) == NULL)
		return no_memory(err);
	for (size_t i = 0; i < t->n_rows; i++) {
		struct nw_chunk *c = &r->chunk[i];

		if (!(first[i] >= 0 && first[i] <= end[i] && end[i] <= (double)r->m.n))
			return stat_fail(err, NW_EINVAL, "%s:%" PRIu32 ": rows %g to %g of %zu",
			    t->file, t->row_line[i], first[i], end[i], r->m.n);
		*c = (struct nw_chunk){ (size_t)first[i], (size_t)end[i],
			role != NULL ? role_of(role[i])
			    : i == 0 ? NW_CHUNK_TRAIN
				     : NW_CHUNK_VERIFY };
		if (n_train > 0 && is_listed(r->label[i], train, n_train))
			c->role = NW_CHUNK_TRAIN;
		else if (n_train > 0 && c->role == NW_CHUNK_TRAIN)
			c->role = NW_CHUNK_VERIFY;
	}
	r->n_chunks = t->n_rows;
	for (size_t i = 0; i < n_train; i++) {
		size_t j = 0;

		while (j < t->n_rows && strcmp(r->label[j], train[i]) != 0)
			j++;
		if (j == t->n_rows)
			return stat_fail(err, NW_EINVAL, "%s: no chunk \"%s\"", t->file, train[i]);
	}
	return NW_OK;
}

/* --- MAIN and RAND --- */
/* All metrics matched by any pattern, in input order. */
static int
set_main(struct request *r, const json_t *patterns, struct stat_error *err)
{
	size_t n = 0;

	if (!json_is_array(patterns))
		return stat_fail(err, NW_EINVAL, "main metrics are an array of names or patterns");
	if ((r->main_set = calloc(r->m.p + 1, sizeof(*r->main_set))) == NULL)
		return no_memory(err);
	for (size_t j = 0; j < r->m.p; j++)
		for (size_t i = 0; i < json_array_size(patterns); i++) {
			const char *pattern = json_string_value(json_array_get(patterns, i));

			if (pattern != NULL &&
			    (strcmp(pattern, r->m.name[j]) == 0 ||
				fnmatch(pattern, r->m.name[j], 0) == 0)) {
				r->main_set[n++] = j;
				break;
			}
		}
	if (n == 0)
		return stat_fail(err, NW_EINVAL, "no metric is one of the main metrics");
	r->opts.main = (struct nw_metric_set){ n, r->main_set };
	return NW_OK;
}

static int
set_random(struct request *r, const json_t *sets, struct stat_error *err)
{
	size_t n = json_array_size(sets);

	if (n == 0)
		return stat_fail(err, NW_EINVAL, "random sets are an array of arrays of names");
	r->random = calloc(n + 1, sizeof(*r->random));
	r->random_set = calloc(n + 1, sizeof(*r->random_set));
	if (r->random == NULL || r->random_set == NULL)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const json_t *names = json_array_get(sets, i);
		size_t k = json_array_size(names);

		if ((r->random_set[i] = calloc(k + 1, sizeof(**r->random_set))) == NULL)
			return no_memory(err);
		for (size_t j = 0; j < k; j++) {
			const char *name = json_string_value(json_array_get(names, j));
			size_t metric = name != NULL ? metrics_find(&r->m, name) : SIZE_MAX;

			if (metric == SIZE_MAX)
				return stat_fail(err, NW_EINVAL, "random set %zu: no metric \"%s\"",
				    i, name != NULL ? name : "");
			r->random_set[i][j] = metric;
		}
		r->random[i] = (struct nw_metric_set){ k, r->random_set[i] };
	}
	r->opts.random = r->random;
	r->opts.n_random = n;
	return NW_OK;
}

/* A JSON array, or lines as an array of strings. */
static int
list_file(const char *path, json_t **out, struct stat_error *err)
{
	char *bytes, *line, *rest;
	size_t n;
	json_error_t why;
	int rc = stat_file_read(path, &bytes, &n, err);

	if (rc != NW_OK)
		return rc;
	if (bytes[strspn(bytes, " \t\r\n")] == '[') {
		if ((*out = json_loadb(bytes, n, 0, &why)) == NULL)
			rc = stat_fail(
			    err, NW_EINVAL, "%s:%d:%d: %s", path, why.line, why.column, why.text);
		free(bytes);
		return rc;
	}
	if ((*out = json_array()) == NULL)
		rc = no_memory(err);
	for (rest = bytes; rc == NW_OK && (line = strsep(&rest, "\r\n")) != NULL;)
		if (*line != '\0' && json_array_append_new(*out, json_string(line)) != 0)
			rc = stat_fail(err, NW_EINVAL, "%s: not UTF-8", path);
	if (rc != NW_OK)
		json_decref(*out);
	free(bytes);
	return rc;
}

/* --- the answer --- */
static json_t *
scan_json(const struct nw_reduction *r, const struct nw_reduce_options *opts, size_t n_constant)
{
	json_t *all = json_object();
	char name[32];
	int bad = 0;

	for (size_t i = 0; i < r->n_scan; i++) {
		const struct nw_scan_point *p = &r->scan[i];
		bool ok = p->status == NW_STATUS_OK;
		json_t *o = json_object();

		bad |= json_object_set_new(o, "clusters", json_integer((json_int_t)p->n_clusters));
		bad |=
		    json_object_set_new(o, "zero_variation", json_integer((json_int_t)n_constant));
		bad |= json_object_set_new(o, "edges", json_integer((json_int_t)p->n_edges));
		bad |=
		    json_object_set_new(o, "candidates", json_integer((json_int_t)p->n_candidates));
		bad |= json_object_set_new(o, "status", json_string(nw_status_text(p->status)));
		bad |= json_object_set_new(
		    o, "selected", ok ? json_integer((json_int_t)p->n_selected) : json_null());
		bad |= json_object_set_new(
		    o, "terms", ok ? json_integer((json_int_t)p->n_terms) : json_null());
		bad |= json_object_set_new(o, "r2", stat_json(p->r2));
		bad |= json_object_set_new(o, "adj_r2", stat_json(p->adj_r2));
		bad |= json_object_set_new(o, "reduction_degree", stat_json(p->reduction_degree));
		bad |= json_object_set_new(o, "full_r2", stat_json(p->full_r2));
		if (opts->folds >= 2)
			bad |= json_object_set_new(
			    o, "out_of_sample_r2", stat_json(p->out_of_sample_r2));
		bad |=
		    json_object_set_new(all, stat_number_name(p->threshold, name, sizeof(name)), o);
	}
	return stat_whole(all, bad);
}

/* Kept metrics with a strong correlation to the row number: such metrics may only tell the time. */
static json_t *
drifting(const struct metrics *m, const struct nw_reduction *r)
{
	json_t *o = json_object();
	int bad = 0;

	for (size_t i = 0; i < r->elimination.n_metrics; i++)
		if (r->elimination.metric_kept[i] && fabs(r->drift[i]) > 0.9)
			bad |= json_object_set_new(
			    o, m->name[r->candidate[i]], stat_json(r->drift[i]));
	return stat_whole(o, bad);
}

static json_t *
selection_json(const struct metrics *m, const struct nw_reduction *r)
{
	const struct nw_elimination *e = &r->elimination;
	const size_t *used = r->prepared.used, *metric = r->candidate;
	json_t *o = json_object();
	int bad = 0;

	bad |= json_object_set_new(o, "threshold", stat_json(r->threshold));
	bad |= json_object_set_new(o, "status", json_string(nw_status_text(e->status)));
	bad |= json_object_set_new(o, "f_remove", stat_json(e->f_remove));
	bad |=
	    json_object_set_new(o, "missing", metrics_of_class(m, &r->prepared, NW_METRIC_MISSING));
	bad |= json_object_set_new(
	    o, "zero_variation", metrics_of_class(m, &r->prepared, NW_METRIC_CONSTANT));
	bad |= json_object_set_new(
	    o, "near_zero_variation", metrics_of_class(m, &r->prepared, NW_METRIC_RARE));
	bad |= json_object_set_new(o, "clusters", metrics_clusters(m, &r->clusters, used));
	bad |= json_object_set_new(
	    o, "representatives", metrics_representatives(m, &r->clusters, used));
	bad |= json_object_set_new(
	    o, "min_abs_r", stat_json_array(r->clusters.min_abs_r, r->clusters.n_clusters));
	bad |= json_object_set_new(o, "screened_out", json_integer((json_int_t)r->n_screened_out));
	bad |=
	    json_object_set_new(o, "constant", term_names_of_state(m, e, metric, NW_TERM_CONSTANT));
	bad |=
	    json_object_set_new(o, "aliased", term_names_of_state(m, e, metric, NW_TERM_ALIASED));
	bad |= json_object_set_new(o, "df", json_integer((json_int_t)e->full_df));
	bad |= json_object_set_new(o, "rank", json_integer((json_int_t)e->rank));
	if (e->status != NW_STATUS_OK)
		return stat_whole(o, bad);
	bad |=
	    json_object_set_new(o, "removed", term_names(m, e, metric, e->removed, e->n_removed));
	bad |= json_object_set_new(o, "removed_F", stat_json_array(e->removed_f, e->n_removed));
	bad |= json_object_set_new(o, "terms", term_names(m, e, metric, e->kept, e->n_kept));
	bad |= json_object_set_new(o, "metrics", kept_metrics(m, e, metric));
	bad |= put_quality(o, &e->lm);
	bad |= json_object_set_new(o, "full_r2", stat_json(e->full_r2));
	bad |= json_object_set_new(o, "out_of_sample_r2", stat_json(r->out_of_sample_r2));
	bad |= json_object_set_new(o, "reduction_degree", stat_json(r->reduction_degree));
	bad |= json_object_set_new(o, "coef", kept_values(m, e, metric, false));
	bad |= json_object_set_new(o, "F", kept_values(m, e, metric, true));
	bad |= json_object_set_new(o, "drifting", drifting(m, r));
	bad |= json_object_set_new(o, "warnings", stat_warnings(e->n_kept, e->n_rows));
	return stat_whole(o, bad);
}

static json_t *
refit_json(const struct nw_refit *f)
{
	json_t *o = json_object();
	int bad = 0;

	bad |= json_object_set_new(o, "status", json_string(nw_status_text(f->status)));
	bad |= json_object_set_new(o, "r2", stat_json(f->r2));
	bad |= json_object_set_new(o, "adj_r2", stat_json(f->adj_r2));
	bad |= json_object_set_new(o, "rank", json_integer((json_int_t)f->rank));
	bad |= json_object_set_new(o, "n", json_integer((json_int_t)f->n_rows));
	return stat_whole(o, bad);
}

static json_t *
verification_json(const struct request *req, const struct nw_reduction *r)
{
	json_t *all = json_object();
	int bad = 0;

	for (size_t i = 0; i < r->n_checks; i++) {
		const struct nw_chunk_check *c = &r->check[i];
		json_t *o = json_object();

		bad |= json_object_set_new(o, "sdr", refit_json(&c->selected));
		if (req->opts.main.n > 0)
			bad |= json_object_set_new(o, "main", refit_json(&c->main));
		bad |=
		    json_object_set_new(o, "rand_r2", stat_json_array(c->random_r2, r->n_random));
		bad |= json_object_set_new(o, "rand_mean_r2", stat_json(c->random_mean_r2));
		bad |=
		    json_object_set_new(o, "sdr_out_of_sample_r2", stat_json(c->out_of_sample_r2));
		bad |= json_object_set_new(all, req->label[c->chunk], o);
	}
	return stat_whole(all, bad);
}

static json_t *
summary_json(const struct nw_reduction *r)
{
	json_t *o = json_object();
	int bad = 0;

	bad |= json_object_set_new(o, "sdr_mean_r2", stat_json(r->mean.r2));
	bad |= json_object_set_new(o, "sdr_mean_adj_r2", stat_json(r->mean.adj_r2));
	bad |= json_object_set_new(o, "main_mean_r2", stat_json(r->mean.main_r2));
	bad |= json_object_set_new(o, "rand_mean_r2", stat_json(r->mean.random_r2));
	bad |= json_object_set_new(
	    o, "sdr_mean_out_of_sample_r2", stat_json(r->mean.out_of_sample_r2));
	return stat_whole(o, bad);
}

/* The seed and the sets of a draw, so that a reader can draw again. */
static int
put_random(json_t *doc, const struct request *req, const struct nw_reduction *r)
{
	json_t *sets = json_array();
	int bad = 0;

	for (size_t i = 0; i < r->n_random; i++)
		bad |= json_array_append_new(
		    sets, metrics_names(&req->m, r->random[i].metric, r->random[i].n));
	bad |= json_object_set_new(doc, "rand_seed",
	    req->opts.random == NULL ? json_integer((json_int_t)req->opts.seed) : json_null());
	return bad | json_object_set_new(doc, "rand_subsets", sets);
}

static int
reduce_answer(struct request *req, json_t **out, struct stat_error *err)
{
	struct nw_reduction r;
	size_t n_constant = 0;
	json_t *doc;
	int bad = 0, rc;

	rc = stat_library(nw_reduce(&(struct nw_table){ req->m.x, req->m.p, req->m.y, req->m.n },
			      req->chunk, req->n_chunks, &req->opts, &r),
	    err);
	if (rc != NW_OK) {
		nw_reduction_clear(&r);
		return rc;
	}
	for (size_t j = 0; j < r.prepared.n_metrics; j++)
		n_constant += r.prepared.class[j] == NW_METRIC_CONSTANT;
	doc = json_object();
	bad |= json_object_set_new(doc, "total_metrics", json_integer((json_int_t)r.n_metrics));
	bad |=
	    json_object_set_new(doc, "training_rows", json_integer((json_int_t)r.prepared.n_rows));
	bad |= put_time(doc, &req->m);
	bad |= json_object_set_new(doc, "scan", scan_json(&r, &req->opts, n_constant));
	bad |= json_object_set_new(doc, "selection", selection_json(&req->m, &r));
	bad |= json_object_set_new(doc, "verification", verification_json(req, &r));
	bad |= json_object_set_new(doc, "summary", summary_json(&r));
	bad |= put_random(doc, req, &r);
	nw_reduction_clear(&r);
	return stat_finish(doc, bad, out, err);
}

/* --- from a case --- */
/* Stem (file name up to the first dot) of the first CSV except the list of chunks. */
static bool
data_stem(const struct stat_case *c, char *stem, size_t size)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)c->inputs, key, value)
	{
		const char *base = strrchr(key, '/') != NULL ? strrchr(key, '/') + 1 : key;

		if (strstr(base, ".csv") != NULL && strncmp(base, "chunks.", 7) != 0) {
			(void)snprintf(stem, size, "%.*s", (int)strcspn(base, "."), base);
			return true;
		}
	}
	return false;
}

static int
thresholds_of_case(const struct stat_case *c, struct request *r, struct stat_error *err)
{
	const json_t *v = json_object_get(c->params, "thresholds");

	if (!json_is_array(v))
		return set_thresholds(r, stat_case_text(c, "thresholds", ALL_THRESHOLDS), err);
	if ((r->thresholds = calloc(json_array_size(v) + 1, sizeof(*r->thresholds))) == NULL)
		return no_memory(err);
	for (size_t i = 0; i < json_array_size(v); i++)
		r->thresholds[i] = json_number_value(json_array_get(v, i));
	r->opts.n_thresholds = json_array_size(v);
	r->opts.threshold = r->thresholds;
	return NW_OK;
}

static int
chunks_of_case(const struct stat_case *c, struct request *r, struct stat_error *err)
{
	const json_t *v = json_object_get(c->params, "train");
	size_t n = json_array_size(v);
	char **train = calloc(n + 1, sizeof(*train));
	struct stat_table *table;
	int rc = train != NULL ? stat_case_table(c, "chunks", &table, err) : no_memory(err);

	for (size_t i = 0; rc == NW_OK && i < n; i++) {
		const char *label = json_string_value(json_array_get(v, i));

		train[i] = (char *)(label != NULL ? label : "");
	}
	if (rc == NW_OK)
		rc = set_chunks(r, table, train, n, err);
	free(train);
	return rc == NW_ENOTFOUND ? NW_OK : rc;
}

/* An optional input; absent is no error. */
static int
list_of_case(const struct stat_case *c, const char *stem, struct request *r,
    int (*set)(struct request *, const json_t *, struct stat_error *), struct stat_error *err)
{
	json_t *list;
	int rc = stat_case_json(c, stem, &list, err);

	if (rc != NW_OK)
		return rc == NW_ENOTFOUND ? NW_OK : rc;
	rc = set(r, list, err);
	json_decref(list);
	return rc;
}

static void
options_of_case(const struct stat_case *c, struct nw_reduce_options *o)
{
	o->prepare.max_missing = stat_case_number(c, "max_missing", o->prepare.max_missing);
	o->cluster.rho0 = stat_case_number(c, "rho0", o->cluster.rho0);
	o->cluster.alpha = stat_case_number(c, "alpha", o->cluster.alpha);
	o->cluster.n_eff = stat_case_bool(c, "n_eff", o->cluster.n_eff);
	o->eliminate.f_remove = stat_case_number(c, "f_remove", o->eliminate.f_remove);
	o->eliminate.hierarchical = stat_case_bool(c, "hierarchical", o->eliminate.hierarchical);
	o->eliminate.alias_tolerance =
	    stat_case_number(c, "alias_tolerance", o->eliminate.alias_tolerance);
}

int
stat_reduce_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	struct request r = { .opts = nw_reduce_faithful() };
	struct stat_table *table;
	char stem[256];
	int rc;

	options_of_case(c, &r.opts);
	if (!data_stem(c, stem, sizeof(stem)))
		return stat_fail(err, NW_EINVAL, "no table among the inputs");
	rc = stat_case_table(c, stem, &table, err);
	if (rc == NW_OK)
		rc = metrics_init(&r.m, table, stat_case_text(c, "response", "response"), err);
	if (rc == NW_OK)
		rc = stat_missing_parse(
		    stat_case_text(c, "missing", NULL), &r.opts.prepare.missing, err);
	if (rc == NW_OK)
		rc = stat_quadratic_parse(
		    stat_case_text(c, "quadratic", NULL), &r.opts.eliminate.quadratic, err);
	if (rc == NW_OK)
		rc = thresholds_of_case(c, &r, err);
	if (rc == NW_OK)
		rc = chunks_of_case(c, &r, err);
	if (rc == NW_OK)
		rc = list_of_case(c, "main", &r, set_main, err);
	if (rc == NW_OK)
		rc = list_of_case(c, "rand_subsets", &r, set_random, err);
	if (rc == NW_OK)
		rc = reduce_answer(&r, out, err);
	request_clear(&r);
	return rc;
}

/* --- from the command line --- */
static int
list_of_args(const struct stat_args *a, const char *name, struct request *r,
    int (*set)(struct request *, const json_t *, struct stat_error *), struct stat_error *err)
{
	json_t *list;
	int rc;

	if (stat_arg(a, name) == NULL)
		return NW_OK;
	if ((rc = list_file(stat_arg(a, name), &list, err)) != NW_OK)
		return rc;
	rc = set(r, list, err);
	json_decref(list);
	return rc;
}

static int
chunks_of_args(const struct stat_args *a, struct request *r, struct stat_error *err)
{
	const char *text = stat_arg(a, "train") != NULL ? stat_arg(a, "train") : "";
	struct stat_table *table;
	size_t n;
	char **train;
	int rc;

	if (stat_arg(a, "chunks") == NULL)
		return *text == '\0'
		    ? NW_OK
		    : stat_fail(err, NW_EINVAL, "--train names chunks: --chunks FILE is needed");
	if ((train = stat_list(text, &n)) == NULL)
		return no_memory(err);
	rc = stat_table_read(stat_arg(a, "chunks"), &table, err);
	if (rc == NW_OK)
		rc = set_chunks(r, table, train, n, err);
	free(train);
	return rc;
}

static int
thresholds_of_args(const struct stat_args *a, struct request *r, struct stat_error *err)
{
	if (stat_arg(a, "scan") != NULL)
		return set_thresholds(r, stat_arg(a, "scan"), err);
	if (stat_arg_given(a, "thresholds"))
		return set_thresholds(r, ALL_THRESHOLDS, err);
	return NW_OK;
}

static int
numbers_of_args(const struct stat_args *a, struct request *r, struct stat_error *err)
{
	size_t seed = (size_t)r->opts.seed;
	int rc = stat_arg_count(a, "folds", 0, 1000000, &r->opts.folds, err);

	if (rc == NW_OK)
		rc = stat_arg_count(a, "draws", 0, 100000, &r->opts.n_random, err);
	if (rc == NW_OK)
		rc = stat_arg_count(a, "seed", 0, INT64_MAX, &seed, err);
	r->opts.seed = seed;
	/* A threshold from the user is not replaced by the scan's choice. */
	if (stat_arg_given(a, "rho0"))
		r->opts.choose_threshold = false;
	return rc;
}

int
stat_reduce_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct request r = { .opts =
				 stat_arg_sound(a) ? nw_reduce_better() : nw_reduce_faithful() };
	int rc = metrics_of_args(a, &r.m, err);

	if (rc == NW_OK)
		rc = metrics_less_time(&r.m, a, err);
	if (rc == NW_OK)
		rc = stat_cluster_args(a, &r.opts.prepare, &r.opts.cluster, err);
	if (rc == NW_OK)
		rc = stat_eliminate_args(a, &r.opts.eliminate, err);
	if (rc == NW_OK)
		rc = numbers_of_args(a, &r, err);
	if (rc == NW_OK)
		rc = thresholds_of_args(a, &r, err);
	if (rc == NW_OK)
		rc = chunks_of_args(a, &r, err);
	if (rc == NW_OK)
		rc = list_of_args(a, "main", &r, set_main, err);
	if (rc == NW_OK)
		rc = list_of_args(a, "rand", &r, set_random, err);
	if (rc == NW_OK)
		rc = reduce_answer(&r, out, err);
	request_clear(&r);
	return rc;
}

const struct stat_option stat_reduce_options[] = {
	{ "response", "C", "column to explain" },
	{ "rho0", "R", "threshold of the clusters; the best of the scan, --faithful 0.95" },
	{ "alpha", "A", "error rate of one test; 0.05" },
	{ "n-eff", NULL, "count autocorrelated rows as fewer; --faithful does not otherwise" },
	{ "missing", "listwise|pairwise", "what a gap costs in correlations; listwise" },
	{ "max-missing", "F", "share of gaps a metric may have; 0.2" },
	{ "f-remove", "F", "terms with a smaller partial F go; ln n, --faithful 2" },
	{ "quadratic", "none|raw|centered", "squares as candidates; none" },
	{ "hierarchical", NULL, "a metric stays while its square does" },
	{ "alias-tolerance", "T", "share of a column that must be new; 0.01, --faithful 1e-7" },
	STAT_TIME_OPTIONS,
	{ "chunks", "FILE", "CSV label,first_row,end_row,role: chunks of time; all rows train" },
	{ "train", "LIST", "labels of the chunks to train on; those with the role train" },
	{ "thresholds", NULL, "scan the thresholds " ALL_THRESHOLDS },
	{ "scan", "LIST", "scan these thresholds" },
	{ "folds", "K", "blocked out-of-sample R2 of each threshold; 5, --faithful 0" },
	{ "main", "FILE", "names or patterns of the usual metrics, to compare with" },
	{ "rand", "FILE", "JSON sets of metrics to compare with; drawn" },
	{ "draws", "N", "how many sets to draw; 20" },
	{ "seed", "S", "for drawing them; 1" },
	{ NULL, NULL, NULL },
};
