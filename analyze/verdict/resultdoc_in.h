/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files that write the result document. Functions that return a json_t return a new
 * reference; the put functions take the reference of their value.
 */
#ifndef RESULTDOC_IN_H
#define RESULTDOC_IN_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "analyze/verdict/analysis_in.h"
#include "narrows/result.h"

/* A number, or null for a value that is not finite. */
json_t *resultdoc_real(double v);
/* The same with few digits, for a point that is only drawn. */
json_t *resultdoc_drawn(double v, int digits);
/* A text, or null for NULL. A text that is not UTF-8 is written byte by byte. */
json_t *resultdoc_text(const char *s);
/* Nanoseconds as text: they do not fit a JavaScript number. */
json_t *resultdoc_ns(int64_t ns);

void put_real(json_t *object, enum result_key key, double v);
void put_text(json_t *object, enum result_key key, const char *text);
void put_ns(json_t *object, enum result_key key, int64_t ns);
void put_count(json_t *object, enum result_key key, uint64_t n);

/* The part of the document that other sessions are compared by. */
json_t *resultdoc_facts(const struct analysis *a, const struct judge_params *params);
json_t *resultdoc_advice(const struct analysis *a);
json_t *resultdoc_changed(const struct analysis *a);
/* Null for a session without comparison. */
json_t *resultdoc_usual(const struct analysis *a);
json_t *resultdoc_change(const struct change_told *c);
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
json_t *resultdoc_reduction(const struct analysis *a, const struct reduction_params *params);
json_t *
resultdoc_reduction_parameters(const struct analysis *a, const struct reduction_params *params);

#endif
