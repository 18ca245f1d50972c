/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulations of data whose truth is known, run through what the box concludes by itself.
 *
 * A table is one kind of conclusion; a cell is one kind of data. Every cell has a bound on the
 * share of runs with the counted event. A cell fails when a true share at the bound would give the
 * count with a chance below CELL_CHANCE (exact binomial tail), so a run with few repetitions is
 * never stricter than the bound, only less sharp.
 */
#ifndef CALIBRATE_H
#define CALIBRATE_H
#include <stdbool.h>
#include <stddef.h>

#include "narrows/incident.h"

#define NOISE_SHARED
#include "tests/noise.h"

#define CELL_CHANCE 1e-4

struct calibration {
	size_t runs;  /* repetitions of a cell */
	bool verbose; /* true prints every cell, false only the failed ones */
	bool sample;  /* without the cells that cost most */
	size_t n_cells, n_failed;
};

/* Repetitions for a cell that costs `cost` times the usual; at least 4. */
size_t calibrate_runs(const struct calibration *c, double cost);
/* Prints the title of a table. */
void calibrate_title(const struct calibration *c, const char *text);
/* Events in runs, where at most (at least) the share `bound` of runs may (must) have the event. */
void
cell_at_most(struct calibration *c, const char *what, size_t events, size_t runs, double bound);
void
cell_at_least(struct calibration *c, const char *what, size_t events, size_t runs, double bound);
/* The share of runs with the event must lie in [low, high]. */
void cell_within(
    struct calibration *c, const char *what, size_t events, size_t runs, double low, double high);

/* --- noise beyond noise.h --- */
double noise_student(unsigned df);
unsigned noise_poisson(double mean);

/* --- routes and settings --- */

/* A kind of route, its sessions `hours` apart. */
struct calibrate_route {
	const char *name;
	double memory, drift, weekdays, day; /* in standard deviations of the noise */
	bool two_sizes, sizes;
	unsigned student;
	unsigned changes; /* a recorded change that slows such routes down after so many sessions */
	double hours;
	double openings; /* bound on the openings by session */
	size_t covers_from;
};
const struct calibrate_route *calibrate_routes(size_t *n);
/* Sessions without an incident; `spread` is the standard deviation of the log rate. */
void calibrate_jobs(const struct calibrate_route *r, size_t n, double spread, struct nw_job *job);
double calibrate_spread(void);
const char *calibrate_setting(void); /* any name */

/* --- tables --- */
void calibrate_changes(struct calibration *c);
void calibrate_bottleneck(struct calibration *c);
void calibrate_intervals(struct calibration *c);
void calibrate_classes(struct calibration *c);
void calibrate_reduction(struct calibration *c);
void calibrate_lifelines(struct calibration *c);
void calibrate_activetests(struct calibration *c);
void calibrate_reached(struct calibration *c);
void calibrate_causes(struct calibration *c);
void calibrate_incidents(struct calibration *c);
void calibrate_natural(struct calibration *c);
void calibrate_histories(struct calibration *c);
void calibrate_chains(struct calibration *c);

#endif
