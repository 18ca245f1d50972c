/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/usual/suspicion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/cause.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

enum { LINES_MAX = 20000, MOVED_MAX = 200 };
/* A change with a smaller chance to be felt is no evidence. */
static const double WORTH = 0.01;
static const char ARROW[] = " -> ";

/* A changed setting of the host in hand, the number of its changes so far, and the times of the
 * changes on all hosts, until the newest change that counts. */
struct moved {
	char *name;
	size_t n;
	bool is_read;
	int64_t *t_wall_ns; /* rising */
	size_t n_anywhere;
};

struct search {
	struct store_reader *r;
	const struct past_session *session;
	size_t n, at, n_lines,
	    n_moved; /* at: the session of the newest change; they rise in time */
	struct moved moved[MOVED_MAX];
	double *chance; /* for each session, the sum of the changes since the session before */
	int64_t host_id;
};

int64_t
past_settled(const struct past_session *s)
{
	const double took_s = s->bytes_per_s > 0 ? s->bytes / s->bytes_per_s : 0;

	return s->start_wall_ns + (isfinite(took_s) && took_s < 1e6 ? (int64_t)(took_s * 1e9) : 0);
}

/* NULL: too many settings changed. */
static struct moved *
moved_of(struct search *s, const char *name)
{
	struct moved *m;

	for (m = s->moved; m < s->moved + s->n_moved; m++)
		if (strcmp(m->name, name) == 0)
			return m;
	if (s->n_moved == MOVED_MAX)
		return NULL;
	*m = (struct moved){ .name = xstrdup(name) };
	s->n_moved++;
	return m;
}

static void
moved_clear(struct moved *m)
{
	free(m->name);
	free(m->t_wall_ns);
}

static int
on_move(void *arg, int64_t t_wall_ns)
{
	struct moved *m = arg;

	if ((m->n_anywhere & (m->n_anywhere - 1)) == 0)
		m->t_wall_ns =
		    xreallocarray(m->t_wall_ns, 2 * m->n_anywhere + 1, sizeof(*m->t_wall_ns));
	m->t_wall_ns[m->n_anywhere++] = t_wall_ns;
	return 0;
}

/* The changes of a setting on all hosts until a time: one question serves a setting's lines. */
static int
moves_until(struct search *s, struct moved *m, int64_t to_wall_ns, size_t *n)
{
	size_t high = 0, middle;
	int rc = NW_OK;

	if (!m->is_read) {
		rc = store_config_moves(s->r, m->name,
		    past_settled(&s->session[s->n - 1]) - NW_CHANGE_NEWS_NS, on_move, m);
		m->is_read = true;
	}
	for (*n = 0, high = m->n_anywhere; *n < high;) {
		middle = (*n + high) / 2;
		if (m->t_wall_ns[middle] <= to_wall_ns)
			*n = middle + 1;
		else
			high = middle;
	}
	return rc;
}

/* The earlier changes of a line's setting on the host, or those on any host but until a day before,
 * if there were more: a change of many hosts at once may be felt on all hosts. */
static int
moves_before(struct search *s, const struct nw_setting_rec *line, size_t *n)
{
	struct moved *m = moved_of(s, line->name), lone = { .name = (char *)(uintptr_t)line->name };
	size_t anywhere;
	int rc =
	    moves_until(s, m != NULL ? m : &lone, line->t_wall_ns - NW_CHANGE_NEWS_NS, &anywhere);

	free(lone.t_wall_ns);
	*n = m != NULL ? m->n++ : 0;
	if (anywhere > *n)
		*n = anywhere;
	return rc;
}

static int
on_change(void *arg, const struct nw_setting_rec *line)
{
	struct search *s = arg;
	size_t n_quiet;
	int rc;

	if (s->n_lines++ == LINES_MAX)
		return 1;
	if (line->before == NULL ||
	    nw_change_chance(line->name, line->before, line->value, 0) < WORTH)
		return 0;
	if ((rc = moves_before(s, line, &n_quiet)) < 0)
		return rc;
	while (s->at < s->n && past_settled(&s->session[s->at]) < line->t_wall_ns)
		s->at++;
	if (s->at > 0 && s->at < s->n)
		s->chance[s->at] +=
		    nw_change_chance(line->name, line->before, line->value, n_quiet);
	return 0;
}

static int
on_host(void *arg, const struct nw_host_rec *h)
{
	((struct search *)arg)->host_id = h->id;
	return 1;
}

static int
host_look(const char *name, struct search *s)
{
	int rc;

	s->host_id = 0;
	s->n_lines = s->at = 0;
	rc = store_host_named(s->r, name, on_host, s);
	if (rc == NW_OK && s->host_id != 0)
		rc = store_config_again(s->r, s->host_id, s->session[0].start_wall_ns,
		    past_settled(&s->session[s->n - 1]), on_change, s);
	while (s->n_moved > 0)
		moved_clear(&s->moved[--s->n_moved]);
	return rc == NW_ENOTFOUND ? NW_OK : rc;
}

int
suspicion_fill(struct store_reader *r, const char *route, struct past_session *session, size_t n)
{
	const char *to = route != NULL ? strstr(route, ARROW) : NULL;
	struct search *s;
	double earlier = 0;
	char *from;
	size_t i;
	int rc;

	if (n == 0 || to == NULL)
		return NW_OK;
	s = xcalloc(1, sizeof(*s));
	s->r = r;
	s->session = session;
	s->n = n;
	s->chance = xcalloc(n, sizeof(*s->chance));
	from = xasprintf("%.*s", (int)(to - route), route);
	to += sizeof(ARROW) - 1;
	rc = host_look(from, s);
	if (rc == NW_OK && strcmp(from, to) != 0)
		rc = host_look(to, s);
	for (i = 0; i < n; earlier += s->chance[i++])
		session[i].suspicion = nw_change_log_odds(s->chance[i], earlier);
	free(from);
	free(s->chance);
	free(s);
	return rc;
}
