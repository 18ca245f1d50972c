/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear models of operation durations. See narrows/iomodel.h. */
#include "narrows/iomodel.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/monotone.h"
#include "narrows/err.h"
#include "narrows/iocurve.h"

const struct nw_io_options nw_io_defaults = { 4096, 1.1, false };

static bool
usable(const struct nw_io_limit *l)
{
	return l->size_bytes >= 0 && isfinite(l->size_bytes) && l->limit_s > 0 &&
	    isfinite(l->limit_s);
}

/* Limits for the fit of a line. */
struct part {
	const struct nw_io_limit *limits;
	size_t n;
	const struct nw_io_options *o;
	bool large;
};

static bool
in_part(const struct part *p, size_t i)
{
	return usable(&p->limits[i]) && (p->limits[i].size_bytes > p->o->page_bytes) == p->large;
}

/* Both parameters; centred, because sizes reach 1e7 and intercepts 1e-7. */
static void
fit_line(const struct part *p, struct nw_io_line *line)
{
	double mean_s = 0, mean_t = 0, ss = 0, st = 0, ds;
	size_t i;

	line->n = 0;
	for (i = 0; i < p->n; i++) {
		if (!in_part(p, i))
			continue;
		mean_s += p->limits[i].size_bytes;
		mean_t += p->o->inflate * p->limits[i].limit_s;
		line->n++;
	}
	if (line->n == 0)
		return;
	mean_s /= (double)line->n;
	mean_t /= (double)line->n;
	for (i = 0; i < p->n; i++) {
		if (!in_part(p, i))
			continue;
		ds = p->limits[i].size_bytes - mean_s;
		ss += ds * ds;
		st += ds * (p->o->inflate * p->limits[i].limit_s - mean_t);
	}
	line->slope_s_per_byte = line->n > 1 && ss > 0 ? st / ss : 0;
	line->intercept_s = mean_t - line->slope_s_per_byte * mean_s;
}

/* The slope alone, through a given intercept. */
static void
fit_slope(const struct part *p, double intercept, struct nw_io_line *line)
{
	double s, ss = 0, st = 0;
	size_t i;

	line->n = 0;
	for (i = 0; i < p->n; i++) {
		if (!in_part(p, i))
			continue;
		s = p->limits[i].size_bytes;
		ss += s * s;
		st += s * (p->o->inflate * p->limits[i].limit_s - intercept);
		line->n++;
	}
	if (line->n == 0)
		return;
	line->intercept_s = intercept;
	line->slope_s_per_byte = ss > 0 ? st / ss : 0;
}

static void
set_errors(const struct part *p, struct nw_io_line *line)
{
	double d, abs_sum = 0, rel_sum = 0;
	size_t i;

	if (line->n == 0)
		return;
	for (i = 0; i < p->n; i++) {
		if (!in_part(p, i))
			continue;
		d = line->intercept_s + line->slope_s_per_byte * p->limits[i].size_bytes -
		    p->limits[i].limit_s;
		abs_sum += fabs(d);
		rel_sum += fabs(d) / p->limits[i].limit_s;
	}
	line->abs_err_s = abs_sum / (double)line->n;
	line->rel_err = rel_sum / (double)line->n;
	line->refused = p->o->sound && line->rel_err > NW_IO_REL_ERR_MAX;
}

static void
fit_published(const struct part *small, const struct part *large, struct nw_io_model *out)
{
	fit_line(small, &out->small);
	if (out->small.n > 0)
		fit_slope(large,
		    out->small.intercept_s + out->page_bytes * out->small.slope_s_per_byte,
		    &out->large);
	else
		fit_line(large, &out->large);
}

/* --- the sound rule --- */

/* Weighted moments of the targets of a part: what a sum of squares needs. */
struct moments {
	double w, s, ss, t, st, tt;
};

static double
cost(const struct moments *m, double intercept, double slope)
{
	return m->tt - 2 * (intercept * m->t + slope * m->st) + intercept * intercept * m->w +
	    2 * intercept * slope * m->s + slope * slope * m->ss;
}

/* Keeps a line if it is allowed and closer to the targets than the lines before. `floor_s` is the
 * least duration at the page. */
static void
line_consider(const struct moments *m, double page, double floor_s, double intercept, double slope,
    struct nw_io_line *best, double *best_cost)
{
	static const double ROUNDING = 1e-9;
	double c = cost(m, intercept, slope);

	if (intercept < 0 || slope < 0 || !isfinite(c) ||
	    intercept + slope * page < floor_s * (1 - ROUNDING) || !(c < *best_cost))
		return;
	*best_cost = c;
	best->intercept_s = intercept;
	best->slope_s_per_byte = slope;
}

/*
 * The line with I, c >= 0 and I + c page >= floor_s that misses the targets least, relative to the
 * limits. The best line lies inside, on an edge or in a corner of the allowed region; all are
 * tried. A single size gives a level.
 */
