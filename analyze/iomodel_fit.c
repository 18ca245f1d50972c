/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear models of operation durations. See narrows/iomodel.h. */
#include "narrows/iomodel.h"

#include <math.h>

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

static double
weight(const struct part *p, size_t i)
{
	return p->o->weighted ? 1 / (p->limits[i].limit_s * p->limits[i].limit_s) : 1;
}

/* Both parameters; centred, because sizes reach 1e7 and intercepts 1e-7. */
static void
fit_line(const struct part *p, struct nw_io_line *line)
{
	double w, total = 0, mean_s = 0, mean_t = 0, ss = 0, st = 0, ds;
	size_t i;

	line->n = 0;
	for (i = 0; i < p->n; i++) {
		if (!in_part(p, i))
			continue;
		w = weight(p, i);
		total += w;
		mean_s += w * p->limits[i].size_bytes;
		mean_t += w * p->o->inflate * p->limits[i].limit_s;
		line->n++;
	}
	if (line->n == 0)
		return;
	mean_s /= total;
	mean_t /= total;
	for (i = 0; i < p->n; i++) {
		if (!in_part(p, i))
			continue;
		w = weight(p, i);
		ds = p->limits[i].size_bytes - mean_s;
		ss += w * ds * ds;
		st += w * ds * (p->o->inflate * p->limits[i].limit_s - mean_t);
	}
	line->slope_s_per_byte = line->n > 1 && ss > 0 ? st / ss : 0;
	line->intercept_s = mean_t - line->slope_s_per_byte * mean_s;
}

/* The slope alone, through a given intercept. */
static void
fit_slope(const struct part *p, double intercept, struct nw_io_line *line)
{
	double w, s, ss = 0, st = 0;
	size_t i;

	line->n = 0;
	for (i = 0; i < p->n; i++) {
		if (!in_part(p, i))
			continue;
		w = weight(p, i);
		s = p->limits[i].size_bytes;
		ss += w * s * s;
		st += w * s * (p->o->inflate * p->limits[i].limit_s - intercept);
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
}

void
nw_io_fit(const struct nw_io_limit *limits, size_t n, const struct nw_io_options *options,
    struct nw_io_model *out)
{
	static const struct nw_io_line none = { 0, NAN, NAN, NAN, NAN };
	struct part small = { limits, n, options, false }, large = { limits, n, options, true };

	*out = (struct nw_io_model){ NW_STATUS_OK, options->page_bytes, none, none };
	fit_line(&small, &out->small);
	if (out->small.n > 0)
		fit_slope(&large,
		    out->small.intercept_s + options->page_bytes * out->small.slope_s_per_byte,
		    &out->large);
	else
		fit_line(&large, &out->large);
	set_errors(&small, &out->small);
	set_errors(&large, &out->large);
	if (out->small.n == 0 && out->large.n == 0)
		out->status = NW_STATUS_INSUFFICIENT;
}

double
nw_io_predict(const struct nw_io_model *m, double size_bytes)
{
	bool is_small = size_bytes <= m->page_bytes;
	const struct nw_io_line *line = is_small ? &m->small : &m->large;

	if (line->n == 0)
		line = is_small ? &m->large : &m->small;
	return line->n == 0 ? NAN : line->intercept_s + line->slope_s_per_byte * size_bytes;
}

size_t
nw_io_classify(const struct nw_io_model *models, size_t n, double size_bytes, double duration_s)
{
	double prediction, lowest = INFINITY;
	size_t i, found = n;

	for (i = 0; i < n; i++) {
		prediction = nw_io_predict(&models[i], size_bytes);
		if (duration_s <= prediction && (found == n || prediction < lowest)) {
			lowest = prediction;
			found = i;
		}
	}
	return found;
}
