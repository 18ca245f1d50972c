/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/keep/timedoc.h"

#include <math.h>

#include "analyze/verdict/put/resultdoc_put.h"

enum { TAKEN_MAX = 20 };

json_t *
timedoc_parts(const struct nw_time_rival *t)
{
	static const struct {
		enum nw_time_part part;
		const char *word;
	} words[] = { { NW_TIME_TREND, "trend" }, { NW_TIME_HOUR, "hour" },
		{ NW_TIME_START, "start" } };
	json_t *parts = json_array();

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((t->parts & words[i].part) != 0)
			json_array_append_new(parts, json_string(words[i].word));
	return parts;
}

/* The next column after `r2` and `at` by falling r^2; n without any. */
static size_t
next_taken(const struct nw_time_rival *t, size_t n, double r2, size_t at)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (t->taken[i] > 0 && (t->taken[i] < r2 || (t->taken[i] == r2 && i > at)) &&
		    (best == n || t->taken[i] > t->taken[best]))
			best = i;
	return best;
}

json_t *
timedoc_taken(const struct nw_time_rival *t, size_t n,
    const char *(*name)(const void *arg, size_t column), const void *arg)
{
	json_t *list = json_array();
	double r2 = INFINITY;
	size_t at = 0;

	while (t->n_taken > 0 && json_array_size(list) < TAKEN_MAX &&
	    (at = next_taken(t, n, r2, at)) < n) {
		r2 = t->taken[at];
		json_array_append_new(list, resultdoc_text(name(arg, at)));
	}
	return list;
}
