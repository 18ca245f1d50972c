/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/incident/forecast.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "narrows/special.h"

#define PI 3.14159265358979323846

/* --- the models --- */

static const struct {
	double rho, weight;
} memories[] = { { 0, 0.4 }, { 0.3, 0.25 }, { 0.6, 0.25 }, { 0.88, 0.1 } };

/* Parts of a model, with the prior variance of their effects over that of the noise. */
enum { PART_SIZE = 1, PART_HOUR = 2, PART_WEEKDAY = 4, PART_DRIFT = 8 };
static const struct {
	unsigned part, column, n;
	double variance;
} parts[] = {
	{ PART_SIZE, COLUMN_SIZE, 1, 9 }, { PART_SIZE, COLUMN_SIZE_BEND, 1, 0.1 },
	{ PART_HOUR, COLUMN_HOUR, 4, 9 }, { PART_WEEKDAY, COLUMN_WEEKDAY, 7, 9 },
	{ PART_DRIFT, COLUMN_DRIFT, 1, 100 }, /* a fall of two tenths of the noise a session */
};

static const struct {
	unsigned parts;
	double weight;
} structures[] = {
	{ 0, 0.3 },
	{ PART_SIZE, 0.2 },
	{ PART_HOUR, 0.1 },
	{ PART_WEEKDAY, 0.1 },
	{ PART_SIZE | PART_HOUR, 0.05 },
	{ PART_SIZE | PART_WEEKDAY, 0.05 },
	{ PART_DRIFT, 0.1 },
	{ PART_SIZE | PART_DRIFT, 0.1 },
};

enum {
	N_MEMORIES = sizeof(memories) / sizeof(memories[0]),
	N_STRUCTURES = sizeof(structures) / sizeof(structures[0]),
};
_Static_assert(N_MEMORIES *N_STRUCTURES == FORECAST_MODELS, "one model for each pair");

static const double FLAT = 1e6;        /* prior variance of the level and of a step */
static const double STEP = 9;          /* prior variance of a step that is watched for */
static const double NOISE = 0.05;      /* standard deviation of log rates, as sure as one session */
static const double WEIGHT_MIN = 1e-4; /* of a model that counts */

void
forecast_row(
    const struct nw_job *job, const struct nw_job *first, size_t index, struct forecast_row *out)
{
	const double day = 2 * PI * job->hour / 24;
	size_t i;

	*out = (struct forecast_row){ .y = log(job->bytes_per_s) };
	out->x[COLUMN_LEVEL] = 1;
	if (job->bytes > 0 && first->bytes > 0)
		out->x[COLUMN_SIZE] = log(job->bytes / first->bytes);
	out->x[COLUMN_SIZE_BEND] = out->x[COLUMN_SIZE] * out->x[COLUMN_SIZE];
	for (i = 0; i < 2; i++) {
		out->x[COLUMN_HOUR + 2 * i] = sin((double)(i + 1) * day);
		out->x[COLUMN_HOUR + 2 * i + 1] = cos((double)(i + 1) * day);
	}
	out->x[COLUMN_WEEKDAY + job->weekday % 7] = 1;
	out->x[COLUMN_DRIFT] = (double)index / FORECAST_DRIFT_SESSIONS;
}

static void
column_add(struct forecast_model *m, unsigned column, double variance)
{
	const size_t n = m->n++;
	size_t i;

	/* rows from the last on move apart, for one more column each */
	for (i = n; i-- > 0;) {
		memmove(m->cov + i * (n + 1), m->cov + i * n, n * sizeof(m->cov[0]));
		m->cov[i * (n + 1) + n] = 0;
	}
	memset(m->cov + n * (n + 1), 0, n * sizeof(m->cov[0]));
	m->cov[n * (n + 1) + n] = variance;
	m->column[n] = (unsigned char)column;
	m->beta[n] = 0;
}

static void
model_init(struct forecast_model *m, size_t structure, size_t memory)
{
	size_t p, i;

	*m = (struct forecast_model){ .rho = memories[memory].rho,
		.scale = NOISE * NOISE / 2,
		.log_weight = log(structures[structure].weight * memories[memory].weight) };
	column_add(m, COLUMN_LEVEL, FLAT);
	for (p = 0; p < sizeof(parts) / sizeof(parts[0]); p++)
		for (i = 0; i < parts[p].n && (structures[structure].parts & parts[p].part) != 0;
		     i++)
			column_add(m, parts[p].column + (unsigned)i, parts[p].variance);
}

