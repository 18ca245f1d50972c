/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that make up the result document. All return new references. */
#ifndef RESULTDOC_IN_H
#define RESULTDOC_IN_H

#include <stdint.h>

#include <jansson.h>

#include "narrows/analysis.h"

json_t *resultdoc_real(double v); /* not finite: null */
/* the same of a point that is only drawn, with so many digits */
json_t *resultdoc_drawn(double v, int digits);
json_t *resultdoc_text(const char *s); /* NULL: null; what is no UTF-8 byte by byte */
json_t *resultdoc_ns(int64_t ns);      /* as text: nanoseconds do not fit a JavaScript number */

/* The parts of what was found, each with the parameters it depends on. */
json_t *resultdoc_changes(const struct analysis *a);
json_t *resultdoc_changes_parameters(const struct analysis *a);
json_t *resultdoc_density(const struct analysis *a, const struct classes_params *params);
json_t *resultdoc_density_parameters(const struct classes_params *params);
json_t *resultdoc_reduction(const struct analysis *a, const struct reduction_params *params);
json_t *
resultdoc_reduction_parameters(const struct analysis *a, const struct reduction_params *params);

#endif
