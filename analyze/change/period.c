/* SPDX-License-Identifier: BSD-3-Clause */
/* The period of a series. See analyze/change/period_in.h. */
#include "analyze/change/period_in.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fft.h"
#include "analyze/quantile.h"
#include "narrows/err.h"

#define R_MAX           0.98
#define PERIOD_EVIDENCE 12.0
#define PERIOD_MIN      4.0
#define CYCLES_MIN      3.0
#define OVERSAMPLE      4 /* bins of the padded periodogram per bin of the series */
#define FINE            8 /* frequencies tried per padded bin */
#define HARMONICS       8
#define BINS            24   /* of a profile, at most */
#define REFINED         20   /* periods tried on either side of the spectrum's */
#define TURN_LOW        0.35 /* of the way from the 10 % to the 90 % quantile */
#define TURN_HIGH       0.65
#define TURN_CV         0.3  /* largest deviation of the distances of turns, over their mean */
#define SIDE_CV         0.45 /* the same for the times above and below */
#define SHARE_LEAST     0.3  /* least share of the variance in cycles that the profile explains */
#define SHARE_FEW       2.4  /* the same, times the number of cycles */
#define SHARE_MOST      0.8  /* enough for any number of cycles */
#define SHARE_LINE      0.12 /* the same, least beside a line that stands out */
#define SHARE_MORE      0.15 /* more, so that a multiple of the period is the period */
#define MULTIPLES       4
#define LINE_EVIDENCE   10.0 /* of a line against the spectrum beside the line */
#define LINE_NEAR       2    /* bins of the series to the nearest neighbour, and to the farthest */
#define LINE_FAR        8
#define PULSE_TAIL      0.03 /* quantile in a pulse, and its opposite */
#define PULSE_CV        0.2  /* as TURN_CV, of pulses */
#define PULSES_MIN      4.0  /* distances of pulses */
#define SHARE_SLOW      2.2  /* as SHARE_FEW, of a slow wave */
#define SLOW_LEAST      100  /* values, of which a spectrum around a line is even */
#define LINE_ALONE      9.0  /* evidence of a line beside a spectrum that a memory hides */
#define SMOOTH_CV       0.2  /* as TURN_CV, of turns of running means */
#define SMOOTH          5    /* values of a running mean, below which noise makes turns */

struct fold {
	const double *x;
	size_t n;
	double *phase; /* cycles since the first value, per value */
	double *mean;  /* n: mean of the cycle around each value */
	double *means; /* n: running means of the values */
	size_t n_bins;
	double profile[BINS];
};

