/* SPDX-License-Identifier: BSD-3-Clause */
/* The waits of processes at the ends of pipes and local sockets. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/xmalloc.h"

/* A peer may claim any wait. */
static const double WAIT_MAX_S = 1e6;

void
pipe_source(struct loader *l, struct source *s, const json_t *subject)
{
	const char *name = json_string_value(json_object_get(subject, "pipe"));
	struct evidence *e = l->e;

	if (name == NULL || e->n_pipes == EVIDENCE_PIPES_MAX) {
		s->kind = SOURCE_OTHER;
		return;
	}
	s->item = e->n_pipes;
	e->pipes = xreallocarray(e->pipes, e->n_pipes + 1, sizeof(*e->pipes));
	e->pipes[e->n_pipes++] =
	    (struct evidence_pipe){ .process = s->process, .name = xstrdup(name) };
}

void
pipe_row(struct loader *l, const struct row *r)
{
	struct evidence_pipe *p = &l->e->pipes[l->source->item];
	struct span s = row_span(l, r);
	double wait_s[2] = { known_or_0(row_cell(r, r->c->read_s)),
		known_or_0(row_cell(r, r->c->write_s)) };
	double longest_s;
	int way;

	if (!l->filling) {
		extent_widen(&l->pipes_begin_wall_ns, &l->pipes_end_wall_ns, &s);
		return;
	}
	p->bytes[0] += known_or_0(row_cell(r, r->c->read_bytes));
	p->bytes[1] += known_or_0(row_cell(r, r->c->write_bytes));
	for (way = 0; way < 2; way++)
		if (wait_s[way] > 0)
			wait_spread(l->e, &p->wait_s[way], &s, wait_s[way]);
	longest_s = fmin(fmax(wait_s[0], wait_s[1]), WAIT_MAX_S);
	if (longest_s > s.window_s)
		s.begin_wall_ns = s.end_wall_ns - llround(longest_s * 1e9);
	extent_widen(&p->first_wall_ns, &p->last_wall_ns, &s);
}

void
pipes_clear(struct evidence *e)
{
	size_t i;

	for (i = 0; i < e->n_pipes; i++) {
		free(e->pipes[i].name);
		free(e->pipes[i].wait_s[0]);
		free(e->pipes[i].wait_s[1]);
	}
	free(e->pipes);
}
