/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole reduction on data whose truth is known: what is found, what is honest about it, and
 * where the faithful defaults fall over while the better ones stand. */
#include "tests/check.h"
#include "narrows/reduce.h"
#include "tests/noise.h"

enum {
	CHUNK = 240,
	CHUNKS = 4,
	N = CHUNK * CHUNKS,
	FAMILIES = 10,
	MEMBERS = 3,
	LOOSE = 20,
	FLAT = 3,
	P = FAMILIES * MEMBERS + LOOSE + FLAT
};

static double x[P][N], y[N];
static const double *columns[P];
static const struct nw_table table = { columns, P, y, N };
static struct nw_chunk chunks[CHUNKS];

/* Families of near copies, loose metrics, constants; families 0, 1, 2 and loose metric 0 drive the
 * response. */
static void
make(void)
{
	for (size_t j = 0; j < P; j++)
		columns[j] = x[j];
	for (size_t i = 0; i < N; i++) {
		y[i] = 100 + noise_normal();
		for (size_t f = 0; f < FAMILIES; f++) {
			double v = noise_normal();

			for (size_t m = 0; m < MEMBERS; m++)
				x[f * MEMBERS + m][i] = 1e6 * (double)(f + 1) + 1e3 * v +
				    100 * noise_normal() * (double)m;
			if (f < 3)
				y[i] += v;
		}
		for (size_t l = 0; l < LOOSE; l++)
			x[FAMILIES * MEMBERS + l][i] = noise_normal();
		y[i] += x[FAMILIES * MEMBERS][i];
		for (size_t l = 0; l < FLAT; l++)
			x[P - FLAT + l][i] = 0.1;
	}
	for (size_t i = 0; i < CHUNKS; i++)
		chunks[i] = (struct nw_chunk){ i * CHUNK, (i + 1) * CHUNK,
			i == 0 ? NW_CHUNK_TRAIN : NW_CHUNK_VERIFY };
}

static bool
keeps(const struct nw_reduction *r, size_t metric)
{
	for (size_t i = 0; i < r->elimination.n_metrics; i++)
		if (r->candidate[i] == metric)
			return r->elimination.metric_kept[i];
	return false;
}

static bool
keeps_family(const struct nw_reduction *r, size_t family)
{
	for (size_t m = 0; m < MEMBERS; m++)
		if (keeps(r, family * MEMBERS + m))
			return true;
	return false;
}

static void
test_truth(void)
{
	struct nw_reduce_options opts = nw_reduce_faithful();
	struct nw_metric_set main_set;
	static const size_t usual[] = { 0, 3, 6, 30 };
	struct nw_reduction r;
	struct nw_lm lm;
	struct nw_lm_options plain = { false, 0 };
	struct nw_term terms[4] = { { 0 } };

	main_set = (struct nw_metric_set){ 4, usual };
	opts.main = main_set;
	make();
	CHECK_INT(nw_reduce(&table, chunks, CHUNKS, &opts, &r), NW_OK);
	CHECK_INT(r.elimination.status, NW_STATUS_OK);
	CHECK_INT(r.n_metrics, P);
	CHECK_INT(r.prepared.n_rows, CHUNK);
	CHECK_INT(r.prepared.n_used, P - FLAT);
	CHECK_INT(r.clusters.n_clusters, FAMILIES + LOOSE);
	for (size_t f = 0; f < 3; f++)
		CHECK(keeps_family(&r, f));
	CHECK(keeps(&r, FAMILIES * MEMBERS));
	CHECK_NEAR(r.reduction_degree, 1 - (double)r.elimination.n_metrics_kept / P, 1e-15, 0);
	CHECK(!r.too_many_terms);
	CHECK_INT(r.n_checks, CHUNKS - 1);
	for (size_t j = 0; j < 4; j++)
		terms[j].column = usual[j];
	for (size_t c = 0; c < r.n_checks; c++) {
		const struct nw_chunk_check *k = &r.check[c];
		const double *part[P];

		for (size_t j = 0; j < P; j++)
			part[j] = columns[j] + (c + 1) * CHUNK;
		CHECK_INT(k->chunk, c + 1);
		CHECK_INT(
		    nw_lm_fit(part, terms, 4, y + (c + 1) * CHUNK, CHUNK, &plain, &lm), NW_OK);
		CHECK_NEAR(k->main.r2, lm.r2, 1e-12, 0);
		CHECK_INT(k->main.rank, 4);
		nw_lm_clear(&lm);
		CHECK(k->selected.r2 > 0.7 && k->out_of_sample_r2 > 0.7 &&
		    k->out_of_sample_r2 <= k->selected.r2 + 1e-12);
		CHECK(k->random_mean_r2 < 0.5);
	}
	CHECK(r.mean.random_r2 < r.mean.main_r2 && r.mean.out_of_sample_r2 <= r.mean.r2);
	nw_reduction_clear(&r);
}

