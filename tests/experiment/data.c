/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated hosts: metrics follow hidden series more or less closely; some drift, some are idle. */
#include <stdlib.h>
#include <string.h>

#include "tests/experiment/experiment.h"

enum { CHUNK_ROWS = 240, LATENTS_MAX = 60 };

struct trial_data
data_new(const char *name, size_t n_columns, size_t n_rows, size_t n_chunks)
{
	struct trial_data d = { name, n_columns, n_rows, n_chunks, NULL, NULL, NULL, NULL, false };

	d.store = calloc(n_columns + 1, n_rows * sizeof(*d.store));
	d.x = calloc(n_columns, sizeof(*d.x));
	d.is_main = calloc(n_columns, sizeof(*d.is_main));
	d.is_driver = calloc(n_columns, sizeof(*d.is_driver));
	if (d.store == NULL || d.x == NULL || d.is_main == NULL || d.is_driver == NULL)
		abort();
	for (size_t j = 0; j < n_columns; j++)
		d.x[j] = data_column(&d, j);
	return d;
}

void
data_clear(struct trial_data *d)
{
	free(d->store);
	free((void *)d->x);
	free(d->is_main);
	free(d->is_driver);
}

/* What a metric is, by its number: every fifth never moves, every twentieth drifts, the rest follow
 * a hidden series, from almost exactly to loosely. */
static void
metric_fill(const struct trial_data *d, size_t j, double *const *latent, size_t n_latents)
{
	double *x = data_column(d, j), closeness = 0.02 + 1.2 * pow(noise_uniform(), 6);
	const double *of = latent[j % n_latents];
	double level = 0, unit = exp(10 * noise_uniform() - 3);

	if (d->is_driver[j])
		closeness = 0.5;
	for (size_t i = 0; i < d->n_rows; i++) {
		level += 0.05 * noise_normal();
		if (j % 5 == 4)
			x[i] = 7;
		else if (j % 20 == 3)
			x[i] = unit * (10 + level + 0.05 * noise_normal());
		else
			x[i] = unit * (5 + of[i] + closeness * noise_normal());
	}
}

/* A metric without its mean and unit. */
static void
standard(const double *x, size_t n, double z[])
{
	double mean = 0, square = 0;

	for (size_t i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		square += (x[i] - mean) * (x[i] - mean) / (double)n;
	for (size_t i = 0; i < n; i++)
		z[i] = (x[i] - mean) / sqrt(square);
}

/* Fills metrics and response: each driver adds its share, every second one of a quadratic set by
 * its square. */
static void
simulate(struct trial_data *d, size_t n_latents, size_t n_drivers, double noise)
{
	double *latent[LATENTS_MAX], *y = data_column(d, d->n_columns);
	double *z = calloc(d->n_rows, sizeof(*z));

	for (size_t l = 0; l < n_latents; l++) {
		latent[l] = calloc(d->n_rows, sizeof(**latent));
		noise_ar(latent[l], d->n_rows, 0.8);
	}
	for (size_t taken = 0; taken < n_drivers; taken++) {
		size_t j = taken * d->n_columns / n_drivers;

		while (j % 5 == 4 || j % 20 == 3)
			j++;
		d->is_driver[j] = true;
		d->is_main[j] = taken % 3 == 0; /* experts know a third of them */
	}
	for (size_t j = 0; j < d->n_columns; j++) {
		metric_fill(d, j, latent, n_latents);
		d->is_main[j] |= j % 40 == 11;
		if (!d->is_driver[j])
			continue;
		standard(d->x[j], d->n_rows, z);
		for (size_t i = 0; i < d->n_rows; i++)
			y[i] += 0.5 * (d->quadratic && j % 2 == 1 ? z[i] * z[i] : z[i]);
	}
	for (size_t i = 0; i < d->n_rows; i++)
		y[i] += noise * noise_normal();
	for (size_t l = 0; l < n_latents; l++)
		free(latent[l]);
	free(z);
}

struct trial_data
data_machines(void)
{
	struct trial_data d =
	    data_new("six simulated machines, 628 metrics", 628, 12 * CHUNK_ROWS, 12);

	simulate(&d, 59, 20, 0.5);
	return d;
}

struct trial_data
data_transfers(const char *name, size_t n_chunks)
{
	struct trial_data d = data_new(name, 217, n_chunks * CHUNK_ROWS, n_chunks);

	d.quadratic = true;
	simulate(&d, 29, 8, 0.4);
	return d;
}