static void
fit_sound_line(const struct part *p, double floor_s, struct nw_io_line *line)
{
	struct moments m = { 0 };
	double w, s, t, det, page = p->o->page_bytes, best_cost = INFINITY, d2, dt;
	size_t i;

	line->n = 0;
	for (i = 0; i < p->n; i++) {
		if (!in_part(p, i))
			continue;
		w = 1 / (p->limits[i].limit_s * p->limits[i].limit_s);
		s = p->limits[i].size_bytes;
		t = p->o->inflate * p->limits[i].limit_s;
		m.w += w;
		m.s += w * s;
		m.ss += w * s * s;
		m.t += w * t;
		m.st += w * s * t;
		m.tt += w * t * t;
		line->n++;
	}
	if (line->n == 0)
		return;
	line_consider(&m, page, floor_s, fmax(m.t / m.w, floor_s), 0, line, &best_cost);
	if (line->n == 1)
		return;
	det = m.w * m.ss - m.s * m.s;
	line_consider(&m, page, floor_s, (m.ss * m.t - m.s * m.st) / det,
	    (m.w * m.st - m.s * m.t) / det, line, &best_cost);
	line_consider(&m, page, floor_s, 0, fmax(m.st / m.ss, page > 0 ? floor_s / page : 0), line,
	    &best_cost);
	/* through the floor at the page: t - floor = c (s - page) */
	d2 = m.ss - 2 * page * m.s + page * page * m.w;
	dt = m.st - floor_s * m.s - page * m.t + page * floor_s * m.w;
	line_consider(&m, page, floor_s, floor_s - dt / d2 * page, dt / d2, line, &best_cost);
	line_consider(&m, page, floor_s, 0, page > 0 ? floor_s / page : 0, line, &best_cost);
}

static int
compare_limits(const void *a, const void *b)
{
	double x = ((const struct nw_io_limit *)a)->size_bytes,
	       y = ((const struct nw_io_limit *)b)->size_bytes;

	return (x > y) - (x < y);
}

/* The usable limits in order of size, made monotone. */
static int
limits_monotone(const struct nw_io_limit *limits, size_t n, struct nw_io_limit *out, size_t *n_out)
{
	size_t i;
	int rc;

	for (i = *n_out = 0; i < n; i++)
		if (usable(&limits[i]))
			out[(*n_out)++] =
			    (struct nw_io_limit){ limits[i].size_bytes, log(limits[i].limit_s) };
	if (*n_out == 0)
		return NW_OK;
	qsort(out, *n_out, sizeof(*out), compare_limits);
	rc = monotone_fit(&out[0].limit_s, NULL, sizeof(*out), *n_out);
	for (i = 0; i < *n_out; i++)
		out[i].limit_s = exp(out[i].limit_s);
	return rc;
}

static int
fit_sound(const struct part *small, const struct part *large, struct nw_io_model *out)
{
	struct part s = *small, l = *large;
	struct nw_io_limit *monotone = malloc((small->n + 1) * sizeof(*monotone));
	int rc = NW_ENOMEM;

	if (monotone != NULL &&
	    (rc = limits_monotone(small->limits, small->n, monotone, &s.n)) == NW_OK) {
		s.limits = l.limits = monotone;
		l.n = s.n;
		fit_sound_line(&s, 0, &out->small);
		fit_sound_line(&l,
		    out->small.n == 0
			? 0
			: out->small.intercept_s + out->page_bytes * out->small.slope_s_per_byte,
		    &out->large);
	}
	free(monotone);
	return rc;
}

int
nw_io_fit(const struct nw_io_limit *limits, size_t n, const struct nw_io_options *options,
    struct nw_io_model *out)
{
	static const struct nw_io_line none = { 0, NAN, NAN, NAN, NAN, false };
	struct part small = { limits, n, options, false }, large = { limits, n, options, true };
	int rc = NW_OK;

	*out = (struct nw_io_model){ NW_STATUS_OK, options->page_bytes, none, none };
	if (options->sound)
		rc = fit_sound(&small, &large, out);
	else
		fit_published(&small, &large, out);
	set_errors(&small, &out->small);
	set_errors(&large, &out->large);
	if (out->small.n == 0 && out->large.n == 0)
		out->status = NW_STATUS_INSUFFICIENT;
	else if ((out->small.n == 0 || out->small.refused) &&
	    (out->large.n == 0 || out->large.refused))
		out->status = NW_STATUS_REFUSED;
	return rc;
}

static const struct nw_io_line *
line_of(const struct nw_io_model *m, double size_bytes)
{
	bool is_small = size_bytes <= m->page_bytes;
	const struct nw_io_line *line = is_small ? &m->small : &m->large;

	if (line->n == 0)
		line = is_small ? &m->large : &m->small;
	return line;
}

double
nw_io_predict(const struct nw_io_model *m, double size_bytes)
{
	const struct nw_io_line *line = line_of(m, size_bytes);

	return line->n == 0 ? NAN : line->intercept_s + line->slope_s_per_byte * size_bytes;
}

size_t
nw_io_classify(const struct nw_io_model *models, size_t n, double size_bytes, double duration_s)
{
	double prediction, lowest = INFINITY;
	size_t i, found = n;

	for (i = 0; i < n; i++) {
		if (line_of(&models[i], size_bytes)->refused)
			continue;
		prediction = nw_io_predict(&models[i], size_bytes);
		if (duration_s <= prediction && (found == n || prediction < lowest)) {
			lowest = prediction;
			found = i;
		}
	}
	return found;
}
