/* SPDX-License-Identifier: BSD-3-Clause */
/* Polynomials against the certified values of the NIST Statistical Reference Datasets (public
 * domain), linear regression. */
#include "tests/check.h"
#include "narrows/linear.h"

static const double filip_y[] = {
	0.8116,
	0.9072,
	0.9052,
	0.9039,
	0.8053,
	0.8377,
	0.8667,
	0.8809,
	0.7975,
	0.8162,
	0.8515,
	0.8766,
	0.8885,
	0.8859,
	0.8959,
	0.8913,
	0.8959,
	0.8971,
	0.9021,
	0.909,
	0.9139,
	0.9199,
	0.8692,
	0.8872,
	0.89,
	0.891,
	0.8977,
	0.9035,
	0.9078,
	0.7675,
	0.7705,
	0.7713,
	0.7736,
	0.7775,
	0.7841,
	0.7971,
	0.8329,
	0.8641,
	0.8804,
	0.7668,
	0.7633,
	0.7678,
	0.7697,
	0.77,
	0.7749,
	0.7796,
	0.7897,
	0.8131,
	0.8498,
	0.8741,
	0.8061,
	0.846,
	0.8751,
	0.8856,
	0.8919,
	0.8934,
	0.894,
	0.8957,
	0.9047,
	0.9129,
	0.9209,
	0.9219,
	0.7739,
	0.7681,
	0.7665,
	0.7703,
	0.7702,
	0.7761,
	0.7809,
	0.7961,
	0.8253,
	0.8602,
	0.8809,
	0.8301,
	0.8664,
	0.8834,
	0.8898,
	0.8964,
	0.8963,
	0.9074,
	0.9119,
	0.9228,
};
static const double filip_x[] = {
	-6.860120914,
	-4.324130045,
	-4.358625055,
	-4.358426747,
	-6.955852379,
	-6.661145254,
	-6.355462942,
	-6.118102026,
	-7.115148017,
	-6.815308569,
	-6.519993057,
	-6.204119983,
	-5.853871964,
	-6.109523091,
	-5.79832982,
	-5.482672118,
	-5.171791386,
	-4.851705903,
	-4.517126416,
	-4.143573228,
	-3.709075441,
	-3.499489089,
	-6.300769497,
	-5.953504836,
	-5.642065153,
	-5.031376979,
	-4.680685696,
	-4.329846955,
	-3.928486195,
	-8.56735134,
	-8.363211311,
	-8.107682739,
	-7.823908741,
	-7.522878745,
	-7.218819279,
	-6.920818754,
	-6.628932138,
	-6.323946875,
	-5.991399828,
	-8.781464495,
	-8.663140179,
	-8.473531488,
	-8.247337057,
	-7.971428747,
	-7.676129393,
	-7.352812702,
	-7.072065318,
	-6.774174009,
	-6.478861916,
	-6.159517513,
	-6.835647144,
	-6.53165267,
	-6.224098421,
	-5.910094889,
	-5.598599459,
	-5.290645224,
	-4.974284616,
	-4.64454848,
	-4.290560426,
	-3.885055584,
	-3.408378962,
	-3.13200249,
	-8.726767166,
	-8.66695597,
	-8.511026475,
	-8.165388579,
	-7.886056648,
	-7.588043762,
	-7.283412422,
	-6.995678626,
	-6.691862621,
	-6.392544977,
	-6.067374056,
	-6.684029655,
	-6.378719832,
	-6.065855188,
	-5.752272167,
	-5.132414673,
	-4.811352704,
	-4.098269308,
	-3.66174277,
	-3.2644011,
};
static const double norris_y[] = {
	0.1,
	338.8,
	118.1,
	888.0,
	9.2,
	228.1,
	668.5,
	998.5,
	449.1,
	778.9,
	559.2,
	0.3,
	0.1,
	778.1,
	668.8,
	339.3,
	448.9,
	10.8,
	557.7,
	228.3,
	998.0,
	888.8,
	119.6,
	0.3,
	0.6,
	557.6,
	339.3,
	888.0,
	998.5,
	778.9,
	10.2,
	117.6,
	228.9,
	668.4,
	449.2,
	0.2,
};
static const double norris_x[] = {
	0.2,
	337.4,
	118.2,
	884.6,
	10.1,
	226.5,
	666.3,
	996.3,
	448.6,
	777.0,
	558.2,
	0.4,
	0.6,
	775.5,
	666.9,
	338.0,
	447.5,
	11.6,
	556.0,
	228.1,
	995.8,
	887.6,
	120.2,
	0.3,
	0.3,
	556.8,
	339.1,
	887.2,
	999.0,
	779.0,
	11.1,
	118.3,
	229.2,
	669.1,
	448.9,
	0.5,
};
static const double pontius_y[] = {
	.11019,
	.21956,
	.32949,
	.43899,
	.54803,
	.65694,
	.76562,
	.87487,
	.98292,
	1.09146,
	1.20001,
	1.30822,
	1.41599,
	1.52399,
	1.63194,
	1.73947,
	1.84646,
	1.95392,
	2.06128,
	2.16844,
	.11052,
	.22018,
	.32939,
	.43886,
	.54798,
	.65739,
	.76596,
	.87474,
	.98300,
	1.09150,
	1.20004,
	1.30818,
	1.41613,
	1.52408,
	1.63159,
	1.73965,
	1.84696,
	1.95445,
	2.06177,
	2.16829,
};
/* y of Wampler 3 for x = 0, 1, .. 20. 1 and 4, 5 have the same curve with 0, 100 and 10000 times
 * the residuals */
