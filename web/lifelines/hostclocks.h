/* SPDX-License-Identifier: BSD-3-Clause */
/* What the store knows of the clocks of a session's hosts. */
#ifndef LINESET_HOSTCLOCKS_H
#define LINESET_HOSTCLOCKS_H

#include "web/lifelines/lineset.h"

/*
 * Fills offset and bound of each host's clock: the exchange of time stamps with the box (CLOCK)
 * that has the smallest bound, out of those from an hour before the session to an hour after the
 * session; else what the host's chrony says.
 */
int hostclocks_read(struct store_reader *r, struct lineset *s);
/* Decides the correction: an offset above its own bound is subtracted, unless the times are to stay
 * raw, and the bound remains. Returns the bound by which orders are judged: raw times of a clock
 * that is known to be wrong do not excuse an impossible order. */
double hostclock_settle(struct lineset_clock *c, bool raw);

#endif
