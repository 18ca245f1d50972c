/* SPDX-License-Identifier: BSD-3-Clause */
/* Durations of a class over the size as a cell of CSV: what models prints, classify reads. */
#ifndef CLI_STAT_CURVE_H
#define CLI_STAT_CURVE_H
#include <jansson.h>

#include "narrows/iocurve.h"

/* The name of the column: the points of a curve, divided by ';', each with size, number of
 * operations, mean, slowest and nine quantiles, divided by blanks; bytes and seconds. */
#define CURVE_COLUMN "durations"

/* A new JSON string; NULL without memory. */
json_t *curve_json(const struct nw_io_curve *c);
/* An empty text is no curve: status INSUFFICIENT. NW_EPROTO, NW_ENOMEM. Free with
 * nw_io_curve_clear in any case. */
int curve_parse(const char *text, struct nw_io_curve *out);

#endif
