/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outstanding delays. The unit of evidence is a moment: passages with both times in common (the
 * blocks of a list) count once. Durations are moved until the fastest lies a median above zero:
 * classes are tested on a logarithmic scale, and differences of two clocks may be negative.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lifeline/lifeline_in.h"
#include "analyze/quantile.h"
#include "narrows/density.h"
#include "narrows/err.h"
#include "narrows/splitmix.h"

enum {
	MOMENTS_MIN = 20,
	SLOW_MIN = 6,
	LANE_BLOCKS = 20,
	RESAMPLES = 200,
	STALLS_MIN = 5,
	BINS = 40,
	CLASS_MOMENTS = 20000,
	BINS_MIN = 6,
	STEP_LANES = 64 /* more servers are not tested singly */
};
#define MATERIAL     0.2  /* a size is at least such a part of the median line */
#define NOISE_S      2e-3 /* see material() */
#define CLASS_SHARE  0.01 /* smallest class, of moments or of time */
#define LANE_MOST    0.9  /* of the slow moments of a lane */
#define APART        2.0  /* classes are so many times their spreads apart */
#define GAP_RATIO    0.5  /* an empty window has at most so much of the fullest window */
#define GAP_EVIDENCE 4.0  /* log likelihood ratio of the two counts against equal ones */
#define SHADOW       1.15 /* lines behind a stall wait less than the stall by such a factor */
#define LANE_SD      5.0  /* a lane's difference is so many standard errors away from 0 */
#define COVER        0.6  /* of a wait, by the next segment of other lines: a consequence */
#define STALLS_MOST  0.05 /* of the lines that pass: more is no stall, but the way of the segment */
#define STALL_SHARE  0.02 /* of the lane's time, at least */
#define BIN_MOST     0.4  /* of the slow moments, at most, lie in one of the bins of the run */
#define Z95          1.96

struct moment {
	int64_t from, to;
	uint32_t lane;
	uint32_t n; /* lines */
	double s;
};

struct search {
	const struct nw_lines *l;
	const struct nw_line_segments *segments;
	struct nw_line_findings *out;
	double material_s;
	double fast_s; /* median of the fast moments */
	double apart;  /* of the class measured last: size by spreads */
	double *s;     /* room for twice l->n */
	uint32_t *line;
	struct moment *m;
	size_t n; /* moments */
};

/* --- moments --- */

