/* SPDX-License-Identifier: BSD-3-Clause */
/* Which stages the verdicts of a route name, from stretch to stretch of its history. */
#ifndef ROUTEMIX_H
#define ROUTEMIX_H

#include <jansson.h>

#include "analyze/verdict/usual/past.h"

/* The list of objects route_period: stretches of one length, from an hour to a year, at most 24. */
json_t *routemix_periods(const struct past *past);
/* Stages that limited most sessions of either half, in words; free() the text. NULL: too few
 * sessions. */
char *routemix_words(const struct past *past);

#endif
