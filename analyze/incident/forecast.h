/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the models of a route expect of its next session. A model is a normal linear regression with
 * the conjugate prior, updated session by session in the form of recursive least squares; a memory
 * rho is taken out by subtracting rho times the session before. Without a session before, the row
 * has the weight of a first one, sqrt(1 - rho^2).
 */
#ifndef ANALYZE_FORECAST_H
#define ANALYZE_FORECAST_H

#include <stdbool.h>
#include <stddef.h>

#include "narrows/incident.h"

enum {
	COLUMN_LEVEL,
	COLUMN_SIZE,
	COLUMN_SIZE_BEND,
	COLUMN_HOUR,
	COLUMN_WEEKDAY = COLUMN_HOUR + 4,
	COLUMN_DRIFT = COLUMN_WEEKDAY + 7,
	COLUMN_STEP,
	COLUMNS,
	MODEL_COLUMNS_MAX = 11, /* of a single model */
	FORECAST_MODELS = 32,
	FORECAST_DRIFT_SESSIONS = 50, /* unit of the drift's column */
};

struct forecast_row {
	double y; /* log rate */
	double x[COLUMNS];
};

struct forecast_model {
	double rho;
	size_t n;
	unsigned char column[MODEL_COLUMNS_MAX];
	double beta[MODEL_COLUMNS_MAX];
	double shape, scale; /* of the variance, an inverse gamma; all models have one shape */
	double log_weight;
	double
	    cov[MODEL_COLUMNS_MAX * MODEL_COLUMNS_MAX]; /* over the variance; n * n; last, so that
	                                                    * copies leave out what is not in use */
};

struct forecast {
	size_t n; /* sessions seen */
	struct forecast_model model[FORECAST_MODELS];
};

/* The columns of the job at an index, without a step. `first` is the first job of the route. */
void forecast_row(
    const struct nw_job *job, const struct nw_job *first, size_t index, struct forecast_row *out);
void forecast_init(struct forecast *f);
void forecast_copy(struct forecast *to, const struct forecast *from);
/* before may be NULL: the session before is not of the same level. */
void
forecast_see(struct forecast *f, const struct forecast_row *row, const struct forecast_row *before);
/* The weights of the models, against the heaviest. */
void forecast_weights(const struct forecast *f, double weight[FORECAST_MODELS]);
/* Log of the density of all sessions since the first, up to a constant. */
double forecast_evidence(const struct forecast *f);

/* The chance of a log rate as low as row->y or lower, and the quantile of a chance. */
double forecast_chance(
    const struct forecast *f, const struct forecast_row *row, const struct forecast_row *before);
double forecast_quantile(const struct forecast *f, const struct forecast_row *row,
    const struct forecast_row *before, double p);

/* About the normal score of row->y, at a fraction of the cost of its chance; 0 without a model
 * with known noise. */
double forecast_score(
    const struct forecast *f, const struct forecast_row *row, const struct forecast_row *before);

/* Adds a step of unknown size from the next row on; its column of a row is set by the caller. */
void forecast_step_begin(struct forecast *f);
/* The same for the models alone that count by these weights, and for a step that is hardly ever
 * larger than some standard deviations. Until the next forecast_copy() only forecast_step_see(),
 * forecast_step_evidence() and forecast_effect() with the same weights follow. */
void forecast_step_watch(
    struct forecast *f, const struct forecast *from, const double weight[FORECAST_MODELS]);
/* As forecast_see(). */
void forecast_step_see(struct forecast *f, const double weight[FORECAST_MODELS],
    const struct forecast_row *row, const struct forecast_row *before);
/* The step becomes part of the level. */
void forecast_step_end(struct forecast *f);

struct forecast_effect {
	double chance;   /* weight of t of the effect: small if surely below zero */
	double mean, sd; /* of the effect */
	double share;    /* weight of the models with the column */
};
/* Of a column, with the weights of forecast_weights(); the size comes without `chance`. */
struct forecast_effect
forecast_effect(const struct forecast *f, const double weight[FORECAST_MODELS], unsigned column);
struct forecast_effect forecast_effect_size(
    const struct forecast *f, const double weight[FORECAST_MODELS], unsigned column);
/* Log of the density of all sessions if there is a step this way; with FORECAST_EITHER a bound of
 * both ways, which costs less. Comparable with forecast_evidence() of the level alone. */
enum forecast_way { FORECAST_EITHER, FORECAST_SLOWER, FORECAST_FASTER };
double forecast_step_evidence(
    const struct forecast *f, const double weight[FORECAST_MODELS], enum forecast_way way);

#endif
