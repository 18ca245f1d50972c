/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "narrows/err.h"
#include "narrows/incident.h"

size_t
nw_story_level(const struct nw_story *s, size_t end, size_t *out)
{
	const struct nw_level *level = &s->level[s->n_levels - 1];
	size_t i, n = 0;

	for (i = level->begin; i < end; i++) {
		const struct nw_incident *in = nw_story_incident_of(s, i);

		if (in == NULL || in->kind == NW_INCIDENT_DRIFT ||
		    in->state == NW_INCIDENT_IS_ACCEPTED)
			out[n++] = i;
	}
	return n;
}

static int
around_fill(const struct nw_story *s, size_t begin, size_t low, size_t high, struct nw_around *out)
{
	const size_t after = s->n - begin;
	size_t *level = calloc(begin + 1, sizeof(*level)), n_level, i;

	if (level == NULL)
		return NW_ENOMEM;
	n_level = nw_story_level(s, begin, level);
	i = n_level > NW_AROUND_BEFORE ? n_level - NW_AROUND_BEFORE : 0;
	*out = (struct nw_around){ .n = 0 };
	for (; i < n_level; i++) {
		if (level[i] < low)
			out->low = out->n + 1;
		out->session[out->n++] = level[i];
	}
	free(level);
	out->split = out->n;
	for (i = begin; i < s->n; i++)
		if (i < begin + NW_AROUND_AFTER / 2 || i + NW_AROUND_AFTER / 2 >= s->n)
			out->session[out->n++] = i;
	out->high = out->split + (high - begin < after ? high - begin : after - 1);
	return NW_OK;
}

int
nw_story_around(const struct nw_story *s, struct nw_around *out)
{
	const struct nw_incident *in;

	if (s->n == 0)
		return NW_ENOTFOUND;
	in = nw_story_incident_of(s, s->n - 1);
	if (in != NULL && in->kind == NW_INCIDENT_STEP)
		return around_fill(s, in->begin, in->low, in->high, out);
	return s->usual[s->n - 1].said == NW_AGAINST_SLOWER
	    ? around_fill(s, s->n - 1, s->n - 1, s->n - 1, out)
	    : NW_ENOTFOUND;
}
