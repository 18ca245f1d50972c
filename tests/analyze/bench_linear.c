/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the statistics of many metrics cost, beside what the machine's BLAS and the usual algorithms
 * cost in the same run.
 *
 *   what                          cost model                                 memory
 *   correlation p x n             n p^2 flops (dsyrk), 6 n p for unit columns n p + p^2 doubles
 *   clusters                      p^2 / 2 comparisons and finds, twice       p^2 shared, 4 p words
 *   elimination of k of p terms   2 n p^2 (QR) + p^3 / 3 (inverse) +         2 n p + 2 p^2 doubles
 *                                 sum over steps of 4 m^2, m terms left,
 *                                 + 2 n (p - k)^2 (the check by a fresh fit)
 *   whole reduction               correlation + per different scan point     n p + p^2
 *                                 (1 + folds) eliminations
 *
 * References: dgemm and memcpy (this machine, one thread); the same correlation by plain loops;
 * elimination by updating the inverse of X'X as a script would (fast, and without digits for close
 * metrics) and by a fresh QR for every step. Each time is the median CPU time of the runs given.
 * Memory is the peak of what the library holds from malloc; BLAS has
 * 32 MiB of address space beside it, touched as far as it needs.
 */
#include <cblas.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "narrows/reduce.h"
#include "tests/noise.h"

enum { N = 240, METRICS = 628, PREDICTORS = 150, MANY = 230, FAMILY = 8, DRIVERS = 60 };

static double store[METRICS][N], noise[MANY][N], y[N], y_noise[N];
static const double *columns[METRICS], *predictors[MANY];
static double matrix[METRICS * METRICS];
static volatile double sink;

static void
fail(const char *what)
{
	fprintf(stderr, "bench_linear: %s\n", what);
	exit(1);
}

/* Families of AR(1) metrics as a host reports them; and independent predictors, some of which drive
 * a response. */
static void
make_data(void)
{
	for (size_t j = 0; j < METRICS; j++) {
		columns[j] = store[j];
		if (j % FAMILY == 0)
			noise_ar(store[j], N, 0.8);
		for (size_t i = 0; i < N && j % FAMILY != 0; i++)
			store[j][i] = 1e6 * (double)j + 1e3 * store[j - j % FAMILY][i] +
			    30 * noise_normal() * (double)(j % FAMILY);
	}
	for (size_t j = 0; j < MANY; j++) {
		predictors[j] = noise[j];
		noise_fill(noise[j], N);
	}
	for (size_t i = 0; i < N; i++) {
		y[i] = store[0][i] + store[80][i] + noise_normal();
		y_noise[i] = noise_normal();
		for (size_t j = 0; j < DRIVERS; j++)
			y_noise[i] += noise[j][i] / 2;
	}
}

/* --- what malloc gives, counted: glibc lets a program put its own in front --- */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
extern void __libc_free(void *);
void *malloc(size_t);
void *calloc(size_t, size_t);
void free(void *);

static size_t held_bytes, peak_bytes;

static void *
count(void *p)
{
	held_bytes += p != NULL ? malloc_usable_size(p) : 0;
	peak_bytes = held_bytes > peak_bytes ? held_bytes : peak_bytes;
	return p;
}

void *
malloc(size_t size)
{
	return count(__libc_malloc(size));
}

void *
calloc(size_t n, size_t size)
{
	return count(__libc_calloc(n, size));
}

void
free(void *p)
{
	held_bytes -= p != NULL ? malloc_usable_size(p) : 0;
	__libc_free(p);
}

/* --- what is measured --- */
static void
run_correlation(void)
{
	if (nw_correlate(columns, METRICS, N, matrix) != NW_OK)
		fail("correlation");
}

static void
run_clusters(void)
{
	struct nw_reduce_options o = nw_reduce_faithful();
	struct nw_prepared prep;
	struct nw_correlations c;
	struct nw_clusters cl;

	if (nw_prepare(columns, METRICS, y, N, &o.prepare, true, &prep) != NW_OK ||
	    nw_correlations_of(&prep, NW_MISSING_LISTWISE, false, &c) != NW_OK ||
	    nw_cluster(&c, &o.cluster, &cl) != NW_OK)
		fail("clusters");
	sink = (double)cl.n_clusters;
	nw_clusters_clear(&cl);
	nw_correlations_clear(&c);
	nw_prepared_clear(&prep);
}

