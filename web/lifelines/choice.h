/* SPDX-License-Identifier: BSD-3-Clause */
/* A choice of a session's lifelines: what a reader asks to see. */
#ifndef LINESET_CHOICE_H
#define LINESET_CHOICE_H

#include "web/lifelines/lineset.h"
#include "web/query/param.h"

enum { CHOICE_TEXT_BYTES = 256, CHOICE_LIST_BYTES = 1024, CHOICE_HREF_BYTES = 8192 };

struct choice_mark { /* a point of a line, for measuring */
	char line[CHOICE_TEXT_BYTES], point[CHOICE_TEXT_BYTES];
};

/* Empty texts and NaN: no limit. */
struct choice {
	char id[CHOICE_TEXT_BYTES];             /* part of the line's ids */
	char server[CHOICE_TEXT_BYTES];         /* name of the lane */
	double percentile_low, percentile_high; /* of the duration of finished lines */
	double from_s, to_s; /* since the session's first event: lines with any time within */
	struct choice_mark a, b;
	double line_bytes; /* of a line whose events tell no size */
	char path[CHOICE_LIST_BYTES], by[CHOICE_TEXT_BYTES], lane[CHOICE_TEXT_BYTES];
	bool raw;
	int64_t against;         /* session to compare with, or 0 */
	const atomic_bool *stop; /* as in lineset_opts */
};

extern const struct param choice_params[];
/* NW_EINVAL with *why: the query (NULL for none) makes no sense. */
int choice_parse(struct choice *c, const char *query, const char **why);
struct lineset_opts choice_opts(const struct choice *c);
bool choice_is_all(const struct choice *c);
/* "?id=...": the address of the same view with one parameter changed; key NULL: unchanged, value
 * NULL: without the parameter. */
void choice_href(
    char out[CHOICE_HREF_BYTES], const struct choice *c, const char *key, const char *value);

/* Lines of a set that the choice takes, as lines of their own. */
struct chosen {
	struct nw_lines lines;
	int64_t *t;
	uint32_t *lane;
	uint32_t *line; /* number in the set */
};
int choice_take(const struct choice *c, const struct lineset *s, struct chosen *out);
void chosen_clear(struct chosen *k);

#endif