static void
model_copy(struct forecast_model *to, const struct forecast_model *from)
{
	memcpy(to, from, offsetof(struct forecast_model, cov) + from->n * from->n * sizeof(double));
}

void
forecast_copy(struct forecast *to, const struct forecast *from)
{
	size_t i;

	to->n = from->n;
	for (i = 0; i < FORECAST_MODELS; i++)
		model_copy(&to->model[i], &from->model[i]);
}

void
forecast_init(struct forecast *f)
{
	size_t i;

	f->n = 0;
	for (i = 0; i < FORECAST_MODELS; i++)
		model_init(&f->model[i], i / N_MEMORIES, i % N_MEMORIES);
}

/* --- a session --- */

/* A row as a model sees it. */
struct seen {
	double x[MODEL_COLUMNS_MAX], spread[MODEL_COLUMNS_MAX]; /* spread: covariance times x */
	double y, mean, variance; /* variance over that of the noise */
	double back, stretch;     /* log rate of a y of the model: back + stretch * y */
};

static void
model_look(const struct forecast_model *m, const struct forecast_row *row,
    const struct forecast_row *before, struct seen *s)
{
	const double own = before != NULL ? 1 : sqrt(1 - m->rho * m->rho);
	const double *cov = m->cov;
	size_t i, j;

	for (i = 0; i < m->n; i++)
		s->x[i] = own * row->x[m->column[i]] -
		    (before != NULL ? m->rho * before->x[m->column[i]] : 0);
	s->back = before != NULL ? m->rho * before->y : 0;
	s->stretch = 1 / own;
	s->y = own * row->y - s->back;
	s->mean = 0;
	s->variance = 1;
	for (i = 0; i < m->n; i++, cov += m->n) {
		s->spread[i] = 0;
		for (j = 0; j < m->n; j++)
			s->spread[i] += cov[j] * s->x[j];
		s->mean += m->beta[i] * s->x[i];
		s->variance += s->x[i] * s->spread[i];
	}
}

/* The part of a prediction's density that all models share. */
static double
shape_rise(double shape)
{
	return shape > 0 ? lgamma(shape + 0.5) - lgamma(shape) : 0;
}

static void
model_weigh(struct forecast_model *m, const struct seen *s, double rise)
{
	const double off = s->y - s->mean;

	if (m->shape > 0)
		m->log_weight += rise - 0.5 * log(2 * PI * m->scale * s->variance) -
		    (m->shape + 0.5) * log1p(off * off / (2 * m->scale * s->variance));
}

static void
model_see(struct forecast_model *m, const struct seen *s)
{
	const double off = s->y - s->mean;
	double *cov = m->cov, gain;
	size_t i, j;

	for (i = 0; i < m->n; i++, cov += m->n) {
		gain = s->spread[i] / s->variance;
		m->beta[i] += gain * off;
		for (j = 0; j < m->n; j++)
			cov[j] -= gain * s->spread[j];
	}
	m->shape += 0.5;
	m->scale += off * off / (2 * s->variance);
}

void
forecast_see(struct forecast *f, const struct forecast_row *row, const struct forecast_row *before)
{
	const double rise = shape_rise(f->model[0].shape);
	struct seen s;
	size_t i;

	for (i = 0; i < FORECAST_MODELS; i++) {
		model_look(&f->model[i], row, before, &s);
		model_weigh(&f->model[i], &s, rise);
		model_see(&f->model[i], &s);
	}
	f->n++;
}

static double
weight_most(const struct forecast *f)
{
	double most = -INFINITY;
	size_t i;

	for (i = 0; i < FORECAST_MODELS; i++)
		most = fmax(most, f->model[i].log_weight);
	return most;
}

void
forecast_weights(const struct forecast *f, double weight[FORECAST_MODELS])
{
	const double most = weight_most(f);
	size_t i;

	for (i = 0; i < FORECAST_MODELS; i++)
		weight[i] = exp(f->model[i].log_weight - most);
}