/* A scan point is what a reduction at that threshold gives, copied or not. */
static void
test_scan(void)
{
	static const double thresholds[] = { 0, 0.3, 0.5, 0.9, 0.95, 0.99, 1 };
	struct nw_reduce_options opts = nw_reduce_faithful();
	struct nw_reduction all, one;

	opts.n_thresholds = sizeof(thresholds) / sizeof(*thresholds);
	opts.threshold = thresholds;
	opts.folds = 4;
	opts.n_random = 0;
	make();
	CHECK_INT(nw_reduce(&table, chunks, CHUNKS, &opts, &all), NW_OK);
	CHECK_INT(all.n_scan, opts.n_thresholds);
	for (size_t i = 0; i < all.n_scan; i++) {
		const struct nw_scan_point *p = &all.scan[i];
		struct nw_reduce_options single = opts;

		single.n_thresholds = 0;
		single.cluster.rho0 = thresholds[i];
		CHECK_INT(nw_reduce(&table, chunks, CHUNKS, &single, &one), NW_OK);
		CHECK(p->threshold == thresholds[i]);
		CHECK_INT(p->n_clusters, one.clusters.n_clusters);
		CHECK_INT(p->n_edges, one.clusters.n_edges);
		CHECK_INT(p->n_selected, one.elimination.n_metrics_kept);
		CHECK(p->r2 == one.elimination.lm.r2);
		CHECK(p->out_of_sample_r2 == one.out_of_sample_r2);
		nw_reduction_clear(&one);
	}
	CHECK_INT(all.scan[6].n_clusters, P - FLAT); /* nothing exceeds 1 */
	nw_reduction_clear(&all);
}

/* A total rounded to two places is not aliased at 1e-7 and no pair shows it: huge opposite
 * coefficients fit the rounding, and fall apart on the next chunk, where the scale of the parts has
 * changed. */
static void
test_better(void)
{
	struct nw_reduce_options faithful = nw_reduce_faithful(), better = nw_reduce_better();
	struct nw_reduction plain, good;

	make();
	for (size_t i = 0; i < N; i++) {
		double grown = i < CHUNK ? 1 : 40;

		x[30][i] = 50 + 20 * grown * noise_uniform();
		x[31][i] = 50 + 20 * grown * noise_uniform();
		x[32][i] = rint(100 * (x[30][i] + x[31][i])) / 100;
		y[i] = 100 + 1e-3 * noise_normal() + (x[0][i] - 1e6) / 1e6 +
		    0.3 * (x[32][i] - x[30][i] - x[31][i]);
		x[33][i] = i < 3 ? (double)i : 0;
	}
	CHECK_INT(nw_reduce(&table, chunks, CHUNKS, &faithful, &plain), NW_OK);
	CHECK_INT(nw_reduce(&table, chunks, CHUNKS, &better, &good), NW_OK);
	CHECK(keeps(&plain, 30) && keeps(&plain, 31) && keeps(&plain, 32));
	CHECK(!keeps(&good, 32));
	CHECK(keeps_family(&good, 0));
	CHECK_INT(good.prepared.class[33], NW_METRIC_RARE);
	CHECK_INT(plain.prepared.class[33], NW_METRIC_USED);
	CHECK(good.elimination.n_metrics_kept < plain.elimination.n_metrics_kept);
	/* the charge of one metric grows with the metrics to choose from */
	CHECK(good.elimination.f_remove > log(CHUNK));
	CHECK(!isnan(good.out_of_sample_r2) && isnan(plain.out_of_sample_r2));
	for (size_t i = 0; i < good.n_scan; i++)
		CHECK(!(good.scan[i].out_of_sample_r2 > good.out_of_sample_r2));
	nw_reduction_clear(&plain);
	nw_reduction_clear(&good);
}

/* Half of the metrics noise, half as many terms as rows: R^2 praises, the numbers beside it do
 * not. */