static void
eliminate(size_t p)
{
	struct nw_reduce_options o = nw_reduce_faithful();
	struct nw_elimination e;

	if (nw_eliminate(predictors, p, y_noise, N, &o.eliminate, &e) != NW_OK ||
	    e.status != NW_STATUS_OK || e.refitted)
		fail("elimination");
	sink = (double)e.n_kept;
	nw_elimination_clear(&e);
}

static void
run_eliminate(void)
{
	eliminate(PREDICTORS);
}

static void
run_eliminate_many(void)
{
	eliminate(MANY);
}

static void
reduce(struct nw_reduce_options o)
{
	struct nw_reduction r;

	if (nw_reduce(&(struct nw_table){ columns, METRICS, y, N }, NULL, 0, &o, &r) != NW_OK ||
	    r.elimination.status != NW_STATUS_OK)
		fail("reduction");
	sink = (double)r.elimination.n_kept;
	nw_reduction_clear(&r);
}

static void
run_reduce(void)
{
	reduce(nw_reduce_faithful());
}

static void
run_reduce_better(void)
{
	reduce(nw_reduce_better());
}

/* --- references --- */
enum { GEMM = 512, COPY = 1 << 20 };
static double gemm_a[GEMM * GEMM], gemm_b[GEMM * GEMM], gemm_c[GEMM * GEMM];
static char copy_from[COPY], copy_to[COPY];

static void
run_gemm(void)
{
	cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, GEMM, GEMM, GEMM, 1, gemm_a, GEMM,
	    gemm_b, GEMM, 0, gemm_c, GEMM);
}

static void
run_copy(void)
{
	memcpy(copy_to, copy_from, COPY);
	sink = copy_to[COPY - 1];
}

/* The textbook's r of two columns, for all pairs. */
static void
run_loops(void)
{
	double mean[METRICS];

	for (size_t j = 0; j < METRICS; j++) {
		mean[j] = 0;
		for (size_t i = 0; i < N; i++)
			mean[j] += store[j][i] / N;
	}
	for (size_t a = 0; a < METRICS; a++)
		for (size_t b = a; b < METRICS; b++) {
			double sxy = 0, sxx = 0, syy = 0;

			for (size_t i = 0; i < N; i++) {
				double u = store[a][i] - mean[a], v = store[b][i] - mean[b];

				sxy += u * v;
				sxx += u * u;
				syy += v * v;
			}
			matrix[a * METRICS + b] = sxy / sqrt(sxx * syy);
		}
}

/* LAPACK, whose hidden lengths of characters come last. */
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t uplo_len);
void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t uplo_len);

/* The inverse of X'X and one rank-one update of it per step. */
static void
run_inverse(void)
{
	static double x[(PREDICTORS + 1) * N], inverse[PREDICTORS * PREDICTORS], b[PREDICTORS],
	    row[PREDICTORS];
	size_t in[PREDICTORS], k = PREDICTORS;
	double sse = 0, mean;
	int n = PREDICTORS, info;

	for (size_t j = 0; j <= PREDICTORS; j++) {
		const double *from = j < PREDICTORS ? noise[j] : y_noise;

		mean = 0;
		for (size_t i = 0; i < N; i++)
			mean += from[i] / N;
		for (size_t i = 0; i < N; i++)
			x[j * N + i] = from[i] - mean;
	}
	cblas_dsyrk(
	    CblasColMajor, CblasUpper, CblasTrans, PREDICTORS, N, 1, x, N, 0, inverse, PREDICTORS);
	dpotrf_("U", &n, inverse, &n, &info, 1);
	dpotri_("U", &n, inverse, &n, &info, 1);
	for (size_t j = 0; j < PREDICTORS; j++)
		for (size_t i = j + 1; i < PREDICTORS; i++)
			inverse[j * PREDICTORS + i] = inverse[i * PREDICTORS + j];
	cblas_dgemv(
	    CblasColMajor, CblasTrans, N, PREDICTORS, 1, x, N, x + PREDICTORS * N, 1, 0, row, 1);
	cblas_dgemv(CblasColMajor, CblasNoTrans, PREDICTORS, PREDICTORS, 1, inverse, PREDICTORS,
	    row, 1, 0, b, 1);
	sse = cblas_ddot(N, x + PREDICTORS * N, 1, x + PREDICTORS * N, 1) -
	    cblas_ddot(PREDICTORS, b, 1, row, 1);
	for (size_t j = 0; j < PREDICTORS; j++)
		in[j] = j;
	while (k > 0) {
		size_t best = 0, j;
		double best_f = INFINITY;

		for (size_t i = 0; i < k; i++) {
			double f = b[in[i]] * b[in[i]] / inverse[in[i] * PREDICTORS + in[i]] /
			    (sse / (double)(N - 1 - k));

			if (f < best_f) {
				best_f = f;
				best = i;
			}
		}
		if (!(best_f < 2))
			break;
		j = in[best];
		memcpy(row, inverse + j * PREDICTORS, sizeof(row));
		sse += b[j] * b[j] / row[j];
		cblas_daxpy(PREDICTORS, -b[j] / row[j], row, 1, b, 1);
		cblas_dger(CblasColMajor, PREDICTORS, PREDICTORS, -1 / row[j], row, 1, row, 1,
		    inverse, PREDICTORS);
		memmove(&in[best], &in[best + 1], (--k - best) * sizeof(*in));
	}
	sink = (double)k;
}

