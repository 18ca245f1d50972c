/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one sender has described so far, as a box knows it: the same metadata again is nothing new, another one of the
 * same id is the newest of it, and what a series does not say of its times its parents may.
 */
#include "daemon/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/cmd/import.h"

enum { PARENTS_MAX = 32 };
static const double TIME_END_S = 7258118400;     /* 2200: what adds up to later is no time */

struct described *
described_find(struct described *all, const char *mid, const char *event_type)
{
	struct described *s;

	HASH_FIND_STR(all, mid, s);
	while (s != NULL && event_type != NULL && strcmp(s->event_type, event_type) != 0)
		s = s->older;
	return s;
}

static bool
is_same(const struct described *s, const struct nw_meta *m)
{
	return strcmp(s->event_type, m->event_type) == 0 && strcmp(s->params, m->params_json) == 0 &&
	    strcmp(s->subject, m->subject_json) == 0;
}

static void
inherit(struct described *all, struct described *s)
{
	const struct described *p = s;
	unsigned depth;

	for (depth = 0; depth < PARENTS_MAX && p->pid != NULL; depth++) {
		if ((p = described_find(all, p->pid, NULL)) == NULL || p == s)
			return;
		if (isnan(s->dt_s))
			s->dt_s = p->dt_s;
		if (isnan(s->ts_s))
			s->ts_s = p->ts_s;
	}
}

struct described *
described_add(struct described **all, const struct nw_meta *m, bool *is_new)
{
	struct described *head = described_find(*all, m->id, NULL), *s;

	*is_new = false;
	for (s = head; s != NULL; s = s->older)
		if (is_same(s, m))
			return s;
	*is_new = true;
	s = xcalloc(1, sizeof(*s));
	s->mid = xstrdup(m->id);
	s->pid = xstrdup(m->pid);
	s->event_type = xstrdup(m->event_type);
	s->subject = xstrdup(m->subject_json);
	s->params = xstrdup(m->params_json);
	s->dt_s = m->dt_s;
	s->ts_s = m->ts_s;
	inherit(*all, s);
	s->older = head;
	if (head != NULL)
		HASH_DEL(*all, head);
	HASH_ADD_KEYPTR(hh, *all, s->mid, strlen(s->mid), s);
	return s;
}

bool
described_time(const struct described *s, const struct nw_data *d, size_t row, int64_t *t_wall_ns)
{
	double t_s;

	*t_wall_ns = d->t_wall_ns[row];
	if (*t_wall_ns != NW_TIME_BY_SAMPLE)
		return true;
	t_s = s->ts_s + (double)d->sample_number[row] * s->dt_s;
	if (!(t_s >= 0 && t_s < TIME_END_S))
		return false;
	*t_wall_ns = (int64_t)(t_s * 1e9);
	return true;
}

static void
described_free(struct described *s)
{
	size_t i;

	for (i = 0; i < s->n_fields; i++)
		free(s->fields[i]);
	free(s->fields);
	free(s->params);
	free(s->subject);
	free(s->event_type);
	free(s->pid);
	free(s->mid);
	free(s);
}

void
described_clear(struct described **all)
{
	struct described *s, *tmp, *older;

	HASH_ITER(hh, *all, s, tmp) {
		HASH_DEL(*all, s);
		for (; s != NULL; s = older) {
			older = s->older;
			described_free(s);
		}
	}
}
