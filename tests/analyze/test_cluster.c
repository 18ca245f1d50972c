/* SPDX-License-Identifier: BSD-3-Clause */
/* Clusters: chains, ties, thresholds, thin data, and how often noise forms one. */
#include "tests/check.h"
#include "narrows/correlate.h"
#include "narrows/linear.h"
#include "tests/noise.h"
#include "tests/rdata.h"

enum { N = 240 };

/* One call from columns to clusters. */
static int
cluster(struct nw_table t, struct nw_cluster_options opts, enum nw_missing missing,
    struct nw_prepared *prep, struct nw_correlations *c, struct nw_clusters *cl)
{
	struct nw_prepare_options prepare = { 0.2, missing, false };
	int rc = nw_prepare(t.x, t.n_columns, t.y, t.n_rows, &prepare, true, prep);

	memset(cl, 0, sizeof(*cl));
	memset(c, 0, sizeof(*c));
	if (rc == NW_OK)
		rc = nw_correlations_of(prep, missing, opts.n_eff, c);
	return rc == NW_OK ? nw_cluster(c, &opts, cl) : rc;
}

static void
clear(struct nw_prepared *prep, struct nw_correlations *c, struct nw_clusters *cl)
{
	nw_clusters_clear(cl);
	nw_correlations_clear(c);
	nw_prepared_clear(prep);
}

/* mtcars at 0.8: cyl, disp and wt by two edges; wt follows mpg best. */
static void
test_mtcars(void)
{
	static const size_t label[] = { 0, 0, 1, 2, 0, 3, 4, 5, 6, 7 };
	struct nw_prepared prep;
	struct nw_correlations c;
	struct nw_clusters cl;

	CHECK_INT(cluster((struct nw_table){ mtcars_x, MTCARS_P, mtcars_mpg, MTCARS_N },
		      (struct nw_cluster_options){ 0.8, 0.05, false }, NW_MISSING_LISTWISE, &prep,
		      &c, &cl),
	    NW_OK);
	CHECK_INT(cl.n_clusters, 8);
	CHECK_INT(cl.n_edges, 2);
	for (size_t i = 0; i < MTCARS_P; i++)
		CHECK_INT(cl.label[i], label[i]);
	CHECK_INT(cl.rep[0], 4);
	CHECK_INT(cl.size[0], 3);
	/* cyl and wt: under the threshold */
	CHECK_NEAR(cl.min_abs_r[0], 0.7824957944632408, 1e-12, 0);
	CHECK(isnan(cl.min_abs_r[1]));
	CHECK_NEAR(c.r_response[4], -0.8676593765172279, 1e-12, 0);
	clear(&prep, &c, &cl);
}

/* A chain a - b - c is one cluster although its ends hardly agree; an image of b in another unit
 * changes nothing. */
static void
test_chain(void)
{
	static double a[N], b[N], b_image[N], c_[N], resp[N];
	static const double *const x[] = { a, b, b_image, c_ };
	struct nw_prepared prep;
	struct nw_correlations c;
	struct nw_clusters cl;

	for (size_t i = 0; i < N; i++) {
		a[i] = noise_normal();
		b[i] = a[i] + 0.25 * noise_normal();
		c_[i] = b[i] + 0.25 * noise_normal();
		b_image[i] = 1e9 - 1e3 * b[i];
		resp[i] = b[i] + noise_normal();
	}
	CHECK_INT(cluster((struct nw_table){ x, 4, resp, N },
		      (struct nw_cluster_options){ 0.95, 0.05, false }, NW_MISSING_LISTWISE, &prep,
		      &c, &cl),
	    NW_OK);
	CHECK_INT(cl.n_clusters, 1);
	CHECK_INT(cl.n_edges, 5); /* all but a - c */
	CHECK(cl.min_abs_r[0] < 0.97);
	CHECK(cl.rep[0] == 1 || fabs(c.r_response[cl.rep[0]]) > fabs(c.r_response[1]) + 1e-12);
	clear(&prep, &c, &cl);
	for (size_t i = 0; i < N; i++)
		resp[i] = b_image[i];
	CHECK_INT(cluster((struct nw_table){ x, 4, resp, N },
		      (struct nw_cluster_options){ 0.95, 0.05, false }, NW_MISSING_LISTWISE, &prep,
		      &c, &cl),
	    NW_OK);
	CHECK_INT(cl.rep[0], 1); /* b and its image tie but for rounding: the first */
	clear(&prep, &c, &cl);
	CHECK_INT(
	    cluster((struct nw_table){ x, 4, resp, N },
		(struct nw_cluster_options){ 1, 0.05, false }, NW_MISSING_LISTWISE, &prep, &c, &cl),
	    NW_OK);
	CHECK_INT(cl.n_clusters, 4); /* nothing exceeds 1 */
	clear(&prep, &c, &cl);
	CHECK_INT(
	    cluster((struct nw_table){ x, 4, resp, 3 },
		(struct nw_cluster_options){ 0, 0.05, false }, NW_MISSING_LISTWISE, &prep, &c, &cl),
	    NW_OK);
	CHECK_INT(cl.n_clusters, 4); /* three rows prove nothing */
	clear(&prep, &c, &cl);
}

