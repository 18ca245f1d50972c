/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The segment behind the slow lines: the time of each segment beyond its median, summed over the
 * slowest twentieth (at least ten lines), as a share of the sum over all segments. Lines with a
 * common begin (a list of requests) share their fate, so the interval comes from resampling
 * moments, not lines.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/lifeline/lifeline_in.h"
#include "analyze/quantile.h"
#include "narrows/err.h"
#include "narrows/splitmix.h"

enum { SLOW_MIN = 10, RESAMPLES = 400 };
#define SLOW_SHARE 0.05

struct slow {
	int64_t begin_ns;
	double total_s;
	uint32_t line;
};

static int
by_total(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	return (x->total_s < y->total_s) - (x->total_s > y->total_s);
}

static int
by_begin(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static int64_t
begin_of(const struct nw_lines *l, size_t line)
{
	const int64_t *t = line_times(l, line);

	while (*t == NW_LINE_NEVER)
		t++;
	return *t;
}

/* The slow lines in order of their beginning. */
static size_t
slow_lines(const struct nw_lines *l, struct slow *s)
{
	size_t i, n = 0, n_slow;
	double total;

	for (i = 0; i < l->n; i++)
		if (isfinite(total = nw_line_total(l, i)))
			s[n++] = (struct slow){ begin_of(l, i), total, (uint32_t)i };
	n_slow = (size_t)ceil((double)n * SLOW_SHARE);
	if (n_slow < SLOW_MIN)
		n_slow = SLOW_MIN;
	if (n < 2 * n_slow)
		return 0;
	qsort(s, n, sizeof(*s), by_total);
	qsort(s, n_slow, sizeof(*s), by_begin);
	return n_slow;
}

static size_t
segment_index(const struct nw_line_segments *out, unsigned from, unsigned to)
{
	size_t i;

	for (i = 0; i < out->n; i++)
		if (out->segment[i].from == from && out->segment[i].to == to)
			break;
	return i;
}

/* Adds the excess of a line to a row of segments. */
static void
excess_add(const struct nw_lines *l, const struct nw_line_segments *out, size_t line, double *row)
{
	unsigned to = (unsigned)l->n_points - 1, from;
	const int64_t *t = line_times(l, line);
	size_t i;

	while ((from = nw_line_before(l, line, to)) < l->n_points) {
		if ((i = segment_index(out, from, to)) < out->n)
			row[i] +=
			    line_seconds(t[from], t[to]) - out->segment[i].q_s[NW_LINE_MEDIAN];
		to = from;
	}
}

/* A row of excess for each moment; returns the number of rows. */
static size_t
moments_fill(const struct nw_lines *l, const struct nw_line_segments *out, const struct slow *s,
    size_t n, double *rows)
{
	size_t i, m = 0;

	for (i = 0; i < n; i++) {
		m += i == 0 || s[i].begin_ns != s[i - 1].begin_ns;
		excess_add(l, out, s[i].line, rows + (m - 1) * out->n);
	}
	return m;
}

/* Shares of the sum over moments; times[m] counts each. */
static void
shares(const double *rows, const uint32_t *times, size_t m, size_t n, double *share)
{
	double all = 0;
	size_t i, k;

	for (k = 0; k < n; k++)
		share[k] = 0;
	for (i = 0; i < m; i++)
		for (k = 0; k < n; k++)
			share[k] += times[i] * rows[i * n + k];
	for (k = 0; k < n; k++)
		all += share[k];
	for (k = 0; k < n; k++)
		share[k] = all > 0 ? share[k] / all : NAN;
}

static void
intervals(struct nw_line_segments *out, double *sample, size_t m, double *column)
{
	size_t i, k;

	for (k = 0; k < out->n; k++) {
		for (i = 0; i < RESAMPLES; i++)
			column[i] = isfinite(sample[i * out->n + k]) ? sample[i * out->n + k] : 0;
		if (m < 3)
			continue;
		out->segment[k].excess_low = quantile(column, RESAMPLES, 0.025);
		out->segment[k].excess_high = quantile(column, RESAMPLES, 0.975);
	}
}

static int
resample(struct nw_line_segments *out, const double *rows, size_t m)
{
	double share[NW_LINE_SEGMENTS_MAX], column[RESAMPLES];
	double *sample = calloc(RESAMPLES * out->n + 1, sizeof(*sample));
	uint32_t *times = calloc(m + 1, sizeof(*times));
	uint64_t state = 1;
	size_t i, k;

	if (sample != NULL && times != NULL) {
		for (i = 0; i < m; i++)
			times[i] = 1;
		shares(rows, times, m, out->n, share);
		for (k = 0; k < out->n; k++)
			out->segment[k].excess_share = share[k];
		for (k = 0; k < RESAMPLES; k++) {
			for (i = 0; i < m; i++)
				times[i] = 0;
			for (i = 0; i < m; i++)
				times[nw_splitmix(&state) % m]++;
			shares(rows, times, m, out->n, sample + k * out->n);
		}
		intervals(out, sample, m, column);
	}
	k = sample == NULL || times == NULL;
	free(sample);
	free(times);
	return k ? NW_ENOMEM : NW_OK;
}

int
line_excess(const struct nw_lines *l, struct nw_line_segments *out)
{
	struct slow *s = calloc(l->n + 1, sizeof(*s));
	double *rows = NULL;
	size_t i, m;
	int rc = s != NULL ? NW_OK : NW_ENOMEM;

	if (rc == NW_OK && (out->n_slow = slow_lines(l, s)) > 0) {
		for (out->slow_s = INFINITY, i = 0; i < out->n_slow; i++)
			out->slow_s = fmin(out->slow_s, s[i].total_s);
		rows = calloc(out->n_slow * out->n + 1, sizeof(*rows));
		rc = rows != NULL ? NW_OK : NW_ENOMEM;
	}
	if (rows != NULL) {
		m = moments_fill(l, out, s, out->n_slow, rows);
		rc = resample(out, rows, m);
	}
	free(rows);
	free(s);
	return rc;
}
