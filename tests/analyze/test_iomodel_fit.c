/* SPDX-License-Identifier: BSD-3-Clause */
/* Models of operation durations: exact lines come back, the published tables hold, missing parts,
 * classification. */
#include "narrows/iomodel.h"

#include "narrows/err.h"
#include "tests/check.h"
#include "tests/noise.h"

static void
test_exact(void)
{
	struct nw_io_limit l[20];
	struct nw_io_model m;
	struct nw_io_options o = nw_io_defaults;
	int i, k;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < 20; i++) {
			l[i].size_bytes = ldexp(1, i + 5);
			/* limits that lie on the two lines once inflated */
			l[i].limit_s = (l[i].size_bytes <= 4096
					       ? 3e-7 + 4e-11 * l[i].size_bytes
					       : 3e-7 + 4e-11 * 4096 + 8e-11 * l[i].size_bytes) /
			    1.1;
		}
		o.sound = k == 1;
		nw_io_fit(l, 20, &o, &m);
		CHECK_INT(m.status, NW_STATUS_OK);
		CHECK_INT(m.small.n, 8);
		CHECK_NEAR(m.small.intercept_s, 3e-7, 1e-13, 0);
		CHECK_NEAR(m.small.slope_s_per_byte, 4e-11, 1e-12, 0);
		CHECK_NEAR(m.large.intercept_s, 3e-7 + 4e-11 * 4096, 1e-13, 0);
		CHECK_NEAR(m.large.slope_s_per_byte, 8e-11, 1e-12, 0);
		CHECK_NEAR(m.small.rel_err, 0.1, 1e-12, 0);
		CHECK_NEAR(m.large.rel_err, 0.1, 1e-12, 0);
		CHECK_NEAR(nw_io_predict(&m, 4096), 3e-7 + 4e-11 * 4096, 1e-12, 0);
		CHECK_NEAR(
		    nw_io_predict(&m, 4097) - nw_io_predict(&m, 4096), 8e-11 * 4097, 1e-9, 0);
	}
}

/* Published rows: the large intercept is the small line at 4096 bytes, to the three digits
 * printed. */
static void
test_published(void)
{
	static const double rows[][3] = { { 2.94e-7, 4.41e-11, 4.75e-7 },
		{ 3.28e-7, 2.25e-12, 3.37e-7 }, { 8e-6, 4.18e-10, 9.71e-6 },
		{ 8.39e-6, 4.91e-10, 1.04e-5 }, { 1e-5, 3.26e-10, 1.14e-5 } };
	size_t i;

	for (i = 0; i < 5; i++)
		CHECK_NEAR(rows[i][0] + 4096 * rows[i][1], rows[i][2], 0.006, 0);
}

static void
test_partial(void)
{
	struct nw_io_limit l[] = { { 1024, 1e-6 }, { NAN, 1e-6 }, { 2048, 0 }, { 4096, INFINITY },
		{ 65536, 1e-4 }, { 131072, 2e-4 } };
	struct nw_io_model m;

	nw_io_fit(l, 0, &nw_io_defaults, &m);
	CHECK(m.status == NW_STATUS_INSUFFICIENT && isnan(m.small.intercept_s) &&
	    isnan(nw_io_predict(&m, 1)));
	nw_io_fit(l, 4, &nw_io_defaults, &m); /* one small size: a level */
	CHECK(m.small.n == 1 && m.small.slope_s_per_byte == 0 && m.large.n == 0);
	CHECK_NEAR(nw_io_predict(&m, 1e6), 1.1e-6, 1e-15, 0);
	nw_io_fit(l + 4, 2, &nw_io_defaults, &m); /* no small size: both parameters */
	CHECK(m.small.n == 0 && m.large.n == 2);
	CHECK_NEAR(m.large.intercept_s, 0, 0, 1e-18);
	CHECK_NEAR(nw_io_predict(&m, 1), 1.1e-4 / 65536, 1e-9, 0);
}

/* Least squares on seven decades belongs to the largest sizes; weights give every size its say. */
static void
test_weighted(void)
{
	struct nw_io_limit l[12];
	struct nw_io_options o = nw_io_defaults;
	struct nw_io_model plain, weighted;
	int i;

	for (i = 0; i < 12; i++) {
		l[i].size_bytes = ldexp(1, 13 + i);
		/* one unstable limit */
		l[i].limit_s = 1e-5 + 1e-9 * l[i].size_bytes * (i == 11 ? 3 : 1);
	}
	nw_io_fit(l, 12, &o, &plain);
	o.sound = true;
	nw_io_fit(l, 12, &o, &weighted);
	CHECK(plain.large.rel_err > 1);
	CHECK(weighted.large.rel_err < 0.3);
}

/* Limits that one stall has raised bend no line below zero; a line that fits nothing is refused. */
static void
test_sound(void)
{
	static const struct nw_io_limit bent[] = { { 1, 3.9e-5 }, { 64, 3.9e-5 }, { 1024, 1.9e-6 },
		{ 4096, 2.4e-6 }, { 16384, 6e-6 } };
	struct nw_io_options o = nw_io_defaults;
	struct nw_io_limit l[12];
	struct nw_io_model m;
	int i, round;

	nw_io_fit(bent, 5, &o, &m);
	CHECK(nw_io_predict(&m, 4096) < 0); /* the published rule */
	o.sound = true;
	CHECK_INT(nw_io_fit(bent, 5, &o, &m), NW_OK);
	CHECK(m.small.refused && m.small.rel_err > 0.5);
	CHECK_INT(nw_io_classify(&m, 1, 1024, 1e-7), 1); /* no operation of its own */
	for (round = 0; round < 200; round++) {
		for (i = 0; i < 12; i++)
			l[i] =
			    (struct nw_io_limit){ ldexp(1, 2 * i), 1e-6 * exp(3 * noise_normal()) };
		CHECK_INT(nw_io_fit(l, 12, &o, &m), NW_OK);
		CHECK(m.small.intercept_s >= 0 && m.small.slope_s_per_byte >= 0);
		CHECK(m.large.intercept_s >= 0 && m.large.slope_s_per_byte >= 0);
		for (i = 1; i < 50; i++)
			CHECK(nw_io_predict(&m, ldexp(1, i) / 2) <=
			    nw_io_predict(&m, ldexp(1, i)) * (1 + 1e-9));
	}
}

static void
test_classify(void)
{
	struct nw_io_model m[3] = { { .page_bytes = 4096, .small = { 1, 8e-6, 0, 0, 0, false } },
		{ .page_bytes = 4096, .small = { 1, 3e-7, 0, 0, 0, false } },
		{ .page_bytes = 4096, .small = { 1, 8e-6, 0, 0, 0, false } } };

	CHECK_INT(nw_io_classify(m, 3, 1, 1e-7), 1);
	CHECK_INT(nw_io_classify(m, 3, 1, 3e-7), 1);   /* d = prediction is inside */
	CHECK_INT(nw_io_classify(m, 3, 1, 3.1e-7), 0); /* equal predictions: the first */
	CHECK_INT(nw_io_classify(m, 3, 1, 9e-6), 3);
	CHECK_INT(nw_io_classify(m, 0, 1, 1e-7), 0);
	CHECK_INT(nw_io_classify(m, 3, 1, NAN), 3);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 28);
	test_exact();
	test_published();
	test_partial();
	test_weighted();
	test_sound();
	test_classify();
	return check_done("iomodel");
}