static void
test_edges(void)
{
	static const double up[] = { 1, 2, 3, 4, 5, 6 }, flat[] = { 2, 2, 2, 2, 2, 2 },
			    down[] = { 9, 7, 5, 3, 1, -1 };
	static const double *const x[] = { up, flat, down };
	struct nw_cluster_options opts = { 0.95, 0.05, false };
	struct nw_prepared prep;
	struct nw_correlations c;
	struct nw_clusters cl;

	CHECK_INT(
	    cluster((struct nw_table){ x, 3, flat, 6 }, opts, NW_MISSING_LISTWISE, &prep, &c, &cl),
	    NW_OK);
	CHECK_INT(cl.n_metrics, 2);
	CHECK_INT(cl.n_clusters, 1); /* r is 1 but for rounding */
	CHECK_INT(cl.rep[0], 0);     /* no r with a constant response: the first */
	CHECK(isnan(c.r_response[0]));
	clear(&prep, &c, &cl);
	CHECK_INT(
	    cluster((struct nw_table){ x, 0, up, 6 }, opts, NW_MISSING_LISTWISE, &prep, &c, &cl),
	    NW_OK);
	CHECK_INT(cl.n_clusters, 0);
	clear(&prep, &c, &cl);
}

/* Pairwise: a gap costs its pairs a row, not everybody. */
static void
test_pairwise(void)
{
	static double a[N], b[N], d[N], resp[N];
	static const double *const x[] = { a, b, d };
	struct nw_cluster_options opts = { 0.95, 0.05, false };
	struct nw_prepared prep;
	struct nw_correlations c;
	struct nw_clusters cl;

	for (size_t i = 0; i < N; i++) {
		resp[i] = noise_normal();
		a[i] = noise_normal();
		b[i] = a[i] + 0.1 * noise_normal();
		d[i] = i % 8 == 0 ? NAN : b[i] + 0.1 * noise_normal();
	}
	CHECK_INT(
	    cluster((struct nw_table){ x, 3, resp, N }, opts, NW_MISSING_PAIRWISE, &prep, &c, &cl),
	    NW_OK);
	CHECK_INT(prep.n_rows, N);
	CHECK_INT(c.n_pairs[1], N);
	CHECK_INT(c.n_pairs[2], N - N / 8);
	CHECK_INT(cl.n_clusters, 1);
	clear(&prep, &c, &cl);
}

/* Two independent AR(1) 0.9 series of 240 rows are "correlated" at rho0 = 0 in 59 % of the cases,
 * nominal 10 % (two signs); with the effective size in about 10 %. */
static void
test_noise(void)
{
	enum { TRIES = 1500 };
	static double a[N], b[N];
	static const double *const x[] = { a, b };
	double rate[2];

	for (int n_eff = 0; n_eff < 2; n_eff++) {
		int edges = 0;

		for (int i = 0; i < TRIES; i++) {
			struct nw_prepared prep;
			struct nw_correlations c;
			struct nw_clusters cl;

			noise_ar(a, N, 0.9);
			noise_ar(b, N, 0.9);
			cluster((struct nw_table){ x, 2, a, N },
			    (struct nw_cluster_options){ 0, 0.05, n_eff }, NW_MISSING_LISTWISE,
			    &prep, &c, &cl);
			edges += (int)cl.n_edges;
			clear(&prep, &c, &cl);
		}
		rate[n_eff] = (double)edges / TRIES;
	}
	printf("false edges: plain %.3f, effective size %.3f\n", rate[0], rate[1]);
	CHECK(rate[0] > 0.54 && rate[0] < 0.64);
	CHECK(rate[1] > 0.07 && rate[1] < 0.14);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 13);
	test_mtcars();
	test_chain();
	test_edges();
	test_pairwise();
	test_noise();
	return check_done("cluster");
}
