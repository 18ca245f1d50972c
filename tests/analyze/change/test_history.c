/* SPDX-License-Identifier: BSD-3-Clause */
/* Which patterns of hours are seen, and how often where there is none. */
#include "narrows/history.h"

#include "tests/check.h"
#include "tests/noise.h"

enum { TRIALS = 400, LONGEST = 200 };

/* Log rates: normal, with heavy tails, of two kinds, with memory, rounded. */
static double
noise_of(int shape, double *before)
{
	double z = noise_normal();

	switch (shape) {
	case 1: return 0.2 * z / fabs(noise_normal() + (noise_normal() > 0 ? 0.4 : -0.4));
	case 2: return (noise_uniform() < 0.3 ? -0.7 : 0) + 0.05 * z;
	case 3: return *before = 0.4 * *before + 0.2 * z;
	case 4: return floor(3 * z) / 10;
	default: return 0.2 * z;
	}
}

static void
rates_make(int shape, size_t n, double *rate)
{
	double before = 0;
	size_t i;

	for (i = 0; i < n; i++)
		rate[i] = 1e8 * exp(noise_of(shape, &before));
}

/* n sessions a day at the hours of `group`, on `days` days. */
static bool
pattern_seen(int shape, size_t days, double evening, bool one_day, struct nw_pattern *p)
{
	double rate[LONGEST], level[LONGEST];
	int64_t unit[LONGEST];
	unsigned group[LONGEST];
	size_t i, n = 4 * days;

	rates_make(shape, n, rate);
	for (i = 0; i < n; i++) {
		unit[i] = (int64_t)(i / 4);
		level[i] = 1;
		group[i] = (unsigned)(i % 4);
		if (group[i] == 3 && (!one_day || i / 4 == 2))
			rate[i] /= evening;
	}
	CHECK_INT(nw_pattern(rate, unit, group, n, 6, level, p), 0);
	return p->real;
}

static void
patterns(void)
{
	struct nw_pattern p;
	int t, real = 0, found = 0, once = 0;

	for (t = 0; t < TRIALS; t++) {
		real += pattern_seen(t % 5, 20, 1, false, &p);
		once += pattern_seen(0, 20, 5, true, &p);
		found += pattern_seen(0, 20, 1.5, false, &p) && p.slow == 3 && p.slow_ratio < 0.8;
	}
	printf("patterns: %.3f without, %.3f after one bad evening, %.3f with\n",
	    (double)real / TRIALS, (double)once / TRIALS, (double)found / TRIALS);
	CHECK((double)real / TRIALS < 0.03);
	CHECK((double)once / TRIALS < 0.03);
	CHECK((double)found / TRIALS > 0.9);
	CHECK(!pattern_seen(0, 2, 3, false, &p) && isnan(p.p));
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 17);
	patterns();
	return check_done("history");
}