static void
run_refits(void)
{
	static const struct nw_lm_options plain;
	struct nw_term terms[PREDICTORS];
	size_t k = PREDICTORS, best;

	for (size_t j = 0; j < PREDICTORS; j++)
		terms[j] = (struct nw_term){ j, false, 0 };
	do {
		struct nw_lm lm;

		if (nw_lm_fit(predictors, terms, k, y_noise, N, &plain, &lm) != NW_OK)
			fail("fit");
		best = 0;
		for (size_t j = 1; j < k; j++)
			if (lm.coef[j].f < lm.coef[best].f)
				best = j;
		if (!(lm.coef[best].f < 2))
			best = k;
		else
			memmove(&terms[best], &terms[best + 1], (--k - best) * sizeof(*terms));
		nw_lm_clear(&lm);
	} while (best < k && k > 0);
	sink = (double)k;
}

/* --- measuring --- */
static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, z = *(const double *)b;

	return (x > z) - (x < z);
}

/* Median CPU time of `runs` after one to warm up. */
static double
median_ms(void (*run)(void), int runs)
{
	double t[64];

	run();
	for (int i = 0; i < runs; i++) {
		double start = now_ms();

		run();
		t[i] = now_ms() - start;
	}
	qsort(t, (size_t)runs, sizeof(*t), by_value);
	return t[runs / 2];
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		int runs;
	} rows[] = {
		{ "correlation 628 x 240", run_correlation, 31 },
		{ "  by plain loops", run_loops, 3 },
		{ "correlation + clusters 628 x 240", run_clusters, 31 },
		{ "elimination 150 x 240", run_eliminate, 31 },
		{ "  updating the inverse of X'X", run_inverse, 31 },
		{ "  a QR for every step", run_refits, 3 },
		{ "elimination 230 x 240", run_eliminate_many, 31 },
		{ "reduction 628 x 240, faithful", run_reduce, 15 },
		{ "reduction 628 x 240, better", run_reduce_better, 15 },
	};
	double gemm_ms, copy_ms;

	noise_seed(argc, argv, 20);
	make_data();
	openblas_set_num_threads(1);
	gemm_ms = median_ms(run_gemm, 9);
	copy_ms = median_ms(run_copy, 31);
	printf("dgemm %d^3: %.2f ms, %.1f GFLOP/s; memcpy 1 MiB: %.4f ms, %.1f GB/s\n", GEMM,
	    gemm_ms, 2.0 * GEMM * GEMM * GEMM / gemm_ms * 1e-6, copy_ms, COPY / copy_ms * 1e-6);
	printf("%-36s %9s %12s %12s\n", "", "CPU ms", "of the dgemm", "memory KiB");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double ms = median_ms(rows[i].run, rows[i].runs);
		size_t before = held_bytes;

		peak_bytes = before;
		rows[i].run();
		printf("%-36s %9.3f %12.3f %12.0f\n", rows[i].name, ms, ms / gemm_ms,
		    (double)(peak_bytes - before) / 1024);
	}
	return 0;
}
