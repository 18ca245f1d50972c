/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "analyze/incident/telling.h"
#include "narrows/err.h"

/* So many of the newest sessions are read again: a session that began earlier may yet come. */
enum { READ_AGAIN = 16 };

/* A telling of the sessions read so far, none of them told, and what the telling stands on. */
struct nw_story_memo {
	struct telling *t;
	struct nw_story story;
	struct nw_job *job;
	size_t n; /* sessions read */
	int64_t *accepted_wall_ns;
	size_t n_accepted;
};

struct nw_story_memo *
nw_story_memo_new(void)
{
	return calloc(1, sizeof(struct nw_story_memo));
}

static void
memo_clear(struct nw_story_memo *m)
{
	telling_free(m->t);
	nw_story_clear(&m->story);
	free(m->job);
	free(m->accepted_wall_ns);
	*m = (struct nw_story_memo){ .t = NULL };
}

void
nw_story_memo_free(struct nw_story_memo *m)
{
	if (m != NULL)
		memo_clear(m);
	free(m);
}

static bool
is_same_job(const struct nw_job *a, const struct nw_job *b)
{
	return a->start_wall_ns == b->start_wall_ns && a->bytes_per_s == b->bytes_per_s &&
	    a->bytes == b->bytes && a->hour == b->hour && a->weekday == b->weekday &&
	    a->suspicion == b->suspicion;
}

static bool
memo_holds(const struct nw_story_memo *m, const struct nw_job *job, size_t n,
    const int64_t *accepted_wall_ns, size_t n_accepted)
{
	size_t i;

	if (m->t == NULL || m->n >= n || m->n_accepted != n_accepted ||
	    (n_accepted > 0 &&
		memcmp(m->accepted_wall_ns, accepted_wall_ns,
		    n_accepted * sizeof(*accepted_wall_ns)) != 0))
		return false;
	for (i = m->n; i-- > 0;)
		if (!is_same_job(&m->job[i], &job[i]))
			return false;
	return true;
}

static int
memo_begin(struct nw_story_memo *m, const int64_t *accepted_wall_ns, size_t n_accepted)
{
	memo_clear(m);
	m->t = telling_new(&m->story);
	m->accepted_wall_ns = calloc(n_accepted + 1, sizeof(*m->accepted_wall_ns));
	if (m->t == NULL || m->accepted_wall_ns == NULL)
		return NW_ENOMEM;
	m->t->told_from = SIZE_MAX;
	if (n_accepted > 0)
		memcpy(
		    m->accepted_wall_ns, accepted_wall_ns, n_accepted * sizeof(*accepted_wall_ns));
	m->n_accepted = n_accepted;
	return NW_OK;
}

/* Reads the sessions but the newest. */
static int
memo_read(struct nw_story_memo *m, const struct nw_job *job, size_t n)
{
	struct nw_job *kept = realloc(m->job, (n + 1) * sizeof(*kept));
	const size_t end = n - READ_AGAIN;
	int rc;

	if (kept == NULL)
		return NW_ENOMEM;
	m->job = kept;
	if ((rc = arrays_grow(m->t, n)) < 0)
		return rc;
	m->t->job = job;
	rows_make(m->t, m->n);
	if (end > m->n) {
		rc = sessions_read(m->t, m->n, end, m->accepted_wall_ns, m->n_accepted);
		memcpy(kept + m->n, job + m->n, (end - m->n) * sizeof(*kept));
		m->n = end;
	}
	return rc;
}

static void *
copied(const void *from, size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (p != NULL && n > 0)
		memcpy(p, from, n * size);
	return p;
}

/* Suspects in use, and their order. */
static void
suspects_copy(struct telling *to, const struct telling *from)
{
	const size_t used = from->n_suspects > from->n_former ? from->n_suspects : from->n_former;
	size_t i;

	for (i = 0; i < SUSPECTS_MAX; i++) {
		const struct suspect *s = from->suspect[i];
		struct suspect *copy = &to->room[s - from->room];

		to->suspect[i] = copy;
		if (i >= used)
			continue;
		copy->begin = s->begin;
		copy->tails_before = s->tails_before;
		copy->tails = s->tails;
		memcpy(copy->weight, s->weight, sizeof(copy->weight));
		forecast_copy(&copy->before, &s->before);
		forecast_copy(&copy->step, &s->step);
	}
}

/* A copy of the memo's telling, with a story of its own; NULL: memory was short. */
static struct telling *
telling_copy(const struct nw_story_memo *m, struct nw_story *out)
{
	const struct telling *from = m->t;
	const struct nw_story *s = from->out;
	struct telling *t = calloc(1, sizeof(*t));
	size_t i;

	if (t == NULL)
		return NULL;
	*t = *from;
	t->out = out;
	t->row = copied(from->row, from->n + 1, sizeof(*t->row));
	t->member = calloc(from->n + 1, sizeof(*t->member));
	t->room = calloc(SUSPECTS_MAX, sizeof(*t->room));
	out->usual = copied(s->usual, s->n + 1, sizeof(*s->usual));
	out->incident = copied(s->incident, s->n_incidents, sizeof(*s->incident));
	out->level = copied(s->level, s->n_levels, sizeof(*s->level));
	out->n_incidents = s->n_incidents;
	out->n_levels = s->n_levels;
	if (t->row == NULL || t->member == NULL || t->room == NULL || out->usual == NULL ||
	    out->incident == NULL || out->level == NULL) {
		telling_free(t);
		return NULL;
	}
	memcpy(t->member, from->member, from->n_members * sizeof(*t->member));
	suspects_copy(t, from);
	if (from->open != NULL)
		t->open = out->incident + (from->open - s->incident);
	for (i = 0; i < out->n_incidents; i++)
		if (out->incident[i].state == NW_INCIDENT_OPEN)
			out->incident[i].end = out->incident[i].closed = t->n;
	return t;
}

int
nw_story_go_on(struct nw_story_memo *m, const struct nw_job *job, size_t n,
    const int64_t *accepted_wall_ns, size_t n_accepted, size_t told_from, struct nw_story *out)
{
	struct telling *t;
	int rc = NW_OK;

	if (m == NULL || n <= READ_AGAIN || told_from < n - READ_AGAIN)
		return nw_story_make_from(job, n, accepted_wall_ns, n_accepted, told_from, out);
	/* an early session, judged late, is of no use for the next */
	if (m->n > told_from && is_same_job(&m->job[0], &job[0]))
		return nw_story_make_from(job, n, accepted_wall_ns, n_accepted, told_from, out);
	*out = (struct nw_story){ .n = n };
	if (!memo_holds(m, job, n, accepted_wall_ns, n_accepted))
		rc = memo_begin(m, accepted_wall_ns, n_accepted);
	if (rc == NW_OK)
		rc = memo_read(m, job, n);
	if (rc == NW_OK && (t = telling_copy(m, out)) != NULL) {
		t->told_from = told_from;
		rc = story_end(t, m->n, accepted_wall_ns, n_accepted);
		telling_free(t);
	} else {
		memo_clear(m); /* half read */
		rc = NW_ENOMEM;
	}
	return rc;
}
