/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of a path: claims where all stages are alike, power where one is slow, coverage of the
 * effect's interval. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/limit.h"
#include "tests/calibrate/calibrate.h"

enum { WINDOWS_MAX = 300 };

static const double alpha = 0.05, margin = 0.1, share_sd = 0.1;

/* How the held shares of the stages hang together. */
enum tie {
	INDEPENDENT,
	ONE_THREAD,   /* two stages fill the window: one takes what the other leaves */
	THREE_STAGES, /* so do three */
	SHARED        /* stalls hit both: r = 0.7 */
};

static const char *const tie_names[] = { "independent", "one thread", "three of one thread",
	"shared stalls" };

/* Noise of a share: mean 0, sd 1, and the autocorrelation of the scene. */
enum shape {
	NORMAL,
	SKEWED, /* AR(1) with gamma shocks */
	COINS,  /* AR(1) with shocks of one size */
	STATES  /* two levels, each left with the same chance in every window */
};

static const char *const shape_names[] = { "", ", gamma shocks", ", shocks of one size",
	", two states" };

struct scene {
	enum tie tie;
	size_t n;
	double ar;
	double held[2]; /* mean held shares of the first two stages */
	enum shape shape;
};

static double
shock(enum shape shape)
{
	if (shape == COINS)
		return noise_uniform() < 0.5 ? -1 : 1;
	return -(log(1 - noise_uniform()) + log(1 - noise_uniform()) + 2) / sqrt(2);
}

static void
states(double *x, size_t n, double ar)
{
	double level = noise_uniform() < 0.5 ? -1 : 1;

	for (size_t i = 0; i < n; i++) {
		x[i] = level;
		level = noise_uniform() < (1 + ar) / 2 ? level : -level;
	}
}

static void
noise_of(const struct scene *s, double *x)
{
	enum { WARM_UP = 200 };
	double v = 0;

	if (s->shape == NORMAL)
		noise_ar(x, s->n, s->ar);
	else if (s->shape == STATES)
		states(x, s->n, s->ar);
	else
		for (size_t i = 0; i < WARM_UP + s->n; i++) {
			v = s->ar * v + sqrt(1 - s->ar * s->ar) * shock(s->shape);
			if (i >= WARM_UP)
				x[i - WARM_UP] = v;
		}
}

/* Windows of a path with two or three stages, disk.read first. */
struct track {
	struct nw_path path;
	double free_share[3][WINDOWS_MAX];
};

static void
track_fill(struct track *t, const struct scene *s)
{
	static const enum nw_stage_kind kinds[] = { NW_STAGE_DISK_READ, NW_STAGE_NETWORK,
		NW_STAGE_SENDER_HOST };
	double a[WINDOWS_MAX], b[WINDOWS_MAX], first, second;
	size_t i, k;

	t->path = (struct nw_path){
		.n_windows = s->n, .window_s = 1, .n = s->tie == THREE_STAGES ? 3 : 2
	};
	for (k = 0; k < t->path.n; k++) {
		t->path.stage[k].kind = kinds[k];
		t->path.stage[k].free_share = t->free_share[k];
	}
	noise_of(s, a);
	noise_of(s, b);
	for (i = 0; i < s->n; i++) {
		first = a[i];
		second = s->tie == ONE_THREAD ? -a[i]
		    : s->tie == SHARED        ? 0.7 * a[i] + sqrt(1 - 0.49) * b[i]
					      : b[i];
		t->free_share[0][i] = 1 - (s->held[0] + share_sd * first);
		t->free_share[1][i] = 1 - (s->held[1] + share_sd * second);
		t->free_share[2][i] =
		    1 - (0.95 - s->held[0] - s->held[1] - share_sd * (first + second));
	}
}

/* What became of the runs of a scene. */
struct tally {
	size_t runs, inferred, wrong, spoken, right, covered;
};

static struct tally
tally_of(const struct scene *s, size_t runs)
{
	static struct track t;
	struct tally c = { .runs = runs };
	double ratio = s->held[0] / s->held[1];
	struct limit l;

	for (size_t k = 0; k < runs; k++) {
		track_fill(&t, s);
		if (limit_find(&t.path, 0, s->n, alpha, margin, &l) < 0)
			abort();
		c.inferred += l.claim == LIMIT_INFERENCE;
		c.wrong += l.claim == LIMIT_INFERENCE && l.stage != 0;
		c.spoken += l.claim != LIMIT_NONE;
		c.right += l.claim != LIMIT_NONE && l.stage == 0;
		if (l.stage == 1)
			c.covered += l.effect_low <= 1 / ratio && l.effect_high >= 1 / ratio;
		else
			c.covered += l.effect_low <= ratio && l.effect_high >= ratio;
	}
	return c;
}

static char *
scene_name(const struct scene *s)
{
	static char text[100];

	(void)snprintf(text, sizeof(text), "%s, %zu windows, AR %g, %g v %g%s", tie_names[s->tie],
	    s->n, s->ar, s->held[0], s->held[1], shape_names[s->shape]);
	return text;
}

static const size_t sizes[] = { 5, 10, 20, 30, 60, 120, 300 };
static const double ars[] = { 0, 0.5, 0.8, 0.9, 0.95 };

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static void
nulls_of(struct calibration *c, enum shape shape)
{
	for (int tie = INDEPENDENT; tie <= SHARED; tie++)
		for (size_t i = 0; i < COUNT(sizes); i++)
			for (size_t k = 0; k < COUNT(ars); k++) {
				double held = tie == THREE_STAGES ? 0.95 / 3 : 0.475;
				struct scene s = { tie, sizes[i], ars[k], { held, held }, shape };
				struct tally t =
				    tally_of(&s, calibrate_runs(c, shape == NORMAL ? 1 : 2));

				cell_at_most(c, scene_name(&s), t.inferred, t.runs, 0.05);
			}
}

