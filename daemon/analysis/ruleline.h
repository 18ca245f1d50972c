/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of the directive `rule`: "CONDITION EVENT-TYPE INTERVAL". */
#ifndef RULELINE_H
#define RULELINE_H

#include <stdint.h>

#include "narrows/order.h"

enum { RULELINES_MAX = 16 };

struct ruleline {
	unsigned when; /* a value of enum behaviour_is */
	char event_type[NW_ORDER_TEXT_BYTES];
	int64_t interval_ns;
};

/* Reads up to the end of the line; *next is behind it. NW_EINVAL with static *why. */
int ruleline_parse(const char *text, struct ruleline *out, const char **next, const char **why);

#endif
