/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a running box, and whether each part works. */
#ifndef NARROWS_WEB_HEALTH_H
#define NARROWS_WEB_HEALTH_H

#include <stdbool.h>

#include "narrows/result_keys.h"
#include "narrows/web.h"

enum { HEALTH_PARTS = 5 };

struct health_part {
	enum result_key key; /* a key of health_parts */
	const char *name;    /* of the key */
	bool ok;
	bool is_needed;            /* a box without this part takes no measurements */
	char why[STORE_WHY_BYTES]; /* of a part that is ok: what to know of the part, or "" */
};

void health_parts(const struct nw_health *h, struct health_part out[HEALTH_PARTS]);
/* Sets ok and problem, unless the box itself named a problem. */
void health_judge(struct nw_health *h);
/* Whether the box can take measurements and show reports. */
bool health_is_ready(const struct nw_health *h);

#endif
