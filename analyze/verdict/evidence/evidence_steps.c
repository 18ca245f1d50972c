/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of processes' loops. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/xmalloc.h"

/* A peer may claim any number. */
static const double MOST = 1e12;

void
steps_source(struct loader *l, struct source *s, const json_t *subject)
{
	const char *by = json_string_value(json_object_get(subject, "by"));
	struct evidence *e = l->e;

	if (e->n_steps == EVIDENCE_LIST_MAX) {
		s->kind = SOURCE_OTHER;
		return;
	}
	s->item = e->n_steps;
	e->steps = xreallocarray(e->steps, e->n_steps + 1, sizeof(*e->steps));
	e->steps[e->n_steps++] = (struct evidence_steps){ .process = s->process,
		.by_calls = by != NULL && strcmp(by, "calls") == 0 };
}

static double
amount(const struct row *r, int column)
{
	return fmin(MOST, fmax(0, known_or_0(row_cell(r, column))));
}

void
steps_row(struct loader *l, const struct row *r)
{
	struct evidence_steps *t = &l->e->steps[l->source->item];
	struct span s = row_span(l, r);
	const double n = amount(r, r->c->steps), inside_s = amount(r, r->c->inside_s),
		     between_s = amount(r, r->c->between_s);

	if (!l->filling) {
		extent_widen(&l->pipes_begin_wall_ns, &l->pipes_end_wall_ns, &s);
		if (l->alone)
			span_vote(l, &s);
		return;
	}
	t->n += n;
	t->inside_s += inside_s;
	t->between_s += between_s;
	grid_spread(l->e, grid_array(l->e, &t->count, 0), &s, n);
	wait_spread(l->e, &t->inside, &s, inside_s);
	wait_spread(l->e, &t->between, &s, between_s);
}

void
steps_clear(struct evidence *e)
{
	size_t i;

	for (i = 0; i < e->n_steps; i++) {
		free(e->steps[i].count);
		free(e->steps[i].inside);
		free(e->steps[i].between);
	}
	free(e->steps);
}
