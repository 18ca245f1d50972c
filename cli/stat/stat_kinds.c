/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of all kinds, and how a kind is found in the table. */
#include "cli/stat/stat_kinds.h"

#include <string.h>

#include "cli/stat/stat_linear.h"
#include "cli/stat/stat_series.h"

const struct stat_kind stat_kinds[] = {
	/* kinds about one series */
	{ "summary", "univariate", "n, mean, sd, min, max, sum of every column", "", NULL,
	    summary_options, summary_run, summary_case },
	{ "ttest", "ttest",
	    "is the first group's mean lower? Welch and Student, from values or summaries",
	    "table_2", " log10_p ", ttest_options, ttest_run, ttest_case },
	{ "bottleneck", "bottleneck",
	    "the component with the lowest mean, and whether it is the only candidate",
	    "components", " tests holm log10_p ", bottleneck_options, bottleneck_run,
	    bottleneck_case },
	{ NULL, "autocorr", NULL, NULL, NULL, NULL, NULL, autocorr_case },
	{ "density", "kde",
	    "density of durations, its classes, and the limit above which one is an outlier",
	    "curve", NULL, density_options, density_run, density_case },
	{ NULL, "histkde", NULL, NULL, NULL, NULL, NULL, density_case },
	{ NULL, "iotrace", NULL, NULL, NULL, NULL, NULL, iotrace_case },
	{ "models", "models", "lines of the slowest ordinary duration over the access size",
	    "models", " limits ", models_options, models_run, models_case },
	{ "tables", NULL,
	    "Tables 1 to 4 of Kunkel (2016) beside those of a folder of iomodel matrix", "rows",
	    NULL, tables_options, tables_run, NULL },
	{ "figures", NULL,
	    "Figures 2 to 7 of Kunkel (2016) from a folder of iomodel matrix, as SVG; a "
	    "second folder takes the drawings",
	    "rows", NULL, figures_options, figures_run, NULL },
	{ "classify", "classify", "which model each operation belongs to", "operations", " class ",
	    classify_options, classify_run, classify_case },
	{ NULL, "formats", NULL, NULL, NULL, NULL, NULL, formats_case },
	{ "changes", "changepoint", "where a series changes its mean or spread", "segments",
	    " rho_robust ar_penalty changepoints_ar_penalty total_cost penalty changepoints ",
	    changes_options, changes_run, changes_case },
	/* about many metrics at once */
	{ "correlation", "correlation", "correlations of all pairs of columns", "pairs", NULL,
	    stat_correlation_options, stat_correlation_run, stat_correlation_case },
	{ "lm", "regression", "least squares with standard errors and partial F", "table",
	    " names coefficients std_errors F_partial ", stat_lm_options, stat_lm_run,
	    stat_lm_case },
	{ "cluster", "cluster", "groups of equivalent metrics, each with a representative", "table",
	    " clusters representatives rep_r_response min_abs_r ", stat_cluster_options,
	    stat_cluster_run, stat_cluster_case },
	{ "select", "be", "backward elimination: the metrics that explain a response", "table",
	    " removed_F coef F ", stat_select_options, stat_select_run, stat_select_case },
	{ "reduce", "pipeline",
	    "clusters, elimination, scan of thresholds, verification on other chunks", "scan",
	    " removed_F rand_subsets rand_seed min_abs_r representatives clusters ",
	    stat_reduce_options, stat_reduce_run, stat_reduce_case },
	{ "lasso", "lasso", "the lasso path, to compare with", NULL, " standardized ",
	    stat_lasso_options, stat_lasso_run, stat_lasso_case },
	{ "validate", "validation", "how well least squares predicts rows it has not seen", NULL,
	    NULL, stat_validate_options, stat_validate_run, stat_validate_case },
	{ 0 },
};

const struct stat_kind *
stat_kind_find(const char *name)
{
	const struct stat_kind *k;

	for (k = stat_kinds; k->name != NULL || k->case_kind != NULL; k++)
		if (k->name != NULL && strcmp(k->name, name) == 0)
			return k;
	return NULL;
}
