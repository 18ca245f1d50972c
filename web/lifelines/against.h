/* SPDX-License-Identifier: BSD-3-Clause */
/* Lifelines of a session against those of another: a delay that all lines have alike. */
#ifndef LINESET_AGAINST_H
#define LINESET_AGAINST_H

#include <jansson.h>

#include "web/lifelines/choice.h"

struct against {
	int64_t session_id; /* that of comparison; 0: none */
	bool found;
	unsigned from, to; /* points of the session that is looked at */
	double size_s, low_s, high_s;
	char sentence[512];
};

/* Compares medians of the segments that both have; of neighbours that both became slower, the later
 * one counts, since lines wait in front of a slow segment. NW_ENOMEM, or the store's code. */
int against_make(
    struct store_reader *r, const struct lineset *s, const struct choice *c, struct against *out);
/* null without a comparison. */
json_t *against_json(const struct lineset *s, const struct against *g);

#endif
