/* SPDX-License-Identifier: BSD-3-Clause */
/* The factor against its definition: W W' is the inverse of Z'Z, for any shape and however many
 * columns alias. */
#include "tests/check.h"
#include "analyze/design.h"
#include "tests/noise.h"

enum { MAX = 40 };

/* Z'Z (W W') = 1 and Z' (y - Z beta) = 0 on the accepted columns. */
static void
check_factor(const struct design *d, const struct factor *f)
{
	double worst = 0, gradient = 0, rss = 0;

	for (size_t i = 0; i < f->k; i++)
		for (size_t j = 0; j < f->k; j++) {
			double sum = 0;

			for (size_t l = 0; l < f->k; l++) {
				double zz = 0, ww = 0;

				for (size_t row = 0; row < d->n; row++)
					zz += d->z[f->term[i] * d->n + row] *
					    d->z[f->term[l] * d->n + row];
				for (size_t m = 0; m < f->k; m++)
					ww += f->w[l * f->ld + m] * f->w[j * f->ld + m];
				sum += zz * ww;
			}
			worst = fmax(worst, fabs(sum - (i == j)));
		}
	for (size_t i = 0; i < f->k; i++) {
		double sum = 0;

		for (size_t row = 0; row < d->n; row++) {
			double rest = d->z[d->p * d->n + row];

			for (size_t j = 0; j < f->k; j++)
				rest -= f->beta[j] * d->z[f->term[j] * d->n + row];
			sum += rest * d->z[f->term[i] * d->n + row];
			rss += i == 0 ? rest * rest : 0;
		}
		gradient = fmax(gradient, fabs(sum));
	}
	CHECK(worst < 1e-9);
	CHECK(gradient < 1e-11);
	if (f->k > 0)
		CHECK_NEAR(f->rss, rss, 1e-9, 1e-20);
}

/* Random mixtures of new columns, copies, sums of several, constants; tall and wide. The accepted
 * are exactly the new. */
static void
test_shapes(void)
{
	static double store[MAX + 1][MAX];
	const double *x[MAX];

	for (int try = 0; try < 300; try++) {
		size_t n = 2 + noise_bits() % (MAX - 2), p = noise_bits() % MAX, fresh = 0;
		enum nw_term_state want[MAX];
		struct design d;
		struct factor f;

		for (size_t j = 0; j < p; j++) {
			unsigned kind = noise_bits() % 5;

			x[j] = store[j];
			memset(store[j], 0, sizeof(store[j]));
			want[j] = NW_TERM_OK;
			if (kind == 0)
				want[j] = NW_TERM_CONSTANT;
			else if (kind == 1 && fresh > 0) {
				want[j] = NW_TERM_ALIASED;
				for (size_t l = 0; l < j; l++)
					for (size_t i = 0; i < n; i++)
						store[j][i] += want[l] == NW_TERM_OK
						    ? store[l][i] * (double)(l + 1)
						    : 0;
			} else {
				if (fresh >= n - 1)
					want[j] = NW_TERM_ALIASED; /* the space is full */
				fresh++;
				noise_fill(store[j], n);
			}
		}
		noise_fill(store[MAX], n);
		CHECK_INT(design_init(&d, x, NULL, p, store[MAX], n, true), NW_OK);
		CHECK_INT(factor_init(&f, &d, 0), NW_OK);
		for (size_t j = 0; j < p; j++)
			CHECK_INT(d.state[j], want[j]);
		CHECK_INT(f.k, fresh < n - 1 ? fresh : n - 1);
		check_factor(&d, &f);
		factor_clear(&f);
		design_clear(&d);
	}
}

static void
test_r2(void)
{
	struct factor f = { .k = 0, .rss = 1 };
	double q[1] = { 1e-9 };

	CHECK(factor_r2(&f) == 0);
	f = (struct factor){ .k = 1, .q = q, .rss = 1 };
	CHECK_NEAR(factor_r2(&f), 1e-18, 1e-15, 0); /* 1 - rss would be 0 */
	f.rss = 1e-25;
	CHECK(factor_r2(&f) == 1);
	CHECK(partial_f(1e-25, 1e-26, 5) == 0 && partial_f(1e-23, 1e-26, 5) == INFINITY);
	CHECK_NEAR(partial_f(0.5, 0.25, 4), 8, 1e-15, 0);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 15);
	test_shapes();
	test_r2();
	return check_done("design");
}
