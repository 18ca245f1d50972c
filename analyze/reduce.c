/* SPDX-License-Identifier: BSD-3-Clause */
/* Training rows, the scan of thresholds, the choice of a threshold. See narrows/reduce.h. */
#include "analyze/reduce_in.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct nw_reduce_options
nw_reduce_faithful(void)
{
	return (struct nw_reduce_options){
		.prepare = { 0.2, NW_MISSING_LISTWISE, false },
		.cluster = { 0.95, 0.05, false },
		.eliminate = { 2, NW_QUADRATIC_NONE, false, NW_ALIAS_TOLERANCE },
		.n_random = 20,
		.seed = 1,
	};
}

struct nw_reduce_options
nw_reduce_better(void)
{
	static const double thresholds[] = { 0.5, 0.6, 0.7, 0.8, 0.9, 0.95 };
	struct nw_reduce_options o = nw_reduce_faithful();

	o.prepare.near_zero_filter = true;
	o.cluster.n_eff = true;
	o.eliminate.f_remove = NAN;
	o.eliminate.alias_tolerance = 0.01;
	o.n_thresholds = sizeof(thresholds) / sizeof(*thresholds);
	o.threshold = thresholds;
	o.folds = 5;
	o.screen = true;
	o.strict = true;
	o.choose_threshold = true;
	return o;
}

/* --- training rows --- */
struct training {
	size_t n;
	double *store; /* p + 1 columns of n */
	const double **x;
	double *y;
};

static void
training_clear(struct training *t)
{
	free(t->store);
	free((void *)t->x);
}

static int
training_init(struct training *t, const struct reduce_input *in)
{
	struct nw_chunk all = { 0, in->t->n_rows, NW_CHUNK_TRAIN };
	const struct nw_chunk *chunk = in->n_chunks > 0 ? in->chunk : &all;
	size_t n_chunks = in->n_chunks > 0 ? in->n_chunks : 1, row = 0;

	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < n_chunks; i++) {
		if (chunk[i].first_row > chunk[i].end_row || chunk[i].end_row > in->t->n_rows)
			return NW_EINVAL;
		if (chunk[i].role == NW_CHUNK_TRAIN)
			t->n += chunk[i].end_row - chunk[i].first_row;
	}
	t->store = calloc(in->t->n_columns + 1, (t->n + 1) * sizeof(*t->store));
	t->x = calloc(in->t->n_columns + 1, sizeof(*t->x));
	if (t->store == NULL || t->x == NULL)
		return NW_ENOMEM;
	t->y = t->store + in->t->n_columns * t->n;
	for (size_t j = 0; j < in->t->n_columns; j++)
		t->x[j] = t->store + j * t->n;
	for (size_t i = 0; i < n_chunks; i++) {
		size_t first = chunk[i].first_row, count = chunk[i].end_row - first;

		if (chunk[i].role != NW_CHUNK_TRAIN)
			continue;
		for (size_t j = 0; j <= in->t->n_columns; j++)
			memcpy(t->store + j * t->n + row,
			    (j < in->t->n_columns ? in->t->x[j] : in->t->y) + first,
			    count * sizeof(*t->store));
		row += count;
	}
	return NW_OK;
}

static double
reduction_degree(const struct nw_elimination *e, size_t n_metrics)
{
	return n_metrics > 0 ? 1 - (double)e->n_metrics_kept / (double)n_metrics : NAN;
}

static struct nw_scan_point
summarise(const struct selection *s, double threshold, size_t n_metrics)
{
	const struct nw_elimination *e = &s->elimination;
	struct nw_scan_point point = { threshold, s->clusters.n_clusters, s->clusters.n_edges,
		s->in.n, e->status, e->n_metrics_kept, e->n_kept, NAN, NAN, NAN, NAN,
		s->out_of_sample_r2 };

	if (e->status == NW_STATUS_OK) {
		point.r2 = e->lm.r2;
		point.adj_r2 = e->lm.adj_r2;
		point.full_r2 = e->full_r2;
		point.reduction_degree = reduction_degree(e, n_metrics);
	}
	return point;
}

/* --- the scan --- */
/* The earlier scan point with as many edges, hence with the same clusters and the same selection;
 * NULL without such a point. */
static const struct nw_scan_point *
same_edges(const struct nw_reduction *r, size_t n_edges)
{
	for (size_t i = 0; i < r->n_scan; i++)
		if (r->scan[i].n_edges == n_edges)
			return &r->scan[i];
	return NULL;
}

static int
scan_point(const struct nw_correlations *c, const struct nw_reduce_options *opts, double threshold,
    struct nw_reduction *r, struct strengths *known)
{
	const struct nw_scan_point *twin;
	struct selection s;
	int rc = selection_cluster(&s, c, opts, threshold);

	if (rc == NW_OK && (twin = same_edges(r, s.clusters.n_edges)) != NULL) {
		r->scan[r->n_scan] = *twin;
		r->scan[r->n_scan++].threshold = threshold;
	} else if (rc == NW_OK) {
		rc = selection_eliminate(&s, &r->prepared, opts, NAN, known);
		if (rc == NW_OK)
			r->scan[r->n_scan++] = summarise(&s, threshold, r->n_metrics);
	}
	selection_clear(&s);
	return rc;
}