static double
mean_of(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/* --- the line spectrum --- */

/* The series less a straight line and an AR(1), to the real parts of z; returns their squares'
 * sum. */
static double
whiten(const double *x, size_t n, double *z)
{
	double mean = mean_of(x, n), middle = (double)(n - 1) / 2, slope = 0, spread = 0, last, now;
	double products = 0, squares = 0, sum = 0, r;

	for (size_t i = 0; i < n; i++) {
		slope += ((double)i - middle) * (x[i] - mean);
		spread += pow((double)i - middle, 2);
	}
	slope /= spread;
	for (size_t i = 0; i < n; i++) {
		now = x[i] - mean - slope * ((double)i - middle);
		z[2 * i] = now;
		squares += now * now;
		products += i > 0 ? now * z[2 * i - 2] : 0;
	}
	r = squares > 0 ? fmin(R_MAX, fmax(0, products / squares)) : 0;
	last = z[0];
	z[0] = 0;
	for (size_t i = 1; i < n; i++) {
		now = z[2 * i];
		z[2 * i] = now - r * last;
		last = now;
		sum += z[2 * i] * z[2 * i];
	}
	return sum;
}

/* -ln of the chance that a sum of n exponential variables reaches s. */
static double
gamma_evidence(double s, size_t n)
{
	double term = 1, sum = 1;

	for (size_t j = 1; j < n; j++) {
		term *= s / (double)j;
		sum += term;
	}
	return s - log(sum);
}

/* -ln of the chance that a line at padded bin f is as high as this beside the spectrum around: a
 * memory has broad rises. Neighbours are whole bins of the series away, where a line of this
 * length has zeros; the highest of them is left out. */
static double
line_evidence(const double *power, double f, double bin, double end)
{
	double sum = 0, most = 0, count = 0, at, mean;

	for (int k = -LINE_FAR; k <= LINE_FAR; k++) {
		at = f + k * bin;
		if (abs(k) < LINE_NEAR || at < 1.5 * bin || at > end)
			continue;
		sum += power[(size_t)lround(at)];
		most = fmax(most, power[(size_t)lround(at)]);
		count++;
	}
	count--;
	mean = (sum - most) / count;
	return count >= 4 && mean > 0 ? count * log1p(power[(size_t)lround(f)] / mean / count) : 0;
}

struct line {
	double period; /* with the most evidence; 0 without any */
	double alone;  /* evidence beside the spectrum around */
	bool is_white; /* enough evidence in a spectrum without the memory */
};

static int
line_find(const double *x, size_t n, struct line *out)
{
	size_t m = 2, k;
	double *z, squares, best = 0, f, sum;
	struct fft *fft;
	int rc = NW_ENOMEM;

	*out = (struct line){ 0 };
	while (m < OVERSAMPLE * n)
		m *= 2;
	z = calloc(2 * m, sizeof(*z));
	fft = fft_new(m);
	if (z == NULL || fft == NULL)
		goto out;
	rc = NW_OK;
	squares = whiten(x, n, z);
	if (!(squares > 0))
		goto out;
	fft_forward(fft, z);
	for (k = 0; k < m / 2; k++)
		z[k] = (z[2 * k] * z[2 * k] + z[2 * k + 1] * z[2 * k + 1]) / squares;
	for (f = CYCLES_MIN * 0.95 * (double)m / (double)n; f <= (double)m / PERIOD_MIN;
	     f += 1.0 / FINE) {
		size_t h;

		for (h = 1, sum = 0; h <= HARMONICS && (double)h * f < (double)m / 2 - 1; h++)
			sum += z[(size_t)lround((double)h * f)];
		/* a wave is a line, and the noise at the multiples hides the line */
		sum = fmax(gamma_evidence(sum, h - 1), z[(size_t)lround(f)] - log(2));
		if (sum > best) {
			best = sum;
			out->period = (double)m / f;
		}
	}
	if (best > 0)
		out->alone = line_evidence(
		    z, (double)m / out->period, (double)m / (double)n, (double)m / 2 - 1);
	out->is_white = best - log((double)n) >= PERIOD_EVIDENCE;
out:
	free(z);
	fft_free(fft);
	return rc;
}

/* --- folding --- */

static size_t
bin_of(const struct fold *f, size_t i)
{
	double in = f->phase[i] - floor(f->phase[i]);
	size_t bin = (size_t)(in * (double)f->n_bins);

	return bin < f->n_bins ? bin : f->n_bins - 1;
}

/* The mean of each value's cycle: of the values less than half a cycle away. */
static void
cycle_means(struct fold *f)
{
	size_t from = 0, end = 0;
	double sum = 0;

	for (size_t i = 0; i < f->n; i++) {
		for (; end < f->n && f->phase[end] < f->phase[i] + 0.5; end++)
			sum += f->x[end];
		for (; f->phase[from] < f->phase[i] - 0.5; from++)
			sum -= f->x[from];
		f->mean[i] = sum / (double)(end - from);
	}
}

static bool
is_whole(const struct fold *f, size_t i)
{
	return f->phase[i] >= f->phase[0] + 0.5 && f->phase[i] <= f->phase[f->n - 1] - 0.5;
}

/* The profile of a cycle, and the share of the variance within cycles that the profile explains. */
static double
fold_at(struct fold *f, double period)
{
	double count[BINS] = { 0 }, sum[BINS] = { 0 }, squares = 0, left = 0, mean = 0, d;
	double n = 0, cycles = f->phase[f->n - 1] - f->phase[0], free_values;
	size_t b;

	f->n_bins = (size_t)fmin(BINS, fmax(PERIOD_MIN, floor(period)));
	cycle_means(f);
	for (size_t i = 0; i < f->n; i++)
		if (is_whole(f, i)) {
			b = bin_of(f, i);
			count[b]++;
			sum[b] += f->x[i] - f->mean[i];
			n++;
		}
	for (b = 0; b < f->n_bins; b++) {
		if (!(count[b] > 0))
			return 0;
		f->profile[b] = sum[b] / count[b];
		mean += f->profile[b] / (double)f->n_bins;
	}
	for (b = 0; b < f->n_bins; b++)
		f->profile[b] -= mean;
	for (size_t i = 0; i < f->n; i++)
		if (is_whole(f, i)) {
			d = f->x[i] - f->mean[i];
			squares += d * d;
			left += pow(d - f->profile[bin_of(f, i)], 2);
		}
	free_values = n - (double)f->n_bins - cycles;
	return squares > 0 && free_values > 0 ? 1 - left / squares * n / free_values : 0;
}

static void
phase_steady(struct fold *f, double period)
{
	for (size_t i = 0; i < f->n; i++)
		f->phase[i] = (double)i / period;
}

static bool
share_is_enough(double share, double cycles)
{
	return share >= fmin(SHARE_MOST, fmax(SHARE_LEAST, SHARE_FEW / cycles));
}

/* The period near `period` at which the values repeat best. Returns the explained share. */
static double
fold_near(struct fold *f, double *period)
{
	double n = (double)f->n, best = 0, at = *period, share, tried;

	for (int k = -REFINED; k <= REFINED; k++) {
		/* half a cycle over the series, to either side */
		tried = 1 / (1 / *period + (double)k / REFINED / 2 / n);
		if (!(tried >= PERIOD_MIN && tried * CYCLES_MIN <= n))
			continue;
		phase_steady(f, tried);
		share = fold_at(f, tried);
		if (share > best) {
			best = share;
			at = tried;
		}
	}
	*period = at;
	phase_steady(f, at);
	return fold_at(f, at);
}

/* The period near `period`, or a multiple that explains much more: short pulses have lines of the
 * same height at all multiples of their frequency. Returns the explained share. */
static double
fold_refine(struct fold *f, double *period)
{
	double n = (double)f->n, base = *period, best = fold_near(f, period), tried, share;

	for (int k = 2; k <= MULTIPLES && base * k * CYCLES_MIN <= n; k++) {
		tried = base * k;
		share = fold_near(f, &tried);
		if (share > best + SHARE_MORE) {
			best = share;
			*period = tried;
		}
	}
	phase_steady(f, *period);
	best = fold_at(f, *period);
	return best;
}

/* --- regular turns --- */

struct tally {
	double n, sum, squares;
};

static void
tally_add(struct tally *t, double x)
{
	t->n++;
	t->sum += x;
	t->squares += x * x;
}

static bool
tally_is_regular(const struct tally *t, double cv)
{
	double mean = t->sum / t->n, variance = (t->squares - t->sum * mean) / (t->n - 1);

	/* a time is known to a value */
	return t->n >= 2 && sqrt(fmax(0, variance)) <= cv * mean;
}

/* Turns upwards give the phase; false unless they are regular. */
static bool
turns_find(struct fold *f, double low, double high, double least, double cv, double *period)
{
	struct tally whole = { 0 }, above = { 0 }, below = { 0 };
	double last_up = -1, last_down = -1;
	bool is_low = f->x[0] < low, known = is_low || f->x[0] > high;
	size_t i, from = 0;

	for (i = 0; i < f->n; i++)
		f->phase[i] = -1;
	for (i = 1; i < f->n; i++) {
		if (!known) {
			is_low = f->x[i] < low;
			known = is_low || f->x[i] > high;
		} else if (is_low && f->x[i] > high) {
			if (last_up >= 0)
				tally_add(&whole, (double)i - last_up);
			if (last_down >= 0)
				tally_add(&below, (double)i - last_down);
			f->phase[i] = whole.n;
			from = whole.n == 0 ? i : from;
			last_up = (double)i;
			is_low = false;
		} else if (!is_low && f->x[i] < low) {
			if (last_up >= 0)
				tally_add(&above, (double)i - last_up);
			last_down = (double)i;
			is_low = true;
		}
	}
	if (whole.n < least || !tally_is_regular(&whole, cv) ||
	    !tally_is_regular(&above, SIDE_CV) || !tally_is_regular(&below, SIDE_CV))
		return false;
	*period = whole.sum / whole.n;
	for (i = 0; i < from; i++)
		f->phase[i] = -((double)(from - i)) / *period;
	for (i = from; i < f->n;) {
		size_t next = i + 1, k;
		double step;

		while (next < f->n && f->phase[next] < 0)
			next++;
		step = next < f->n ? 1 / (double)(next - i) : 1 / *period;
		for (k = i + 1; k < next; k++)
			f->phase[k] = f->phase[i] + step * (double)(k - i);
		i = next;
	}
	return *period >= PERIOD_MIN;
}

/* Levels of turns: quantile of the low one, and how regular the turns must be. */
struct turns {
	double tail, least, cv;
};

static bool
turns_repeat(struct fold *f, const struct turns *t, double *scratch, double *period)
{
	double low, high;

	memcpy(scratch, f->x, f->n * sizeof(*scratch));
	low = quantile(scratch, f->n, t->tail);
	high = quantile(scratch, f->n, 1 - t->tail);
	return high > low &&
	    turns_find(f, low + TURN_LOW * (high - low), low + TURN_HIGH * (high - low), t->least,
		t->cv, period) &&
	    share_is_enough(fold_at(f, *period), f->phase[f->n - 1] - f->phase[0]);
}

/* Means of SMOOTH values, of fewer at the ends. */
static void
smooth(const double *x, size_t n, double *out)
{
	const size_t half = SMOOTH / 2;
	double sum = 0;
	size_t from = 0, end = 0;

	for (size_t i = 0; i < n; i++) {
		for (; end < n && end <= i + half; end++)
			sum += x[end];
		for (; from + half < i; from++)
			sum -= x[from];
		out[i] = sum / (double)(end - from);
	}
}

/* Turns of running means: a slow rise through noise is one turn of the means. The phase is theirs,
 * the profile that of the values. */
static bool
smooth_turns_repeat(struct fold *f, double *scratch, double *period)
{
	static const struct turns slow = { 0.1, PULSES_MIN, SMOOTH_CV };
	const double *x = f->x;
	bool found;

	smooth(x, f->n, f->means);
	f->x = f->means;
	found = turns_repeat(f, &slow, scratch, period) && *period >= 2 * SMOOTH;
	f->x = x;
	if (found)
		(void)fold_at(f, *period);
	return found;
}

/* The line is there if the spectrum without the memory has the line, and the values repeat. A
 * strong slow wave passes for a memory, and is taken off with the memory; such a wave still stands
 * out of the spectrum around. */
static bool
line_repeats(struct fold *f, const struct line *l, bool slow, double *period)
{
	double share, cycles;

	*period = l->period;
	if (slow ? f->n < SLOW_LEAST || l->alone - log((double)f->n / 2) < LINE_ALONE
		 : !l->is_white)
		return false;
	share = fold_refine(f, period);
	cycles = (double)f->n / *period;
	if (slow)
		return share >= fmax(SHARE_LEAST, SHARE_SLOW / cycles);
	return share_is_enough(share, cycles) || (l->alone >= LINE_EVIDENCE && share >= SHARE_LINE);
}

static bool
cycle_find(struct fold *f, const struct line *l, double *scratch, double *period)
{
	static const struct turns levels = { 0.1, CYCLES_MIN, TURN_CV },
				  pulses = { PULSE_TAIL, PULSES_MIN, PULSE_CV };

	return line_repeats(f, l, false, period) || turns_repeat(f, &levels, scratch, period) ||
	    turns_repeat(f, &pulses, scratch, period) || line_repeats(f, l, true, period) ||
	    smooth_turns_repeat(f, scratch, period);
}

int
period_find(const double *x, size_t n, struct nw_cycle *out, double *cyclic)
{
	struct fold f = { .x = x, .n = n };
	double period = 0, sorted[BINS], level = 0;
	struct line line;
	size_t i;
	int rc = NW_OK;

	*out = (struct nw_cycle){ 0 };
	memset(cyclic, 0, n * sizeof(*cyclic));
	if ((double)n < CYCLES_MIN * PERIOD_MIN)
		return NW_OK;
	f.phase = malloc(n * sizeof(*f.phase));
	f.mean = malloc(n * sizeof(*f.mean));
	f.means = malloc(n * sizeof(*f.means));
	if (f.phase == NULL || f.mean == NULL || f.means == NULL)
		rc = NW_ENOMEM;
	else
		rc = line_find(x, n, &line);
	if (rc != NW_OK)
		goto out;
	if (!cycle_find(&f, &line, cyclic, &period)) {
		memset(cyclic, 0, n * sizeof(*cyclic));
		goto out;
	}
	for (i = 0; i < n; i++) {
		cyclic[i] = f.profile[bin_of(&f, i)];
		level += x[i] / (double)n;
	}
	memcpy(sorted, f.profile, sizeof(sorted));
	out->period = period;
	out->n_cycles = f.phase[n - 1] - f.phase[0];
	out->low = level + quantile(sorted, f.n_bins, 0.1);
	out->high = level + quantile(sorted, f.n_bins, 0.9);
out:
	free(f.phase);
	free(f.mean);
	free(f.means);
	return rc;
}
