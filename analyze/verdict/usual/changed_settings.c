/* SPDX-License-Identifier: BSD-3-Clause */
/* Changed settings of the hosts of a route. */
#include "analyze/verdict/usual/changed.h"
#include "analyze/verdict/usual/suspicion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/cause.h"
#include "narrows/err.h"
#include "narrows/moves.h"
#include "narrows/xmalloc.h"

enum { LINES_MAX = 20000 };

/* The history of a host's settings; the texts are the list's own. */
struct lines {
	struct nw_setting_line *line;
	size_t n;
};

static int
on_line(void *arg, const struct nw_setting_rec *s)
{
	struct lines *l = arg;

	if (l->n == LINES_MAX)
		return 1;
	l->line = xreallocarray(l->line, l->n + 1, sizeof(*l->line));
	l->line[l->n++] = (struct nw_setting_line){ xstrdup(s->name), xstrdup(s->value),
		xstrdup(s->before), s->t_wall_ns, s->first };
	return 0;
}

static void
lines_clear(struct lines *l)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		free((char *)(uintptr_t)l->line[i].name);
		free((char *)(uintptr_t)l->line[i].value);
		free((char *)(uintptr_t)l->line[i].before);
	}
	free(l->line);
}

static int
line_compare(const void *a, const void *b)
{
	const struct nw_setting_line *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c != 0 ? c : x->t_wall_ns < y->t_wall_ns ? -1 : x->t_wall_ns > y->t_wall_ns;
}

/* Settings with changes of their own, or with another setting in their place. */
static bool
is_noise(const char *name)
{
	return strcmp(name, "kernel.boot_time") == 0;
}

struct setting_test {
	const struct changed_ask *ask;
	struct nw_moves_ask moves;
	struct changed *out;
	const char *host;
	size_t host_at;
	int64_t *quiet_wall_ns; /* changes outside of the interval */
	size_t n_quiet;
};

/* Changes that came before the interval, and so had no effect. */
static void
quiet_add(struct setting_test *t, const struct nw_setting_line *line, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (nw_move_is_quiet(&t->moves, &line[i])) {
			t->quiet_wall_ns = xreallocarray(
			    t->quiet_wall_ns, t->n_quiet + 1, sizeof(*t->quiet_wall_ns));
			t->quiet_wall_ns[t->n_quiet++] = line[i].t_wall_ns;
		}
}

/* A setting with lines in time order. */
static int
setting_test(struct setting_test *t, const struct nw_setting_line *line, size_t n)
{
	struct difference *d;
	struct nw_move move;
	int rc;

	quiet_add(t, line, n);
	if (!nw_move_find(&t->moves, line, n, &move, &rc))
		return rc;
	d = changed_add(t->out, DIFFERENCE_SETTING);
	d->name = xstrdup(line[0].name);
	d->host = xstrdup(t->host);
	d->host_at = t->host_at;
	d->before_text = xstrdup(move.before);
	d->after_text = xstrdup(move.after);
	d->at_wall_ns = move.t_wall_ns;
	d->moved = move.moved;
	t->out->n_settings++;
	return NW_OK;
}

static int
host_test(struct setting_test *t, struct lines *l)
{
	size_t i, end;
	int rc = NW_OK;

	qsort(l->line, l->n, sizeof(*l->line), line_compare);
	for (i = 0; i < l->n && rc == NW_OK; i = end) {
		for (end = i; end < l->n && strcmp(l->line[end].name, l->line[i].name) == 0; end++)
			;
		if (!is_noise(l->line[i].name))
			rc = setting_test(t, &l->line[i], end - i);
	}
	return rc;
}

static int
time_compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Counts simultaneous changes once. */
static size_t
moments_count(int64_t *t_wall_ns, size_t n)
{
	size_t i, moments = 0;

	if (n > 0)
		qsort(t_wall_ns, n, sizeof(*t_wall_ns), time_compare);
	for (i = 0; i < n; i++)
		moments += i == 0 || t_wall_ns[i] != t_wall_ns[i - 1];
	return moments;
}

static int
on_move(void *arg, int64_t t_wall_ns)
{
	(void)t_wall_ns;
	++*(uint64_t *)arg;
	return 0;
}

/* Moves of the found settings on all hosts, until some time before the last usual session: a change
 * that comes to many hosts at once is no quiet one. */
static int
moves_count(struct store_reader *r, const struct changed_ask *ask, struct changed *out)
{
	const int64_t until =
	    ask->session[ask->low > 0 ? ask->low - 1 : 0].start_wall_ns - NW_CHANGE_NEWS_NS;
	struct difference *d;
	int rc = NW_OK;

	for (d = out->difference; d < out->difference + out->n && rc == NW_OK; d++)
		rc = store_config_moves(r, d->name, until, on_move, &d->n_quiet);
	return rc;
}

int
changed_settings(struct store_reader *r, const struct changed_ask *ask, struct changed *out)
{
	int64_t *at = xcalloc(ask->n + 1, sizeof(*at));
	struct setting_test t = { .ask = ask, .moves = { at, ask->n, ask->low }, .out = out };
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < ask->n; i++)
		at[i] = past_settled(&ask->session[i]);

	for (; t.host_at < ask->evidence->n_hosts && rc == NW_OK; t.host_at++) {
		const struct evidence_host *host = &ask->evidence->hosts[t.host_at];
		struct lines l = { 0 };

		t.host = host->name;
		rc = store_config_changes(r, host->id, ask->session[0].start_wall_ns,
		    past_settled(&ask->session[ask->n - 1]), on_line, &l);
		if (rc == NW_OK && l.n > 0)
			rc = host_test(&t, &l);
		lines_clear(&l);
	}
	out->n_survived = moments_count(t.quiet_wall_ns, t.n_quiet);
	free(t.quiet_wall_ns);
	free(at);
	return rc == NW_OK ? moves_count(r, ask, out) : rc;
}
