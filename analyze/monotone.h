/* SPDX-License-Identifier: BSD-3-Clause */
/* Isotonic regression: the nearest values, by least squares, that never fall. */
#ifndef MONOTONE_H
#define MONOTONE_H

#include <stddef.h>

/* Fits n values in place. Values, and weights above 0, stand `stride` bytes apart; without weights
 * (NULL) all weigh the same. O(n). NW_ENOMEM. */
int monotone_fit(double *values, const double *weights, size_t stride, size_t n);

#endif
