/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks that the lines themselves prove wrong. A learnt path proves nothing: its order came from
 * the same clocks. */
#ifndef LINESET_LINECLOCK_H
#define LINESET_LINECLOCK_H

#include "web/lifelines/lineset.h"

/* Finds wrong clocks; unless the times are to stay raw, takes the middle of each lead off the times
 * of the host. host: of each time in s->t. NW_ENOMEM. */
int lineclock_settle(struct lineset *s, const uint16_t *host, bool raw);
/* What is taken off a time of the host as logged. */
int64_t lineclock_lead_ns(const struct lineset_clock *c, int64_t t_wall_ns);
/* The finding in words, or an empty text. Returns the bytes written. */
size_t lineclock_words(const struct lineset *s, char *out, size_t size);
/* How far the clocks may falsify durations between two points of a lane; infinite if nothing is
 * known. *proven: one of the clocks is proven wrong. */
double
lineclock_doubt(const struct lineset *s, uint32_t lane, unsigned from, unsigned to, bool *proven);

#endif