static const double wampler3_y[] = {
	760,
	-2042,
	2111,
	-1684,
	3888,
	1858,
	11379,
	17560,
	39287,
	64382,
	113159,
	175108,
	273291,
	400186,
	581243,
	811568,
	1121004,
	1506550,
	2002767,
	2611612,
	3369180,
};
static const double wampler2_y[] = {
	1.00000,
	1.11111,
	1.24992,
	1.42753,
	1.65984,
	1.96875,
	2.38336,
	2.94117,
	3.68928,
	4.68559,
	6.00000,
	7.71561,
	9.92992,
	12.75603,
	16.32384,
	20.78125,
	26.29536,
	33.05367,
	41.26528,
	51.16209,
	63.00000,
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* The certified values have 15 digits; the data, rounded to doubles, determine 13 of them. */
static void
check_fit(const char *name, const struct nw_lm *lm, const double (*certified)[2], size_t n,
    double residual_sd, double r2)
{
	int before = check_failed;

	CHECK_INT(lm->status, NW_STATUS_OK);
	for (size_t k = 0; k < n; k++) {
		const struct nw_coefficient *c = k == 0 ? &lm->intercept : &lm->coef[k - 1];

		CHECK_NEAR(c->value, certified[k][0], 1e-13, 0);
		CHECK_NEAR(c->se, certified[k][1], 1e-13, 0);
		if (certified[k][1] > 0)
			CHECK_NEAR(c->f, pow(certified[k][0] / certified[k][1], 2), 2e-13, 0);
		else
			CHECK(c->f == INFINITY);
	}
	CHECK_NEAR(lm->residual_sd, residual_sd, 1e-13, 0);
	CHECK_NEAR(lm->r2, r2, 1e-14, 0);
	if (check_failed > before)
		fprintf(stderr, "in %s\n", name);
}

static void
test_filip(void)
{
	static const double certified[][2] = {
		{ -1467.48961422980, 298.084530995537 },
		{ -2772.17959193342, 559.779865474950 },
		{ -2316.37108160893, 466.477572127796 },
		{ -1127.97394098372, 227.204274477751 },
		{ -354.478233703349, 71.6478660875927 },
		{ -75.1242017393757, 15.2897178747400 },
		{ -10.8753180355343, 2.23691159816033 },
		{ -1.06221498588947, 0.221624321934227 },
		{ -0.670191154593408e-01, 0.142363763154724e-01 },
		{ -0.246781078275479e-02, 0.535617408889821e-03 },
		{ -0.402962525080404e-04, 0.896632837373868e-05 },
	};
	struct nw_lm lm;

	CHECK_INT(nw_lm_fit_polynomial(filip_x, filip_y, COUNT(filip_x), 10, false, &lm), NW_OK);
	check_fit(
	    "Filip", &lm, certified, COUNT(certified), 0.334801051324544e-02, 0.996727416185620);
	CHECK_INT(lm.df, 71);
	nw_lm_clear(&lm);
}

static void
test_norris_pontius(void)
{
	static const double norris[][2] = {
		{ -0.262323073774029, 0.232818234301152 },
		{ 1.00211681802045, 0.429796848199937e-03 },
	};
	static const double pontius[][2] = {
		{ 0.673565789473684e-03, 0.107938612033077e-03 },
		{ 0.732059160401003e-06, 0.157817399981659e-09 },
		{ -0.316081871345029e-14, 0.486652849992036e-16 },
	};
	double x[40];
	struct nw_lm lm;

	CHECK_INT(nw_lm_fit_polynomial(norris_x, norris_y, COUNT(norris_x), 1, false, &lm), NW_OK);
	check_fit("Norris", &lm, norris, 2, 0.884796396144373, 0.999993745883712);
	nw_lm_clear(&lm);
	for (size_t i = 0; i < 40; i++)
		x[i] = 150000 * (double)(i % 20 + 1);
	CHECK_INT(nw_lm_fit_polynomial(x, pontius_y, 40, 2, false, &lm), NW_OK);
	check_fit("Pontius", &lm, pontius, 3, 0.205177424076185e-03, 0.999999900178537);
	nw_lm_clear(&lm);
}

static void
test_wampler(void)
{
	static const double se[] = {
		2152.32624678170,
		2363.55173469681,
		779.343524331583,
		101.475507550350,
		5.64566512170752,
		0.112324854679312,
	};
	static const double factor[] = { 0, 1, 100, 10000 },
			    r2[] = { 1, 0.999995559025820, 0.957478440825662,
				    0.224668921574940e-02 };
	double x[21], y[21], certified[6][2];
	struct nw_lm lm;

	for (size_t set = 0; set < COUNT(factor); set++) {
		for (size_t i = 0; i < 21; i++) {
			double v = (double)i, curve = 1 + v * (1 + v * (1 + v * (1 + v * (1 + v))));

			x[i] = v;
			y[i] = curve + factor[set] * (wampler3_y[i] - curve);
		}
		for (size_t k = 0; k < 6; k++) {
			certified[k][0] = 1;
			certified[k][1] = se[k] * factor[set];
		}
		CHECK_INT(nw_lm_fit_polynomial(x, y, 21, 5, false, &lm), NW_OK);
		check_fit("Wampler", &lm, (const double(*)[2])certified, 6,
		    2360.14502379268 * factor[set], r2[set]);
		nw_lm_clear(&lm);
	}
	/* Wampler 2: rounded to 5 decimals, which are exact; the curve is 1 + 0.1 x + .. + 1e-5
	 * x^5 */
	CHECK_INT(nw_lm_fit_polynomial(x, wampler2_y, 21, 5, false, &lm), NW_OK);
	CHECK_NEAR(lm.intercept.value, 1, 1e-14, 0);
	for (size_t k = 0; k < 5; k++) {
		CHECK_NEAR(lm.coef[k].value, pow(10, -1 - (double)k), 1e-11, 0);
		CHECK(lm.coef[k].se == 0 && isinf(lm.coef[k].f));
	}
	CHECK(lm.sse == 0 && lm.r2 == 1);
	nw_lm_clear(&lm);
}

/* NoInt 1 and 2: through the origin. */
static void
test_no_intercept(void)
{
	static const double x2[] = { 4, 5, 6 }, y2[] = { 3, 4, 4 };
	double x[11], y[11];
	struct nw_lm lm;

	for (size_t i = 0; i < 11; i++) {
		y[i] = 130 + (double)i;
		x[i] = 60 + (double)i;
	}
	CHECK_INT(nw_lm_fit_polynomial(x, y, 11, 1, true, &lm), NW_OK);
	CHECK(isnan(lm.intercept.value));
	CHECK_NEAR(lm.coef[0].value, 2.07438016528926, 1e-14, 0);
	CHECK_NEAR(lm.coef[0].se, 0.165289256198347e-01, 1e-14, 0);
	CHECK_NEAR(lm.residual_sd, 3.56753034006338, 1e-14, 0);
	CHECK_NEAR(lm.r2, 0.999365492298663, 1e-14, 0);
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit_polynomial(x2, y2, 3, 1, true, &lm), NW_OK);
	CHECK_NEAR(lm.coef[0].value, 0.727272727272727, 1e-14, 0);
	CHECK_NEAR(lm.coef[0].se, 0.420827318078432e-01, 1e-14, 0);
	CHECK_NEAR(lm.r2, 0.993348115299335, 1e-14, 0);
	nw_lm_clear(&lm);
}

