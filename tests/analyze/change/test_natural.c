/* SPDX-License-Identifier: BSD-3-Clause */
/* Natural experiments: a planted effect is told with its hosts; a fall of all hosts on one day,
 * and a change on too few hosts, are not. calibrate has the rates of errors. */
#include "narrows/natural.h"

#include "narrows/err.h"
#include "tests/check.h"
#include "tests/noise.h"

enum { HOSTS = 14, DAYS = 40, CHANGED = 9, FELL = 8, DAY = 20, PERMUTATIONS = 499 };

static double y[HOSTS * DAYS];
static int day[3][HOSTS];

/* The first setting is the planted one; the others come to other hosts on other days. */
static void
fleet_make(void)
{
	size_t h, d;

	for (h = 0; h < HOSTS; h++) {
		for (d = 0; d < DAYS; d++)
			y[h * DAYS + d] = 18 + 0.03 * noise_normal();
		day[0][h] = h < CHANGED ? DAY : NW_NATURAL_KEPT;
		day[1][h] = h % 2 == 0 ? 10 + (int)h : NW_NATURAL_KEPT;
		day[2][h] = h % 3 == 0 ? 15 : NW_NATURAL_KEPT;
	}
}

static void
hosts_fall(size_t n, double by)
{
	size_t h, d;

	for (h = 0; h < n; h++)
		for (d = DAY; d < DAYS; d++)
			y[h * DAYS + d] += log(by);
}

static void
ask(struct nw_natural_setting s[3])
{
	size_t i;

	for (i = 0; i < 3; i++)
		s[i] = (struct nw_natural_setting){ .day = day[i] };
	CHECK_INT(nw_natural(y, HOSTS, DAYS, s, 3, PERMUTATIONS, 7), NW_OK);
}

static void
planted_is_told(void)
{
	struct nw_natural_setting s[3];

	fleet_make();
	hosts_fall(FELL, 0.84);
	ask(s);
	CHECK(s[0].told && s[0].p <= NW_NATURAL_P);
	CHECK_INT(s[0].changed.n, CHANGED);
	CHECK_INT(s[0].changed.n_fell, FELL);
	CHECK_INT(s[0].changed.n_rose, 0);
	CHECK_INT(s[0].kept.n, HOSTS - CHANGED);
	CHECK_INT(s[0].kept.n_fell, 0);
	CHECK_NEAR(exp(s[0].effect), exp(log(0.84) * FELL / CHANGED), 0.03, 0);
	CHECK(!s[1].told && !s[2].told);
	hosts_fall(FELL, 1 / (0.84 * 0.84)); /* now the same hosts are faster */
	ask(s);
	CHECK(s[0].told && s[0].effect > 0);
	CHECK_INT(s[0].changed.n_rose, FELL);
}

static void
common_days_are_silent(void)
{
	struct nw_natural_setting s[3];

	fleet_make();
	hosts_fall(HOSTS, 0.5);
	ask(s);
	CHECK(!s[0].told && !s[1].told && !s[2].told);
	CHECK(fabs(s[0].effect) < 0.05);
}

static void
few_are_silent(void)
{
	struct nw_natural_setting s[3];
	size_t h;

	fleet_make();
	hosts_fall(2, 0.5);
	for (h = 0; h < HOSTS; h++)
		day[0][h] = h < 2 ? DAY : NW_NATURAL_KEPT;
	ask(s);
	CHECK(isnan(s[0].effect) && s[0].p == 1 && !s[0].told);
	for (h = 0; h < HOSTS; h++) /* too few hosts kept the setting */
		day[0][h] = h < 2 ? DAY : h < 4 ? NW_NATURAL_KEPT : NW_NATURAL_LEFT_OUT;
	ask(s);
	CHECK(isnan(s[0].effect) && !s[0].told);
	for (h = 0; h < HOSTS; h++) /* no day is left after the change */
		day[0][h] = h < CHANGED ? DAYS - 2 : NW_NATURAL_KEPT;
	ask(s);
	CHECK(isnan(s[0].effect) && !s[0].told);
	CHECK_INT(nw_natural(y, NW_NATURAL_HOSTS_MAX + 1, 1, s, 0, 0, 0), NW_EINVAL);
	CHECK_INT(nw_natural(y, 0, 0, s, 0, 9, 0), NW_OK);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 29);
	planted_is_told();
	common_days_are_silent();
	few_are_silent();
	return check_done("natural");
}