static void
test_honesty(void)
{
	struct nw_reduce_options opts = nw_reduce_faithful();
	struct nw_reduction r, again;
	struct nw_chunk short_chunks[2] = { { 0, 80, NW_CHUNK_TRAIN },
		{ 80, 160, NW_CHUNK_VERIFY } };

	make();
	noise_fill(y, N);
	opts.eliminate.f_remove = 0;
	CHECK_INT(nw_reduce(&table, short_chunks, 2, &opts, &r), NW_OK);
	CHECK_INT(r.elimination.n_kept, r.clusters.n_clusters);
	CHECK(r.too_many_terms);
	CHECK_NEAR(r.check[0].selected.r2, (double)(FAMILIES + LOOSE) / 79, 0, 0.2);
	CHECK_NEAR(r.check[0].selected.adj_r2, 0, 0, 0.3);
	CHECK(r.check[0].out_of_sample_r2 < 0);
	CHECK_INT(r.n_random, 20);
	for (size_t i = 0; i < r.n_random; i++) { /* distinct metrics in every draw */
		CHECK_INT(r.random[i].n, r.elimination.n_kept);
		for (size_t a = 0; a < r.random[i].n; a++)
			for (size_t b = 0; b < a; b++)
				CHECK(r.random[i].metric[a] != r.random[i].metric[b] &&
				    r.random[i].metric[a] < P);
	}
	CHECK_INT(nw_reduce(&table, short_chunks, 2, &opts, &again), NW_OK);
	CHECK(memcmp(r.check[0].random_r2, again.check[0].random_r2, 20 * sizeof(double)) == 0);
	nw_reduction_clear(&again);
	opts.seed = 2;
	CHECK_INT(nw_reduce(&table, short_chunks, 2, &opts, &again), NW_OK);
	CHECK(r.check[0].random_r2[0] != again.check[0].random_r2[0]);
	nw_reduction_clear(&again);
	opts.random = r.random;
	/* sets drawn elsewhere */
	CHECK_INT(nw_reduce(&table, short_chunks, 2, &opts, &again), NW_OK);
	CHECK(r.check[0].random_r2[7] == again.check[0].random_r2[7]);
	nw_reduction_clear(&again);
	nw_reduction_clear(&r);
}

static void
test_quadratic(void)
{
	struct nw_reduce_options opts = nw_reduce_faithful();
	struct nw_reduction r;

	make();
	for (size_t i = 0; i < N; i++)
		y[i] = x[40][i] * x[40][i] + 0.5 * x[30][i] + 0.3 * noise_normal();
	opts.eliminate.quadratic = NW_QUADRATIC_RAW;
	opts.eliminate.f_remove = NAN;
	CHECK_INT(nw_reduce(&table, chunks, CHUNKS, &opts, &r), NW_OK);
	CHECK(keeps(&r, 40) && keeps(&r, 30));
	CHECK(r.check[0].selected.r2 > 0.85 && r.check[0].out_of_sample_r2 > 0.8);
	/* x and x^2 of every kept metric */
	CHECK_INT(r.check[0].selected.rank, 2 * r.elimination.n_metrics_kept);
	nw_reduction_clear(&r);
}

/* Few rows: the faithful way refuses, screening finds the strong driver, and noise still predicts
 * nothing, because every fold screens for itself (screened once on all rows, noise would look
 * good). */
static void
test_screen(void)
{
	enum { ROWS = 44, TRIES = 20 };
	struct nw_reduce_options faithful = nw_reduce_faithful(), better = nw_reduce_better();
	struct nw_chunk chunk = { 0, ROWS, NW_CHUNK_TRAIN };
	struct nw_reduction r;
	double noise_r2 = 0;

	better.cluster.n_eff = false;
	make();
	for (size_t i = 0; i < N; i++)
		y[i] = 3 * x[35][i] + noise_normal();
	faithful.cluster.rho0 = 1;
	CHECK_INT(nw_reduce(&table, &chunk, 1, &faithful, &r), NW_OK);
	CHECK_INT(r.elimination.status, NW_STATUS_UNDERDETERMINED);
	CHECK_INT(r.n_screened_out, 0);
	nw_reduction_clear(&r);
	CHECK_INT(nw_reduce(&table, &chunk, 1, &better, &r), NW_OK);
	CHECK_INT(r.elimination.status, NW_STATUS_OK);
	CHECK_INT(r.elimination.n_metrics, (int)(ROWS / log(ROWS)));
	CHECK_INT(r.n_screened_out, r.clusters.n_clusters - r.elimination.n_metrics);
	CHECK(keeps(&r, 35) && r.out_of_sample_r2 > 0.7);
	nw_reduction_clear(&r);
	for (int i = 0; i < TRIES; i++) {
		make();
		noise_fill(y, N);
		CHECK_INT(nw_reduce(&table, &chunk, 1, &better, &r), NW_OK);
		noise_r2 += r.scan[3].out_of_sample_r2 / TRIES;
		nw_reduction_clear(&r);
	}
	printf("screened noise, out of sample: %.2f\n", noise_r2);
	CHECK(noise_r2 < 0);
}