/* Unit and offset of x change the coefficients as algebra says, nothing else. */
static void
test_scale(void)
{
	static const double scales[] = { 1e-9, 1e12, 1e150 };
	struct nw_lm lm, moved;
	double x[COUNT(filip_x)];

	CHECK_INT(nw_lm_fit_polynomial(filip_x, filip_y, COUNT(filip_x), 4, false, &lm), NW_OK);
	for (size_t s = 0; s < COUNT(scales); s++) {
		for (size_t i = 0; i < COUNT(x); i++)
			x[i] = filip_x[i] * scales[s];
		CHECK_INT(nw_lm_fit_polynomial(x, filip_y, COUNT(x), 4, false, &moved), NW_OK);
		CHECK_NEAR(moved.r2, lm.r2, 1e-14, 0);
		for (size_t k = 0; k < 2; k++) {
			CHECK_NEAR(moved.coef[k].f, lm.coef[k].f, 1e-12, 0);
			CHECK_NEAR(moved.coef[k].value * pow(scales[s], (double)k + 1),
			    lm.coef[k].value, 1e-12, 0);
		}
		nw_lm_clear(&moved);
	}
	for (size_t i = 0; i < COUNT(x); i++)
		x[i] = 1e6 + filip_x[i];
	CHECK_INT(nw_lm_fit_polynomial(x, filip_y, COUNT(x), 4, false, &moved), NW_OK);
	CHECK_NEAR(moved.r2, lm.r2, 1e-9, 0);
	CHECK_NEAR(moved.coef[3].f, lm.coef[3].f, 1e-6, 0);
	nw_lm_clear(&moved);
	nw_lm_clear(&lm);
}