static int
by_times(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static int
by_moment(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->lane != y->lane ? (x->lane < y->lane ? -1 : 1) : by_times(a, b);
}

static void
moments_fill(struct search *f, const struct nw_line_segment *seg)
{
	size_t i, n = nw_lines_durations(f->l, seg->from, seg->to, f->s, f->line);
	struct moment *m = f->m;

	for (i = 0; i < n; i++) {
		const int64_t *t = line_times(f->l, f->line[i]);

		m[i] =
		    (struct moment){ t[seg->from], t[seg->to], f->l->lane[f->line[i]], 1, f->s[i] };
	}
	qsort(m, n, sizeof(*m), by_times);
	for (f->n = 0, i = 0; i < n; i++)
		if (f->n > 0 && by_times(&m[f->n - 1], &m[i]) == 0)
			m[f->n - 1].n++;
		else
			m[f->n++] = m[i];
	qsort(m, f->n, sizeof(*m), by_moment);
}

/* The median of values, half of its 95 % interval, and (NULL: not wanted) the values' spread. */
static double
median_of(double *v, size_t n, double *half, double *sd)
{
	double step = 0.98 / sqrt((double)n);

	if (sd != NULL)
		*sd = (quantile(v, n, 0.75) - quantile(v, n, 0.25)) / 1.349;
	*half = (quantile(v, n, fmin(0.5 + step, 1)) - quantile(v, n, fmax(0.5 - step, 0))) / 2;
	return quantile(v, n, 0.5);
}

/* --- a class of slow lines --- */

static size_t
pick(struct search *f, double split_s, bool slow)
{
	size_t i, n = 0;

	for (i = 0; i < f->n; i++)
		if ((f->m[i].s >= split_s) == slow)
			f->s[n++] = f->m[i].s;
	return n;
}

/* Fills size, counts and times of a finding whose slow moments lie above split_s. */
static void
class_measure(struct search *f, struct nw_line_finding *c)
{
	double fast, slow, half_fast, half_slow, sd_fast, sd_slow;
	size_t i, n, lines = 0;

	n = pick(f, c->split_s, false);
	fast = median_of(f->s, n, &half_fast, &sd_fast);
	c->n_moments = pick(f, c->split_s, true);
	slow = median_of(f->s, c->n_moments, &half_slow, &sd_slow);
	f->fast_s = fast;
	f->apart = (slow - fast) / fmax(sd_fast + sd_slow, 1e-9);
	c->size_s = slow - fast;
	c->size_low_s = c->size_s - hypot(half_fast, half_slow);
	c->size_high_s = c->size_s + hypot(half_fast, half_slow);
	c->n_lines = 0;
	for (i = 0; i < f->n; i++) {
		lines += f->m[i].n;
		if (f->m[i].s < c->split_s)
			continue;
		if (c->n_lines == 0 || f->m[i].from < c->first_ns)
			c->first_ns = f->m[i].from;
		if (c->n_lines == 0 || f->m[i].to > c->last_ns)
			c->last_ns = f->m[i].to;
		c->n_lines += f->m[i].n;
		c->cost_s += f->m[i].n * (f->m[i].s - fast);
	}
	c->share = (double)c->n_lines / (double)lines;
}

/* The lane with nearly all slow moments while most lanes have none. */
static void
class_lane(struct search *f, struct nw_line_finding *c)
{
	size_t *slow = calloc(f->l->n_lanes, sizeof(*slow)),
	       *all = calloc(f->l->n_lanes, sizeof(*all)), i;

	for (i = 0; slow != NULL && all != NULL && i < f->n; i++) {
		all[f->m[i].lane] += f->m[i].n;
		slow[f->m[i].lane] += f->m[i].s >= c->split_s ? f->m[i].n : 0;
	}
	for (i = 0; slow != NULL && all != NULL && i < f->l->n_lanes; i++)
		if ((double)slow[i] >= LANE_MOST * (double)c->n_lines &&
		    (double)all[i] < LANE_MOST * (double)f->l->n) {
			c->lane = (uint32_t)i;
			c->n_lines = slow[i];
			c->share = (double)slow[i] / (double)all[i];
		}
	free(slow);
	free(all);
}

/* Whether slow moments lie apart from fast ones in time: all before or all behind, nearly. */
static bool
is_apart_in_time(struct search *f, const struct nw_line_finding *c)
{
	double first, last;
	size_t i, n = 0, inside = 0, fast = 0;

	for (i = 0; i < f->n; i++)
		if (f->m[i].s >= c->split_s)
			f->s[n++] = (double)(f->m[i].to - c->first_ns);
	first = quantile(f->s, n, 0.02);
	last = quantile(f->s, n, 0.98);
	for (i = 0; i < f->n; i++)
		if (f->m[i].s < c->split_s) {
			double t = (double)f->m[i].to - (double)c->first_ns;

			fast++;
			inside += t > first && t < last;
		}
	return (double)inside <= 0.1 * (double)fast;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Most values within any window of a width. Sorts v. */
static double
fullest(double *v, size_t n, double width)
{
	size_t i, k = 0, most = 0;

	qsort(v, n, sizeof(*v), by_value);
	for (i = 0; i < n; i++) {
		while (v[i] - v[k] > width)
			k++;
		most = i - k + 1 > most ? i - k + 1 : most;
	}
	return (double)most;
}

/* Fewest values within any of four windows that lie beside each other between the medians. */
static double
emptiest(const struct search *f, double from, double width)
{
	size_t i, count[4] = { 0 }, least;

	for (i = 0; i < f->n; i++)
		if (f->m[i].s > from && f->m[i].s < from + 4 * width)
			count[(size_t)((f->m[i].s - from) / width) & 3]++;
	for (least = count[0], i = 1; i < 4; i++)
		least = count[i] < least ? count[i] : least;
	return (double)least;
}

/* Whether hardly a moment lies somewhere between the medians of the classes, compared with the
 * fullest window of the slow one. */
static bool
has_gap(struct search *f, const struct nw_line_finding *c)
{
	double width = c->size_s / 4, most, gap = emptiest(f, f->fast_s, width);
	size_t n = pick(f, c->split_s, true);

	most = fullest(f->s, n, width);
	return gap <= GAP_RATIO * most &&
	    most * log(2 * most / (most + gap)) +
		(gap > 0 ? gap * log(2 * gap / (most + gap)) : 0) >=
	    GAP_EVIDENCE;
}

/*
 * Whether slow moments come again and again: in BINS_MIN of the equal bins of the run, and not
 * mostly in a single bin. A machine busy once delays a whole list of blocks by about the same time:
 * a single event, however many blocks were delayed.
 */
static bool
comes_again(const struct search *f, const struct nw_line_finding *c)
{
	size_t count[BINS] = { 0 }, i, used = 0, most = 0, n = 0;
	int64_t first = INT64_MAX, last = INT64_MIN;
	double width;

	for (i = 0; i < f->n; i++) {
		first = f->m[i].from < first ? f->m[i].from : first;
		last = f->m[i].from > last ? f->m[i].from : last;
	}
	width = ((double)last - (double)first) / (BINS - 0.001);
	for (i = 0; i < f->n && width > 0; i++)
		if (f->m[i].s >= c->split_s) {
			count[(size_t)(((double)f->m[i].from - (double)first) / width)]++;
			n++;
		}
	for (i = 0; i < BINS; i++) {
		used += count[i] > 0;
		most = count[i] > most ? count[i] : most;
	}
	return used >= BINS_MIN && (double)most <= BIN_MOST * (double)n;
}

static bool
class_counts(struct search *f, struct nw_line_finding *c)
{
	if (pick(f, c->split_s, false) < SLOW_MIN || pick(f, c->split_s, true) < SLOW_MIN)
		return false;
	class_measure(f, c);
	class_lane(f, c);
	return c->size_s >= f->material_s && f->apart >= APART && comes_again(f, c) &&
	    has_gap(f, c) && (c->share <= 0.5 || c->lane != NW_LINE_ANY || is_apart_in_time(f, c));
}

/* The split between two classes with the most added time. */
static void
class_best(struct search *f, const struct nw_line_segment *seg, const struct nw_classes *classes,
    double base_s, struct nw_line_finding *best)
{
	struct nw_line_finding c;
	size_t i;

	for (i = 1; i < classes->n; i++) {
		c = (struct nw_line_finding){ .kind = NW_LINE_CLASS,
			.from = seg->from,
			.to = seg->to,
			.lane = NW_LINE_ANY,
			.split_s = classes->class[i].low + base_s };
		if (class_counts(f, &c) && c.cost_s > best->cost_s)
			*best = c;
	}
}

static int
class_find(struct search *f, const struct nw_line_segment *seg, struct nw_line_finding *best)
{
	double base_s = 2 * seg->q_s[NW_LINE_MIN] - seg->q_s[NW_LINE_MEDIAN];
	struct nw_density d = { 0 };
	struct nw_classes classes = { 0 };
	size_t i, n = 0, every = f->n / CLASS_MOMENTS + 1;
	int rc;

	for (i = 0; i < f->n; i += every)
		f->s[n++] = f->m[i].s - base_s;
	if ((rc = nw_density(f->s, n, &nw_density_defaults, &d)) == NW_OK)
		rc = nw_classes_test_values(
		    &d, f->s, n, CLASS_SHARE, NW_CLASS_CUTOFF_FRACTION, &classes);
	if (rc == NW_OK)
		class_best(f, seg, &classes, base_s, best);
	nw_classes_clear(&classes);
	nw_density_clear(&d);
	return rc;
}

/* --- a lane unlike all others --- */

/* Median of the lane's (or the others') moments, of blocks drawn with replacement: neighbours in
 * time are alike, so whole blocks are drawn. */
static double
median_drawn(struct search *f, uint32_t lane, bool others, uint64_t *state)
{
	size_t begin, end, i, k, n = 0, from, to;

	for (begin = 0; begin < f->n; begin = end) {
		for (end = begin; end < f->n && f->m[end].lane == f->m[begin].lane; end++)
			;
		for (k = 0; (f->m[begin].lane != lane) == others && k < LANE_BLOCKS; k++) {
			i = state != NULL ? nw_splitmix(state) % LANE_BLOCKS : k;
			from = begin + i * (end - begin) / LANE_BLOCKS;
			to = begin + (i + 1) * (end - begin) / LANE_BLOCKS;
			for (i = from; i < to && n < f->l->n; i++)
				f->s[n++] = f->m[i].s;
		}
	}
	return n > 0 ? quantile(f->s, n, 0.5) : NAN;
}

static bool
lane_differs(struct search *f, struct nw_line_finding *c)
{
	double sum = 0, sum2 = 0, d, sd;
	uint64_t state = 1;
	size_t i;

	c->size_s = median_drawn(f, c->lane, false, NULL) - median_drawn(f, c->lane, true, NULL);
	if (!(c->size_s >= f->material_s))
		return false;
	for (i = 0; i < RESAMPLES; i++) {
		d = median_drawn(f, c->lane, false, &state) -
		    median_drawn(f, c->lane, true, &state) - c->size_s;
		sum += d;
		sum2 += d * d;
	}
	sd = sqrt(fmax(sum2 / RESAMPLES - sum / RESAMPLES * (sum / RESAMPLES), 0));
	c->size_low_s = c->size_s - Z95 * sd;
	c->size_high_s = c->size_s + Z95 * sd;
	return c->size_s >= LANE_SD * sd;
}

static void
lane_fill(struct search *f, struct nw_line_finding *c, size_t begin, size_t end)
{
	size_t i;

	c->split_s = -INFINITY;
	c->share = 1;
	c->n_moments = end - begin;
	c->first_ns = f->m[begin].from;
	for (i = begin; i < end; i++) {
		c->n_lines += f->m[i].n;
		c->last_ns = f->m[i].to > c->last_ns ? f->m[i].to : c->last_ns;
	}
	c->cost_s = (double)c->n_lines * c->size_s;
}

static void
lane_find(struct search *f, const struct nw_line_segment *seg, struct nw_line_finding *best)
{
	struct nw_line_finding c;
	size_t begin, end;

	for (begin = 0; begin < f->n; begin = end) {
		for (end = begin; end < f->n && f->m[end].lane == f->m[begin].lane; end++)
			;
		if (end - begin < MOMENTS_MIN || f->n - (end - begin) < MOMENTS_MIN)
			continue;
		c = (struct nw_line_finding){ .kind = NW_LINE_LANE,
			.from = seg->from,
			.to = seg->to,
			.lane = f->m[begin].lane };
		if (!lane_differs(f, &c))
			continue;
		lane_fill(f, &c, begin, end);
		if (c.cost_s > best->cost_s)
			*best = c;
	}
}

/* --- a delay that begins --- */

static int
by_begin(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* A step in the moments of a lane or of all, which stand in the order of their beginnings. */
static bool
step_measure(struct search *f, struct nw_line_finding *c)
{
	double *scratch = f->s + f->n;
	struct line_step step;
	size_t i, n = 0;

	for (i = 0; i < f->n; i++)
		if (c->lane == NW_LINE_ANY || f->m[i].lane == c->lane)
			f->s[n++] = f->m[i].s;
	if (!line_step(f->s, n, scratch, &step) || step.size_s < f->material_s)
		return false;
	c->size_s = step.size_s;
	c->size_low_s = step.low_s;
	c->size_high_s = step.high_s;
	for (i = 0, n = 0; i < f->n; i++) {
		const struct moment *m = &f->m[i];

		if ((c->lane != NW_LINE_ANY && m->lane != c->lane) || n++ < step.at)
			continue;
		if (c->n_moments++ == 0)
			c->first_ns = m->from;
		c->n_lines += m->n;
		c->last_ns = m->to > c->last_ns ? m->to : c->last_ns;
	}
	c->share = (double)c->n_moments / (double)n;
	c->cost_s = (double)c->n_lines * c->size_s;
	return true;
}

/* A step of a single lane belongs to the lane, any other step to all lanes. */
static void
step_find(struct search *f, const struct nw_line_segment *seg, struct nw_line_finding *best)
{
	const struct nw_line_finding none = { .kind = NW_LINE_STEP,
		.from = seg->from,
		.to = seg->to,
		.lane = NW_LINE_ANY,
		.split_s = -INFINITY,
		.last_ns = INT64_MIN };
	struct nw_line_finding all = none, lane = none, one;
	size_t i, steps = 0;

	qsort(f->m, f->n, sizeof(*f->m), by_begin);
	if (step_measure(f, &all))
		*best = all;
	for (i = 0; f->l->n_lanes > 1 && i < f->l->n_lanes && i < STEP_LANES; i++) {
		one = none;
		one.lane = (uint32_t)i;
		if (step_measure(f, &one) && ++steps == 1)
			lane = one;
	}
	if (steps == 1)
		*best = lane;
	qsort(f->m, f->n, sizeof(*f->m), by_moment);
}

/* --- a lane that stands still --- */

static double
lane_span_s(struct search *f, uint32_t lane)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (lane == NW_LINE_ANY || f->m[i].lane == lane) {
			first = f->m[i].from < first ? f->m[i].from : first;
			last = f->m[i].to > last ? f->m[i].to : last;
		}
	return first < last ? line_seconds(first, last) : 0;
}

static void
stall_fill(struct search *f, const struct nw_line_stall *stall, size_t n, struct nw_line_finding *c)
{
	double half;
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		if (c->lane != NW_LINE_ANY && stall[i].lane != c->lane)
			continue;
		f->s[k++] = stall[i].excess_s;
		c->n_lines += stall[i].waiting;
		c->cost_s += line_seconds(stall[i].blocked_ns, stall[i].unblocked_ns);
		if (k == 1 || stall[i].blocked_ns < c->first_ns)
			c->first_ns = stall[i].blocked_ns;
		if (k == 1 || stall[i].unblocked_ns > c->last_ns)
			c->last_ns = stall[i].unblocked_ns;
	}
	c->n_moments = k;
	c->size_s = k > 0 ? median_of(f->s, k, &half, NULL) : 0;
	c->size_low_s = k > 0 ? c->size_s - half : 0;
	c->size_high_s = k > 0 ? c->size_s + half : 0;
	c->split_s = -INFINITY;
}

/* The lane of nearly all stalls, else any. */
static uint32_t
stall_lane(const struct nw_line_stall *stall, size_t n, size_t n_lanes)
{
	size_t i, k, same;

	for (k = 0; k < n && n_lanes > 1; k++) {
		for (same = 0, i = 0; i < n; i++)
			same += stall[i].lane == stall[k].lane;
		if ((double)same >= LANE_MOST * (double)n)
			return stall[k].lane;
		if (k > (size_t)((1 - LANE_MOST) * (double)n) + 1)
			break;
	}
	return NW_LINE_ANY;
}

static int
stall_find(struct search *f, const struct nw_line_segment *seg, struct nw_line_finding *best)
{
	struct nw_line_finding c = { .kind = NW_LINE_STALL, .from = seg->from, .to = seg->to };
	struct nw_line_stall *stall;
	size_t n;
	int rc = nw_lines_stalls(f->l, seg, &stall, &n);
	double span;

	if (rc == NW_OK && n > 0) {
		c.lane = stall_lane(stall, n, f->l->n_lanes);
		stall_fill(f, stall, n, &c);
		span = lane_span_s(f, c.lane);
		c.share = span > 0 ? fmin(c.cost_s / span, 1) : 0;
		if (c.n_moments >= STALLS_MIN && (double)n <= STALLS_MOST * (double)seg->n &&
		    c.share >= STALL_SHARE && c.size_s >= f->material_s &&
		    c.size_low_s > c.size_s / 2)
			*best = c;
	}
	free(stall);
	return rc;
}

/*
 * A class with its slow lines behind few stalls is the shadow of the stalls: lines late to the wait
 * waited less, so the stalls give the size.
 */
static void
stall_or_class(const struct nw_line_finding *stall, struct nw_line_finding *best)
{
	if (stall->cost_s <= 0)
		return;
	if (best->cost_s <= 0 ||
	    (stall->n_moments < best->n_moments && stall->size_s > SHADOW * best->size_s))
		*best = *stall;
}

/* --- all of a segment, then of all segments --- */

static int
segment_search(struct search *f, const struct nw_line_segment *seg)
{
	struct nw_line_finding best = { 0 }, stall = { 0 };
	int rc;

	moments_fill(f, seg);
	if (f->n < MOMENTS_MIN)
		return NW_OK;
	if ((rc = class_find(f, seg, &best)) != NW_OK || (rc = stall_find(f, seg, &stall)) != NW_OK)
		return rc;
	if (best.cost_s <= 0)
		step_find(f, seg, &best);
	if (best.cost_s <= 0)
		lane_find(f, seg, &best);
	stall_or_class(&stall, &best);
	if (best.cost_s > 0 && f->out->n < NW_LINE_FINDINGS_MAX)
		f->out->finding[f->out->n++] = best;
	return NW_OK;
}

/* --- consequences --- */

struct busy {
	int64_t from, to;
	uint32_t lane;
};

static int
by_busy(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* The time in which any line of a lane is in the segment, as stretches. */
static size_t
busy_fill(struct search *f, const struct nw_line_finding *c, struct busy *b)
{
	size_t i, m = 0, n = nw_lines_durations(f->l, c->from, c->to, f->s, f->line);

	for (i = 0; i < n; i++) {
		const int64_t *t = line_times(f->l, f->line[i]);

		b[i] = (struct busy){ t[c->from], t[c->to], f->l->lane[f->line[i]] };
	}
	qsort(b, n, sizeof(*b), by_busy);
	for (i = 0; i < n; i++)
		if (m > 0 && b[m - 1].lane == b[i].lane && b[i].from <= b[m - 1].to)
			b[m - 1].to = b[i].to > b[m - 1].to ? b[i].to : b[m - 1].to;
		else
			b[m++] = b[i];
	return m;
}

/* Busy seconds of the lane in from..to. */
static double
busy_within(const struct busy *b, size_t n, uint32_t lane, int64_t from, int64_t to)
{
	size_t low = 0, high = n, mid;
	double s = 0;

	while (low < high) {
		mid = (low + high) / 2;
		if (b[mid].lane < lane || (b[mid].lane == lane && b[mid].to <= from))
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < n && b[low].lane == lane && b[low].from < to; low++)
		s += line_seconds(
		    b[low].from > from ? b[low].from : from, b[low].to < to ? b[low].to : to);
	return s;
}

/* Whether lines wait in `wait` while the following segment, of `next`, is busy. */
static int
is_consequence(struct search *f, const struct nw_line_finding *wait,
    const struct nw_line_finding *next, bool *answer)
{
	struct busy *b = calloc(f->l->n + 1, sizeof(*b));
	double covered = 0, all = 0;
	size_t i, n, n_busy;

	*answer = false;
	if (b == NULL)
		return NW_ENOMEM;
	n_busy = busy_fill(f, next, b);
	n = nw_lines_durations(f->l, wait->from, wait->to, f->s, f->line);
	for (i = 0; i < n; i++) {
		const int64_t *t = line_times(f->l, f->line[i]);

		if (f->s[i] < wait->split_s || f->s[i] <= 0 ||
		    (wait->kind == NW_LINE_STEP && t[wait->from] < wait->first_ns))
			continue;
		all += f->s[i];
		covered +=
		    busy_within(b, n_busy, f->l->lane[f->line[i]], t[wait->from], t[wait->to]);
	}
	*answer = all > 0 && covered >= COVER * all;
	free(b);
	return NW_OK;
}

static int
consequences_drop(struct search *f)
{
	struct nw_line_findings *o = f->out;
	bool drop[NW_LINE_FINDINGS_MAX] = { false }, yes;
	size_t i, k, n = 0;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < o->n; i++)
		for (k = 0; rc == NW_OK && k < o->n && !drop[i]; k++)
			if (o->finding[k].from == o->finding[i].to) {
				rc = is_consequence(f, &o->finding[i], &o->finding[k], &yes);
				drop[i] = yes;
			}
	for (i = 0; i < o->n; i++)
		if (!drop[i])
			o->finding[n++] = o->finding[i];
	o->n = n;
	return rc;
}

static int
by_cost(const void *a, const void *b)
{
	const struct nw_line_finding *x = a, *y = b;

	return (x->cost_s < y->cost_s) - (x->cost_s > y->cost_s);
}

/* A size that matters: a fifth of the median line, of short lines all of it, but no more than 2 ms:
 * so much is the noise of a busy machine. */
static double
material(double median_s)
{
	return fmax(MATERIAL * median_s, fmin(median_s, NOISE_S));
}

int
nw_lines_find(
    const struct nw_lines *l, const struct nw_line_segments *s, struct nw_line_findings *out)
{
	struct search f = { .l = l,
		.segments = s,
		.out = out,
		.material_s = material(s->total_s[NW_LINE_MEDIAN]),
		.s = calloc(2 * (l->n + 1), sizeof(*f.s)),
		.line = calloc(l->n + 1, sizeof(*f.line)),
		.m = calloc(l->n + 1, sizeof(*f.m)) };
	int rc = f.s != NULL && f.line != NULL && f.m != NULL ? NW_OK : NW_ENOMEM;
	size_t i;

	out->n = 0;
	for (i = 0; rc == NW_OK && i < s->n; i++)
		rc = segment_search(&f, &s->segment[i]);
	if (rc == NW_OK && out->n == 0)
		rc = line_once(l, s, f.material_s, out);
	if (rc == NW_OK)
		rc = consequences_drop(&f);
	qsort(out->finding, out->n, sizeof(*out->finding), by_cost);
	free(f.s);
	free(f.line);
	free(f.m);
	return rc;
}
