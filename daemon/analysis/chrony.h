/* SPDX-License-Identifier: BSD-3-Clause */
/* The box's own clock, as chronyd sees it. */
#ifndef CHRONY_H
#define CHRONY_H

#include <stdbool.h>

struct chrony_tracking {
	bool synchronised;
	double offset_s;
	double bound_s; /* |offset| + root dispersion + root delay / 2 */
};

/* Asks chronyd through chronyc; may block for a second. NW_ENOTFOUND: no chronyd answers. */
int chrony_tracking_get(struct chrony_tracking *out);
/* Parses a line of `chronyc -c tracking`. NW_EPROTO for another line. */
int chrony_tracking_parse(const char *line, struct chrony_tracking *out);

#endif