double
forecast_evidence(const struct forecast *f)
{
	const double most = weight_most(f);
	double sum = 0;
	size_t i;

	for (i = 0; i < FORECAST_MODELS; i++)
		sum += exp(f->model[i].log_weight - most);
	return most + log(sum);
}

/* --- predictions --- */

struct mixture {
	size_t n;
	double weight[FORECAST_MODELS], mean[FORECAST_MODELS], sd[FORECAST_MODELS],
	    df[FORECAST_MODELS];
};

static void
mixture_make(const struct forecast *f, const struct forecast_row *row,
    const struct forecast_row *before, struct mixture *mix)
{
	const double most = weight_most(f);
	const struct forecast_model *m;
	double sum = 0, weight;
	struct seen s;
	size_t i;

	mix->n = 0;
	for (m = f->model; m < f->model + FORECAST_MODELS; m++) {
		weight = exp(m->log_weight - most);
		if (weight < WEIGHT_MIN || m->shape <= 0)
			continue;
		model_look(m, row, before, &s);
		mix->weight[mix->n] = weight;
		mix->mean[mix->n] = s.stretch * (s.back + s.mean);
		mix->sd[mix->n] = s.stretch * sqrt(m->scale / m->shape * s.variance);
		mix->df[mix->n++] = 2 * m->shape;
		sum += weight;
	}
	for (i = 0; i < mix->n; i++)
		mix->weight[i] /= sum;
}

static double
mixture_chance(const struct mixture *mix, double y)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < mix->n; i++)
		sum += mix->weight[i] * nw_t_cdf((y - mix->mean[i]) / mix->sd[i], mix->df[i]);
	return sum;
}

double
forecast_chance(
    const struct forecast *f, const struct forecast_row *row, const struct forecast_row *before)
{
	struct mixture mix;

	mixture_make(f, row, before, &mix);
	return mix.n > 0 ? mixture_chance(&mix, row->y) : NAN;
}

/* The normal score of a value of Student's t, within a hundredth (Wallace 1959). */
static double
score_of(double t, double df)
{
	return copysign((8 * df + 1) / (8 * df + 3) * sqrt(df * log1p(t * t / df)), t);
}

double
forecast_score(
    const struct forecast *f, const struct forecast_row *row, const struct forecast_row *before)
{
	struct mixture mix;
	double score = 0;
	size_t i;

	mixture_make(f, row, before, &mix);
	for (i = 0; i < mix.n; i++)
		score += mix.weight[i] * score_of((row->y - mix.mean[i]) / mix.sd[i], mix.df[i]);
	return score;
}

/* By bisection with the secant's guess, between bounds that hold the quantile. */
double
forecast_quantile(const struct forecast *f, const struct forecast_row *row,
    const struct forecast_row *before, double p)
{
	struct mixture mix;
	double low = INFINITY, high = -INFINITY, t, at, c;
	size_t i;
	int tries;

	mixture_make(f, row, before, &mix);
	if (mix.n == 0)
		return NAN;
	for (i = 0; i < mix.n; i++) {
		t = mix.mean[i] + mix.sd[i] * nw_t_quantile(p, mix.df[i]);
		low = fmin(low, t);
		high = fmax(high, t);
	}
	for (tries = 0; tries < 30 && high - low > 1e-4; tries++) {
		at = (low + high) / 2;
		c = mixture_chance(&mix, at);
		*(c < p ? &low : &high) = at;
	}
	return (low + high) / 2;
}

/* --- steps --- */

void
forecast_step_begin(struct forecast *f)
{
	struct forecast_model *m;

	for (m = f->model; m < f->model + FORECAST_MODELS; m++) {
		column_add(m, COLUMN_STEP, FLAT);
		m->shape -= 0.5; /* the session of the step tells nothing of the noise */
	}
}

void
forecast_step_watch(
    struct forecast *f, const struct forecast *from, const double weight[FORECAST_MODELS])
{
	size_t i;

	f->n = from->n;
	for (i = 0; i < FORECAST_MODELS; i++)
		if (weight[i] >= WEIGHT_MIN) {
			model_copy(&f->model[i], &from->model[i]);
			column_add(&f->model[i], COLUMN_STEP, STEP);
		}
}

