/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that several processes of a host use: the bytes of each process in each window. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/xmalloc.h"

/* Whether two processes use one file. */
static bool
is_same_file(
    const struct evidence *e, const struct evidence_shared *a, const struct evidence_shared *b)
{
	return a->process != b->process &&
	    e->processes[a->process].host == e->processes[b->process].host &&
	    strcmp(a->path, b->path) == 0;
}

/* A file often gets its last name at the end of the writing: all rows of one metadata count for the
 * newest name. */
static size_t
shared_get(struct evidence *e, size_t process, const char *mid)
{
	size_t i;

	for (i = 0; i < e->n_shared; i++)
		if (strcmp(e->shared[i].mid, mid) == 0)
			return i;
	if (i == EVIDENCE_SHARED_MAX)
		return i;
	e->shared = xreallocarray(e->shared, i + 1, sizeof(*e->shared));
	e->shared[e->n_shared++] = (struct evidence_shared){
		.process = process, .mid = xstrdup(mid), .path = xstrdup("")
	};
	return i;
}

void
shared_source(struct loader *l, struct source *s, const char *mid, const json_t *subject)
{
	const char *path = json_string_value(json_object_get(subject, "resource"));
	struct evidence *e = l->e;
	struct evidence_shared *f;
	size_t i;

	s->shared = EVIDENCE_SHARED_MAX;
	if (path == NULL || json_object_get(subject, "pid") == NULL)
		return;
	if ((s->shared = shared_get(e, s->process, mid)) == EVIDENCE_SHARED_MAX)
		return;
	f = &e->shared[s->shared];
	free(f->path);
	f->path = xstrdup(path);
	for (i = 0; i < e->n_shared; i++)
		if (is_same_file(e, f, &e->shared[i]))
			f->is_shared = e->shared[i].is_shared = true;
}

void
shared_row(struct loader *l, const struct row *r, double read, double written)
{
	const double bytes[2] = { read, written };
	struct evidence_shared *f;
	struct span s;
	int way;

	if (l->source->shared >= l->e->n_shared || !l->e->shared[l->source->shared].is_shared)
		return;
	f = &l->e->shared[l->source->shared];
	s = row_span(l, r);
	for (way = 0; way < 2; way++) {
		if (!(bytes[way] > 0))
			continue;
		f->sum[way] += bytes[way];
		grid_spread(l->e, grid_array(l->e, &f->bytes[way], 0), &s, bytes[way]);
		extent_widen(&f->first_wall_ns[way], &f->last_wall_ns[way], &s);
	}
}

void
shared_clear(struct evidence *e)
{
	size_t i;

	for (i = 0; i < e->n_shared; i++) {
		free(e->shared[i].mid);
		free(e->shared[i].path);
		free(e->shared[i].bytes[0]);
		free(e->shared[i].bytes[1]);
	}
	free(e->shared);
}
