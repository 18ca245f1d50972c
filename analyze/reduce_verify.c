/* SPDX-License-Identifier: BSD-3-Clause */
/* The worth of a selection on other chunks of time, beside the baselines. See narrows/reduce.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "narrows/splitmix.h"

#include "analyze/reduce_in.h"

/* --- random sets --- */
/* Draws the first k of a shuffle of 0..p-1, and stops there. */
static void
draw_set(uint64_t *state, size_t *deck, size_t p, size_t k, size_t *out)
{
	for (size_t i = 0; i < k; i++) {
		size_t j = i + (size_t)(nw_splitmix(state) % (p - i)), card = deck[j];

		deck[j] = deck[i];
		out[i] = deck[i] = card;
	}
}

static int
make_random_sets(const struct reduce_input *in, struct nw_reduction *out)
{
	size_t n = in->opts->n_random, k = out->elimination.n_metrics_kept, *deck = NULL, *cards;
	uint64_t state = in->opts->seed;
	int rc = NW_ENOMEM;

	out->random = calloc(n + 1, sizeof(*out->random));
	out->store = cards = calloc(n + 1, (k + 1) * sizeof(*cards));
	deck = calloc(in->t->n_columns + 1, sizeof(*deck));
	if (out->random == NULL || cards == NULL || deck == NULL)
		goto out;
	for (size_t i = 0; i < in->t->n_columns; i++)
		deck[i] = i;
	for (size_t i = 0; i < n; i++) {
		if (in->opts->random != NULL)
			out->random[i] = in->opts->random[i];
		else {
			draw_set(&state, deck, in->t->n_columns, k, cards + i * k);
			out->random[i] = (struct nw_metric_set){ k, cards + i * k };
		}
	}
	out->n_random = n;
	rc = NW_OK;
out:
	free(deck);
	return rc;
}

/* --- a set of metrics on a chunk --- */
static int
prepare_chunk(const struct reduce_input *in, const struct nw_metric_set *set,
    const struct nw_chunk *chunk, struct nw_prepared *out)
{
	static const struct nw_prepare_options complete_rows = { 1, NW_MISSING_LISTWISE, false };
	const double **x = calloc(set->n + 1, sizeof(*x));
	int rc = NW_OK;

	memset(out, 0, sizeof(*out));
	if (x == NULL)
		return NW_ENOMEM;
	for (size_t j = 0; rc == NW_OK && j < set->n; j++) {
		if (set->metric[j] >= in->t->n_columns)
			rc = NW_EINVAL;
		else
			x[j] = in->t->x[set->metric[j]] + chunk->first_row;
	}
	if (rc == NW_OK)
		rc = nw_prepare(x, set->n, in->t->y + chunk->first_row,
		    chunk->end_row - chunk->first_row, &complete_rows, false, out);
	free((void *)x);
	return rc;
}

/* x, then x^2 unless the mode is linear: raw squares, which span the same space as centred
 * squares. */
static int
refit(const struct reduce_input *in, const struct nw_metric_set *set, const struct nw_chunk *chunk,
    struct nw_refit *out)
{
	size_t k = set->n, n_terms = in->opts->eliminate.quadratic == NW_QUADRATIC_NONE ? k : 2 * k;
	struct nw_lm_options lm_opts = { false, in->opts->eliminate.alias_tolerance };
	struct nw_term *terms = calloc(n_terms + 1, sizeof(*terms));
	struct nw_prepared prep;
	struct nw_lm lm = { 0 };
	int rc = prepare_chunk(in, set, chunk, &prep);

	if (rc == NW_OK && terms == NULL)
		rc = NW_ENOMEM;
	for (size_t j = 0; rc == NW_OK && j < n_terms; j++)
		terms[j] = (struct nw_term){ j % k, j >= k, 0 };
	if (rc == NW_OK)
		rc = nw_lm_fit(prep.x, terms, n_terms, prep.y, prep.n_rows, &lm_opts, &lm);
	if (rc == NW_OK)
		*out = (struct nw_refit){ lm.status, lm.n_rows, lm.rank, lm.r2, lm.adj_r2 };
	nw_lm_clear(&lm);
	nw_prepared_clear(&prep);
	free(terms);
	return rc;
}

/* The selected metrics, and the kept terms in their numbering. */
struct selected {
	struct nw_metric_set set;
	size_t *metric;
	struct nw_term *terms;
};

static int
selected_init(struct selected *s, const struct nw_reduction *r)
{
	const struct nw_elimination *e = &r->elimination;
	size_t *place = calloc(e->n_metrics + 1, sizeof(*place));
	int rc = NW_OK;

	memset(s, 0, sizeof(*s));
	s->metric = calloc(e->n_metrics + 1, sizeof(*s->metric));
	s->terms = calloc(e->n_kept + 1, sizeof(*s->terms));
	if (place == NULL || s->metric == NULL || s->terms == NULL) {
		rc = NW_ENOMEM;
		goto out;
	}
	for (size_t j = 0; j < e->n_metrics; j++)
		if (e->metric_kept[j]) {
			place[j] = s->set.n;
			s->metric[s->set.n++] = r->candidate[j];
		}
	s->set.metric = s->metric;
	for (size_t j = 0; j < e->n_kept; j++) {
		s->terms[j] = e->kept_terms[j];
		s->terms[j].column = place[s->terms[j].column];
	}
out:
	free(place);
	return rc;
}

