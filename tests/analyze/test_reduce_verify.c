/* SPDX-License-Identifier: BSD-3-Clause */
/* Every allocation of the linear half fails once: an error comes back, nothing leaks, nothing
 * half-made is used. And the draws of random sets are fair. */
#include <malloc.h>
#include <stddef.h>

#include "tests/check.h"
#include "narrows/reduce.h"
#include "tests/noise.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0 /* the sanitizer's is in front */
#elif defined(__has_feature)
#define OWN_MALLOC !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define OWN_MALLOC 1
#endif

enum { N = 60, P = 8 };
static double x[P][N], y[N];
static const double *columns[P];

#if OWN_MALLOC
extern void *__libc_calloc(size_t, size_t);
extern void __libc_free(void *);
void *calloc(size_t, size_t);
void free(void *);

static long fail_after = -1;
static long held_count;

void *
calloc(size_t n, size_t size)
{
	void *p;

	if (fail_after >= 0 && fail_after-- == 0)
		return NULL;
	p = __libc_calloc(n, size);
	held_count += p != NULL;
	return p;
}

void
free(void *p)
{
	held_count -= p != NULL;
	__libc_free(p);
}

static int
try_reduce(void)
{
	static const double thresholds[] = { 0.5, 0.9 };
	static const size_t usual[] = { 0, 1 };
	struct nw_chunk chunks[] = { { 0, N / 2, NW_CHUNK_TRAIN }, { N / 2, N, NW_CHUNK_VERIFY } };
	struct nw_reduce_options opts = nw_reduce_better();
	struct nw_reduction r;
	int rc;

	opts.threshold = thresholds;
	opts.n_thresholds = 2;
	opts.folds = 2;
	opts.n_random = 2;
	opts.main = (struct nw_metric_set){ 2, usual };
	opts.eliminate.quadratic = NW_QUADRATIC_CENTERED;
	opts.prepare.missing = NW_MISSING_PAIRWISE;
	rc = nw_reduce(&(struct nw_table){ columns, P, y, N }, chunks, 2, &opts, &r);
	nw_reduction_clear(&r);
	return rc;
}

static int
try_lasso(void)
{
	static const double lambda[] = { 0.1, 0.2 };
	struct nw_lasso l;
	int rc = nw_lasso_fit(columns, P, y, N, lambda, 2, &l);

	nw_lasso_clear(&l);
	return rc;
}

static int
try_validate(void)
{
	static const struct nw_lm_options plain;
	struct nw_validation v;

	return nw_validate(&(struct nw_table){ columns, P, y, N }, NULL, P, 3, &plain, &v);
}

static int
try_polynomial(void)
{
	struct nw_lm lm;
	int rc = nw_lm_fit_polynomial(x[0], y, N, 3, false, &lm);

	nw_lm_clear(&lm);
	return rc;
}

static int
try_ranks(void)
{
	double r[P * P];
	size_t n_pairs[P * P];
	int rc = nw_correlate_ranks(columns, P, N, r);

	return rc == NW_OK ? nw_correlate_pairwise(columns, P, N, r, n_pairs) : rc;
}

static void
test_allocations(void)
{
	static int (*const tries[])(
	    void) = { try_reduce, try_lasso, try_validate, try_polynomial, try_ranks };

	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		long before = held_count, n = 0;
		int rc;

		CHECK_INT(tries[i](), NW_OK);
		do {
			fail_after = n++;
			rc = tries[i]();
			CHECK(rc == NW_OK || rc == NW_ENOMEM);
			CHECK_INT(held_count, before);
		} while (rc != NW_OK && n < 10000);
		CHECK(fail_after >= 0 && n > 2);
		fail_after = -1;
		printf("%ld allocations\n", n - 1);
	}
}
#else
static void
test_allocations(void)
{
	printf("allocations are the sanitizer's\n");
}
#endif

/* Each metric is in k of p draws on average, and sits in the first place as often as in the
 * last. */
static void
test_draws(void)
{
	enum { DRAWS = 4000 };
	struct nw_reduce_options opts = nw_reduce_faithful();
	struct nw_reduction r;
	size_t in[P] = { 0 }, first[P] = { 0 };
	double k, chi = 0, chi_first = 0;

	opts.n_random = DRAWS;
	CHECK_INT(nw_reduce(&(struct nw_table){ columns, P, y, N }, NULL, 0, &opts, &r), NW_OK);
	k = (double)r.elimination.n_metrics_kept;
	CHECK(k >= 1 && k < P);
	for (size_t i = 0; i < r.n_random; i++) {
		first[r.random[i].metric[0]]++;
		for (size_t j = 0; j < r.random[i].n; j++)
			in[r.random[i].metric[j]]++;
	}
	for (size_t j = 0; j < P; j++) {
		double want = DRAWS * k / P, want_first = (double)DRAWS / P;

		chi += ((double)in[j] - want) * ((double)in[j] - want) / want;
		chi_first +=
		    ((double)first[j] - want_first) * ((double)first[j] - want_first) / want_first;
	}
	CHECK(chi < 30 && chi_first < 30); /* chi square with 7 degrees of freedom: one in 10^4 */
	nw_reduction_clear(&r);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 21);
	for (size_t j = 0; j < P; j++) {
		columns[j] = x[j];
		noise_fill(x[j], N);
	}
	for (size_t i = 0; i < N; i++)
		y[i] = x[0][i] + x[3][i] + noise_normal();
	x[7][5] = NAN;
	test_draws();
	for (size_t i = 0; i < N; i++)
		x[7][i] = isnan(x[7][i]) ? 0 : x[7][i];
	test_allocations();
	return check_done("reduce_verify");
}
