/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the writers of the result document. Functions returning a json_t return a new
 * reference. */
#ifndef RESULTDOC_IN_H
#define RESULTDOC_IN_H

#include <jansson.h>

#include "analyze/verdict/analysis_in.h"
#include "analyze/verdict/put/resultdoc_put.h"
#include "narrows/result.h"

/* The part of the document for comparisons with other sessions. */
json_t *resultdoc_facts(const struct analysis *a, const struct judge_params *params);
json_t *resultdoc_advice(const struct analysis *a);
/* The claims of all sentences of the document. */
json_t *resultdoc_claims(const struct analysis *a);
json_t *resultdoc_timeline(const struct analysis *a);
/* A ratio of two arrays of the grid, summed over each step of the timeline. */
json_t *resultdoc_timeline_ratio(const struct evidence *e, const double *num, const double *den);
/* Parts of the document, each with the parameters that the part depends on. */
json_t *resultdoc_changes(const struct analysis *a);
json_t *resultdoc_changes_parameters(const struct analysis *a);
json_t *resultdoc_density(const struct analysis *a, const struct classes_params *params);
json_t *resultdoc_density_parameters(const struct classes_params *params);
/* Null if no file operation was counted. */
json_t *resultdoc_iotime(const struct analysis *a);
/* Null if no kernel told of waits. */
json_t *resultdoc_kernel(const struct analysis *a);
/* Null if no program waited for another. */
json_t *resultdoc_chain(const struct analysis *a);
json_t *resultdoc_steps(const struct analysis *a);
json_t *resultdoc_reduction(const struct analysis *a, const struct reduction_params *params);
json_t *
resultdoc_reduction_parameters(const struct analysis *a, const struct reduction_params *params);

#endif