void
forecast_step_see(struct forecast *f, const double weight[FORECAST_MODELS],
    const struct forecast_row *row, const struct forecast_row *before)
{
	double rise = NAN;
	struct seen s;
	size_t i;

	for (i = 0; i < FORECAST_MODELS; i++)
		if (weight[i] >= WEIGHT_MIN) {
			if (isnan(rise)) /* all models have one shape */
				rise = shape_rise(f->model[i].shape);
			model_look(&f->model[i], row, before, &s);
			model_weigh(&f->model[i], &s, rise);
			model_see(&f->model[i], &s);
		}
	f->n++;
}

void
forecast_step_end(struct forecast *f)
{
	struct forecast_model *m;
	size_t i, j, n;

	for (m = f->model; m < f->model + FORECAST_MODELS; m++) {
		n = m->n - 1;
		m->beta[0] += m->beta[n];
		for (j = 0; j <= n; j++)
			m->cov[j] += m->cov[n * (n + 1) + j];
		for (i = 0; i <= n; i++)
			m->cov[i * (n + 1)] += m->cov[i * (n + 1) + n];
		for (i = 1; i < n; i++)
			memmove(m->cov + i * n, m->cov + i * (n + 1), n * sizeof(m->cov[0]));
		m->n = n;
	}
}

/* --- effects --- */

/* A model's effect: normal score, mean, standard deviation. Returns false of a model that does not
 * count, or without the column. */
static bool
model_effect(
    const struct forecast_model *m, double weight, unsigned column, double *mean, double *sd)
{
	size_t k;

	if (weight < WEIGHT_MIN)
		return false;
	for (k = 0; k < m->n && m->column[k] != column; k++)
		;
	if (k == m->n || m->shape <= 0)
		return false;
	*sd = sqrt(m->scale / m->shape * m->cov[k * m->n + k]);
	*mean = m->beta[k];
	return true;
}

static struct forecast_effect
effect(const struct forecast *f, const double weight[FORECAST_MODELS], unsigned column,
    bool has_chance)
{
	struct forecast_effect e = { 0 };
	double sum = 0, all = 0, square = 0, mean, sd;
	size_t i;

	for (i = 0; i < FORECAST_MODELS; i++) {
		all += weight[i];
		if (!model_effect(&f->model[i], weight[i], column, &mean, &sd))
			continue;
		if (has_chance)
			e.chance += weight[i] * nw_t_cdf(mean / sd, 2 * f->model[i].shape);
		e.mean += weight[i] * mean;
		square += weight[i] * (mean * mean + sd * sd);
		sum += weight[i];
	}
	if (sum > 0) {
		e.chance = e.chance / sum;
		e.mean /= sum;
		e.sd = sqrt(fmax(0, square / sum - e.mean * e.mean));
	}
	e.share = all > 0 ? sum / all : 0;
	return e;
}

struct forecast_effect
forecast_effect(const struct forecast *f, const double weight[FORECAST_MODELS], unsigned column)
{
	return effect(f, weight, column, true);
}

struct forecast_effect
forecast_effect_size(
    const struct forecast *f, const double weight[FORECAST_MODELS], unsigned column)
{
	return effect(f, weight, column, false);
}

double
forecast_step_evidence(
    const struct forecast *f, const double weight[FORECAST_MODELS], enum forecast_way way)
{
	double most = -INFINITY, sum = 0, share, mean, sd;
	const struct forecast_model *m;
	size_t i;

	for (i = 0; i < FORECAST_MODELS; i++)
		if (weight[i] >= WEIGHT_MIN)
			most = fmax(most, f->model[i].log_weight);
	for (i = 0; i < FORECAST_MODELS; i++) {
		m = &f->model[i];
		if (!model_effect(m, weight[i], COLUMN_STEP, &mean, &sd))
			continue;
		share = way == FORECAST_EITHER
		    ? 1
		    : nw_t_cdf(way == FORECAST_SLOWER ? -mean / sd : mean / sd, 2 * m->shape);
		sum += share * exp(m->log_weight - most);
	}
	return sum > 0 ? most + log(2 * sum) : -INFINITY;
}
