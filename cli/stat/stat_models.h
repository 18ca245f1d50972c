/* SPDX-License-Identifier: BSD-3-Clause */
/* Models of operations, for the kinds that fit or print models. */
#ifndef CLI_STAT_MODELS_H
#define CLI_STAT_MODELS_H
#include "cli/stat/stat_ops.h"
#include "cli/stat/stat_series.h"
#include "narrows/iocurve.h"
#include "narrows/iomodel.h"

/* The operations of one size. */
struct size_limit {
	double size_bytes, n;
	double limit_s;          /* slowest ordinary duration */
	double median_s, spread; /* median, and q90 over the median; NaN by the published rule */
	double n_outliers;
	double mean_s, ordinary_s; /* mean duration of all operations, and of the ordinary */
};

/* Of the small [0] and the large line [1]. */
struct outlier_counts {
	double n[2], purged[2] /* by the density */, beyond[2] /* the line */;
};

struct fitted {
	struct nw_io_model model;
	struct nw_io_curve curve; /* empty by the published rule */
	struct size_limit *sizes; /* in order of size */
	size_t n_sizes;
	struct outlier_counts outliers;
};

/* Sorts the operations by size, finds each size's limit and fits the model: by quantiles where the
 * options are sound, else by the density. NW_ENOMEM. Free with fitted_clear in any case. */
int fitted_make(struct ops *o, const struct nw_io_options *options,
    const struct density_settings *s, struct fitted *out);
void fitted_clear(struct fitted *f);

#endif
