/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a result document that compare a session with earlier ones. Each function returns a
 * new reference. */
#ifndef RESULTDOC_USUAL_H
#define RESULTDOC_USUAL_H

#include <jansson.h>

#include "analyze/verdict/usual/changed.h"
#include "analyze/verdict/usual/past.h"
#include "analyze/verdict/usual/usual.h"

/* Null for a session without comparison. */
json_t *resultdoc_usual(const struct usual *u);
/* Null if nothing was to be explained. */
json_t *resultdoc_changed(const struct changed *c);
json_t *resultdoc_level(const struct level_told *l);
json_t *resultdoc_incident(const struct incident_told *t);

#endif