static void
nulls(struct calibration *c)
{
	calibrate_title(c, "Inferences where two stages are alike");
	for (int shape = NORMAL; shape <= STATES; shape++)
		nulls_of(c, shape);
}

static void
powers(struct calibration *c)
{
	calibrate_title(c, "The slow stage is named, by inference or account");
	for (int tie = INDEPENDENT; tie <= SHARED; tie++)
		for (size_t i = 0; i < COUNT(sizes); i++)
			for (size_t k = 0; k < COUNT(ars); k++) {
				struct scene s = { tie, sizes[i], ars[k], { 0.8, 0.1 }, NORMAL };
				struct tally t = tally_of(&s, calibrate_runs(c, 4));

				cell_at_least(c, scene_name(&s), t.right, t.runs, 0.96);
			}
	calibrate_title(c, "The slow stage is inferred");
	for (int tie = INDEPENDENT; tie <= SHARED; tie++) {
		struct scene s = { tie, 120, 0.8, { 0.6, 0.3 }, NORMAL };
		struct tally t = tally_of(&s, calibrate_runs(c, 1));

		cell_at_least(c, scene_name(&s), t.inferred - t.wrong, t.runs, 0.85);
	}
}

/* Only scenes with 8 independent windows or more. */
static void
coverage(struct calibration *c)
{
	static const double shares[][2] = { { 0.6, 0.35 }, { 0.6, 0.3 }, { 0.5, 0.45 },
		{ 0.45, 0.45 } };

	calibrate_title(c, "The 95 % interval of the effect covers");
	for (int tie = INDEPENDENT; tie <= SHARED; tie++)
		for (size_t i = 0; i < COUNT(sizes); i++)
			for (size_t k = 0; k < COUNT(ars); k++)
				for (size_t m = 0; m < COUNT(shares) && tie != THREE_STAGES; m++) {
					struct scene s = { tie, sizes[i], ars[k],
						{ shares[m][0], shares[m][1] }, NORMAL };
					struct tally t;

					if ((double)s.n * (1 - s.ar) / (1 + s.ar) < 8)
						continue;
					t = tally_of(&s, calibrate_runs(c, 1));
					cell_within(
					    c, scene_name(&s), t.covered, t.runs, 0.93, 0.97);
				}
}

/* Printed intervals of runs, counted by the word that the claim beside the interval gets. */
enum word { WORD_NONE, WORD_LOW, WORD_MEDIUM, WORD_HIGH, WORDS };

struct printed {
	size_t printed[WORDS], covered[WORDS];
	size_t few, few_printed; /* runs with fewer than ten independent windows */
};

static enum word
word_of(const struct limit *l)
{
	if (l->claim == LIMIT_INFERENCE)
		return limit_is_strong(l) ? WORD_HIGH : WORD_MEDIUM;
	return l->claim == LIMIT_ACCOUNT ? WORD_LOW : WORD_NONE;
}

static void
printed_run(const struct scene *s, double ratio, struct printed *p)
{
	static struct track t;
	struct limit l;

	track_fill(&t, s);
	if (limit_find(&t.path, 0, s->n, alpha, margin, &l) < 0)
		abort();
	if (l.n_eff < LIMIT_PRINTED_N_EFF) {
		p->few++;
		p->few_printed += !isnan(l.printed_low);
	}
	ratio = l.stage == 1 ? 1 / ratio : ratio;
	if (isnan(l.printed_low))
		return;
	p->printed[word_of(&l)]++;
	p->covered[word_of(&l)] += l.printed_low <= ratio && l.printed_high >= ratio;
}

/* All ties, sizes and memories of two stages whose means have one of the ratios. */
static void
printed_of(struct calibration *c, enum shape shape, const double *ratios, size_t n_ratios,
    const char *what)
{
	static const char *const words[WORDS] = { "none", "low", "medium", "high" };
	struct printed p = { 0 };
	char text[80];

	for (int tie = INDEPENDENT; tie <= SHARED; tie++)
		for (size_t i = 1; i < COUNT(sizes) && tie != THREE_STAGES; i++)
			for (size_t k = 0; k < COUNT(ars); k++)
				for (size_t m = 0; m < n_ratios; m++) {
					double least = 0.9 / (1 + ratios[m]);
					struct scene s = { tie, sizes[i], ars[k],
						{ 0.9 - least, least }, shape };

					for (size_t r = calibrate_runs(c, 20); r > 0; r--)
						printed_run(&s, ratios[m], &p);
				}
	for (size_t word = 0; word < WORDS; word++) {
		(void)snprintf(text, sizeof(text), "%s%s: beside \"%s\"", what, shape_names[shape],
		    words[word]);
		if (p.printed[word] > 0)
			cell_at_least(c, text, p.covered[word], p.printed[word], 0.92);
	}
	(void)snprintf(
	    text, sizeof(text), "%s%s: printed below ten windows", what, shape_names[shape]);
	cell_at_most(c, text, p.few_printed, p.few, 0);
}

void
calibrate_intervals(struct calibration *c)
{
	static const double near[] = { 1, 1.05, 1.1, 1.2, 1.3 }, far[] = { 1.5, 2, 3, 5 };

	calibrate_title(c, "The printed interval covers");
	for (int shape = NORMAL; shape <= STATES; shape++) {
		printed_of(c, (enum shape)shape, near, COUNT(near), "near ties");
		printed_of(c, (enum shape)shape, far, COUNT(far), "a clear limit");
	}
}

void
calibrate_bottleneck(struct calibration *c)
{
	nulls(c);
	powers(c);
	coverage(c);
}
