/* SPDX-License-Identifier: BSD-3-Clause */
/* Stretches in which a lane stands still, and events of hosts within stretches. */
#include <math.h>
#include <stdlib.h>

#include "analyze/lifeline/lifeline_in.h"
#include "analyze/quantile.h"
#include "narrows/array.h"
#include "narrows/err.h"

enum { WAITS_MIN = 20 };
#define SD_ABOVE    4.0  /* robust standard deviations of ln wait above its median */
#define SD_MIN      0.1  /* of ln wait: clocks of equal steps have none */
#define TIMES_ABOVE 10.0 /* a stall takes so many median waits */
#define TOTAL_ABOVE 0.5  /* and such a part of the median line */
#define WAIT_MIN_S  1e-7

struct passing {
	int64_t from, to;
	int64_t first; /* earliest `from` of this and all later passings */
	uint32_t lane, line;
};

static int
by_lane_and_to(const void *a, const void *b)
{
	const struct passing *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Passings by lane and arrival; `first` comes from the back. */
static size_t
passings(const struct nw_lines *l, const struct nw_line_segment *s, double *seconds, uint32_t *line,
    struct passing *p)
{
	size_t i, n = nw_lines_durations(l, s->from, s->to, seconds, line);

	for (i = 0; i < n; i++) {
		const int64_t *t = line_times(l, line[i]);

		p[i] =
		    (struct passing){ t[s->from], t[s->to], t[s->from], l->lane[line[i]], line[i] };
	}
	qsort(p, n, sizeof(*p), by_lane_and_to);
	for (i = n; i-- > 1;)
		if (p[i - 1].lane == p[i].lane && p[i].first < p[i - 1].first)
			p[i - 1].first = p[i].first;
	return n;
}

/* The lane has waited since the passing before, or since the first line came that passes later. */
static int64_t
wait_begin(const struct passing *p, size_t i)
{
	bool follows = i > 0 && p[i - 1].lane == p[i].lane;

	return follows && p[i - 1].to > p[i].first ? p[i - 1].to : p[i].first;
}

static double
wait_threshold(const struct passing *p, size_t n, double *ln)
{
	double sd, median, s;
	size_t i, m = 0;

	for (i = 0; i < n; i++)
		if ((s = line_seconds(wait_begin(p, i), p[i].to)) >= 0)
			ln[m++] = log(s > WAIT_MIN_S ? s : WAIT_MIN_S);
	if (m < WAITS_MIN)
		return INFINITY;
	sd = (quantile(ln, m, 0.75) - quantile(ln, m, 0.25)) / 1.349;
	median = quantile(ln, m, 0.5);
	return fmax(exp(median + SD_ABOVE * fmax(sd, SD_MIN)), TIMES_ABOVE * exp(median));
}

static struct nw_line_stall
stall_at(const struct nw_line_segment *s, const struct passing *p, size_t n, size_t i)
{
	struct nw_line_stall stall = { .lane = p[i].lane,
		.from = s->from,
		.to = s->to,
		.blocked_ns = wait_begin(p, i),
		.unblocked_ns = p[i].to };
	double longest = 0;
	size_t k;

	for (k = i; k < n && p[k].lane == p[i].lane && p[k].first < p[i].to; k++)
		if (p[k].from < p[i].to) {
			stall.waiting++;
			longest = fmax(longest, line_seconds(p[k].from, p[i].to));
		}
	stall.excess_s = longest - s->q_s[NW_LINE_MEDIAN];
	return stall;
}

static int
stalls_collect(const struct nw_line_segment *s, const struct passing *p, size_t n,
    double threshold_s, struct nw_line_stall **out, size_t *n_out)
{
	size_t i, cap = 0;

	for (i = 0; i < n; i++) {
		if (!(line_seconds(wait_begin(p, i), p[i].to) >= threshold_s))
			continue;
		if (!array_room(out, &cap, *n_out + 1, sizeof(**out)))
			return NW_ENOMEM;
		(*out)[(*n_out)++] = stall_at(s, p, n, i);
	}
	return NW_OK;
}

int
nw_lines_stalls(const struct nw_lines *l, const struct nw_line_segment *s,
    struct nw_line_stall **out, size_t *n)
{
	double *seconds = calloc(l->n + 1, sizeof(*seconds)), threshold_s;
	uint32_t *line = calloc(l->n + 1, sizeof(*line));
	struct passing *p = calloc(l->n + 1, sizeof(*p));
	int rc = NW_ENOMEM;
	size_t m;

	*out = NULL;
	*n = 0;
	if (seconds != NULL && line != NULL && p != NULL) {
		m = passings(l, s, seconds, line, p);
		threshold_s = wait_threshold(p, m, seconds);
		rc = stalls_collect(s, p, m, threshold_s, out, n);
	}
	if (rc < 0) {
		free(*out);
		*out = NULL;
		*n = 0;
	}
	free(seconds);
	free(line);
	free(p);
	return rc;
}

/* --- the longest wait --- */

static double
wait_s(const struct passing *p, size_t i)
{
	return line_seconds(wait_begin(p, i), p[i].to);
}

static bool
is_meanwhile(const struct passing *p, size_t i, const struct nw_line_stall *stall)
{
	return wait_begin(p, i) < stall->unblocked_ns && p[i].to > stall->blocked_ns;
}

/* Waits of other lanes at the same time, and waits at other times. */
static void
rivals_find(const struct passing *p, size_t n, size_t at, struct line_longest *out)
{
	double longest_s = wait_s(p, at);
	size_t i;

	out->alone = true;
	out->rival_s = 0;
	for (i = 0; i < n; i++)
		if (i != at && !is_meanwhile(p, i, &out->stall))
			out->rival_s = fmax(out->rival_s, wait_s(p, i));
		else if (p[i].lane != out->stall.lane && wait_s(p, i) > longest_s / 2)
			out->alone = false;
}

/* Lines that came before the end of the wait and passed not before; of all lanes that waited. */
static void
hits_mark(const struct passing *p, size_t n, struct line_longest *out)
{
	size_t i;

	out->stall.waiting = 0;
	for (i = 0; i < n; i++)
		if (p[i].from < out->stall.unblocked_ns && p[i].to >= out->stall.unblocked_ns &&
		    (!out->alone || p[i].lane == out->stall.lane)) {
			out->hit[p[i].line] = true;
			out->stall.waiting++;
		}
}

int
line_longest(const struct nw_lines *l, const struct nw_line_segment *s, struct line_longest *out)
{
	double *seconds = calloc(l->n + 1, sizeof(*seconds)), threshold_s;
	uint32_t *line = calloc(l->n + 1, sizeof(*line));
	struct passing *p = calloc(l->n + 1, sizeof(*p));
	int rc = seconds != NULL && line != NULL && p != NULL ? NW_OK : NW_ENOMEM;
	size_t i, n, at = 0;

	out->stall.waiting = 0;
	if (rc == NW_OK && (n = passings(l, s, seconds, line, p)) > 0) {
		for (i = 1; i < n; i++)
			if (wait_s(p, i) > wait_s(p, at))
				at = i;
		threshold_s = wait_threshold(p, n, seconds);
		if (wait_s(p, at) >= threshold_s) {
			out->stall = stall_at(s, p, n, at);
			rivals_find(p, n, at, out);
			hits_mark(p, n, out);
		}
	}
	free(seconds);
	free(line);
	free(p);
	return rc;
}

/* --- events within stretches --- */

struct stretch {
	int64_t begin, end;
};

static int
by_start(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The union, clipped, as rising stretches; returns their number. */
static size_t
stretches_unite(struct stretch *v, size_t n, int64_t t0, int64_t t1)
{
	size_t i, m = 0;

	qsort(v, n, sizeof(*v), by_start);
	for (i = 0; i < n; i++) {
		struct stretch s = { v[i].begin > t0 ? v[i].begin : t0,
			v[i].end < t1 ? v[i].end : t1 };

		if (s.end < s.begin)
			continue;
		if (m > 0 && s.begin <= v[m - 1].end)
			v[m - 1].end = s.end > v[m - 1].end ? s.end : v[m - 1].end;
		else
			v[m++] = s;
	}
	return m;
}

static bool
is_within(const struct stretch *v, size_t n, int64_t t)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (v[mid].end < t)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && v[low].begin <= t;
}

/* P(X >= k) of a binomial count; sums the terms by their logarithms. */
static double
binomial_tail(size_t k, size_t n, double p)
{
	double sum = 0, x;
	size_t i;

	if (k == 0 || p >= 1)
		return 1;
	for (i = k; i <= n && p > 0; i++) {
		x = lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) +
		    (double)i * log(p) + (double)(n - i) * log1p(-p);
		sum += exp(x);
		if (exp(x) < sum * 1e-12)
			break;
	}
	return fmin(sum, 1);
}

int
nw_lines_with(const int64_t *event_ns, size_t n_events, const int64_t *begin_ns,
    const int64_t *end_ns, size_t n, int64_t t0_ns, int64_t t1_ns, struct nw_line_with *out)
{
	struct stretch *v = calloc(n + 1, sizeof(*v));
	double covered = 0, all = line_seconds(t0_ns, t1_ns), share;
	size_t i, m;

	*out = (struct nw_line_with){ .p = NAN };
	if (v == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		v[i] = (struct stretch){ begin_ns[i], end_ns[i] };
	m = stretches_unite(v, n, t0_ns, t1_ns);
	for (i = 0; i < m; i++)
		covered += line_seconds(v[i].begin, v[i].end);
	for (i = 0; i < n_events; i++)
		if (event_ns[i] >= t0_ns && event_ns[i] <= t1_ns) {
			out->n++;
			out->n_within += is_within(v, m, event_ns[i]);
		}
	share = all > 0 ? fmin(covered / all, 1) : 0;
	out->expected = share * (double)out->n;
	if (out->n > 0)
		out->p = binomial_tail(out->n_within, out->n, share);
	free(v);
	return NW_OK;
}