static void
test_edges(void)
{
	static const double x[] = { 1, 2, 2, 1, 1 }, y[] = { 1, 3, 2, 2, 5 },
			    same[] = { 4, 4, 4, 4, 4 };
	struct nw_lm lm;

	/* two different x: a line, no more */
	CHECK_INT(nw_lm_fit_polynomial(x, y, 5, 3, false, &lm), NW_OK);
	CHECK_INT(lm.status, NW_STATUS_OK);
	CHECK_INT(lm.rank, 1);
	CHECK_INT(lm.coef[0].state, NW_TERM_OK);
	CHECK_INT(lm.coef[1].state, NW_TERM_ALIASED);
	CHECK(isnan(lm.coef[1].value));
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit_polynomial(x, same, 5, 1, false, &lm), NW_OK);
	CHECK_INT(lm.status, NW_STATUS_CONSTANT_RESPONSE);
	CHECK(isnan(lm.r2) && lm.sse == 0);
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit_polynomial(same, y, 5, 1, false, &lm), NW_OK);
	CHECK_INT(lm.rank, 0);
	CHECK_NEAR(lm.intercept.value, 2.6, 1e-15, 0);
	CHECK_NEAR(lm.r2, 0, 0, 1e-15);
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit_polynomial(x, y, 2, 1, false, &lm), NW_OK);
	CHECK_INT(lm.status, NW_STATUS_UNDERDETERMINED);
	CHECK(isnan(lm.r2) && isnan(lm.coef[0].se));
	CHECK_NEAR(lm.coef[0].value, 2, 1e-15, 0);
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit_polynomial(x, y, 0, 1, false, &lm), NW_OK);
	CHECK_INT(lm.status, NW_STATUS_INSUFFICIENT);
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit_polynomial(x, y, 5, NW_POLY_MAX_DEGREE + 1, false, &lm), NW_EINVAL);
	nw_lm_clear(&lm);
}

int
main(void)
{
	test_filip();
	test_norris_pontius();
	test_wampler();
	test_no_intercept();
	test_scale();
	test_edges();
	return check_done("polynomial");
}