/* A metric that only counts the rows is named. */
static void
test_drift(void)
{
	struct nw_reduce_options opts = nw_reduce_faithful();
	struct nw_reduction r;

	make();
	for (size_t i = 0; i < N; i++) {
		x[35][i] = (double)i + 5 * noise_normal();
		y[i] += 0.1 * (double)i;
	}
	/* no chunks: all rows train */
	CHECK_INT(nw_reduce(&table, NULL, 0, &opts, &r), NW_OK);
	CHECK_INT(r.prepared.n_rows, N);
	CHECK_INT(r.n_checks, 0);
	CHECK(isnan(r.mean.r2));
	for (size_t i = 0; i < r.elimination.n_metrics; i++)
		if (r.candidate[i] == 35)
			CHECK(r.drift[i] > 0.99);
		else
			CHECK(fabs(r.drift[i]) < 0.2);
	nw_reduction_clear(&r);
}

static void
test_gaps(void)
{
	struct nw_reduce_options opts = nw_reduce_faithful();
	struct nw_reduction r;

	make();
	for (size_t i = 0; i < N; i++) {
		if (i % 10 == 3)
			x[31][i] = NAN;
		if (i >= 2 * CHUNK && i < 3 * CHUNK)
			x[0][i] = x[1][i] = x[2][i] = NAN; /* a whole chunk of a driver */
		if (i == 5)
			y[i] = INFINITY;
	}
	CHECK_INT(nw_reduce(&table, chunks, CHUNKS, &opts, &r), NW_OK);
	CHECK_INT(r.prepared.n_rows, CHUNK - CHUNK / 10 - 1);
	CHECK(keeps_family(&r, 0));
	CHECK_INT(r.check[1].selected.status, NW_STATUS_INSUFFICIENT);
	CHECK(isnan(r.check[1].selected.r2) && isnan(r.check[1].out_of_sample_r2));
	CHECK(!isnan(r.check[0].out_of_sample_r2) && !isnan(r.mean.out_of_sample_r2));
	nw_reduction_clear(&r);
	opts.prepare.missing = NW_MISSING_PAIRWISE;
	CHECK_INT(nw_reduce(&table, chunks, CHUNKS, &opts, &r), NW_OK);
	CHECK_INT(r.prepared.n_rows, CHUNK - 1);
	CHECK_INT(r.elimination.n_rows, CHUNK - CHUNK / 10 - 1);
	CHECK(keeps_family(&r, 0));
	nw_reduction_clear(&r);
}

static void
test_undefined(void)
{
	static double flat[N];
	static const double thresholds[] = { 0.5, 1 };
	struct nw_reduce_options opts = nw_reduce_better();
	struct nw_reduction r;
	struct nw_chunk tiny[2] = { { 0, 20, NW_CHUNK_TRAIN }, { 20, 40, NW_CHUNK_VERIFY } },
			beyond = { 0, N + 1, NW_CHUNK_TRAIN }, none = { 0, 0, NW_CHUNK_TRAIN };
	static const size_t wrong[] = { P };

	make();
	CHECK_INT(
	    nw_reduce(&(struct nw_table){ columns, P, flat, N }, chunks, CHUNKS, &opts, &r), NW_OK);
	CHECK_INT(r.elimination.status, NW_STATUS_CONSTANT_RESPONSE);
	CHECK_INT(r.n_checks, 0);
	CHECK(isnan(r.scan[0].r2));
	nw_reduction_clear(&r);
	opts = nw_reduce_faithful();
	opts.n_thresholds = 2;
	opts.threshold = thresholds;
	CHECK_INT(nw_reduce(&table, tiny, 2, &opts, &r), NW_OK);
	CHECK_INT(r.elimination.status, NW_STATUS_UNDERDETERMINED);
	CHECK_INT(r.scan[1].status, NW_STATUS_UNDERDETERMINED);
	CHECK(isnan(r.scan[1].r2));
	nw_reduction_clear(&r);
	CHECK_INT(nw_reduce(&table, &beyond, 1, &opts, &r), NW_EINVAL);
	nw_reduction_clear(&r);
	CHECK_INT(nw_reduce(&table, &none, 1, &opts, &r), NW_OK);
	CHECK_INT(r.elimination.status, NW_STATUS_INSUFFICIENT);
	nw_reduction_clear(&r);
	CHECK_INT(nw_reduce(&(struct nw_table){ columns, 0, y, N }, chunks, CHUNKS, &opts, &r),
	    NW_OK); /* no metrics */
	CHECK_INT(r.elimination.n_kept, 0);
	nw_reduction_clear(&r);
	opts.main = (struct nw_metric_set){ 1, wrong };
	CHECK_INT(nw_reduce(&table, chunks, CHUNKS, &opts, &r), NW_EINVAL);
	nw_reduction_clear(&r);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 19);
	test_truth();
	test_scan();
	test_better();
	test_honesty();
	test_quadratic();
	test_screen();
	test_drift();
	test_gaps();
	test_undefined();
	return check_done("reduce");
}
