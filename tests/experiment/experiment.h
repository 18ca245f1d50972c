/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The experiments of the paper on statistical metric reduction (Yang, Schopf, Dumitrescu, Foster
 * 2005), its Figures 2 to 6, repeated on other data: the recording of a busy machine, and
 * simulations of many hosts with known drivers.
 */
#ifndef EXPERIMENT_H
#define EXPERIMENT_H
#include <stdbool.h>
#include <stdio.h>

#define NOISE_SHARED
#include "tests/noise.h"
#include "narrows/reduce.h"

/* A table of metrics in chunks of equal length, the first chunk for training. */
struct trial_data {
	const char *name; /* in texts */
	size_t n_columns, n_rows, n_chunks;
	double *store; /* columns of n_rows; then the response */
	const double **x;
	bool *is_main;   /* metrics an expert would look at */
	bool *is_driver; /* metrics that make the response; NULL where nobody knows */
	bool quadratic;
};

struct trial_data data_new(const char *name, size_t n_columns, size_t n_rows, size_t n_chunks);
void data_clear(struct trial_data *d);
static inline double *
data_column(const struct trial_data *d, size_t j)
{
	return d->store + j * d->n_rows;
}

/* --- data --- */
/* Six machines with 628 metrics, of which 20 drive the time of an iteration; 12 chunks. */
struct trial_data data_machines(void);
/* A server and a client with 217 metrics, of which 8 drive the rate, some by their squares; chunks
 * of one client, or one chunk for each client of the same configuration. */
struct trial_data data_transfers(const char *name, size_t n_chunks);
/* The recording in a directory (dtn.nwp.zst, series.csv), bytes received by all flows as response.
 * False, with a message on stderr, if there is none. */
bool data_recording(const char *dir, struct trial_data *out);

/* --- figures --- */
enum { LINES_MAX = 4, POINTS_MAX = 64 };

struct figure {
	const char *file, *title, *across;
	double x[POINTS_MAX];
	size_t n_points, n_lines;
	struct {
		const char *name;
		double y[POINTS_MAX];
	} line[LINES_MAX];
};

/* Writes DIR/FILE.csv and DIR/FILE.svg; values below -1 are drawn as -1. False, with a message. */
bool figure_write(const char *dir, const struct figure *f);

#endif
