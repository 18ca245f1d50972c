/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linear models of operation durations (Kunkel): per condition (cached, read ahead, off disk ..)
 * the slowest ordinary time as a line over the access size, and classification of any operation by
 * these lines.
 *
 *   limit L(s)   exp of the density's cutoff for size s, the slowest duration if there is no cutoff
 *   target t     inflate L(s)
 *   small        s <= page: least squares t = I + c s; one size: slope 0
 *   large        s > page: intercept I_l = I + page c, slope c_l = sum s (t - I_l) / sum s^2 over
 *                the full size, so the line jumps at the page; without small sizes both parameters
 *                are fitted
 *   class        of (s, d): the model with the smallest prediction >= d; ties go to the first; else
 *                none
 *
 * That is the published rule. Least squares on sizes that span seven decades is decided by the
 * largest few, and a limit that one stall has raised bends a line below zero. `sound` makes ln L
 * monotone in s first, minimises relative errors (weights 1/L^2), and lets neither I nor c be
 * negative, nor the large line begin below the small line's end; the large line has both
 * parameters. A line that misses L(s) by more than half on average is refused: its numbers are
 * there, but it classifies nothing.
 */
#ifndef NARROWS_IOMODEL_H
#define NARROWS_IOMODEL_H
#include <stdbool.h>
#include <stddef.h>

#include "narrows/status.h"

struct nw_io_limit {
	double size_bytes;
	double limit_s;
};

struct nw_io_line {
	/* number of sizes behind the line; 0 without a line, and then the numbers are NaN */
	size_t n;
	double intercept_s;      /* I */
	double slope_s_per_byte; /* c */
	/* mean |d(s) - L(s)|: against the limit itself, so a perfect fit shows the inflation */
	double abs_err_s;
	double rel_err; /* mean |d(s) - L(s)| / L(s) */
	bool refused;   /* by the sound rule */
};

struct nw_io_model {
	enum nw_status status; /* INSUFFICIENT: no usable size; REFUSED: no line is left */
	double page_bytes;
	struct nw_io_line small, large;
};

struct nw_io_options {
	double page_bytes;
	double inflate;
	bool sound;
};
extern const struct nw_io_options nw_io_defaults; /* 4096, 1.1, as published */

/* Sizes in any order; a size < 0, and a size whose limit is not positive and finite, are left out.
 * O(n); sound O(n log n). NW_ENOMEM, with sound only. */
int nw_io_fit(const struct nw_io_limit *limits, size_t n, const struct nw_io_options *options,
    struct nw_io_model *out);
/* Predicted duration. The other line stands in for a missing line. NaN without lines. */
double nw_io_predict(const struct nw_io_model *m, double size_bytes);
/* Index of the class; n if no model is slow enough. A refused line has no operations. O(n). */
size_t
nw_io_classify(const struct nw_io_model *models, size_t n, double size_bytes, double duration_s);

#endif