static void
selected_clear(struct selected *s)
{
	free(s->metric);
	free(s->terms);
}

/* 1 - sum (y - prediction)^2 / sum (y - mean)^2 over the chunk, with the coefficients of the
 * training rows. */
static int
apply(const struct reduce_input *in, const struct nw_lm *lm, const struct selected *s,
    const struct nw_chunk *chunk, double *r2)
{
	struct nw_prepared prep;
	double sse = 0, ssyy = 0, mean = 0;
	int rc = prepare_chunk(in, &s->set, chunk, &prep);

	*r2 = NAN;
	if (rc != NW_OK)
		goto out;
	for (size_t i = 0; i < prep.n_rows; i++)
		mean += prep.y[i] / (double)prep.n_rows;
	for (size_t i = 0; i < prep.n_rows; i++) {
		double error = nw_lm_residual(lm, s->terms, prep.x, prep.y, i),
		       d = prep.y[i] - mean;

		sse += error * error;
		ssyy += d * d;
	}
	if (ssyy > 0)
		*r2 = 1 - sse / ssyy;
out:
	nw_prepared_clear(&prep);
	return rc;
}

/* --- all chunks --- */
/* Mean of the defined values; NaN of none. */
struct mean {
	double sum;
	size_t n;
};

static void
mean_add(struct mean *m, double v)
{
	if (isnan(v))
		return;
	m->sum += v;
	m->n++;
}

static double
mean_get(const struct mean *m)
{
	return m->n > 0 ? m->sum / (double)m->n : NAN;
}

static int
check_chunk(const struct reduce_input *in, const struct selected *s, const struct nw_reduction *r,
    struct nw_chunk_check *check)
{
	const struct nw_chunk *chunk = &in->chunk[check->chunk];
	struct nw_refit fit = { NW_STATUS_INSUFFICIENT, 0, 0, NAN, NAN };
	struct mean random = { 0 };
	int rc = refit(in, &s->set, chunk, &check->selected);

	check->main = (struct nw_refit){ NW_STATUS_INSUFFICIENT, 0, 0, NAN, NAN };
	if (rc == NW_OK && in->opts->main.n > 0)
		rc = refit(in, &in->opts->main, chunk, &check->main);
	for (size_t i = 0; rc == NW_OK && i < r->n_random; i++) {
		rc = refit(in, &r->random[i], chunk, &fit);
		check->random_r2[i] = fit.r2;
		mean_add(&random, fit.r2);
	}
	check->random_mean_r2 = mean_get(&random);
	return rc == NW_OK ? apply(in, &r->elimination.lm, s, chunk, &check->out_of_sample_r2) : rc;
}

static void
average(struct nw_reduction *r)
{
	struct mean r2 = { 0 }, adj = { 0 }, main_r2 = { 0 }, random = { 0 }, out = { 0 };

	for (size_t i = 0; i < r->n_checks; i++) {
		mean_add(&r2, r->check[i].selected.r2);
		mean_add(&adj, r->check[i].selected.adj_r2);
		mean_add(&main_r2, r->check[i].main.r2);
		mean_add(&random, r->check[i].random_mean_r2);
		mean_add(&out, r->check[i].out_of_sample_r2);
	}
	r->mean.r2 = mean_get(&r2);
	r->mean.adj_r2 = mean_get(&adj);
	r->mean.main_r2 = mean_get(&main_r2);
	r->mean.random_r2 = mean_get(&random);
	r->mean.out_of_sample_r2 = mean_get(&out);
}

int
reduce_verify(const struct reduce_input *in, struct nw_reduction *out)
{
	struct selected s = { 0 };
	int rc = NW_OK;

	average(out);
	if (out->elimination.status != NW_STATUS_OK)
		return NW_OK;
	if ((rc = make_random_sets(in, out)) != NW_OK || (rc = selected_init(&s, out)) != NW_OK)
		goto out;
	if ((out->check = calloc(in->n_chunks + 1, sizeof(*out->check))) == NULL) {
		rc = NW_ENOMEM;
		goto out;
	}
	for (size_t i = 0; rc == NW_OK && i < in->n_chunks; i++) {
		struct nw_chunk_check *check = &out->check[out->n_checks];

		if (in->chunk[i].role != NW_CHUNK_VERIFY)
			continue;
		check->chunk = i;
		out->n_checks++;
		check->random_r2 = calloc(out->n_random + 1, sizeof(*check->random_r2));
		rc = check->random_r2 != NULL ? check_chunk(in, &s, out, check) : NW_ENOMEM;
	}
	average(out);
out:
	selected_clear(&s);
	return rc;
}

void
reduce_verify_clear(struct nw_reduction *out)
{
	for (size_t i = 0; i < out->n_checks; i++)
		free(out->check[i].random_r2);
	free(out->check);
	free(out->random);
	free(out->store);
}
