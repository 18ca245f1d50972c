/* SPDX-License-Identifier: BSD-3-Clause */
/* Which claim a stretch of windows bears: none, an account, an inference. */
#include "narrows/limit.h"

#include <math.h>

#include "tests/check.h"
#include "tests/noise.h"

enum { N = 120 };

static double share[2][N];

/* Two stages of one thread: the second takes what the first leaves of `sum`. */
static struct limit
limit_of(size_t n, double held, double sum, double ar)
{
	struct nw_path p = { .n_windows = n, .window_s = 1, .n = 2 };
	struct limit l;
	double noise[N];
	size_t i;

	noise_ar(noise, n, ar);
	for (i = 0; i < n; i++) {
		share[0][i] = 1 - (held + 0.05 * noise[i]);
		share[1][i] = 1 - (sum - held - 0.05 * noise[i]);
	}
	p.stage[0].kind = NW_STAGE_DISK_READ;
	p.stage[0].free_share = share[0];
	p.stage[1].kind = NW_STAGE_NETWORK;
	p.stage[1].free_share = share[1];
	CHECK_INT(limit_find(&p, 0, n, 0.05, 0.1, &l), 0);
	return l;
}

static void
test_claims(void)
{
	struct limit l = limit_of(N, 0.65, 0.95, 0);

	CHECK_INT(l.claim, LIMIT_INFERENCE);
	CHECK(l.known && l.stage == 0 && limit_is_sample(&l) && limit_is_strong(&l));
	CHECK(l.effect_low < 0.65 / 0.3 && l.effect_high > 0.65 / 0.3);
	l = limit_of(6, 0.8, 0.9, 0.9); /* few windows: where the time went, and no more */
	CHECK_INT(l.claim, LIMIT_ACCOUNT);
	CHECK_STR(limit_claim_name(l.claim), "account");
	CHECK(l.known && l.stage == 0 && !limit_is_sample(&l) && !limit_is_strong(&l));
	l = limit_of(N, 0.475, 0.95, 0); /* alike */
	CHECK_INT(l.claim, LIMIT_NONE);
	CHECK(!l.known);
	l = limit_of(4, 0.8, 0.9, 0); /* fewer windows than an account needs */
	CHECK_INT(l.claim, LIMIT_NONE);
}

/* Which interval is printed: none of few windows; wider than that of the ratio, most of all where
 * the evidence is weak; beside an account with the tie inside. */
static void
test_printed(void)
{
	struct limit l = limit_of(N, 0.65, 0.95, 0);
	double strong = log(l.printed_high / l.printed_low) / log(l.effect_high / l.effect_low);

	CHECK(limit_is_strong(&l) && strong > 1.2 && strong < 2);
	CHECK(l.printed_low > 1 && l.printed_low < l.effect_low);
	CHECK(l.printed_high > l.effect_high && l.printed_high < 10);
	l = limit_of(N, 0.475, 0.95, 0);
	CHECK(l.claim == LIMIT_NONE && l.n_eff >= LIMIT_PRINTED_N_EFF);
	CHECK(
	    log(l.printed_high / l.printed_low) / log(l.effect_high / l.effect_low) > strong + 0.2);
	CHECK(l.printed_low < 1 && l.printed_high > 1);
	for (int tries = 0; tries < 20; tries++) { /* too few windows for an inference */
		l = limit_of(14, 0.6, 0.95, 0);
		if (l.n_eff >= LIMIT_PRINTED_N_EFF)
			break;
	}
	CHECK(l.claim == LIMIT_ACCOUNT && l.n_eff >= LIMIT_PRINTED_N_EFF);
	CHECK(l.printed_low <= 1 / l.effect && l.printed_high > l.effect_high);
	l = limit_of(9, 0.6, 0.95, 0);
	CHECK(l.claim == LIMIT_ACCOUNT && l.n_eff < LIMIT_PRINTED_N_EFF);
	CHECK(isfinite(l.effect) && isnan(l.printed_low) && isnan(l.printed_high));
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 4);
	test_claims();
	test_printed();
	return check_done("limit");
}