/* Best out-of-sample R^2; of equals the smaller selection, then the first. rho0 if there is
 * none. */
static double
choose(const struct nw_reduction *r, double rho0)
{
	const struct nw_scan_point *best = NULL;

	for (size_t i = 0; i < r->n_scan; i++) {
		const struct nw_scan_point *p = &r->scan[i];

		if (isnan(p->out_of_sample_r2))
			continue;
		if (best == NULL || p->out_of_sample_r2 > best->out_of_sample_r2 ||
		    (p->out_of_sample_r2 == best->out_of_sample_r2 &&
			p->n_selected < best->n_selected))
			best = p;
	}
	return best != NULL ? best->threshold : rho0;
}

/* r of the candidates with the row number. */
static int
find_drift(const struct selection *s, double *drift)
{
	double *row = calloc(s->n_rows + 1, sizeof(*row));
	int rc;

	if (row == NULL)
		return NW_ENOMEM;
	for (size_t i = 0; i < s->n_rows; i++)
		row[i] = (double)i;
	rc = nw_correlate_with(s->in.x, s->in.n, row, s->n_rows, drift);
	free(row);
	return rc;
}

/* The selection's parts move to the result. */
static int
take(struct selection *s, struct nw_reduction *r)
{
	size_t k = s->in.n;
	int rc = NW_ENOMEM;

	r->candidate = calloc(k + 1, sizeof(*r->candidate));
	r->drift = calloc(k + 1, sizeof(*r->drift));
	if (r->candidate != NULL && r->drift != NULL)
		rc = find_drift(s, r->drift);
	for (size_t i = 0; rc == NW_OK && i < k; i++)
		r->candidate[i] = r->prepared.used[s->clusters.rep[s->in.index[i]]];
	r->n_screened_out = s->clusters.n_clusters - k;
	r->clusters = s->clusters;
	r->elimination = s->elimination;
	r->out_of_sample_r2 = s->out_of_sample_r2;
	r->reduction_degree = reduction_degree(&r->elimination, r->n_metrics);
	r->too_many_terms = (double)r->elimination.n_kept > (double)s->n_rows / 5;
	memset(&s->clusters, 0, sizeof(s->clusters));
	memset(&s->elimination, 0, sizeof(s->elimination));
	return rc;
}

static int
scan_and_select(const struct nw_reduce_options *opts, struct nw_reduction *r)
{
	struct nw_correlations c = { 0 };
	struct selection s = { 0 };
	struct strengths known;
	const struct nw_scan_point *twin;
	int rc = strengths_init(&known, r->prepared.n_used, opts->folds);

	if (rc == NW_OK)
		rc = nw_correlations_of(
		    &r->prepared, opts->prepare.missing, opts->cluster.n_eff, &c);
	for (size_t i = 0; rc == NW_OK && i < opts->n_thresholds; i++)
		rc = scan_point(&c, opts, opts->threshold[i], r, &known);
	r->threshold = opts->choose_threshold ? choose(r, opts->cluster.rho0) : opts->cluster.rho0;
	if (rc == NW_OK)
		rc = selection_cluster(&s, &c, opts, r->threshold);
	if (rc == NW_OK) {
		twin = same_edges(r, s.clusters.n_edges);
		rc = selection_eliminate(
		    &s, &r->prepared, opts, twin != NULL ? twin->out_of_sample_r2 : NAN, &known);
	}
	if (rc == NW_OK)
		rc = take(&s, r);
	r->r_response = c.r_response;
	c.r_response = NULL;
	selection_clear(&s);
	nw_correlations_clear(&c);
	free(known.r);
	return rc;
}

int
nw_reduce(const struct nw_table *table, const struct nw_chunk *chunk, size_t n_chunks,
    const struct nw_reduce_options *opts, struct nw_reduction *out)
{
	struct reduce_input in = { table, chunk, n_chunks, opts };
	struct training t;
	int rc;

	memset(out, 0, sizeof(*out));
	out->n_metrics = table->n_columns;
	out->reduction_degree = out->out_of_sample_r2 = out->threshold = NAN;
	rc = training_init(&t, &in);
	if (rc == NW_OK && (out->scan = calloc(opts->n_thresholds + 1, sizeof(*out->scan))) == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK)
		rc = nw_prepare(
		    t.x, table->n_columns, t.y, t.n, &opts->prepare, true, &out->prepared);
	if (rc == NW_OK)
		rc = scan_and_select(opts, out);
	if (rc == NW_OK)
		rc = reduce_verify(&in, out);
	training_clear(&t);
	return rc;
}

void
nw_reduction_clear(struct nw_reduction *r)
{
	reduce_verify_clear(r);
	nw_prepared_clear(&r->prepared);
	nw_clusters_clear(&r->clusters);
	nw_elimination_clear(&r->elimination);
	free(r->scan);
	free(r->candidate);
	free(r->drift);
	free(r->r_response);
	memset(r, 0, sizeof(*r));
}
